import Replication
import SQLite

/// Whether the anchor of a term has given its office up, or must.
///
/// A node holds the office of a term in one life: who begins another may have forgotten what it has
/// decided. Where the file has forgotten the office, too, others tell of it.
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

  /// Whether this node may have held an office of which its file knows nothing any more.
  func isUnsure() throws(SQLiteError) -> Bool { try meta.integer(.isUnsure) == 1 }

  /// There is nothing that others could tell of an office of this node, or it is appointed here and
  /// now; nil if that was so before.
  package func becomeSure(at now: Instant) throws(StoreError) -> FoldResult? {
    guard try reporting({ () throws(SQLiteError) in try isUnsure() }) else { return nil }
    return try afterFolding(at: now) { _ in try meta.set(.isUnsure, .integer(0)) }
  }

  /// Gives up an office that this node took in an earlier life.
  func resignIfTakenBefore(_ edits: inout Edits, at now: Instant) throws {
    guard office.part != .none, try rulings.tookOffice(node, in: office.term, but: own) else {
      return
    }
    try leaveOffice(at: now)
    try rule(.stoodDown, &edits, at: now)
  }

  /// Whether rows tell of anybody who took office: this node may have, in a life that its file has
  /// forgotten.
  func tellOfOffice(_ rows: [ShapedRow]) -> Bool {
    rows.contains { row in
      if case .ruling(let ruling, _) = row.row.content { ruling.kind == .tookOffice } else { false }
    }
  }
}
