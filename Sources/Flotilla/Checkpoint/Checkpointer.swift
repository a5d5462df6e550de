import Network
import SQLite
import Store

/// Keeps the write-ahead log short, on a connection and a thread of its own, so that neither the
/// work on the replica nor programs wait for a copy.
actor Checkpointer {
  /// So long a cut waits for who writes and, with the write lock, for who reads, in ms: together
  /// no longer than one slice of a catch-up holds the lock.
  private static let patience = 40
  /// So long a snapshot waits for a cut, in ms: a program may keep the log for hours.
  private static let longestWait: Int64 = 2_000
  private static let retry: Int64 = 10

  private let executor: QueueExecutor
  private let path: String
  private var connection: Connection?
  private var plan = CheckpointPlan()
  private var isClosed = false
  /// Grows with each cut, when it begins and when it ends: to other connections a log that was made
  /// empty looks as if somebody had written.
  nonisolated var cuts: UInt64 { counted.withLock { $0 } }
  private let counted = Locked<UInt64>(0)
  private let log: @Sendable (String) -> Void
  /// Why the last try failed, so that it is said once.
  private var trouble: String?

  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  init(path: String, log: @escaping @Sendable (String) -> Void) {
    self.executor = QueueExecutor("flotilla.checkpoint")
    self.path = path
    self.log = log
  }

  /// Looks after the log until the task is cancelled.
  func run() async {
    while !Task.isCancelled, !isClosed {
      let pause = work()
      guard (try? await Task.sleep(for: .milliseconds(pause))) != nil else { break }
    }
    close()
  }

  /// Waits until the log is short enough for a snapshot, which keeps all of it: else one snapshot
  /// would follow the other, and it would never end.
  func makeRoom() async {
    let deadline = Uptime.now + Self.longestWait
    while !isClosed, Uptime.now < deadline, LogFile(of: path).bytes > CheckpointPlan.crowded {
      _ = work()
      guard LogFile(of: path).bytes > CheckpointPlan.crowded else { return }
      guard (try? await Task.sleep(for: .milliseconds(Self.retry))) != nil else { return }
    }
  }

  func close() {
    isClosed = true
    connection = nil
  }

  /// Does what is to be done now; gives the ms until the next look.
  private func work() -> Int64 {
    let file = LogFile(of: path)
    var directive = plan.receive(
      .looked(bytes: file.bytes, written: file.written), at: Uptime.now)
    while true {
      let input: CheckpointPlan.Input
      switch directive {
      case .copy: input = attempt(.passive)
      case .cut:
        counted.withLock { $0 += 1 }
        input = attempt(.truncate)
        counted.withLock { $0 += 1 }
      case .rest(let pause): return pause
      }
      directive = plan.receive(input, at: Uptime.now)
    }
  }

  private func attempt(_ mode: Connection.CheckpointMode) -> CheckpointPlan.Input {
    guard !isClosed else { return .failed }
    do {
      let found = try opened().checkpoint(mode)
      trouble = nil
      if found.isBlocked { return .blocked }
      return mode == .truncate ? .cut : .copied(pages: found.copied, of: found.pages)
    } catch {
      if error.isBusy { return .blocked }
      // What was opened while the file could not be written never can write it.
      if error.isReadOnly { connection = nil }
      let text = FlotillaError(error, path: path).message
      if trouble != text { log("could not shorten the write-ahead log: \(text)") }
      trouble = text
      return .failed
    }
  }

  private func opened() throws(SQLiteError) -> Connection {
    if let connection { return connection }
    let opened = try Connection(path: path)
    opened.setBusyTimeout(milliseconds: Self.patience)
    connection = opened
    return opened
  }
}
