import CMariaDB
import SQLite

/// A prepared statement of a server: values go in and out as bits, never as text of SQL.
final class ServerStatement {
  private let handle: UnsafeMutablePointer<MYSQL_STMT>
  private let parameters: Int
  private let columns: [Column]
  var width: Int { columns.count }

  /// How a column of the result is read.
  private enum Column: Equatable {
    case integer(isUnsigned: Bool)
    case real
    case text
    case bytes
  }

  /// Of what kind the values of a column are, as they come from the library.
  enum Shape {
    case integer
    case real
    case text
    case bytes
  }

  /// What the server says of a column of a result: another one after most ALTERs.
  struct Description: Equatable {
    let type: UInt32
    let flags: UInt32
    let length: UInt
    let decimals: UInt32
  }

  /// Runs it for nothing but what the server says of the columns of its result.
  func describe() throws(ServerError) -> [Description] {
    _ = try run([[]], asArray: false)
    defer { mysql_stmt_free_result(handle) }
    guard let result = mysql_stmt_result_metadata(handle) else { return [] }
    defer { mysql_free_result(result) }
    return (0..<mysql_num_fields(result)).compactMap { number in
      mysql_fetch_field_direct(result, number).map {
        Description(
          type: $0.pointee.type.rawValue, flags: $0.pointee.flags, length: $0.pointee.length,
          decimals: $0.pointee.decimals)
      }
    }
  }

  var shapes: [Shape] {
    columns.map { column in
      switch column {
      case .integer: .integer
      case .real: .real
      case .text: .text
      case .bytes: .bytes
      }
    }
  }

  init(_ sql: String, on connection: UnsafeMutablePointer<MYSQL>) throws(ServerError) {
    guard let made = mysql_stmt_init(connection) else { throw .own("no memory for a statement") }
    guard mysql_stmt_prepare(made, sql, UInt(sql.utf8.count)) == 0 else {
      let error = Self.error(of: made)
      mysql_stmt_close(made)
      throw error
    }
    handle = made
    parameters = Int(mysql_stmt_param_count(made))
    columns = Self.columns(of: made)
  }

  /// Those of its result, as the server had them last: a statement that is kept is prepared anew
  /// there after an ALTER, and what its columns were read as before would be coerced.
  private static func columns(of statement: UnsafeMutablePointer<MYSQL_STMT>) -> [Column] {
    guard let result = mysql_stmt_result_metadata(statement) else { return [] }
    defer { mysql_free_result(result) }
    return (0..<mysql_num_fields(result)).compactMap { number in
      mysql_fetch_field_direct(result, number).map { column($0.pointee) }
    }
  }

  deinit { mysql_stmt_close(handle) }

  private static func error(of handle: UnsafeMutablePointer<MYSQL_STMT>) -> ServerError {
    ServerError(
      code: mysql_stmt_errno(handle), message: String(cString: mysql_stmt_error(handle)))
  }

  private var error: ServerError { Self.error(of: handle) }

  /// "charsetnr 63 is binary": bytes without a character set (mariadb.com, "MYSQL_FIELD").
  private static func column(_ field: MYSQL_FIELD) -> Column {
    switch field.type {
    case MYSQL_TYPE_TINY, MYSQL_TYPE_SHORT, MYSQL_TYPE_LONG, MYSQL_TYPE_INT24,
      MYSQL_TYPE_LONGLONG, MYSQL_TYPE_YEAR:
      .integer(isUnsigned: field.flags & UInt32(UNSIGNED_FLAG) != 0)
    case MYSQL_TYPE_FLOAT, MYSQL_TYPE_DOUBLE: .real
    case MYSQL_TYPE_STRING, MYSQL_TYPE_VAR_STRING, MYSQL_TYPE_BLOB, MYSQL_TYPE_TINY_BLOB,
      MYSQL_TYPE_MEDIUM_BLOB, MYSQL_TYPE_LONG_BLOB, MYSQL_TYPE_VARCHAR:
      field.charsetnr == 63 ? .bytes : .text
    default: .text
    }
  }

  /// Executes it for the rows; gives how many rows it found.
  func run(_ rows: [[Value]], asArray: Bool) throws(ServerError) -> Int {
    guard rows.allSatisfy({ $0.count == parameters }) else { throw Self.otherValues }
    return try run(ParameterBlock(rows, columns: parameters), asArray: asArray)
  }

