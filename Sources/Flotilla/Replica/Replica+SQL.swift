import Replication
import SQLite
import Store

extension Replica {
  /// Rows that a statement touched are shown up to this number.
  static let shownRows = 1_000

  /// Runs a statement here, as any program would, and gives the rows that it returned or touched:
  /// of those the first 1,000. Another program's lock is waited for, but no longer than `timeout`.
  ///
  /// An edit that this node may not make is refused before it is committed; another program's would
  /// be put back.
  public func sql(
    _ statement: String, timeout: Duration = .seconds(10)
  ) async throws(FlotillaError) -> SQLReport {
    try await write(
      statement, shownRows: Self.shownRows, patience: timeout, refusesPutBacks: true)
  }

  /// So long a statement waits for another program's lock, unless less was asked for.
  static let lockPatience: Duration = .seconds(10)

  /// Runs one statement with values for its question marks, and gives all rows that it touched.
  func write(
    _ statement: String, _ values: [SQLValue] = [], of row: RowStatement? = nil,
    shownRows: Int = .max, patience: Duration = Self.lockPatience, mayChange: Bool = true,
    refusesPutBacks: Bool = false
  ) async throws(FlotillaError) -> SQLReport {
    let replica = self
    try await takeInTables()
    return try await offPool { () throws(FlotillaError) in
      _ = try OpeningCheck(path: replica.path, sidecar: replica.sidecar).check()
      let report = try replica.run(
        statement, values.map(\.stored), of: row, shownRows: shownRows, patience: patience,
        mayChange: mayChange, refusesPutBacks: refusesPutBacks)
      let isEdit = ["UPDATE", "DELETE"].contains {
        statement.drop(while: \.isWhitespace).uppercased().hasPrefix($0)
      }
      if isEdit, report.changes == 0, report.touched.isEmpty {
        try replica.explainNothing(statement, values.map(\.stored))
      }
      return report
    }
  }

  /// Has rows put into tables that a program has just made, if some wait for them: else a
  /// statement would not find them, or write their keys anew.
  func takeInTables() async throws(FlotillaError) {
    let (path, sidecar) = (path, sidecar)
    let haveCome = try await offPool { () throws(FlotillaError) in
      let file = try OpeningCheck(path: path, sidecar: sidecar).check()
      return try reporting(path) { () throws(StoreError) in try TableSurvey.tablesHaveCome(in: file)
      }
    }
    guard haveCome else { return }
    _ = try await perform(.mark) { node async throws(FlotillaError) in try await node.mark() }
  }

  private func run(
    _ statement: String, _ values: [SQLite.Value], of row: RowStatement?, shownRows: Int,
    patience: Duration, mayChange: Bool, refusesPutBacks: Bool
  ) throws(FlotillaError) -> SQLReport {
    var refusal: FlotillaError?
    do {
      let connection = try openForStatements(patience: patience)
      let prepared = try prepare(statement, on: connection)
      if !mayChange { try checkQuery(prepared) }
      let kind = StatementKind(prepared.sql)
      try checkSense(kind)
      try prepared.bind(values)
      guard !prepared.isReadOnly else { return try run(prepared, on: connection) }
      // One transaction around it, so that what the triggers note can be read back; what cannot
      // run inside one (VACUUM, some PRAGMAs) runs alone.
      guard kind.isEdit else { return try run(prepared, on: connection) }
      return try connection.transaction { () throws(SQLiteError) in
        refusal = try row?.objection(on: connection)
        if let refusal { throw SQLiteError(code: 4, message: refusal.message) }
        let last = try lastJournalEntry(on: connection)
        let before = try ownEdits(on: connection)
        let changesBefore = connection.totalChanges
        var report = try run(prepared, on: connection)
        report.before = before
        if refusesPutBacks {
          refusal = try putBack(after: last, on: connection)
          if let refusal { throw SQLiteError(code: 4, message: refusal.message) }
        }
        let changes = connection.totalChanges - changesBefore
        guard try hasChanged(changes, after: last, report, on: connection) else { return report }
        report.touched = try touched(after: last, limit: shownRows, on: connection)
        return report
      }
    } catch {
      throw refusal ?? statementError(error)
    }
  }

