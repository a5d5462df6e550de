import Replication
import SQLite
import Store

extension Replica {
  /// Rows that a statement touched are shown up to this number.
  static let shownRows = 1_000

  /// Runs a statement here, as any program would, and gives the rows that it returned or touched.
  public func sql(_ statement: String) async throws(FlotillaError) -> SQLReport {
    let replica = self
    return try await offPool { () throws(FlotillaError) in
      _ = try OpeningCheck(path: replica.path, sidecar: replica.sidecar).check()
      return try replica.run(statement)
    }
  }

  /// Runs a statement with values for its question marks.
  func run(
    _ statement: String, _ values: [SQLite.Value] = []
  ) throws(FlotillaError) -> SQLReport {
    do {
      let connection = try Connection(path: sidecar.database)
      connection.setBusyTimeout(milliseconds: 10_000)
      try connection.execute("PRAGMA foreign_keys = ON")
      let prepared = try connection.prepare(statement)
      try checkAlone(prepared)
      let kind = StatementKind(prepared.sql)
      try checkSense(kind)
      try checkOwners(prepared)
      try prepared.bind(values)
      guard !prepared.isReadOnly else { return try run(prepared, on: connection) }
      // One transaction around it, so that what the triggers note can be read back; what cannot
      // run inside one (VACUUM, some PRAGMAs) runs alone.
      guard kind.isEdit else { return try run(prepared, on: connection) }
      return try connection.transaction { () throws(SQLiteError) in
        let last = try connection.scalar("SELECT max(id) FROM _flotilla_journal").integer ?? 0
        var report = try run(prepared, on: connection)
        report.touched = try touched(after: last, on: connection)
        return report
      }
    } catch {
      guard error.missingOwnTable == nil,
        error.primary == 1 || error.isConstraint || error.primary == 20 || error.primary == 21
      else { throw FlotillaError(error, path: path) }
      throw FlotillaError(.sql, "\(path): \(error.message)")
    }
  }

  /// Refuses a text of several statements: only the first would run.
  private func checkAlone(_ statement: Statement) throws(SQLiteError) {
    let rest = statement.tail.drop { $0.isWhitespace || $0 == ";" }
    guard rest.isEmpty || rest.hasPrefix("--") || rest.hasPrefix("/*") else {
      throw SQLiteError(
        code: 21, message: "one statement at a time, please; nothing was run")
    }
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
      columns: columns, rows: rows, changes: changes, returnedRows: !columns.isEmpty)
  }

  /// The rows that the triggers noted since, as they are now, each once.
  private func touched(
    after last: Int64, on connection: Connection
  ) throws(SQLiteError) -> [TouchedRow] {
    var rows: [TouchedRow] = []
    for entry in try Journal.read(after: last, limit: Self.shownRows, on: connection) {
      let name = try connection.scalar(
        "SELECT name FROM _flotilla_local WHERE id = ?", [.integer(entry.table)]
      ).string
      guard let name, name != "_flotilla_table" else { continue }
      let keys = try connection.rows(
        "SELECT name FROM pragma_table_info(?) WHERE pk > 0 ORDER BY pk", [.string(name)]
      ).compactMap { $0[0].string }
      let condition = keys.map { "\(quoted($0)) = ?" }.joined(separator: " AND ")
      let key = Array(entry.key.prefix(keys.count))
      let found = try connection.prepare(
        "SELECT * FROM main.\(quoted(name)) WHERE \(condition)")
      try found.bind(key)
      let isThere = try found.step()
      let row = TouchedRow(
        table: name,
        key: Dictionary(
          zip(keys, key.map(SQLValue.init)), uniquingKeysWith: { first, _ in first }),
        columns: (0..<found.columnCount).map(found.columnName),
        values: isThere ? found.row.map(SQLValue.init) : nil)
      if !rows.contains(row) { rows.append(row) }
    }
    return rows
  }

  /// The row of this key as it stands now.
  func standing(_ row: TouchedRow) async throws(FlotillaError) -> TouchedRow {
    let (path, file) = (path, sidecar.database)
    return try await offPool { () throws(FlotillaError) in
      do throws(SQLiteError) {
        let connection = try Connection(path: file)
        connection.setBusyTimeout(milliseconds: 10_000)
        let columns = row.key.keys.sorted()
        let condition = columns.map { "\(quoted($0)) IS ?" }.joined(separator: " AND ")
        let found = try connection.prepare(
          "SELECT * FROM main.\(quoted(row.table)) WHERE \(condition)")
        try found.bind(columns.map { row.key[$0]?.stored ?? .null })
        let isThere = try found.step()
        return TouchedRow(
          table: row.table, key: row.key,
          columns: (0..<found.columnCount).map(found.columnName),
          values: isThere ? found.row.map(SQLValue.init) : nil)
      } catch {
        throw FlotillaError(error, path: path)
      }
    }
  }
}
