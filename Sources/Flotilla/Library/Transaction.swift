import SQLite

/// Several writes that are committed together, and what is read between them
/// (`OpenReplica.transaction`). It ends with the closure that it was given to.
public final class Transaction {
  private let replica: Replica
  private let connection: Connection
  fileprivate var isOver = false

  fileprivate init(_ replica: Replica, on connection: Connection) {
    self.replica = replica
    self.connection = connection
  }

  /// Adds a row, as `OpenReplica.save`.
  public func save(_ row: [String: SQLValue], in table: String) throws(FlotillaError) {
    try write(.save(row, in: table))
  }

  /// Changes columns of the row with this key; a row that is not there is an error.
  public func update(
    _ table: String, key: [String: SQLValue], set values: [String: SQLValue]
  ) throws(FlotillaError) {
    try write(.update(table, key: key, set: values))
  }

  /// Removes the row with this key; a row that is not there is an error.
  public func remove(_ table: String, key: [String: SQLValue]) throws(FlotillaError) {
    try write(.remove(table, key: key))
  }

  /// Runs one statement with values for its question marks: a query, or an edit in SQL.
  @discardableResult
  public func run(
    _ statement: String, _ values: [SQLValue] = []
  ) throws(FlotillaError) -> SQLReport {
    try run(statement, values, of: nil)
  }

  /// The keys of the tables that a query reads.
  package func keys(readBy query: String) throws(FlotillaError) -> KeyColumns {
    do throws(SQLiteError) {
      return try KeyColumns(of: try connection.tables(readBy: query), on: connection)
    } catch {
      throw replica.statementError(error)
    }
  }

  private func run(
    _ statement: String, _ values: [SQLValue], of row: RowStatement?
  ) throws(FlotillaError) -> SQLReport {
    guard !isOver else {
      throw FlotillaError(.usage, "this transaction is over; nothing of it is kept")
    }
    // ON CONFLICT ROLLBACK, RAISE(ROLLBACK): SQLite has undone what came before, too.
    defer { if connection.isAutocommit { isOver = true } }
    return try replica.runInside(statement, values, of: row, on: connection)
  }

  private func write(_ row: RowStatement) throws(FlotillaError) {
    guard try run(row.sql, row.values, of: row).changes > 0 else { throw row.missing }
  }
}

extension OpenReplica {
  /// Runs `body` in one transaction of the file. What it writes is committed when it returns, all
  /// of it; if it throws, nothing is. Other programs cannot write meanwhile: it should not wait.
  /// The receipt tells of the first 10,000 rows.
  public func transaction<Result: Sendable>(
    _ body: @escaping @Sendable (Transaction) throws -> Result
  ) async throws -> (result: Result, receipt: Receipt) {
    let edit = try await replica.transact(body)
    return (edit.result, await receipt(edit.touched, after: edit.before))
  }
}

extension Replica {
  /// Of so many rows of a transaction its receipt tells.
  private static let mostTold = 10_000

  fileprivate struct Transacted<Result: Sendable>: Sendable {
    var result: Result
    var touched: [TouchedRow]
    /// The last own edit that was folded before.
    var before: UInt64
  }

  fileprivate func transact<Result: Sendable>(
    _ body: @escaping @Sendable (Transaction) throws -> Result
  ) async throws -> Transacted<Result> {
    try await takeInTables()
    let replica = self
    return try await offPool { Swift.Result { try replica.transactHere(body) } }.get()
  }

  private func transactHere<Result: Sendable>(
    _ body: (Transaction) throws -> Result
  ) throws -> Transacted<Result> {
    _ = try OpeningCheck(path: path, sidecar: sidecar).check()
    do {
      let connection = try openForStatements(patience: Self.lockPatience)
      let transaction = Transaction(self, on: connection)
      defer { transaction.isOver = true }
      try connection.execute("BEGIN IMMEDIATE")
      defer { connection.rollBack() }
      let last = try lastJournalEntry(on: connection)
      let before = try ownEdits(on: connection)
      let result = try body(transaction)
      guard !transaction.isOver else {
        throw FlotillaError(.sql, "\(path): a statement has rolled the transaction back")
      }
      let rows = try touched(after: last, limit: Self.mostTold, on: connection)
      try connection.execute("COMMIT")
      return Transacted(result: result, touched: rows, before: before)
    } catch let error as SQLiteError {
      throw statementError(error)
    }
  }
}
