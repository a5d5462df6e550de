import Replication

extension Affinity {
  /// Whether a column of it may store a value as another one (sqlite.org/datatype3.html, 3):
  /// "A column with TEXT affinity stores all data using storage classes NULL, TEXT or BLOB." Where
  /// text may be a number to SQLite that is said of more than what it takes for one.
  func mayConvert(_ value: Replication.Value) -> Bool {
    switch (self, value) {
    case (.text, .integer), (.text, .real), (.real, .integer): true
    case (.integer, .real(let real)), (.numeric, .real(let real)): real == real.rounded()
    case (.integer, .text(let bytes)), (.numeric, .text(let bytes)), (.real, .text(let bytes)):
      Double(String(decoding: bytes, as: UTF8.self).trimmingSpaces) != nil
    default: false
    }
  }
}

extension String {
  /// Without the spaces around it that SQLite overlooks in a number.
  fileprivate var trimmingSpaces: Substring {
    let isSpace: (Character) -> Bool = { " \t\n\r\u{0B}\u{0C}".contains($0) || $0 == "\r\n" }
    guard let first = firstIndex(where: { !isSpace($0) }) else { return "" }
    let last = lastIndex { !isSpace($0) } ?? first
    return self[first...last]
  }
}
