import SQLite

/// The primary key of a table, as far as it decides which rows are one row.
package struct KeyDefinition: Sendable, Equatable, CustomStringConvertible {
  private struct Part: Sendable, Equatable {
    var name: String
    /// The declared type, perhaps empty.
    var type: String
    var affinity: Affinity
    var collation: String
  }

  private let parts: [Part]

  /// `firsts`: how the columns of the schema were called first.
  package init(_ schema: TableSchema, firsts: [String]? = nil) {
    parts = zip(schema.key, schema.keyCollations).map { index, collation in
      let column = schema.columns[index]
      return Part(
        name: firsts?[index] ?? column.name, type: column.type, affinity: column.affinity,
        collation: collation)
    }
  }

  package var isEmpty: Bool { parts.isEmpty }

  /// Whether every key value means the same row under both: columns, order, affinity and collation
  /// agree.
  ///
  /// An affinity decides what is stored: '7' stays a text in one table and is a number in another
  /// (sqlite.org/datatype3.html, section 3). How a type is spelled does not matter.
  package func agrees(with other: KeyDefinition) -> Bool {
    parts.count == other.parts.count
      && zip(parts, other.parts).allSatisfy { mine, theirs in
        isSameName(mine.name, theirs.name) && mine.affinity == theirs.affinity
          && isSameName(mine.collation, theirs.collation)
      }
  }

  /// As it would be declared: `PRIMARY KEY(id TEXT COLLATE NOCASE)`.
  package var description: String {
    guard !parts.isEmpty else { return "no PRIMARY KEY" }
    let columns = parts.map { part in
      let collation = isSameName(part.collation, "BINARY") ? "" : "COLLATE \(part.collation)"
      return [part.name, part.type, collation].filter { !$0.isEmpty }.joined(separator: " ")
    }
    return "PRIMARY KEY(\(columns.joined(separator: ", ")))"
  }
}