  /// Runs one statement inside a transaction that is open: a query, or an edit of rows.
  func runInside(
    _ statement: String, _ values: [SQLValue], of row: RowStatement? = nil,
    on connection: Connection
  ) throws(FlotillaError) -> SQLReport {
    var refusal: FlotillaError?
    do throws(SQLiteError) {
      let prepared = try prepare(statement, on: connection)
      let kind = StatementKind(prepared.sql)
      let isQuery = prepared.isReadOnly && kind.objection == nil && kind.keyword != "PRAGMA"
      guard isQuery || kind.isEdit else {
        throw SQLiteError(
          code: 21, message: "\(kind.keyword) does not belong in a transaction of edits")
      }
      refusal = try row?.objection(on: connection)
      if let refusal { throw SQLiteError(code: 4, message: refusal.message) }
      try prepared.bind(values.map(\.stored))
      return try run(prepared, on: connection)
    } catch {
      throw refusal ?? statementError(error)
    }
  }

  func openForStatements(patience: Duration) throws(SQLiteError) -> Connection {
    let connection = try Connection(path: sidecar.database)
    connection.setBusyTimeout(
      milliseconds: Int(min(patience, Self.lockPatience).milliseconds))
    try connection.execute("PRAGMA foreign_keys = ON")
    return connection
  }

  private func prepare(
    _ statement: String, on connection: Connection
  ) throws(SQLiteError) -> Statement {
    let prepared = try connection.prepare(statement)
    try checkAlone(prepared)
    try checkOwners(prepared)
    return prepared
  }

  func statementError(_ error: SQLiteError) -> FlotillaError {
    guard error.missingOwnTable == nil,
      error.primary == 1 || error.isConstraint || error.primary == 20 || error.primary == 21
    else { return FlotillaError(error, path: path) }
    let isUnknown =
      error.message.hasPrefix("no such table: ") || error.message.hasPrefix("no such column: ")
      || error.message.contains(" has no column named ")
    return FlotillaError(
      .sql, "\(path): \(error.message)",
      remedy: isUnknown
        ? "Tables and columns are shown by: sqlite3 \(shellWord(path)) .schema" : nil)
  }

  /// Refuses a text of several statements: only the first would run.
  private func checkAlone(_ statement: Statement) throws(SQLiteError) {
    guard StatementKind.start(of: statement.tail).isEmpty else {
      throw SQLiteError(
        code: 21, message: "one statement at a time, please; nothing was run")
    }
  }

  /// The tables that a query reads, itself or through views.
  func tables(readBy query: String) async throws(FlotillaError) -> Set<String> {
    let replica = self
    return try await offPool { () throws(FlotillaError) in
      do throws(SQLiteError) {
        let connection = try Connection(path: replica.sidecar.database, mode: .readOnly)
        connection.setBusyTimeout(milliseconds: Int(Self.lockPatience.milliseconds))
        return try connection.tables(readBy: query)
      } catch {
        throw replica.statementError(error)
      }
    }
  }

  private func checkQuery(_ statement: Statement) throws(SQLiteError) {
    guard !statement.isReadOnly else { return }
    throw SQLiteError(
      code: 21,
      message: "a query asks for rows and changes nothing (save, update and remove do); "
        + "nothing was run")
  }

  private func checkSense(_ kind: StatementKind) throws(SQLiteError) {
    guard let objection = kind.objection else { return }
    throw SQLiteError(code: 21, message: objection)
  }

