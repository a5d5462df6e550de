import Replication
import SQLite
import Store

/// Parked rows: put back by hand with other values, or given up.
extension Replica {
  /// A parked row by its name.
  public func parkedRow(_ id: String) async throws(FlotillaError) -> ConflictReport.Parked {
    let found = try await parkedRows(cutTo: nil, named: id)
    guard let row = found.first else { throw noneParked(id) }
    guard found.count == 1 else {
      throw FlotillaError(
        .refused, "two rows here are parked as \(id)",
        remedy: "Write the key of the one that you mean into its table with SQL; see them with "
          + "flotilla conflicts \(shellWord(path)) --parked")
    }
    return row
  }

  /// Puts a parked row into its table, as any program would, with other values in some columns.
  public func restoreParked(
    _ id: String, setting values: [String: SQLValue] = [:]
  ) async throws(FlotillaError) -> ParkedChange {
    let found = try await parkedRow(id)
    var row = found.row
    // Its author may not have every column that the table has here.
    let columns = try await withFile { store throws(StoreError) in
      store.tables.columns(of: found.table)
    }
    let known = columns + row.keys.filter { !columns.contains($0) }.sorted()
    for (name, value) in values {
      guard let column = known.first(where: { isSameName($0, name) }) else {
        throw FlotillaError(
          .refused, "\(found.table) has no column \(name)",
          remedy: "It has: \(known.joined(separator: ", "))")
      }
      row[column] = value
    }
    let written = row
    let isMoved = found.key.contains { written[$0.key] != found.row[$0.key] }
    try await change(found, isDeleted: isMoved) { connection throws(SQLiteError) in
      let columns = written.keys.sorted()
      let names = columns.map(quoted).joined(separator: ", ")
      let marks = columns.map { _ in "?" }.joined(separator: ", ")
      try connection.run(
        "INSERT INTO main.\(quoted(found.table))(\(names)) VALUES (\(marks))",
        columns.map { written[$0]?.stored ?? .null })
    }
    return ParkedChange(id: id, state: Conflict.State.restored.rawValue, row: written)
  }

  /// Deletes a parked row, on every machine.
  public func dismissParked(_ id: String) async throws(FlotillaError) -> ParkedChange {
    let found = try await parkedRow(id)
    try await change(found, isDeleted: true) { (_) throws(SQLiteError) in }
    return ParkedChange(id: id, state: Conflict.State.dismissed.rawValue, row: found.row)
  }

  private func change(
    _ found: ConflictReport.Parked, isDeleted: Bool,
    _ body: @escaping @Sendable (Connection) throws(SQLiteError) -> Void
  ) async throws(FlotillaError) {
    let (path, file) = (path, sidecar.database)
    guard Self.isKeptOut(found.why) else {
      throw FlotillaError(
        .table, "\(found.id) is not kept out by other rows (\(found.why))",
        remedy: "See: flotilla doctor \(shellWord(path))")
    }
    let (row, isAllowed) = try await withFile { store throws(StoreError) in
      var row: ParkedRow?
      try store.tableSurvey.eachParkedRow { one in
        if one.id == found.id { row = one }
        return row == nil
      }
      guard let row, case .refused = try store.permission(toWrite: row.key, of: row.table) else {
        return (row, true)
      }
      return (row, false)
    }
    guard let row else { throw noneParked(found.id) }
    guard isAllowed else {
      throw FlotillaError(
        .notAllowed, "this node may not write \(found.table)",
        remedy: "An admin can allow it: flotilla grant")
    }
    let wall = try await withFile { store throws(StoreError) in try NodeClock(store, .here).now.wall
    }
    try await offPool { () throws(FlotillaError) in
      do throws(SQLiteError) {
        let connection = try Connection(path: file)
        connection.setBusyTimeout(milliseconds: 10_000)
        try connection.execute("PRAGMA foreign_keys = ON")
        try connection.transaction { () throws(SQLiteError) in
          try body(connection)
          try row.giveUp(isDeleted: isDeleted, at: wall, on: connection)
        }
      } catch {
        throw FlotillaError(
          .sql, "\(found.id) cannot be put into \(found.table): \(error.message)",
          remedy: "It stays as it was. Give it other values: flotilla conflicts "
            + "\(shellWord(path)) restore \(found.id) --set COLUMN=VALUE")
      }
    }
  }

  private func noneParked(_ id: String) -> FlotillaError {
    FlotillaError(
      .refused, "no row here is parked as \(id)",
      remedy: "See: flotilla conflicts \(shellWord(path)) --parked")
  }

  /// Says where the row is if a statement has changed nothing because that row is parked.
  func explainNothing(
    _ statement: String, _ values: [SQLite.Value]
  ) throws(FlotillaError) {
    let file = sidecar.database
    guard let row = try? Self.parkedTarget(of: statement, values, in: file) else { return }
    let key = (row.key.values ?? []).map { value in
      switch value {
      case .text(let bytes): String(decoding: bytes, as: UTF8.self)
      case .integer(let number): "\(number)"
      case .real(let number): "\(number)"
      case .blob(let bytes): "of \(bytes.count) bytes"
      case .null: "NULL"
      }
    }.joined(separator: ", ")
    throw FlotillaError(
      .sql,
      "no row was changed: the row \(key) of \(row.table) is parked, so it is not in its table",
      remedy: "See: flotilla conflicts \(shellWord(path)) show \(row.id)")
  }

  /// A parked row that a statement would have changed if it were in its table; nil if there is
  /// none.
  ///
  /// A TEMP table of the same name, which SQLite takes before the one of the file, holds one parked
  /// row at a time, and the statement is run on that.
  private static func parkedTarget(
    of statement: String, _ values: [SQLite.Value], in file: String
  ) throws -> ParkedRow? {
    let store = try Store(path: file, inspects: false)
    let connection = try Connection(path: file, mode: .readOnly)
    let text = statement.lowercased()
    var (tried, hit): (Int, ParkedRow?) = (0, nil)
    try store.tableSurvey.eachParkedRow { row in
      guard isKeptOut(row.why), text.contains(row.table.lowercased()) else { return true }
      tried += 1
      // One that cannot be tried says nothing of the next.
      let isHit = try? wouldChange(row, statement, values, on: connection)
      if isHit == true { hit = row }
      return hit == nil && tried < mostTried
    }
    return hit
  }

  private static func wouldChange(
    _ row: ParkedRow, _ statement: String, _ values: [SQLite.Value], on connection: Connection
  ) throws -> Bool {
    let name = quoted(row.table)
    var isHit = false
    _ = try connection.attempt {
      try connection.execute("CREATE TEMP TABLE \(name) AS SELECT * FROM main.\(name) WHERE 0")
      let columns = row.values.map { quoted($0.name) }.joined(separator: ", ")
      let marks = row.values.map { _ in "?" }.joined(separator: ", ")
      try connection.run(
        "INSERT INTO temp.\(name)(\(columns)) VALUES (\(marks))", row.values.map(\.value.sqlite))
      isHit = try connection.run(statement, values) > 0
      return false
    }
    return isHit
  }

  private static let mostTried = 200

  /// Whether other rows keep it out of its table.
  static func isKeptOut(_ why: String) -> Bool {
    ["constraint", "reference", "parent"].contains(why)
  }
}

/// What was done with a parked row. JSON: `{id, state, row}`.
public struct ParkedChange: Codable, Sendable, Equatable {
  /// `p` and six digits.
  public var id: String
  /// `restored` or `dismissed`.
  public var state: String
  /// What was written, or given up, by column.
  public var row: [String: SQLValue]
}