  /// The same for rows that lie where the library reads them.
  func run(_ block: ParameterBlock, asArray: Bool) throws(ServerError) -> Int {
    guard block.columns == parameters else { throw Self.otherValues }
    mysql_stmt_free_result(handle)
    guard flotilla_mysql_set_array(handle, asArray ? UInt32(block.count) : 0) == 0 else {
      throw error
    }
    if parameters > 0 {
      guard mysql_stmt_bind_param(handle, block.bound(asArray: asArray)) == 0 else { throw error }
    }
    // The library reads the block until it has been sent.
    let code = withExtendedLifetime(block) { mysql_stmt_execute(handle) }
    guard code == 0 else { throw error }
    guard Self.columns(of: handle) == columns else {
      mysql_stmt_free_result(handle)
      throw ServerError.otherColumns
    }
    return columns.isEmpty ? Int(clamping: mysql_stmt_affected_rows(handle)) : 0
  }

  private static let otherValues = ServerError.own(
    "the server wants other values than the statement has")

  /// Texts up to this length are read in one go.
  private static let room = 512

  /// Reads the rows of the result as they come.
  func fetch(_ body: ([Value]) throws(ServerError) -> Void) throws(ServerError) {
    guard !columns.isEmpty else { return }
    let room = columns.count * Self.room
    let buffer = UnsafeMutableRawPointer.allocate(byteCount: room, alignment: 16)
    let lengths = UnsafeMutablePointer<UInt>.allocate(capacity: columns.count)
    let flags = UnsafeMutablePointer<my_bool>.allocate(capacity: 2 * columns.count)
    let binds = UnsafeMutablePointer<MYSQL_BIND>.allocate(capacity: columns.count)
    lengths.initialize(repeating: 0, count: columns.count)
    flags.initialize(repeating: 0, count: 2 * columns.count)
    defer {
      mysql_stmt_free_result(handle)
      buffer.deallocate()
      lengths.deallocate()
      flags.deallocate()
      binds.deallocate()
    }
    for (number, column) in columns.enumerated() {
      let (type, isUnsigned) = Self.type(of: column)
      flotilla_mysql_result(
        binds + number, Int32(type.rawValue), isUnsigned ? 1 : 0, buffer + number * Self.room,
        UInt(Self.room), lengths + number, flags + 2 * number, flags + 2 * number + 1)
    }
    guard mysql_stmt_bind_result(handle, binds) == 0 else { throw error }
    while true {
      let code = mysql_stmt_fetch(handle)
      if code == MYSQL_NO_DATA { return }
      guard code == 0 || code == MYSQL_DATA_TRUNCATED else { throw error }
      var row: [Value] = []
      row.reserveCapacity(columns.count)
      for number in columns.indices {
        guard flags[2 * number] == 0 else {
          row.append(.null)
          continue
        }
        row.append(
          try value(number, at: buffer + number * Self.room, length: Int(clamping: lengths[number]))
        )
      }
      try body(row)
    }
  }

  private static func type(of column: Column) -> (enum_field_types, isUnsigned: Bool) {
    switch column {
    case .integer(let isUnsigned): (MYSQL_TYPE_LONGLONG, isUnsigned)
    case .real: (MYSQL_TYPE_DOUBLE, false)
    case .text: (MYSQL_TYPE_STRING, false)
    case .bytes: (MYSQL_TYPE_BLOB, false)
    }
  }

  private func value(
    _ number: Int, at place: UnsafeMutableRawPointer, length: Int
  ) throws(ServerError) -> Value {
    switch columns[number] {
    case .integer(isUnsigned: false): return .integer(place.load(as: Int64.self))
    case .integer(isUnsigned: true):
      // One that is no integer of SQLite is told by its digits.
      let value = place.load(as: UInt64.self)
      return Int64(exactly: value).map(Value.integer) ?? .string(String(value))
    case .real: return .real(place.load(as: Double.self))
    case .text: return .text(try bytes(number, at: place, length: length))
    case .bytes: return .blob(try bytes(number, at: place, length: length))
    }
  }

  private func bytes(
    _ number: Int, at place: UnsafeMutableRawPointer, length: Int
  ) throws(ServerError) -> [UInt8] {
    if length <= Self.room {
      return [UInt8](UnsafeRawBufferPointer(start: place, count: length))
    }
    var (long, written): ([UInt8], UInt) = ([UInt8](repeating: 0, count: length), 0)
    var code: Int32 = 0
    let (type, _) = Self.type(of: columns[number])
    long.withUnsafeMutableBytes { room in
      var bind = MYSQL_BIND()
      withUnsafeMutablePointer(to: &written) { written in
        flotilla_mysql_result(
          &bind, Int32(type.rawValue), 0, room.baseAddress, UInt(length), written, nil, nil)
        code = mysql_stmt_fetch_column(handle, &bind, UInt32(number), 0)
      }
    }
    guard code == 0 else { throw error }
    return long
  }
}

extension Value {
  /// How many bytes a text or blob has.
  var byteCount: Int {
    switch self {
    case .text(let bytes), .blob(let bytes): bytes.count
    default: 0
    }
  }
}