  /// Refuses to change what is Flotilla's own: capture would stop, or peers would lose count.
  private func checkOwners(_ statement: Statement) throws(SQLiteError) {
    let words = statement.sql.replacing(/'[^']*'/, with: "").lowercased()
    guard statement.isReadOnly || !words.contains("_flotilla_") else {
      throw SQLiteError(
        code: 21,
        message: "what is named _flotilla_… belongs to Flotilla; nothing was run (flotilla leave "
          + "takes it out of the file)")
    }
  }

  private func run(
    _ statement: Statement, on connection: Connection
  ) throws(SQLiteError) -> SQLReport {
    var rows: [[SQLValue]] = []
    while try statement.step() { rows.append(statement.row.map(SQLValue.init)) }
    let columns = (0..<statement.columnCount).map(statement.columnName)
    let changes = statement.isReadOnly ? 0 : connection.changes
    statement.reset()
    return SQLReport(
      columns: columns, rows: rows, changes: changes, returnedRows: !columns.isEmpty,
      isQuery: statement.isReadOnly)
  }

  /// Whether a statement changed anything but the journal: the triggers note a row before it is
  /// known whether `OR IGNORE` lets it be. Of an edit of a view `changes` knows nothing.
  private func hasChanged(
    _ changes: Int, after last: Int64, _ report: SQLReport, on connection: Connection
  ) throws(SQLiteError) -> Bool {
    guard report.changes == 0 else { return true }
    let noted = try connection.scalar(
      "SELECT count(*) FROM _flotilla_journal WHERE id > ?", [.integer(last)]
    ).integer
    return changes > Int(noted ?? 0)
  }

  func lastJournalEntry(on connection: Connection) throws(SQLiteError) -> Int64 {
    try connection.scalar("SELECT max(id) FROM _flotilla_journal").integer ?? 0
  }

  /// The number of the last own edit that was folded.
  func ownEdits(on connection: Connection) throws(SQLiteError) -> UInt64 {
    let edits = try connection.scalar(
      """
      SELECT seq FROM _flotilla_origin
      WHERE id = (SELECT value FROM _flotilla_meta WHERE name = 'origin')
      """)
    return UInt64(clamping: edits.integer ?? 0)
  }

  /// The rows that the triggers noted since, as they are now, each once; no more once they hold
  /// so many bytes.
  func touched(
    after last: Int64, limit: Int, bytes: Int = .max, on connection: Connection
  ) throws(SQLiteError) -> [TouchedRow] {
    var rows: [TouchedRow] = []
    var size = 0
    var seen: Set<TouchedRow.Name> = []
    var readings: [Int64: RowReading?] = [:]
    var last = last
    while rows.count < limit, size <= bytes {
      let entries = try Journal.read(after: last, limit: Self.shownRows, on: connection)
      guard let end = entries.last else { break }
      last = end.id
      for entry in entries where rows.count < limit && size <= bytes {
        if readings[entry.table] == nil {
          readings.updateValue(
            try RowReading.of(entry.table, on: connection), forKey: entry.table)
        }
        guard let row = try readings[entry.table]??.row(entry.key), seen.insert(row.name).inserted
        else { continue }
        rows.append(row)
        size += row.size
      }
    }
    return rows
  }

  /// The rows of these keys as they stand now.
  func standing(_ rows: [TouchedRow]) async throws(FlotillaError) -> [TouchedRow] {
    try await readingRows { readings throws(SQLiteError) in
      try rows.map { row throws(SQLiteError) in try readings.row(of: row.table, row.key) }
    }
  }

  /// The same of tables that may be gone: nil where one is.
  func standingIfThere(_ rows: [TouchedRow]) async throws(FlotillaError) -> [TouchedRow?] {
    try await readingRows { readings throws(SQLiteError) in
      try rows.map { row throws(SQLiteError) in
        try readings.hasTable(row.table) ? try readings.row(of: row.table, row.key) : nil
      }
    }
  }

