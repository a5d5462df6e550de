import Replication
import SQLite

/// Whether the anchor of a term has given its office up.
extension Store {
  /// Whether the node that was appointed for a term does not judge in it any more, for its file was
  /// restored.
  ///
  /// Who was appointed earlier, too, says once in the term that it stands down, for that earlier
  /// one, and then waits for its turn or takes office.
  package func hasResigned(
    _ anchor: Identity, in term: Term, wasAppointed: Bool
  ) throws(StoreError) -> Bool {
    let words = try reporting { () throws(SQLiteError) in
      try rulings.words(of: anchor, in: term)
    }
    guard words.last == .stoodDown else { return false }
    if anchor == node { return office.term == term && office.part == .none }
    return words.contains(.tookOffice) || words.count > (wasAppointed ? 1 : 0)
  }
}
