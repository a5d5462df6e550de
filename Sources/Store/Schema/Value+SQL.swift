import SQLite

extension Value {
  /// The value as an SQL literal, for stored SQL, which cannot have bound values.
  ///
  /// Only for values that were literals before: a text with a NUL character cannot be one.
  var sql: String {
    switch self {
    case .null: "NULL"
    case .integer(let integer): "\(integer)"
    case .real(let real): literal(real)
    case .text(let bytes): literal(String(decoding: bytes, as: UTF8.self))
    case .blob(let bytes): literal(bytes)
    }
  }
}