  /// Verdicts with the rows that stand now, as far as they are known here.
  func standing(
    after verdicts: [OpenReplica.Judgement]
  ) async throws(FlotillaError) -> [OpenReplica.Judgement] {
    try await readingRows { readings throws(SQLiteError) in
      try verdicts.map { judgement throws(SQLiteError) in
        guard judgement.verdict != .unknown, try readings.hasTable(judgement.table) else {
          return judgement
        }
        var judgement = judgement
        judgement.standing = try readings.row(of: judgement.table, judgement.key)
        return judgement
      }
    }
  }

  /// Reads rows beside the node.
  private func readingRows<Result: Sendable>(
    _ body: @escaping @Sendable (inout RowReadings) throws(SQLiteError) -> Result
  ) async throws(FlotillaError) -> Result {
    let (path, file) = (path, sidecar.database)
    return try await offPool { () throws(FlotillaError) in
      do throws(SQLiteError) {
        let connection = try Connection(path: file)
        connection.setBusyTimeout(milliseconds: 10_000)
        var readings = RowReadings(connection: connection)
        return try body(&readings)
      } catch {
        throw FlotillaError(error, path: path)
      }
    }
  }
}

/// Looks rows of several tables up by their keys.
private struct RowReadings {
  let connection: Connection
  private var known: [String: RowReading] = [:]

  init(connection: Connection) { self.connection = connection }

  /// Whether there is a table of this name, with a key.
  func hasTable(_ name: String) throws(SQLiteError) -> Bool {
    try connection.row("SELECT 1 FROM pragma_table_info(?) WHERE pk > 0", [.string(name)]) != nil
  }

  /// A row as it is now, under the key that is asked for.
  mutating func row(
    of table: String, _ key: [String: SQLValue]
  ) throws(SQLiteError) -> TouchedRow {
    let reading =
      if let found = known[table] { found } else {
        try RowReading(table, on: connection)
      }
    known[table] = reading
    var row = try reading.row(reading.keys.map { key[$0]?.stored ?? .null })
    row.key = key
    return row
  }
}

/// Looks rows of one table up by their keys.
private struct RowReading {
  let table: String
  let keys: [String]
  private let statement: Statement

  init(_ table: String, on connection: Connection) throws(SQLiteError) {
    self.table = table
    keys = try connection.rows(
      "SELECT name FROM pragma_table_info(?) WHERE pk > 0 ORDER BY pk", [.string(table)]
    ).compactMap { $0[0].string }
    // A key may hold NULL.
    let condition = keys.map { "\(quoted($0)) IS ?" }.joined(separator: " AND ")
    statement = try connection.prepare(
      "SELECT * FROM main.\(quoted(table)) WHERE \(condition)")
  }

  /// Nil for a table of settings, or one that is not here.
  static func of(_ number: Int64, on connection: Connection) throws(SQLiteError) -> RowReading? {
    try Journal.bearer(of: number, on: connection).map { name throws(SQLiteError) in
      try RowReading(name, on: connection)
    }
  }

  /// The row with this key, under the key as it is there; the journal pads keys with NULL.
  func row(_ key: [SQLite.Value]) throws(SQLiteError) -> TouchedRow {
    defer { statement.reset() }
    try statement.bind(Array(key.prefix(keys.count)))
    let isThere = try statement.step()
    let columns = (0..<statement.columnCount).map(statement.columnName)
    let values = isThere ? statement.row.map(SQLValue.init) : nil
    var named = Dictionary(
      zip(keys, key.map(SQLValue.init)), uniquingKeysWith: { first, _ in first })
    for (column, value) in zip(columns, values ?? []) where named[column] != nil {
      named[column] = value
    }
    return TouchedRow(table: table, key: named, columns: columns, values: values)
  }
}

extension TouchedRow {
  /// What tells a row from others.
  fileprivate struct Name: Hashable {
    var table: String
    var key: [String: SQLValue]
  }

  fileprivate var name: Name { Name(table: table, key: key) }
}
