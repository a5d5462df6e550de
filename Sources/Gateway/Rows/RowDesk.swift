import Flotilla
import Glibc
import SQLite

/// One connection to the file of a replica, on a thread of its own.
///
/// A transaction begins and ends within one call: nothing is held open while a client is waited
/// for.
actor RowDesk {
  nonisolated let executor: QueueExecutor
  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  /// So long a statement may run, and so long it waits for another program's lock.
  static let longest: Duration = .seconds(5)

  /// What a desk is there for.
  enum Purpose: Sendable {
    case reading
    case writing
    /// Statements of clients: within the bounds of `QueryBounds`.
    case queries
  }

  private let replica: Replica
  private let purpose: Purpose
  private var writes: Bool { purpose == .writing }
  private var file: OpenFile?
  private var identity: [UInt64] = []
  private var pause = WritePause()

  init(_ replica: Replica, for purpose: Purpose) {
    self.replica = replica
    self.purpose = purpose
    self.executor = QueueExecutor("flotilla.gateway")
  }

  /// Lends the connection; what it does is ended once it takes too long, and not begun if its turn
  /// comes too late.
  @_semantics("optimize.sil.specialize.generic.never")
  func run<Result: Sendable>(
    until deadline: ContinuousClock.Instant? = nil,
    _ body: @Sendable (OpenFile) throws(Problem) -> Result
  ) throws(Problem) -> Result {
    let file = try reporting { () throws(SQLiteError) in try open() }
    let connection = file.connection
    let latest = ContinuousClock.now + Self.longest
    let end = min(latest, deadline ?? latest)
    if writes { try leaveLock(connection, until: end) }
    let rest = Int((end - .now) / .milliseconds(1))
    guard rest > 0 else {
      throw writes
        ? .later("locked", "others had the write lock of the database for too long")
        : .later("busy", "too many clients read at a time")
    }
    connection.setBusyTimeout(milliseconds: rest)
    // LIKE over a long text is one step.
    if purpose == .queries {
      QueryBounds.watch(connection, until: end)
    } else {
      connection.setWatch(every: 4) { .now < end }
    }
    defer {
      connection.setWatch(every: 0, nil)
      let now = ContinuousClock.now
      let held = file.end(at: now)
      if held > .zero { pause.wrote(for: held, until: now) }
    }
    return try body(file)
  }

  /// Waits while the write lock is left to the node, on the thread that is there for writing.
  private func leaveLock(
    _ connection: Connection, until end: ContinuousClock.Instant
  ) throws(Problem) {
    let now = ContinuousClock.now
    sleep(min(pause.rest(at: now), end - now))
    guard pause.looksAtFold() else { return }
    let latest = min(end, .now + WritePause.longestFold)
    var (seen, moved) = (Int64(0), ContinuousClock.now)
    while .now < latest {
      let waiting = try reporting { () throws(SQLiteError) in
        try replica.unfolded(on: connection)
      }
      if waiting != seen { (seen, moved) = (waiting, .now) }
      guard waiting > WritePause.backlog, .now - moved < WritePause.standstill else { return }
      sleep(.milliseconds(5))
    }
  }

  private func sleep(_ time: Duration) {
    if time > .zero { usleep(UInt32(clamping: Int(time / .microseconds(1)))) }
  }

  /// The connection; a new one if the file was replaced by another one, as a restore does.
  private func open() throws(SQLiteError) -> OpenFile {
    let found = identityNow
    if let file, found == identity { return file }
    file = nil
    let opened = try Connection(path: replica.path, mode: writes ? .readWrite : .readOnly)
    switch purpose {
    case .reading: break
    case .writing: try opened.execute("PRAGMA foreign_keys = ON")
    case .queries: try QueryBounds.set(on: opened)
    }
    let file = OpenFile(opened)
    (self.file, identity) = (file, found)
    return file
  }

  private var identityNow: [UInt64] {
    var status = stat()
    guard stat(replica.path, &status) == 0 else { return [] }
    return [UInt64(status.st_dev), UInt64(status.st_ino)]
  }
}

extension HTTPRequest {
  /// Until then rows are read and written for it: the time for its turn, and 5 s to do it.
  var deadline: ContinuousClock.Instant { arrival + turnTime + RowDesk.longest }
}

extension Problem {
  /// What SQLite's error means to a client.
  init(_ error: SQLiteError) {
    if error.isBusy {
      self = .locked
    } else if error.primary == 9 {
      // SQLITE_INTERRUPT: the watch has ended it.
      self = .later("too-slow", "this took longer than 5 s and was ended; nothing was changed")
    } else if error.isConstraint {
      self.init(409, "constraint", error.message)
    } else if error.primary == 20 {
      // SQLITE_MISMATCH: a text where the key is a rowid.
      self.init(400, "value", "a value has a type that its column does not take")
    } else if error.isTooBig {
      self.init(413, "too-large", "a value or row is too large for SQLite")
    } else if error.isFull {
      self = .diskFull
    } else if error.isReadOnly {
      self = .readOnly
    } else if error.primary == 1 || error.isSchemaChange {
      self.init(409, "sql", "SQLite says: \(error.message)")
    } else {
      self.init(500, "file", "the file cannot be read: \(error.message)")
    }
  }
}

/// Has errors of SQLite told as problems.
func reporting<Result>(_ body: () throws(SQLiteError) -> Result) throws(Problem) -> Result {
  do throws(SQLiteError) {
    return try body()
  } catch {
    throw Problem(error)
  }
}
