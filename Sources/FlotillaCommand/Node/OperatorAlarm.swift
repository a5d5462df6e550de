import Flotilla

/// The commands that `run` starts when something happens that a person may want to hear of.
struct AlarmCommands: Sendable, Equatable {
  var conflict: String?
  var state: String?

  var isEmpty: Bool { conflict == nil && state == nil }
}

/// What an alarm is about, and nothing else: two equal ones are one alarm.
struct AlarmState: Sendable, Equatable {
  var isInSync: Bool
  let trouble: String?
  /// The state of each peer by its name.
  var peers: [String: PeerReport.State]

  /// The same as if no row were on its way.
  private var settled: AlarmState {
    var settled = self
    settled.isInSync = true
    settled.peers = peers.mapValues { $0 == .catchingUp ? .inSync : $0 }
    return settled
  }

  /// Whether it differs by rows on their way alone.
  func onlyLags(_ before: AlarmState) -> Bool { settled == before.settled }

  init(_ report: StatusReport) {
    isInSync = report.in_sync
    trouble = report.trouble?.kind
    peers = Dictionary(report.peers.map { ($0.node, $0.state) }) { first, _ in first }
  }

  /// What it was while no node ran here: nobody was connected, and only who is alone was in sync.
  init(before report: StatusReport) {
    isInSync = report.peers.isEmpty
    trouble = nil
    let states = report.peers.map { peer -> (String, PeerReport.State) in
      switch peer.state {
      case .inSync, .catchingUp, .failing: (peer.node, .away)
      default: (peer.node, peer.state)
      }
    }
    peers = Dictionary(states) { first, _ in first }
  }
}

/// Notices what has changed since it last looked. Without a start the first look is only a
/// beginning.
struct AlarmBook {
  /// Where programs write, rows are on their way at every other look: that is none for so long.
  static let patience = Duration.seconds(10)

  private var state: AlarmState?
  /// Since when rows have been on their way, and nobody was told.
  private var lagsSince: ContinuousClock.Instant?
  private var count: Int?
  /// As many as were there when the log was asked for, which may fail.
  private var asked: Int?
  /// Up to which conflict was told; nil if that is not known.
  private(set) var told: ConflictMark?
  /// Whether the first look is at a node that was just started.
  private let isStart: Bool

  init(told: ConflictMark? = nil, isStart: Bool = false) {
    (self.told, self.isStart) = (told, isStart)
  }

  /// Whether the state is another one than at the last look.
  mutating func isNews(
    _ report: StatusReport, at now: ContinuousClock.Instant = .now
  ) -> Bool {
    let next = AlarmState(report)
    guard let before = state ?? (isStart ? AlarmState(before: report) : nil) else {
      state = next
      return false
    }
    state = before
    guard next != before else {
      lagsSince = nil
      return false
    }
    if before.isInSync, next.onlyLags(before) {
      lagsSince = lagsSince ?? now
      guard let lagsSince, now - lagsSince >= Self.patience else { return false }
    }
    (state, lagsSince) = (next, nil)
    return true
  }

  /// Whether it is worth to read the log of conflicts: there are more or fewer than there were.
  mutating func wantsConflicts(_ report: StatusReport) -> Bool {
    asked = report.conflicts
    return count != report.conflicts
  }

  /// The conflicts that were not told yet, the oldest first. Where a row got a fresh key nothing
  /// is to be decided.
  mutating func news(
    in conflicts: [ConflictReport.Conflict]
  ) -> [ConflictReport.Conflict] {
    defer {
      count = asked
      told = ConflictMark(conflicts) ?? told ?? ConflictMark()
    }
    guard let told else { return [] }
    return conflicts.filter { told.isBefore($0) && !$0.isFresh }.sorted { $0.id < $1.id }
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
  /// Up to which conflict was told before its node started; nil if that cannot be known.
  let told: ConflictMark?
  let log: @Sendable (String) -> Void

  /// Alarms for all nodes of a process; made before they start, and merge what they have missed.
  static func of(
    _ replicas: [Replica], _ commands: AlarmCommands, log: @escaping @Sendable (String) -> Void
  ) async -> [OperatorAlarm] {
    guard !commands.isEmpty else { return [] }
    var alarms: [OperatorAlarm] = []
    for replica in replicas {
      let told = commands.conflict == nil ? nil : try? await replica.toldConflicts()
      alarms.append(OperatorAlarm(replica: replica, commands: commands, told: told, log: log))
    }
    return alarms
  }

  /// Watches all of them until it is cancelled.
  static func watch(_ alarms: [OperatorAlarm]) async {
    await withTaskGroup(of: Void.self) { group in
      for alarm in alarms { group.addTask { await alarm.watch() } }
    }
  }

  /// Works until it is cancelled. A look that fails is made again the next time.
  func watch() async {
    var book = AlarmBook(told: told, isStart: true)
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
    if !news.isEmpty {
      await run(
        command, "--on-conflict",
        input: news.map { JSON(reflecting: $0).description + "\n" }.joined())
    }
    // Noted afterwards: what a kill cuts off is told again, and not left out.
    guard let told = book.told, !news.isEmpty || told != self.told else { return }
    do {
      try replica.note(told: told)
    } catch {
      log("after the next start --on-conflict hears of these again: \(error.message)")
    }
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
