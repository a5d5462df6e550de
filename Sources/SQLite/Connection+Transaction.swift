import CSQLite

extension Connection {
  package enum Transaction: String, Sendable {
    case deferred = "BEGIN"
    /// Takes the write lock at once, with the busy timeout; a deferred transaction that writes
    /// later fails immediately with SQLITE_BUSY_SNAPSHOT whatever the timeout is.
    case immediate = "BEGIN IMMEDIATE"
    case exclusive = "BEGIN EXCLUSIVE"
  }

  package static let commit = "COMMIT"

  /// Runs `body` in one transaction: commits if it returns, rolls back if it throws.
  package func transaction<Result>(
    _ kind: Transaction = .immediate, _ body: () throws(SQLiteError) -> Result
  ) throws(SQLiteError) -> Result {
    try run(kind.rawValue)
    isBound = true
    defer { isBound = false }
    do {
      let result = try body()
      try run(Self.commit)
      return result
    } catch {
      rollBack()
      throw error
    }
  }

  /// Runs `body` inside the open transaction; what it did is undone unless it returns true.
  package func attempt(_ body: () throws -> Bool) throws -> Bool {
    // What waits to be put in is not part of it.
    try flushQueues()
    try run("SAVEPOINT _flotilla_attempt")
    var isDone = false
    defer {
      // SQLite may have rolled the whole transaction back by itself.
      if !isDone { forgetQueues() }
      if !isDone, !isAutocommit {
        sqlite3_exec(handle, "ROLLBACK TO _flotilla_attempt", nil, nil, nil)
        sqlite3_exec(handle, "RELEASE _flotilla_attempt", nil, nil, nil)
      }
    }
    guard try body() else { return false }
    try flushQueues()
    try run("RELEASE _flotilla_attempt")
    isDone = true
    return true
  }

  /// Ends an open transaction without effect.
  ///
  /// SQLite may have rolled back by itself (disk full, I/O error): then nothing is open any more.
  package func rollBack() {
    forgetQueues()
    guard !isAutocommit else { return }
    sqlite3_exec(handle, "ROLLBACK", nil, nil, nil)
  }

  package enum Option: Sendable {
    case triggers
    case foreignKeys
    case defensive
    case trustedSchema
    case doubleQuotedStrings

    var codes: [Int32] {
      switch self {
      case .triggers: [SQLITE_DBCONFIG_ENABLE_TRIGGER]
      case .foreignKeys: [SQLITE_DBCONFIG_ENABLE_FKEY]
      case .defensive: [SQLITE_DBCONFIG_DEFENSIVE]
      case .trustedSchema: [SQLITE_DBCONFIG_TRUSTED_SCHEMA]
      case .doubleQuotedStrings: [SQLITE_DBCONFIG_DQS_DML, SQLITE_DBCONFIG_DQS_DDL]
      }
    }
  }

  /// Switches an option of this connection on or off.
  package func set(_ option: Option, to on: Bool) throws(SQLiteError) {
    for option in option.codes {
      let code = flotilla_db_config_set(handle, option, on ? 1 : 0)
      guard code == SQLITE_OK else { throw SQLiteError(code, on: handle) }
    }
  }

  /// Runs SQL as it is stored: with strings in double quotes, which were allowed when it was made.
  package func asStored<Result>(
    _ body: () throws(SQLiteError) -> Result
  ) throws(SQLiteError) -> Result {
    try set(.doubleQuotedStrings, to: true)
    let result: Result
    do {
      result = try body()
    } catch {
      try set(.doubleQuotedStrings, to: false)
      throw error
    }
    try set(.doubleQuotedStrings, to: false)
    return result
  }

  /// Ends the running statement of this connection; may be called from another thread.
  package func interrupt() { sqlite3_interrupt(handle) }

  /// A number that changes when *another* connection has changed the file.
  package func dataVersion() throws(SQLiteError) -> Int64 {
    try scalar("PRAGMA data_version").integer ?? 0
  }

  /// A number that changes with every change of the schema.
  package func schemaVersion() throws(SQLiteError) -> Int64 {
    try scalar("PRAGMA schema_version").integer ?? 0
  }

  /// SQLite's version, e.g. "3.40.1".
  package static var libraryVersion: String { String(cString: sqlite3_libversion()) }
}
