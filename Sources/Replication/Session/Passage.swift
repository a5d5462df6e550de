/// How far a long exchange has come. The frontier moves at its end alone, so this tells meanwhile
/// what is still to come.
package struct Passage: Sendable, Equatable {
  /// Rows that are through, of about how many.
  package var rows: UInt64
  package var total: UInt64
  /// What counts as held at its end; nothing in a repair.
  package var covers: Frontier

  package init(rows: UInt64, total: UInt64, covers: Frontier) {
    self.rows = rows
    self.total = total
    self.covers = covers
  }

  package var left: UInt64 { total > rows ? total - rows : 0 }
}
