import Flotilla
import Network
import Replication
import Store

/// One end of an exchange: the session's machine, its store and the stream to the peer.
///
/// Does what the shell of a node does for an exchange in which nothing goes wrong. The node's own
/// shell takes TLS alone, and shall; this one takes any stream, so that the two can be compared.
actor ExchangeEnd {
  private let channel: any ByteChannel
  private let store: Store
  private let executor = QueueExecutor("flotilla.bench.exchange")
  private var machine: Session
  private var frames = FrameBuffer(limit: Limits.frame)
  private var export: Int64?
  /// Frames to be written, and the write under way: the next batch is read meanwhile.
  private var outgoing: [UInt8] = []
  private var writing: Task<Void, any Error>?
  /// Rows of the exchange that has come from the peer.
  private(set) var received: UInt64?

  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  init(path: String, over channel: any ByteChannel) throws {
    let store = try Store(path: path)
    let hello = Hello(
      version: Session.versions.upperBound, purpose: .member, site: store.site, node: store.node,
      name: store.nodeName, run: 1, clock: Instant.bench.wall, port: 0, schema: store.schemaHash)
    machine = Session(
      Session.Configuration(hello: hello, position: store.position, relayDelay: 0), at: .bench)
    self.store = store
    self.channel = channel
  }

  /// Talks until the peer hangs up, or until an exchange has come if that is asked for.
  func talk(untilReceived: Bool = false) async throws {
    // Whoever waits for the other end learns that this one has gone.
    defer { channel.close() }
    try await feed(.connected)
    while !(untilReceived && received != nil) {
      let bytes = try await channel.read(upTo: 64 << 10)
      guard !bytes.isEmpty else { break }
      frames.append(bytes)
      while let frame = try frames.next() {
        try await feed(.received(try Message(frame: frame)))
      }
    }
    _ = try? await writing?.value
  }

  private func feed(_ first: Session.Input) async throws {
    var inputs = [first]
    while !inputs.isEmpty {
      let input = inputs.removeFirst()
      for directive in machine.receive(input, at: .bench) {
        inputs += try carryOut(directive)
      }
      guard !outgoing.isEmpty else { continue }
      try await write()
      inputs.append(.drained)
    }
  }

  /// Does what the machine says; gives what is to be told to it.
  private func carryOut(_ directive: Session.Directive) throws -> [Session.Input] {
    switch directive {
    case .send(let message): outgoing += message.frame
    case .opened: return [.mayPull(resume: Frontier())]
    case .openExport(let scope):
      let opened = try store.openExport(scope, filter: machine.exportFilter, at: .bench)
      export = opened.id
      return [.exportOpened(covers: opened.covers, rows: opened.rows, judged: opened.judged)]
    case .readExport: return try readExport()
    case .closeExport:
      if let export { try store.closeExport(export) }
      export = nil
    case .merge(let merge):
      let outcome = try store.merge(merge, at: .bench)
      return [.merged(outcome.result), .advanced(store.position)]
    case .exchanged(false, let rows): received = rows
    case .closed(let bye, _): throw BenchError("the exchange ended: \(bye.reason)")
    default: break
    }
    return []
  }

  private func readExport() throws -> [Session.Input] {
    guard let export else { return [] }
    switch try store.readExport(export, at: .bench) {
    case .batch(let batch):
      return [.exported(batch: batch.bytes, rows: batch.rows, check: batch.check)]
    case .part(let bytes): return [.exportedPart(bytes)]
    case .paused(let progress): return [.exportPaused(progress: progress)]
    case .done: return [.exportDone]
    }
  }

  private func write() async throws {
    try await writing?.value
    let bytes = outgoing
    outgoing = []
    writing = Task { [channel] in try await channel.write(bytes) }
  }
}
