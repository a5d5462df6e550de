/// A foreign key to a tracked table that does not hold.
package struct BrokenReference: Sendable {
  package var table: String
  package var columns: [String]
  package var parent: String
  package var rows: Int
  /// The table that declares it is tracked, too.
  package var isTracked = true
}

/// A foreign key of a table that is not replicated to one that is. What others do to the parent
/// does nothing here: ON DELETE and ON UPDATE act where a program deletes.
package struct LocalReference: Sendable {
  package var table: String
  package var columns: [String]
  package var parent: String
}
