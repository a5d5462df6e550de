import Flotilla
import FoundationEssentials
import Glibc
import SQLite

/// Keeps a replica and a database of a server equal, until it is cancelled.
///
/// Both the library of the server and SQLite block: so this actor has a thread of its own. A loop
/// takes in and sends by turns; what it waits for is the change feed, for a moment each time, and
/// then it looks at the server.
actor MirrorEngine {
  private let executor = QueueExecutor("flotilla.mirror")
  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  let replica: Replica
  let folder: MirrorFolder
  let settings: MirrorSettings
  var tables: MirroredTables
  let log: @Sendable (String) -> Void
  /// Another one in each process.
  let name = Replica.fingerprint((0..<16).map { _ in UInt8.random(in: 0...255) })
  /// Tables of which so many rows differ that somebody has to say whose stand, and that in words.
  var undecided: [Int: String] = [:]
  let lifeline = Lifeline()
  var state = MirrorState()
  var lastWritten = ContinuousClock.now - .seconds(60)
  /// Rows of single tables that differed since all were compared: who asks for that is told of
  /// them, too.
  var carried = 0
  private var said: String?
  /// Whether this connection has sent and taken in what there was.
  var hasWorked = false
  /// Whether it has sent or taken in anything.
  var hasMoved = false

  init(
    _ replica: Replica, _ settings: MirrorSettings, log: @escaping @Sendable (String) -> Void
  ) {
    self.replica = replica
    self.settings = settings
    tables = MirroredTables(settings.tables)
    self.log = log
    folder = MirrorFolder(replica: replica)
  }

  /// So often it looks at everything again at once, though nothing was sent or taken in.
  private static let mostBeginnings = 3

  private static let pauses: [Duration] = [
    .milliseconds(200), .milliseconds(500), .seconds(1), .seconds(2), .seconds(5), .seconds(10),
  ]

  /// So long after it is cancelled it may wait for the server.
  private static let lastPatience = Duration.seconds(3)

  /// Works until the task is cancelled, through whatever happens to the server.
  func run() async {
    let lifeline = lifeline
    await withTaskCancellationHandler {
      await work()
    } onCancel: {
      Task.detached {
        try? await Task.sleep(for: Self.lastPatience)
        lifeline.cut()
      }
    }
  }

  private func work() async {
    if let before = folder.state() {
      (state.contact, state.comparison, state.compared) = (
        before.contact, before.comparison, before.compared
      )
      (state.shapes, state.columns, state.place) = (before.shapes, before.columns, before.place)
      (state.differences, state.rowsCompared) = (before.differences, before.rowsCompared)
      // Earlier versions did not say which tables they had filled.
      state.filled = before.filled ?? before.compared.map { _ in (before.shapes ?? [:]).map(\.key) }
      tables.recall(before.firsts ?? [:])
    }
    state.process = getpid()
    // A server that says nothing is no reason to look as if no node ran.
    publish(now: true)
    var (failures, beginnings) = (0, 0)
    while !Task.isCancelled {
      let began = ContinuousClock.now
      do throws(MirrorError) {
        try await serve()
        failures = 0
      } catch {
        guard !Task.isCancelled else { break }
        beginnings = hasMoved ? 0 : beginnings + 1
        if case .again = error, beginnings <= Self.mostBeginnings {
          failures = 0
        } else {
          // Who has seen it work, and be it once, tries again soon.
          let isAgain = if case .again = error { true } else { false }
          if hasWorked, !isAgain { failures = min(failures, 1) }
          if hasWorked, ContinuousClock.now - began > .seconds(60) { failures = 0 }
          // A node that is being stopped, or has just begun, is no news.
          if case .node = error, failures == 0 {} else { tell(error) }
          state.retries += 1
        }
        let pause = Self.pauses[min(failures, Self.pauses.count - 1)]
        failures += 1
        guard (try? await Task.sleep(for: pause)) != nil else { break }
      }
    }
    state.phase = .stopped
    publish(now: true)
  }

  /// Says what is in the way: once in the log, in the state until it is over.
  private func tell(_ error: MirrorError) {
    state.phase = .connecting
    let words: String
    switch error {
    case .server(let error): words = "the server: \(error.text)"
    case .site(let error): words = "the database: \(error.message)"
    case .node(let error): words = error.message
    case .stopped(let reason):
      words = reason
      state.phase = .stopped
    case .again(let reason): words = "it begins again and again: \(reason)"
    }
    say(words)
  }

  /// Says that something is in the way, though the work may go on.
  func say(_ words: String) {
    if state.trouble == nil { state.troubleSince = Self.now }
    if said != words { log("the mirror waits: \(words)") }
    let isNew = state.trouble != words || said != words
    (state.trouble, said) = (words, words)
    publish(now: isNew)
  }

  static var now: Int64 { Int64(Date().timeIntervalSince1970 * 1_000) }

  func enter(_ phase: MirrorState.Phase) {
    if state.phase != phase { (state.phase, state.since) = (phase, Self.now) }
  }

  /// What waits has gone out and come in once: nothing is in the way.
  func works() {
    hasWorked = true
    if said != nil || state.trouble != nil { log("the mirror goes on") }
    (state.trouble, state.troubleSince, said) = (nil, nil, nil)
  }

  /// Writes the state down, no more than once a second unless it matters.
  func publish(now isUrgent: Bool = false) {
    guard isUrgent || ContinuousClock.now - lastWritten > .seconds(1) else { return }
    lastWritten = .now
    state.written = Self.now
    folder.write(state)
  }

  /// Takes over into the state what the session has come to.
  func note(_ session: MirrorSession) {
    // What was known of the server before stays until it has taken something.
    if session.contact.number > 0 { state.contact = session.contact }
    state.place = session.cursor ?? state.place
    if session.held.revision != session.notedHeld {
      session.notedHeld = session.held.revision
      state.heldCount = session.held.entries.count
      state.held = session.held.entries.sorted { $0.value.at > $1.value.at }.prefix(1_000)
        .map { name, entry in
          MirrorState.Held(
            table: tables.names[name.number] ?? "?", key: entry.shown,
            direction: entry.direction.rawValue, reason: entry.reason, at: entry.at)
        }
    }
    state.owed = session.debts.longest(100).map {
      MirrorState.Held(
        table: $0.link.site.name, key: MirroredRow($0.link, key: $0.key, row: nil).shownKey,
        direction: HeldRows.Direction.outward.rawValue, reason: $0.reason, at: $0.since)
    }
    hasMoved = hasMoved || session.sent > 0 || session.taken > 0
    state.sent += session.sent
    state.taken += session.taken
    state.retries += session.again
    (session.sent, session.taken, session.again) = (0, 0, 0)
  }
}
