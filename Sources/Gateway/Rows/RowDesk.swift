import Flotilla
import Glibc
import SQLite

/// One connection to the file of a replica, on a thread of its own.
///
/// A transaction begins and ends within one call: nothing is held open while a client is waited
/// for.
actor RowDesk {
  private let executor: QueueExecutor
  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  /// So long a statement may run, and so long it waits for another program's lock.
  static let longest: Duration = .seconds(5)

  private let replica: Replica
  private let writes: Bool
  private var connection: Connection?
  private var file: [UInt64] = []

  init(_ replica: Replica, writes: Bool) {
    self.replica = replica
    self.writes = writes
    self.executor = QueueExecutor("flotilla.gateway")
  }

  /// Lends the connection; what it does is ended once it takes too long, and not begun if its turn
  /// comes too late.
  func run<Result: Sendable>(
    until deadline: ContinuousClock.Instant? = nil,
    _ body: @Sendable (Connection) throws(Problem) -> Result
  ) throws(Problem) -> Result {
    let connection: Connection
    do throws(SQLiteError) {
      connection = try open()
    } catch {
      throw Problem(error)
    }
    let end = deadline ?? .now + Self.longest
    let rest = Int((end - .now) / .milliseconds(1))
    guard rest > 0 else {
      throw .later("locked", "others had the write lock of the database for too long")
    }
    connection.setBusyTimeout(milliseconds: rest)
    // LIKE over a long text is one step.
    connection.setWatch(every: 100) { .now < end }
    defer {
      connection.setWatch(every: 0, nil)
      connection.rollBack()
    }
    return try body(connection)
  }

  /// The connection; a new one if the file was replaced by another one, as a restore does.
  private func open() throws(SQLiteError) -> Connection {
    let file = identity
    if let connection, file == self.file { return connection }
    connection = nil
    let opened = try Connection(path: replica.path, mode: writes ? .readWrite : .readOnly)
    if writes { try opened.execute("PRAGMA foreign_keys = ON") }
    (connection, self.file) = (opened, file)
    return opened
  }

  private var identity: [UInt64] {
    var status = stat()
    guard stat(replica.path, &status) == 0 else { return [] }
    return [UInt64(status.st_dev), UInt64(status.st_ino)]
  }
}

extension Problem {
  /// What SQLite's error means to a client.
  init(_ error: SQLiteError) {
    if error.isBusy {
      self = .later("locked", "another program holds the write lock of the database")
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
      self.init(507, "disk-full", "the disk of the node is full; nothing was changed")
    } else if error.isReadOnly {
      self = .later("read-only", "the database cannot be written at present", seconds: 10)
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
