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

extension RulingTable {
  /// What a node has said about the office in a term, in order.
  fileprivate func words(of node: Identity, in term: Term) throws(SQLiteError) -> [Ruling.Kind] {
    let kinds = [Ruling.Kind.stoodDown, .tookOffice].map { Int64($0.rawValue) }
    return try read(
      connection, "WHERE r.kind IN (?, ?) AND r.rule = ?",
      kinds.map { .integer($0) } + [.string(node.description)]
    ).filter { $0.version.term == term }.sorted { $0.version.dot.seq < $1.version.dot.seq }
      .map(\.ruling.kind)
  }
}
