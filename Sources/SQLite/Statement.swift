import CSQLite

/// One prepared statement; belongs to its connection and to that connection's isolation.
package final class Statement {
  let handle: OpaquePointer
  private let connection: OpaquePointer
  package let sql: String
  /// What stands after the first statement of the text; it is not run.
  package let tail: String
  /// True between the first step and the reset, so that the cache gives it to one user at a time.
  var isInUse = false
  /// Whether rows that wait for a table go into it first.
  var comesAfterRows = false

  init(_ sql: String, on connection: OpaquePointer, persistent: Bool) throws(SQLiteError) {
    var prepared: OpaquePointer?
    let flags = persistent ? UInt32(SQLITE_PREPARE_PERSISTENT) : 0
    var tail = ""
    let code = sql.withCString { text in
      var rest: UnsafePointer<CChar>?
      let code = sqlite3_prepare_v3(connection, text, -1, flags, &prepared, &rest)
      tail = rest.map { String(cString: $0) } ?? ""
      return code
    }
    guard code == SQLITE_OK else { throw SQLiteError(code, on: connection, sql: sql) }
    guard let prepared else {
      throw SQLiteError(code: SQLITE_MISUSE, message: "the statement is empty", sql: sql)
    }
    self.handle = prepared
    self.connection = connection
    self.sql = sql
    self.tail = tail
  }

  deinit { sqlite3_finalize(handle) }

  /// Advances to the next row; false when there is none.
  package func step() throws(SQLiteError) -> Bool {
    let code = sqlite3_step(handle)
    switch code {
    case SQLITE_ROW: return true
    case SQLITE_DONE: return false
    default: throw SQLiteError(code, on: connection, sql: sql, wasRunning: true)
    }
  }

  /// Ends the use of a statement that was lent.
  package func giveBack() {
    reset()
    isInUse = false
  }

  /// Makes the statement ready to run again, without its old values.
  ///
  /// The result is ignored: sqlite3_reset repeats the error that the step has already thrown.
  package func reset() {
    sqlite3_reset(handle)
    sqlite3_clear_bindings(handle)
  }

  package func bind(_ value: Value, at index: Int) throws(SQLiteError) {
    let i = Int32(index)
    let code: Int32
    switch value {
    case .null: code = sqlite3_bind_null(handle, i)
    case .integer(let integer): code = sqlite3_bind_int64(handle, i, integer)
    case .real(let real): code = sqlite3_bind_double(handle, i, real)
    case .text(let bytes):
      code = bytes.withUnsafeBufferPointer { buffer in
        buffer.withMemoryRebound(to: CChar.self) { text in
          // A nil pointer would bind NULL instead of an empty text.
          flotilla_bind_text(handle, i, text.baseAddress ?? emptyText, UInt64(text.count))
        }
      }
    case .blob(let bytes):
      if bytes.isEmpty {
        code = sqlite3_bind_zeroblob(handle, i, 0)
      } else {
        code = bytes.withUnsafeBytes {
          flotilla_bind_blob(handle, i, $0.baseAddress, UInt64($0.count))
        }
      }
    }
    guard code == SQLITE_OK else { throw SQLiteError(code, on: connection, sql: sql) }
  }

  /// Binds values while `body` runs; long ones are lent to SQLite, which else copies them.
  @inlinable package func binding<Result>(
    _ values: [Value], from first: Int = 0, _ body: () throws(SQLiteError) -> Result
  ) throws(SQLiteError) -> Result {
    for index in first..<values.count {
      if let bytes = values[index].longBytes {
        return try lending(bytes, at: index, of: values, body)
      }
      try bind(values[index], at: index + 1)
    }
    return try body()
  }

  /// The same from a long value on. Apart, for most statements have none.
  @inlinable @inline(never) package func lending<Result>(
    _ bytes: [UInt8], at index: Int, of values: [Value], _ body: () throws(SQLiteError) -> Result
  ) throws(SQLiteError) -> Result {
    try lending(bytes, isText: values[index].isText, at: index + 1) { () throws(SQLiteError) in
      try binding(values, from: index + 1, body)
    }
  }

  /// Lends the bytes of a text or blob to SQLite while `body` runs: it makes no copy of them.
  @inlinable package func lending<Result>(
    _ bytes: [UInt8], isText: Bool = false, at index: Int,
    _ body: () throws(SQLiteError) -> Result
  ) throws(SQLiteError) -> Result {
    try lending(bytes[...], isText: isText, at: index, body)
  }

  @inlinable package func lending<Result>(
    _ bytes: ArraySlice<UInt8>, isText: Bool = false, at index: Int,
    _ body: () throws(SQLiteError) -> Result
  ) throws(SQLiteError) -> Result {
    try bytes.withUnsafeBufferPointer { (buffer) throws(SQLiteError) in
      try lending(UnsafeRawBufferPointer(buffer), isText: isText, at: index, body)
    }
  }

  /// The same of bytes that stay where they are until `body` has run.
  @inlinable package func lending<Result>(
    _ bytes: UnsafeRawBufferPointer, isText: Bool = false, at index: Int,
    _ body: () throws(SQLiteError) -> Result
  ) throws(SQLiteError) -> Result {
    try lend(bytes, isText: isText, at: index)
    // What is lent must be given back before the bytes may move.
    defer { reset() }
    return try body()
  }

  package func bind(_ integer: Int64, at index: Int) throws(SQLiteError) {
    let code = sqlite3_bind_int64(handle, Int32(index), integer)
    guard code == SQLITE_OK else { throw SQLiteError(code, on: connection, sql: sql) }
  }

  package func lend(
    _ bytes: UnsafeRawBufferPointer, isText: Bool, at index: Int
  ) throws(SQLiteError) {
    // A nil pointer would bind NULL instead of what is empty.
    let start = bytes.baseAddress ?? UnsafeRawPointer(emptyText)
    let code = flotilla_lend(
      handle, Int32(index), start, UInt64(bytes.count), isText ? 1 : 0)
    guard code == SQLITE_OK else { throw SQLiteError(code, on: connection, sql: sql) }
  }

  package func bind(_ values: [Value]) throws(SQLiteError) {
    for (index, value) in values.enumerated() { try bind(value, at: index + 1) }
  }

  package var columnCount: Int { Int(sqlite3_column_count(handle)) }
  package var parameterCount: Int { Int(sqlite3_bind_parameter_count(handle)) }
  package var isReadOnly: Bool { sqlite3_stmt_readonly(handle) != 0 }

  package func columnName(_ index: Int) -> String {
    sqlite3_column_name(handle, Int32(index)).map { String(cString: $0) } ?? ""
  }
}

/// One empty, NUL-terminated text that lives as long as the program.
nonisolated(unsafe) private let emptyText: UnsafePointer<CChar> = {
  // Never written after this and never freed, so every thread may read it.
  let text = UnsafeMutablePointer<CChar>.allocate(capacity: 1)
  text.pointee = 0
  return UnsafePointer(text)
}()
