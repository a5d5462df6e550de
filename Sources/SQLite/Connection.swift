import CSQLite
import Glibc

/// One connection to one database file; not `Sendable`: an actor or a queue must own it.
package final class Connection {
  package enum Mode: Sendable {
    case create
    case readWrite
    case readOnly
  }

  package let path: String
  let handle: OpaquePointer
  private var statements = StatementCache()
  /// Rows that go into their tables before a statement that names one of these.
  private var queues: [RowQueue] = []
  /// How many rows these have written.
  var queued = 0
  /// While this is set no statement runs outside of a transaction. After an error SQLite may have
  /// rolled back by itself, and what runs then would be committed at once.
  package var isBound = false
  /// What statements ask now and then whether to go on.
  fileprivate var watch: (() -> Bool)?
  /// What statements ask while they are prepared.
  var authorizer: ((Access, String?) -> Bool)?

  /// Opens a file, or `:memory:`. The first read tells whether it is a database at all.
  /// `vfs` names another file system than the machine's, as `sqlite3_vfs_register` knows it. Where
  /// links are not followed, none may be in the path, nor in that of what is attached.
  package init(
    path: String, mode: Mode = .readWrite, vfs: String? = nil, followsLinks: Bool = true
  ) throws(SQLiteError) {
    var opened: OpaquePointer?
    // NOMUTEX: the owner's isolation serialises every call.
    let flags =
      SQLITE_OPEN_NOMUTEX | (followsLinks ? 0 : SQLITE_OPEN_NOFOLLOW)
      | {
        switch mode {
        case .create: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
        case .readWrite: SQLITE_OPEN_READWRITE
        case .readOnly: SQLITE_OPEN_READONLY
        }
      }()
    let code = sqlite3_open_v2(path, &opened, flags, vfs)
    guard code == SQLITE_OK, let opened else {
      let error = SQLiteError(code, on: opened)
      sqlite3_close_v2(opened)
      throw error
    }
    self.path = path
    self.handle = opened
    sqlite3_extended_result_codes(opened, 1)
  }

  deinit {
    statements = StatementCache()
    sqlite3_close_v2(handle)
  }

  /// How long a call waits for another program's lock.
  package func setBusyTimeout(milliseconds: Int) {
    sqlite3_busy_timeout(handle, Int32(clamping: milliseconds))
  }

  /// Has every statement ask, after so many steps of SQLite's machine each time, whether it is to
  /// go on: the answer false ends it with an error (sqlite.org/c3ref/progress_handler.html).
  package func setWatch(every steps: Int, _ goesOn: (() -> Bool)?) {
    watch = goesOn
    let owner = Unmanaged.passUnretained(self).toOpaque()
    sqlite3_progress_handler(
      handle, goesOn == nil ? 0 : Int32(clamping: steps),
      { owner in
        guard let owner else { return 0 }
        let connection = Unmanaged<Connection>.fromOpaque(owner).takeUnretainedValue()
        return connection.watch?() == false ? 1 : 0
      }, owner)
  }

  /// Runs a script of one or more statements and ignores any rows.
  package func execute(_ sql: String) throws(SQLiteError) {
    try requireTransaction()
    try flushQueues()
    let code = sqlite3_exec(handle, sql, nil, nil, nil)
    guard code == SQLITE_OK else { throw SQLiteError(code, on: handle, sql: sql) }
  }

  /// A statement of its own, not from the cache.
  package func prepare(_ sql: String) throws(SQLiteError) -> Statement {
    try flushQueues()
    return try Statement(sql, on: handle, persistent: false)
  }

  /// The queue into a table, which is this one unless there is one already.
  package func queue(_ new: RowQueue) -> RowQueue {
    if let known = queues.first(where: { $0.table == new.table }) { return known }
    queues.append(new)
    // Which of them name the table is found out as they are prepared.
    statements.clear()
    return new
  }

  /// A transaction, or an attempt in it, ends without what waits.
  func forgetQueues() { for queue in queues { queue.forget() } }

  /// Whether a statement comes after the rows that wait.
  private func comesAfterRows(_ sql: String) -> Bool {
    sql == Self.commit
      || queues.contains { queue in
        sql.withCString { sql in queue.table.withCString { strstr(sql, $0) != nil } }
      }
  }

  /// Lends a cached statement to `body`, with values bound, and resets it afterwards.
  ///
  /// Only SQL of few texts belongs here. Which columns a row brings along its author decides, so
  /// the cache is emptied before it grows without end.
  @inlinable package func with<Result>(
    _ sql: String, _ values: [Value] = [],
    _ body: (Statement) throws(SQLiteError) -> Result
  ) throws(SQLiteError) -> Result {
    let statement = try lend(sql)
    defer { statement.giveBack() }
    if values.isEmpty { return try body(statement) }
    return try statement.binding(values) { () throws(SQLiteError) in try body(statement) }
  }

  /// A statement that nobody uses, until it is given back.
  package func lend(_ sql: String) throws(SQLiteError) -> Statement {
    try requireTransaction()
    let cached = statements.find(sql)
    if let cached, !cached.isInUse {
      if cached.comesAfterRows { try flushQueues() }
      cached.isInUse = true
      return cached
    }
    let statement = try Statement(sql, on: handle, persistent: true)
    statement.comesAfterRows = comesAfterRows(sql)
    if statement.comesAfterRows { try flushQueues() }
    if cached == nil { statements.add(statement) }
    statement.isInUse = true
    return statement
  }

  /// Puts rows that wait into their tables.
  package func flushQueues() throws(SQLiteError) {
    for queue in queues where !queue.isEmpty { try queue.flush(on: self) }
  }

  private func requireTransaction() throws(SQLiteError) {
    guard isBound, isAutocommit else { return }
    throw SQLiteError(
      code: SQLITE_INTERNAL, message: "SQLite has rolled the transaction back by itself")
  }

  /// Runs one statement to its end; gives the number of rows changed.
  @discardableResult
  package func run(_ sql: String, _ values: [Value] = []) throws(SQLiteError) -> Int {
    try with(sql, values) { (statement) throws(SQLiteError) in
      while try statement.step() {}
      return changes
    }
  }

  /// Every row of a query.
  package func rows(_ sql: String, _ values: [Value] = []) throws(SQLiteError) -> [[Value]] {
    try with(sql, values) { (statement) throws(SQLiteError) in
      var rows: [[Value]] = []
      while try statement.step() { rows.append(statement.row) }
      return rows
    }
  }

  /// The first column of a query, of which the whole is in memory: 8 bytes a row.
  package func integers(_ sql: String, _ values: [Value] = []) throws(SQLiteError) -> [Int64] {
    try with(sql, values) { (statement) throws(SQLiteError) in
      var all: [Int64] = []
      while try statement.step() { all.append(statement.integer(0)) }
      return all
    }
  }

  /// The first row of a query, or nil.
  package func row(_ sql: String, _ values: [Value] = []) throws(SQLiteError) -> [Value]? {
    try with(sql, values) { (statement) throws(SQLiteError) in
      try statement.step() ? statement.row : nil
    }
  }

  /// The first value of the first row, or NULL.
  package func scalar(_ sql: String, _ values: [Value] = []) throws(SQLiteError) -> Value {
    try row(sql, values)?.first ?? .null
  }

  /// The name of the collation with which a column of a table of the main schema was declared.
  package func collation(of column: String, in table: String) throws(SQLiteError) -> String {
    var name: UnsafePointer<CChar>?
    let code = sqlite3_table_column_metadata(
      handle, "main", table, column, nil, &name, nil, nil, nil)
    guard code == SQLITE_OK else { throw SQLiteError(code, on: handle) }
    return name.map { String(cString: $0) } ?? "BINARY"
  }

  /// Forgets the prepared statements; before closing and after a change of the schema.
  package func clearStatements() {
    statements.clear()
  }

  package var changes: Int { Int(sqlite3_changes64(handle)) }
  package var totalChanges: Int { Int(sqlite3_total_changes64(handle)) }
  /// The same without rows that have waited.
  package var changesBesideQueues: Int { totalChanges - queued }
  package var lastInsertRowID: Int64 { sqlite3_last_insert_rowid(handle) }
  /// False while a transaction is open.
  package var isAutocommit: Bool { sqlite3_get_autocommit(handle) != 0 }

  /// True if no transaction is open and no statement stands on a row.
  package var isIdle: Bool {
    var statement = sqlite3_next_stmt(handle, nil)
    while let one = statement, sqlite3_stmt_busy(one) == 0 {
      statement = sqlite3_next_stmt(handle, one)
    }
    return isAutocommit && statement == nil
  }
}
