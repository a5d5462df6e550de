import Replication
import SQLite
import Store

/// What keeps a row out of its table, as the file is now: which constraint, and by which row.
final class Hindrance {
  let connection: Connection
  /// Of each table that was asked about: many rows of one table are.
  var uniqueIndexes: [String: [Index]] = [:]

  init(path: String) throws(SQLiteError) {
    connection = try Connection(path: path, mode: .readOnly)
    connection.setBusyTimeout(milliseconds: 1_000)
  }

  /// Nil if nothing is found, for instance because the place is free by now. A row that `isWaiting`
  /// for what it refers to may meet something else as well.
  func words(
    _ table: String, key: [String: SQLValue], row: [String: SQLValue]?, isWaiting: Bool = false
  ) throws(SQLiteError) -> String? {
    guard let row else { return try referring(to: table, key) }
    if let torn = try torn(key) { return torn }
    let reference = try dangling(table, row)
    var other = try missing(table, row)
    if other == nil { other = try taken(table, key, row) }
    if other == nil, isWaiting || reference == nil { other = refusal(table, row) }
    guard isWaiting else { return other ?? reference }
    let all = [reference, other.map { "also \($0)" }].compactMap(\.self)
    return all.isEmpty ? nil : all.joined(separator: "; ")
  }

  /// A text of the key that the file cannot hold.
  private func torn(_ key: [String: SQLValue]) throws(SQLiteError) -> String? {
    let names = key.filter { Replication.Value($0.value.stored).isTornByUTF16 }.keys
    guard let name = names.min(),
      try connection.scalar("PRAGMA main.encoding") != .string("UTF-8")
    else { return nil }
    return "\(name) is no text that a file in UTF-16 can hold"
  }

  /// A CHECK, or a type that a STRICT table does not take.
  private func refusal(_ table: String, _ row: [String: SQLValue]) -> String? {
    let values = row.sorted { $0.key < $1.key }.map { (column: $0.key, value: $0.value.stored) }
    let words = PlainCopy.refusal(of: values, by: table, on: connection)
    return words?.replacing("CHECK constraint failed: ", with: "CHECK ")
  }

  /// A column that takes no NULL: the row has one there, or says nothing of it.
  private func missing(
    _ table: String, _ row: [String: SQLValue]
  ) throws(SQLiteError) -> String? {
    let columns = try connection.rows(
      "SELECT name, dflt_value FROM pragma_table_info(?) WHERE \"notnull\"", [.string(table)])
    for column in columns {
      guard let name = column[0].string else { continue }
      let value = row.first { isSameName($0.key, name) }?.value
      if value == .null || value == nil && column[1] == .null { return "NOT NULL \(name)" }
    }
    return nil
  }

  /// The key of a row of which a condition holds and that is not the one with this key.
  func other(
    _ table: String, _ key: [String: SQLValue], _ condition: String, _ values: [SQLite.Value]
  ) throws(SQLiteError) -> String? {
    let columns = try connection.rows(
      "SELECT name FROM pragma_table_info(?) WHERE pk > 0 ORDER BY pk", [.string(table)])
    let names = columns.compactMap { $0[0].string }
    guard !names.isEmpty, names.allSatisfy({ key[$0] != nil }) else { return nil }
    let own = names.map { "\(quoted($0)) IS ?" }.joined(separator: " AND ")
    return try connection.row(
      """
      SELECT \(names.map(quoted).joined(separator: ", ")) FROM main.\(quoted(table))
      WHERE \(condition) AND NOT (\(own)) LIMIT 1
      """, values + names.map { key[$0]?.stored ?? .null }
    ).map(text)
  }

  /// The reference that leads nowhere.
  private func dangling(
    _ table: String, _ row: [String: SQLValue]
  ) throws(SQLiteError) -> String? {
    for reference in try references(of: table) {
      let values = reference.columns.compactMap { row[$0]?.stored }
      guard values.count == reference.columns.count, !values.contains(.null) else { continue }
      let condition = reference.parentColumns.map { "\(quoted($0)) = ?" }
        .joined(separator: " AND ")
      let parent = try connection.row(
        "SELECT 1 FROM main.\(quoted(reference.parent)) WHERE \(condition) LIMIT 1", values)
      if parent == nil {
        return "FOREIGN KEY \(reference.columns.joined(separator: ", ")): \(reference.parent) has "
          + "no row \(text(values))"
      }
    }
    return nil
  }

  /// A row that refers to one that was to be deleted.
  private func referring(
    to table: String, _ key: [String: SQLValue]
  ) throws(SQLiteError) -> String? {
    let tables = try connection.rows(
      "SELECT name FROM main.sqlite_schema WHERE type = 'table' ORDER BY name")
    for child in tables.compactMap({ $0[0].string }) {
      for reference in try references(of: child) where isSameName(reference.parent, table) {
        let values = reference.parentColumns.compactMap { key[$0]?.stored }
        guard values.count == reference.columns.count else { continue }
        let condition = reference.columns.map { "\(quoted($0)) = ?" }.joined(separator: " AND ")
        let row = try connection.row(
          "SELECT 1 FROM main.\(quoted(child)) WHERE \(condition) LIMIT 1", values)
        if row != nil { return "FOREIGN KEY: a row of \(child) refers to it" }
      }
    }
    return nil
  }

  private struct Reference {
    var parent: String
    var columns: [String] = []
    var parentColumns: [String] = []
  }

  /// None if the definition of the table needs what only its program has.
  private func references(of table: String) throws(SQLiteError) -> [Reference] {
    do throws(StoreError) {
      var found: [Reference] = []
      for key in try TableSchema.read(table, on: connection)?.foreignKeys ?? [] {
        var names = key.parentColumns
        if names.isEmpty, let parent = try TableSchema.read(key.parent, on: connection) {
          names = parent.key.map { parent.columns[$0].name }
        }
        found.append(Reference(parent: key.parent, columns: key.columns, parentColumns: names))
      }
      return found
    } catch {
      guard error.code == .schema else {
        throw error.cause ?? SQLiteError(code: 1, message: error.message)
      }
      return []
    }
  }

  private func text(_ values: [SQLite.Value]) -> String {
    values.map { value in
      switch value {
      case .null: "NULL"
      case .integer(let number): "\(number)"
      case .real(let number): "\(number)"
      case .text(let bytes): String(decoding: bytes.prefix(80), as: UTF8.self)
      case .blob(let bytes): "of \(bytes.count) bytes"
      }
    }.joined(separator: ", ")
  }
}
