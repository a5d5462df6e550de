import Replication
import Store

/// Two replicas of one process that talk as over a wire: every message is encoded and decoded.
final class Cable {
  private let ends: [End]

  init(_ one: Store, _ two: Store) throws {
    ends = [End(one, run: 1), End(two, run: 2)]
    ends[0].other = ends[1]
    ends[1].other = ends[0]
  }

  /// Talks until both hold the same and nothing is on its way.
  func exchange() throws {
    defer { for end in ends { end.hangUp() } }
    for end in ends { try end.feed(.connected) }
    for _ in 0..<200 {
      while try ends[0].deliver() || ends[1].deliver() {}
      if let failure = ends.lazy.compactMap(\.failure).first { throw failure }
      if ends.allSatisfy(\.isDone) { return }
      // What is due in a moment is due now.
      for end in ends {
        end.ahead += 30
        try end.feed(.tick)
      }
    }
    throw CrashFailure("an exchange did not come to its end")
  }
}

extension Cable {
  /// One side: a session machine and the store that it speaks for.
  private final class End {
    let store: Store
    unowned var other: End!
    var session: Session
    var failure: (any Error)?
    /// Milliseconds by which this side's uptime is ahead of the machine's.
    var ahead: Int64 = 0
    private var inbox: [[UInt8]] = []
    private var export: Int64?

    init(_ store: Store, run: UInt64) {
      self.store = store
      session = Session(
        Session.Configuration(
          hello: Hello(
            version: Session.versions.upperBound, purpose: .member, site: store.site,
            node: store.node, name: store.nodeName, run: run, clock: Clock.now.wall, port: 0,
            schema: store.schemaHash), position: store.position, relayDelay: 20),
        at: Clock.now)
    }

    var isDone: Bool {
      session.state == .open && session.isIdle && session.isPeerKnown && inbox.isEmpty
        && store.position.frontier == other.store.position.frontier
        && store.position.digest == other.store.position.digest
    }

    private var now: Instant {
      var now = Clock.now
      now.uptime += ahead
      return now
    }

    func feed(_ input: Session.Input) throws {
      for directive in session.receive(input, at: now) { try perform(directive) }
    }

    /// Takes one message; false if none waits.
    func deliver() throws -> Bool {
      guard !inbox.isEmpty, failure == nil else { return false }
      try feed(.received(try Message(frame: inbox.removeFirst())))
      return true
    }

    func hangUp() { try? closeExport() }

    private func perform(_ directive: Session.Directive) throws {
      switch directive {
      case .send(let message): other.inbox.append(Array(message.frame.dropFirst(4)))
      case .opened(let hello):
        let resume = try store.progress.frontier(of: hello.node, edition: hello.edition)
        try feed(.mayPull(resume: resume))
      case .merge(let merge): try self.merge(merge)
      case .openExport(let scope):
        let opened = try store.openExport(scope, at: now)
        export = opened.id
        try folded(opened.fold)
        try feed(.exportOpened(covers: opened.covers, rows: opened.rows))
      case .readExport: try readExport()
      case .closeExport: try closeExport()
      case .closed(let bye, _):
        failure = failure ?? CrashFailure("a session ended: \(bye.reason)")
      default: break
      }
    }

    private func merge(_ merge: Merge) throws {
      let outcome = try store.merge(merge, at: now)
      try feed(.merged(outcome.result))
      try folded(outcome.fold)
      guard outcome.fold.hasMore else { return }
      while true {
        let result = try store.fold(at: now)
        try folded(result)
        if !result.hasMore { return }
      }
    }

    private func folded(_ fold: FoldResult) throws {
      if let push = fold.push { try feed(.folded(push)) }
      try feed(.advanced(store.position))
    }

    private func readExport() throws {
      guard let export else { return }
      switch try store.readExport(export, at: now) {
      case .batch(let batch):
        try feed(.exported(batch: batch.bytes, rows: batch.rows, check: batch.check))
        try feed(.drained)
      case .part(let bytes):
        try feed(.exportedPart(bytes))
        try feed(.drained)
      case .paused(let progress): try feed(.exportPaused(progress: progress))
      case .done: try feed(.exportDone)
      }
    }

    private func closeExport() throws {
      guard let export else { return }
      self.export = nil
      try store.closeExport(export)
    }
  }
}
