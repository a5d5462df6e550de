import Flotilla

/// The commands that `run` starts when something happens that a person may want to hear of.
struct AlarmCommands: Sendable, Equatable {
  var conflict: String?
  var state: String?

  var isEmpty: Bool { conflict == nil && state == nil }
}

/// What an alarm is about, and nothing else: two equal ones are one alarm.
struct AlarmState: Sendable, Equatable {
  let isInSync: Bool
  let trouble: String?
  /// The state of each peer by its name.
  let peers: [String: PeerReport.State]

  init(_ report: StatusReport) {
    isInSync = report.in_sync
    trouble = report.trouble?.kind
    peers = Dictionary(report.peers.map { ($0.node, $0.state) }) { first, _ in first }
  }
}

/// Notices what has changed since it last looked. The first look is only a beginning.
struct AlarmBook {
  private var state: AlarmState?
  private var count: Int?
  /// As many as were there when the log was asked for, which may fail.
  private var asked: Int?
  private var known: Set<Int>?

  /// Whether the state is another one than at the last look.
  mutating func isNews(_ report: StatusReport) -> Bool {
    let next = AlarmState(report)
    defer { state = next }
    return state.map { $0 != next } ?? false
  }

  /// Whether it is worth to read the log of conflicts: there are more or fewer than there were.
  mutating func wantsConflicts(_ report: StatusReport) -> Bool {
    asked = report.conflicts
    return count != report.conflicts
  }

  /// The conflicts that were not there at the last look, the oldest first.
  mutating func news(
    in conflicts: [ConflictReport.Conflict]
  ) -> [ConflictReport.Conflict] {
    let ids = Set(conflicts.map(\.id))
    defer { (known, count) = (ids, asked) }
    guard let known else { return [] }
    return conflicts.filter { !known.contains($0.id) }.sorted { $0.id < $1.id }
  }
}

/// Looks at a running node every two seconds, and runs the commands of its operator.
struct OperatorAlarm: Sendable {
  private static let pause = Duration.seconds(2)
  /// What happens right after the start is told, too: so the first look is soon.
  private static let firstPause = Duration.milliseconds(100)
  /// So many seconds a command may take: the next alarm waits for it.
  static let longest = 60

  let replica: Replica
  let commands: AlarmCommands
  let log: @Sendable (String) -> Void

  /// Watches all nodes of a process until it is cancelled.
  static func watch(
    _ replicas: [Replica], _ commands: AlarmCommands, log: @escaping @Sendable (String) -> Void
  ) async {
    guard !commands.isEmpty else { return }
    await withTaskGroup(of: Void.self) { group in
      for replica in replicas {
        group.addTask {
          await OperatorAlarm(replica: replica, commands: commands, log: log).watch()
        }
      }
    }
  }

  /// Works until it is cancelled. A look that fails is made again the next time.
  func watch() async {
    var book = AlarmBook()
    var isNew = true
    while !Task.isCancelled {
      let report = try? await replica.statusOfNode()
      if let report { await look(at: report, &book) }
      isNew = isNew && report == nil
      guard (try? await Task.sleep(for: isNew ? Self.firstPause : Self.pause)) != nil else {
        return
      }
    }
  }

  private func look(at report: StatusReport, _ book: inout AlarmBook) async {
    if let command = commands.state, book.isNews(report) {
      await run(command, "--on-state", input: JSON(reflecting: report).description + "\n")
    }
    guard let command = commands.conflict, book.wantsConflicts(report),
      let conflicts = try? await replica.conflicts().conflicts
    else { return }
    let news = book.news(in: conflicts)
    guard !news.isEmpty else { return }
    await run(
      command, "--on-conflict",
      input: news.map { JSON(reflecting: $0).description + "\n" }.joined())
  }

  /// A command that fails is told of in the log, and the node goes on.
  private func run(_ command: String, _ option: String, input: String) async {
    do {
      let status = try await ShellCommand(
        text: command, environment: ["FLOTILLA_DB": replica.path], limit: Self.longest
      ).run(input: input)
      if status != 0 { log("the command of \(option) ended with status \(status)") }
    } catch {
      log("the command of \(option) failed: \(error.message)")
    }
  }
}
