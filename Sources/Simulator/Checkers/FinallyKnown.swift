import Replication

/// Beside an anchor no edit is lost: it is in the history of what stands, or in a conflict log, or
/// something with the same content is. And what was certified once was overruled, or lives on.
///
/// Where the office has ended, an author may be `gone` that nobody can tell any more.
enum FinallyKnown {
  static func check(
    _ all: [(name: String, shown: Observation)], gone: Set<Origin>, _ history: inout History
  ) {
    guard let (_, shown) = all.first else { return }
    let known = all.reduce(into: Frontier()) { $0.join($1.shown.frontier) }
    let lineage = history.lineage
    let words = Set(lineage.certified.keys.map(\.edit))
    var kept: [RowNumber: Set<Dot>] = [:]
    for (row, version) in shown.versions {
      kept[row, default: []].formUnion(lineage.line(of: version.edit))
    }
    for (loser, entry) in lineage.logged {
      kept[entry.row, default: []].formUnion(lineage.line(of: loser))
    }
    for dot in history.givenUp {
      guard let edit = lineage.edits[dot] else { continue }
      kept[edit.row, default: []].formUnion(lineage.line(of: dot))
    }
    // A delete leaves nothing that could be kept, and what it was made over was meant to go.
    for (dot, edit) in lineage.edits where edit.isDeleted && known.covers(dot) {
      kept[edit.row, default: []].formUnion(lineage.line(of: dot))
    }
    // Nothing is logged of an edit with the content of what stands.
    for (dot, edit) in lineage.edits {
      guard let hash = edit.hash else { continue }
      let isEqual =
        shown.versions[edit.row]?.hash == hash
        || kept[edit.row]?.contains { lineage.edits[$0]?.hash == hash } == true
      if isEqual { kept[edit.row, default: []].formUnion(lineage.line(of: dot)) }
    }
    for (row, edit) in lineage.removed {
      kept[row, default: []].formUnion(lineage.line(of: edit))
    }
    for (dot, edit) in lineage.edits.sorted(by: { $0.key < $1.key }) {
      guard known.covers(dot), !edit.isDeleted, let hash = edit.hash, !history.isForked(dot)
      else { continue }
      guard edit.isGoverned || words.contains(dot) else { continue }
      let isTakenBack = history.isWithdrawn(dot, edit.row)
      if gone.contains(dot.origin) || isTakenBack, !words.contains(dot) { continue }
      let ones = kept[edit.row] ?? []
      let isKept = ones.contains(dot) || ones.contains { lineage.edits[$0]?.hash == hash }
      guard !isKept, shown.versions[edit.row]?.hash != hash else { continue }
      // What it lost to was deleted and forgotten while its author was given up: docs/limits.md.
      let isGone = shown.versions[edit.row]?.isDeleted ?? true
      if history.collects, isGone, history.brought.values.contains(where: { $0.covers(dot) }) {
        continue
      }
      let standing = shown.versions[edit.row].map { "\($0.edit)" } ?? "nothing"
      history.blame(
        words.contains(dot)
          ? "\(dot) of row \(edit.row) was certified and is lost; \(standing) stands"
          : "\(dot) of row \(edit.row) is lost without a word; \(standing) stands")
    }
  }
}
