import Flotilla
import SQLite

/// A row as it stands in its table.
struct StoredRow: Sendable {
  let table: TableShape
  /// By the place of the column.
  let values: [Value]

  var key: [Value] { table.key.map { values[$0] } }

  /// The strong entity tag: a hash of what is stored, all columns of it. Two rows with one tag hold
  /// the same, whatever shows them and whichever edit has made them.
  var tag: String {
    var content: [UInt8] = []
    for (column, value) in zip(table.columns, values) {
      Self.add(Array(column.name.utf8), 5, to: &content)
      switch value {
      case .null: content.append(0)
      case .integer(let number):
        content.append(1)
        Self.add(UInt64(bitPattern: number), to: &content)
      case .real(let number):
        content.append(2)
        Self.add(number.bitPattern, to: &content)
      case .text(let bytes): Self.add(bytes, 3, to: &content)
      case .blob(let bytes): Self.add(bytes, 4, to: &content)
      }
    }
    return "\"\(Replica.fingerprint(content))\""
  }

  private static func add(_ number: UInt64, to content: inout [UInt8]) {
    for shift in stride(from: 56, through: 0, by: -8) {
      content.append(UInt8(truncatingIfNeeded: number >> UInt64(shift)))
    }
  }

  private static func add(_ bytes: [UInt8], _ tag: UInt8, to content: inout [UInt8]) {
    content.append(tag)
    add(UInt64(bytes.count), to: &content)
    content += bytes
  }

  /// The key as a part of a path; as `RowKey` reads it.
  var path: String {
    zip(table.keyColumns, key).map { column, value in
      RequestTarget.encoded(Self.text(of: value, in: column))
    }.joined(separator: ",")
  }

  private static func text(of value: Value, in column: TableShape.Column) -> [UInt8] {
    var form = RowText()
    switch value {
    case .integer(let number): return Array(String(number).utf8)
    case .text(let bytes):
      let text = String(validating: bytes, as: UTF8.self)
      // Clients take a dot as a part of a path for something else (RFC 3986, 5.2.4).
      guard let text, text != ".", text != "..",
        (try? SQLText.operand(text, of: column)) == value
      else {
        if text == nil { form.append(value, isUntyped: true) } else { form.append(text: bytes) }
        return form.bytes
      }
      return bytes
    case .real(let number) where number.isFinite: return Array(number.description.utf8)
    default:
      form.append(value, isUntyped: true)
      return form.bytes
    }
  }

  /// A row that is longer as JSON is not shown; nor are rows together that a write gives back.
  static let longest = 16 << 20

  func json() throws(Problem) -> [UInt8] {
    try Self.checkSize(of: values, in: table)
    var text = RowText()
    text.append(row: values, columns: table.columns)
    return text.bytes
  }

  /// How long it is as JSON, without the names of its columns.
  var size: Int { values.reduce(0) { $0 + RowText.size(of: $1) } }

  static func checkSize(of values: [Value], in table: TableShape) throws(Problem) {
    // Most rows are so short that nothing need be counted.
    let most = values.reduce(0) { sum, value in
      switch value {
      case .text(let bytes), .blob(let bytes): sum + 40 + 6 * bytes.count
      default: sum + 40
      }
    }
    guard most > longest else { return }
    let size = values.reduce(0) { $0 + RowText.size(of: $1) }
    guard size > longest else { return }
    throw Problem(
      422, "row-too-large",
      "a row of \(table.name) takes \(size) bytes as JSON, and \(longest) are shown",
      remedy: "Leave its large columns out: select=…")
  }
}

extension RowText {
  /// The long form of a text that would be read as something else.
  mutating func append(text: [UInt8]) {
    append("{\"text\":")
    append(quoted: text)
    append("}")
  }
}

/// The key of a row as a path names it: parts with commas between them, each encoded.
enum RowKey {
  static func read(_ part: String, of table: TableShape) throws(Problem) -> [Value] {
    let parts = part.split(separator: ",", omittingEmptySubsequences: false)
    guard parts.count == table.key.count else {
      let names = table.keyColumns.map(\.name).joined(separator: ",")
      throw .badRequest(
        "key", "the key of \(table.name) is \(names); a comma within a part is written %2C")
    }
    var values: [Value] = []
    for (part, column) in zip(parts, table.keyColumns) {
      values.append(try SQLText.operand(try RequestTarget.decoded(part), of: column))
    }
    return values
  }
}

extension TableShape {
  /// The row with this key, if there is one.
  func row(_ key: [Value], on connection: Connection) throws(Problem) -> StoredRow? {
    let sql = selection(of: key)
    let values = try reporting { () throws(SQLiteError) in
      try connection.row(sql.text, sql.values)
    }
    return values.map { StoredRow(table: self, values: $0) }
  }

  /// The query for it.
  func selection(of key: [Value]) -> SQLText {
    var sql = SQLText()
    sql.add("SELECT ")
    sql.add(columns: columns)
    sql.add(" FROM ")
    sql.add(table: self)
    sql.add(" WHERE ")
    sql.add(key: key, of: self)
    return sql
  }
}
