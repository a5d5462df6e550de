import SQLite
import Store

/// What lost, written again as any program would write it.
struct Restoration {
  let conflict: ConflictReport.Conflict
  let keyColumns: [String]

  /// What is written over, if that is not what stood when the conflict was noted. `isMoved`: it is
  /// written under another key, where no row may stand. `isParked`: what stands is held beside the
  /// table.
  func news(
    on connection: Connection, isMoved: Bool, isParked: Bool
  ) throws(SQLiteError) -> ConflictChange {
    var change = ConflictChange(id: conflict.id, state: Conflict.State.restored.rawValue)
    if isMoved {
      guard try standing(on: connection) == nil else {
        throw SQLiteError(code: 19, message: "another row has that key")
      }
      return change
    }
    change.isDelete = conflict.isDelete
    guard let present = try standing(on: connection) else {
      change.was_gone = conflict.winner?.deleted == false && !isParked
      return change
    }
    let isKnown = [conflict.winner?.row, conflict.loser?.row].contains { side in
      guard let side else { return false }
      return side.allSatisfy { column in
        present.first { isSameName($0.key, column.key) }?.value == column.value
      }
    }
    if !isKnown { change.replaced = present }
    change.isOverUnknown = conflict.winner?.isUnknown ?? (conflict.reason == "not-allowed")
    return change
  }

  /// By what the row is found: the key that it had then, of whatever columns the key is now.
  private var columns: [String] {
    keyColumns.allSatisfy { conflict.key[$0] != nil } ? keyColumns : conflict.key.keys.sorted()
  }

  private var condition: String {
    columns.map { "\(quoted($0)) = ?" }.joined(separator: " AND ")
  }

  private var keyValues: [SQLite.Value] { columns.map { conflict.key[$0]?.stored ?? .null } }

  /// Whether a row `c` of another table refers to this one, `p`.
  func isReferred(
    from child: String, by match: String, on connection: Connection
  ) throws(SQLiteError) -> Bool {
    let place = columns.map { "p.\(quoted($0)) = ?" }.joined(separator: " AND ")
    return try connection.row(
      """
      SELECT 1 FROM main.\(quoted(conflict.table)) AS p JOIN main.\(quoted(child)) AS c ON \(match)
      WHERE \(place) LIMIT 1
      """, keyValues) != nil
  }

  /// The row as it stands now, by column; nil if there is none.
  private func standing(on connection: Connection) throws(SQLiteError) -> [String: SQLValue]? {
    let statement = try connection.prepare(
      "SELECT * FROM main.\(quoted(conflict.table)) WHERE \(condition)")
    try statement.bind(keyValues)
    guard try statement.step() else { return nil }
    let names = (0..<statement.columnCount).map(statement.columnName)
    let row = Dictionary(
      zip(names, statement.row.map(SQLValue.init)), uniquingKeysWith: { first, _ in first })
    guard try !statement.step() else {
      throw SQLiteError(
        code: 19,
        message: "the key of the table has changed since, and several rows have its "
          + columns.joined(separator: ", "))
    }
    return row
  }

  /// The whole row as it is to stand, with what stands in columns that are younger than what is put
  /// back; nil if there is no row now, or is to be none.
  func merged(on connection: Connection) throws(SQLiteError) -> [String: SQLValue]? {
    guard let row = conflict.loser?.row, let stands = try standing(on: connection) else {
      return nil
    }
    let names = try columnNames(on: connection)
    guard row.keys.allSatisfy({ name in names.contains { isSameName($0, name) } }) else {
      return nil
    }
    return Dictionary(
      uniqueKeysWithValues: names.map { name in
        let new = row.first { isSameName($0.key, name) }?.value
        return (name, new ?? stands.first { isSameName($0.key, name) }?.value ?? .null)
      })
  }

  /// Those that can be written.
  private func columnNames(on connection: Connection) throws(SQLiteError) -> [String] {
    try connection.rows(
      "SELECT name FROM pragma_table_xinfo(?) WHERE hidden = 0", [.string(conflict.table)]
    ).compactMap { $0[0].string }
  }

  func write(on connection: Connection) throws(SQLiteError) {
    guard let row = conflict.loser?.row else {
      // What was not deleted and is not known is never taken for a delete.
      guard conflict.isDelete else {
        throw SQLiteError(code: 1, message: "what it said is not known here")
      }
      return try delete(on: connection)
    }
    let present = try columnNames(on: connection)
    let missing = row.keys.filter { name in !present.contains { isSameName($0, name) } }.sorted()
    guard missing.isEmpty else {
      throw SQLiteError(
        code: 1,
        message: "\(conflict.table) has changed since and has no column "
          + missing.joined(separator: ", "))
    }
    guard let stands = try standing(on: connection) else {
      return try OneRowWrite.insert(row, into: conflict.table).run(on: connection)
    }
    // The key, too, where it is spelled otherwise: a collation may take both for one. A column that
    // is younger than the version keeps what stands.
    let changed = row.keys.sorted().filter { name in
      !keyColumns.contains { isSameName($0, name) }
        || stands.first { isSameName($0.key, name) }?.value != row[name]
    }
    guard !changed.isEmpty else { return }
    let settings = changed.map { "\(quoted($0)) = ?" }.joined(separator: ", ")
    try OneRowWrite(
      verb: .update, table: conflict.table,
      rest: "main.\(quoted(conflict.table)) SET \(settings) WHERE \(condition)",
      values: changed.map { row[$0]?.stored ?? .null } + keyValues
    ).run(on: connection)
  }

  /// Takes the row out.
  func delete(on connection: Connection) throws(SQLiteError) {
    guard try standing(on: connection) != nil else { return }
    try OneRowWrite(
      verb: .delete, table: conflict.table,
      rest: "FROM main.\(quoted(conflict.table)) WHERE \(condition)", values: keyValues
    ).run(on: connection)
  }
}
