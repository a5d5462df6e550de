/// One value of a row as it travels: SQLite's five storage classes; text is bytes.
package enum Value: Sendable {
  case null
  case integer(Int64)
  case real(Double)
  case text([UInt8])
  case blob([UInt8])
}

extension Value: Hashable {
  /// Equal in class and bits: 1 and 1.0 differ, and so do 0.0 and −0.0.
  package static func == (left: Value, right: Value) -> Bool {
    switch (left, right) {
    case (.null, .null): true
    case (.integer(let a), .integer(let b)): a == b
    case (.real(let a), .real(let b)): a.bitPattern == b.bitPattern
    case (.text(let a), .text(let b)): a == b
    case (.blob(let a), .blob(let b)): a == b
    default: false
    }
  }

  package func hash(into hasher: inout Hasher) {
    switch self {
    case .null: hasher.combine(0)
    case .integer(let value): hasher.combine(value)
    case .real(let value): hasher.combine(value.bitPattern)
    case .text(let bytes): hasher.combine(bytes)
    case .blob(let bytes): hasher.combine(bytes)
    }
  }
}
