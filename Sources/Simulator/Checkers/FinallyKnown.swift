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
    let logged = lineage.logged.map { (row: $0.value.row, edit: $0.key) }
    let kept = history.kept(in: shown, known: known, logged: logged)
    for (dot, edit) in lineage.edits.sorted(by: { $0.key < $1.key }) {
      guard known.covers(dot), !edit.isDeleted, edit.hash != nil, !history.isForked(dot)
      else { continue }
      guard edit.isGoverned || words.contains(dot) else { continue }
      let isTakenBack = history.isWithdrawn(dot, edit.row)
      if gone.contains(dot.origin) || isTakenBack, !words.contains(dot) { continue }
      if kept[edit.row]?.contains(dot) == true { continue }
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
