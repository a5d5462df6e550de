import Replication

extension History {
  /// For each row the edits that live on: in the history of what stands, or of what was `logged`,
  /// given up or deleted; perhaps of deletes only those that are so or were let go of.
  func kept(
    in shown: Observation, known: Frontier, logged: [(row: RowNumber, edit: Dot)],
    butDeletes: Bool = false
  ) -> [RowNumber: Set<Dot>] {
    var kept: [RowNumber: Set<Dot>] = [:]
    for (row, version) in shown.versions {
      kept[row, default: []].formUnion(lineage.line(of: version.edit))
    }
    for (row, loser) in logged { kept[row, default: []].formUnion(lineage.line(of: loser)) }
    for dot in givenUp {
      guard let edit = lineage.edits[dot] else { continue }
      kept[edit.row, default: []].formUnion(lineage.line(of: dot))
    }
    // A delete leaves nothing that could be kept, and what it was made over was meant to go.
    for (dot, edit) in lineage.edits
    where edit.isDeleted && known.covers(dot) && (!butDeletes || letGo.contains(dot)) {
      kept[edit.row, default: []].formUnion(lineage.line(of: dot))
    }
    for (row, edit) in lineage.removed {
      kept[row, default: []].formUnion(lineage.line(of: edit))
    }
    // Nothing is logged of an edit with the content of what stands, or stood: it goes with that.
    var hasMore = true
    while hasMore {
      hasMore = false
      for (dot, edit) in lineage.edits {
        guard let hash = edit.hash, kept[edit.row]?.contains(dot) != true,
          !(butDeletes && edit.isDeleted)
        else { continue }
        let isEqual =
          shown.versions[edit.row]?.hash == hash
          || kept[edit.row]?.contains { lineage.edits[$0]?.hash == hash } == true
        guard isEqual else { continue }
        kept[edit.row, default: []].formUnion(lineage.line(of: dot))
        hasMore = true
      }
    }
    return kept
  }
}
