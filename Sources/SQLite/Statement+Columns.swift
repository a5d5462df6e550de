import CSQLite

/// Columns of the current row, counted from 0.
extension Statement {
  package func integer(_ index: Int) -> Int64 { sqlite3_column_int64(handle, Int32(index)) }

  package func int(_ index: Int) -> Int { Int(sqlite3_column_int64(handle, Int32(index))) }

  package func isNull(_ index: Int) -> Bool {
    sqlite3_column_type(handle, Int32(index)) == SQLITE_NULL
  }

  /// The text of a column (malformed sequences repaired); nil for NULL.
  package func string(_ index: Int) -> String? {
    guard let text = sqlite3_column_text(handle, Int32(index)) else { return nil }
    let count = Int(sqlite3_column_bytes(handle, Int32(index)))
    return String(decoding: UnsafeBufferPointer(start: text, count: count), as: UTF8.self)
  }

  /// The bytes of a blob or text column; empty for NULL.
  package func bytes(_ index: Int) -> [UInt8] {
    let start = sqlite3_column_blob(handle, Int32(index))
    let count = Int(sqlite3_column_bytes(handle, Int32(index)))
    guard let start, count > 0 else { return [] }
    return [UInt8](UnsafeRawBufferPointer(start: start, count: count))
  }

  /// The length in bytes of a blob or text column, without copying it.
  package func byteCount(_ index: Int) -> Int {
    switch sqlite3_column_type(handle, Int32(index)) {
    case SQLITE_TEXT, SQLITE_BLOB: Int(sqlite3_column_bytes(handle, Int32(index)))
    default: 0
    }
  }

  /// True for a text, false for a blob, nil for anything else.
  package func isText(_ index: Int) -> Bool? {
    switch sqlite3_column_type(handle, Int32(index)) {
    case SQLITE_TEXT: true
    case SQLITE_BLOB: false
    default: nil
    }
  }

  /// Lends the bytes of a blob or text column as SQLite holds them: good until the next step.
  package func withBytes<Result>(
    _ index: Int, _ body: (UnsafeRawBufferPointer) -> Result
  ) -> Result {
    let start = sqlite3_column_blob(handle, Int32(index))
    let count = Int(sqlite3_column_bytes(handle, Int32(index)))
    return body(UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : count))
  }

  /// The value of a column where SQLite holds it.
  package enum Content {
    case null
    case integer(Int64)
    case real(Double)
    case text(UnsafeRawBufferPointer)
    case blob(UnsafeRawBufferPointer)
  }

  /// Lends the value of a column: good until the next step. SQLite is asked once, and by a way that
  /// takes no lock, for the connection has one user.
  package func content(_ index: Int) -> Content {
    guard let value = sqlite3_column_value(handle, Int32(index)) else { return .null }
    let kind = sqlite3_value_type(value)
    switch kind {
    case SQLITE_INTEGER: return .integer(sqlite3_value_int64(value))
    case SQLITE_FLOAT: return .real(sqlite3_value_double(value))
    case SQLITE_TEXT, SQLITE_BLOB:
      // The length first: it is that of UTF-8, and a text of UTF-16 becomes that for it, in the
      // place to which the pointer leads then (sqlite.org/c3ref/column_blob.html).
      let count = Int(sqlite3_value_bytes(value))
      let start = count == 0 ? nil : sqlite3_value_blob(value)
      let bytes = UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : count)
      return kind == SQLITE_TEXT ? .text(bytes) : .blob(bytes)
    default: return .null
    }
  }

  /// The value of a column in its own storage class.
  package func value(_ index: Int) -> Value {
    let i = Int32(index)
    switch sqlite3_column_type(handle, i) {
    case SQLITE_INTEGER: return .integer(sqlite3_column_int64(handle, i))
    case SQLITE_FLOAT: return .real(sqlite3_column_double(handle, i))
    case SQLITE_TEXT:
      // sqlite3_column_text first, then _bytes: "The safest policy is to invoke
      // sqlite3_column_text() followed by sqlite3_column_bytes()" (sqlite.org/c3ref/column_blob).
      guard let text = sqlite3_column_text(handle, i) else { return .text([]) }
      let count = Int(sqlite3_column_bytes(handle, i))
      return .text([UInt8](UnsafeBufferPointer(start: text, count: count)))
    case SQLITE_BLOB: return .blob(bytes(index))
    default: return .null
    }
  }

  /// Every value of the current row.
  package var row: [Value] { (0..<columnCount).map(value) }
}
