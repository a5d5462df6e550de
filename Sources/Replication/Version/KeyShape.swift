/// What SQLite makes of a value that is put into a key column: '7' stays a text in one column and
/// is a number in another (sqlite.org/datatype3.html, section 3).
package enum KeyAffinity: UInt8, Sendable {
  case none = 0
  case text = 1
  case numeric = 2
  case integer = 3
  case real = 4
}

/// What makes keys of one table comparable: the columns of its key, in their order.
///
/// `PRIMARY KEY(a)` and `PRIMARY KEY(a, b)` give one row two identities. So versions of another
/// shape than that of the local table are kept and passed on, and nobody looks into their keys.
package struct KeyShape: Sendable, Hashable {
  package struct Column: Sendable, Hashable {
    package let name: String
    package let affinity: KeyAffinity
    package let collation: KeyCollation
    /// As SQLite compares names.
    private let folded: [UInt8]

    package init(name: String, affinity: KeyAffinity, collation: KeyCollation) {
      (self.name, self.affinity, self.collation) = (name, affinity, collation)
      self.folded = Array(KeyCollation.nocase.canonical(Array(name.utf8)))
    }

    package static func == (left: Column, right: Column) -> Bool {
      left.folded == right.folded && left.affinity == right.affinity
        && left.collation == right.collation
    }

    package func hash(into hasher: inout Hasher) {
      hasher.combine(folded)
      hasher.combine(affinity)
      hasher.combine(collation)
    }

    /// Whether it has that name, as SQLite compares names.
    package func isNamed(_ other: String) -> Bool {
      folded.elementsEqual(KeyCollation.nocase.canonical(Array(other.utf8)))
    }

    fileprivate func write(folding: Bool, to writer: inout ByteWriter) {
      writer.text(folding ? String(decoding: folded, as: UTF8.self) : name)
      writer.byte(KeyShape.byte(affinity, collation))
    }
  }

  package let columns: [Column]

  package init(_ columns: [Column]) { self.columns = columns }

  package var count: Int { columns.count }
  package var collations: [KeyCollation] { columns.map(\.collation) }
  package var affinities: [KeyAffinity] { columns.map(\.affinity) }
  package var names: [String] { columns.map(\.name) }

  /// Affinity and collation of one column, as they travel.
  static func byte(_ affinity: KeyAffinity, _ collation: KeyCollation) -> UInt8 {
    affinity.rawValue << 4 | collation.rawValue
  }

  /// The other way round; nil for a byte that means nothing.
  static func parts(of byte: UInt8) -> (affinity: KeyAffinity, collation: KeyCollation)? {
    guard let affinity = KeyAffinity(rawValue: byte >> 4),
      let collation = KeyCollation(rawValue: byte & 0xF)
    else { return nil }
    return (affinity, collation)
  }

  /// As it is stored.
  package var bytes: [UInt8] { encoded(folding: false) }

  package init?(bytes: [UInt8]) {
    var reader = ByteReader(bytes)
    var columns: [Column] = []
    do {
      for _ in 0..<(try reader.count("key", limit: Limits.columns)) {
        let name = try reader.text("key")
        guard let parts = Self.parts(of: try reader.byte("key")) else { return nil }
        columns.append(
          Column(name: name, affinity: parts.affinity, collation: parts.collation))
      }
      try reader.finish("key")
    } catch {
      return nil
    }
    guard !columns.isEmpty else { return nil }
    self.columns = columns
  }

  /// Equal for equal shapes, on every node.
  package var fingerprint: UInt64 { hash64(encoded(folding: true)) }

  private func encoded(folding: Bool) -> [UInt8] {
    var writer = ByteWriter()
    writer.uint(columns.count)
    for column in columns { column.write(folding: folding, to: &writer) }
    return writer.bytes
  }
}

extension KeyShape {
  /// Whether key values are as the columns store them; else SQLite finds another row by them than
  /// the key does.
  package func holds(_ values: ArraySlice<Value>) -> Bool {
    for (column, place) in zip(columns.indices, values.indices)
    where !columns[column].affinity.keeps(values[place]) { return false }
    return true
  }
}

extension KeyAffinity {
  /// Whether a column stores a value as one that is the same key. A column of whole numbers stores
  /// '7' as 7, one of text 7 as '7': these are others. 7.0 and 7 are one key.
  package func keeps(_ value: Value) -> Bool {
    switch (self, value) {
    case (.text, .integer), (.text, .real): false
    case (.real, .integer(let number)): Int64(exactly: Double(number)) == number
    case (.integer, .text(let text)), (.numeric, .text(let text)), (.real, .text(let text)):
      !Self.isNumber(text)
    default: true
    }
  }

  /// Whether SQLite takes a text for a number (sqlite.org/datatype3.html, section 3): spaces around
  /// it are overlooked, and neither hexadecimal digits nor words are among what it reads.
  package static func isNumber(_ text: [UInt8]) -> Bool {
    let isSpace: (UInt8) -> Bool = { $0 == 0x20 || 0x09...0x0D ~= $0 }
    guard let first = text.firstIndex(where: { !isSpace($0) }),
      let last = text.lastIndex(where: { !isSpace($0) })
    else { return false }
    let inner = text[first...last]
    guard inner.allSatisfy({ 0x30...0x39 ~= $0 || "+-.eE".utf8.contains($0) }) else { return false }
    return Double(String(decoding: inner, as: UTF8.self)) != nil
  }

  /// A key value as a column of this affinity holds it, as far as whole numbers and their texts go:
  /// 5 and '5' are told apart by nothing else. Nil where that is not known.
  package func holding(_ value: Value) -> Value? {
    switch (self, value) {
    case (.text, .integer(let number)): .text(Array("\(number)".utf8))
    case (.text, .real): nil
    case (.integer, .text(let text)), (.numeric, .text(let text)), (.real, .text(let text)):
      Self.number(text).map { .integer($0) } ?? value
    default: value
    }
  }

  /// A text that is the usual way to write a whole number.
  private static func number(_ text: [UInt8]) -> Int64? {
    guard text.count <= 20 else { return nil }
    let spelled = String(decoding: text, as: UTF8.self)
    return Int64(spelled).flatMap { "\($0)" == spelled ? $0 : nil }
  }
}

/// The present key of a table whose key was changed since the site has it, by hashes: what a node
/// tells of it, so that others know who has made a migration.
package struct TableKey: Sendable, Hashable {
  package var table: UInt64
  package var key: UInt64

  package init(table: UInt64, key: UInt64) { (self.table, self.key) = (table, key) }
}
