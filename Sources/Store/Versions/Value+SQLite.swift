import Replication
import SQLite

/// A value as it travels and a value as SQLite holds it are the same five classes.
extension Replication.Value {
  package init(_ value: SQLite.Value) {
    self =
      switch value {
      case .null: .null
      case .integer(let integer): .integer(integer)
      case .real(let real): .real(real)
      case .text(let bytes): .text(bytes)
      case .blob(let bytes): .blob(bytes)
      }
  }

  package var sqlite: SQLite.Value {
    switch self {
    case .null: .null
    case .integer(let integer): .integer(integer)
    case .real(let real): .real(real)
    case .text(let bytes): .text(bytes)
    case .blob(let bytes): .blob(bytes)
    }
  }
}
