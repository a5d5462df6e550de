/// A UNIQUE constraint or index other than the primary key.
package struct UniqueIndex: Sendable, Equatable {
  /// What one term of the index is made of.
  package enum Source: Sendable, Equatable {
    case column(Int)
    /// An SQL expression, and the columns that it mentions.
    case expression(String, mentions: [Int])
  }

  package struct Term: Sendable, Equatable {
    package let source: Source
    /// BINARY, NOCASE or RTRIM; an index may have another one than its column.
    package let collation: String
  }

  package let name: String
  package let terms: [Term]
  /// The condition of a partial index.
  package let predicate: String?
  /// The columns that the condition mentions.
  package let predicateMentions: [Int]
  /// True if the condition mentions the rowid by one of its own names.
  package let predicateMentionsRowID: Bool
}
