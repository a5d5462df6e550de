/// What there is of one table.
package struct TableFigures: Sendable, Equatable {
  package var name: String
  /// The name under which the site knows it.
  package var first: String
  package var rule: String
  package var rows: Int
  /// False while the table does not exist here.
  package var isPresent: Bool
  /// Rows with NULL in their key: they are not replicated.
  package var rowsWithoutKey: Int
  /// Rows that went with a table of its name and have not come again.
  package var lost = 0
}

/// What there is, all tables together.
package struct StoreFigures: Sendable, Equatable {
  package var tables: [TableFigures]
  package var conflicts: Int
  package var parked: Int
  /// Journal entries that are not folded yet.
  package var unfolded: Int
  /// Edits that no anchor has judged yet, also those of others.
  package var unjudged: Int
  /// Own edits without a verdict, also where nobody judges.
  package var withoutVerdict: Int
  /// What a trigger that keeps an index or a cache has failed with.
  package var derivedTrouble: String?
}
