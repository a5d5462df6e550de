import Replication

/// In the end each row is the newest version that anybody ever made of it, and shows its content.
///
/// Only what a node that was lost for good had told nobody is lost with it, and so is what was in a
/// table that an application has dropped.
enum FinallyNewest {
  static func check(_ all: [(name: String, shown: Observation)], _ history: inout History) {
    if history.hasParted { return }
    let known = all.reduce(into: Frontier()) { $0.join($1.shown.frontier) }
    let brought = all.reduce(into: known) { $0.join(history.brought[$1.name] ?? Frontier()) }
    let gone = history.gone(all.map(\.shown))
    let newest = history.newest(known, brought: brought).filter { !gone.contains($0.key) }
      .sorted { $0.key < $1.key }
    for (name, shown) in all {
      for (row, made) in newest {
        let held = shown.versions[row]
        // What took its place was perhaps deleted, and let go of by those who had been sent it.
        if history.collects, history.isDoubtful(row, above: made.version) { continue }
        if history.mayForgetDelete(of: row), held?.isDeleted ?? true,
          made.version.isDeleted || history.wasWrittenByCopy(row)
        {
          continue
        }
        if held.map({ $0.rank < made.version.rank }) ?? true {
          // Somebody else has the delete that was to go with a table.
          if held?.isDeleted ?? true, history.forgotten.contains(row),
            all.contains(where: { $0.shown.hasDeleted(row, above: made.version) })
          {
            continue
          }
          // What replaced it was told to nobody else before its author was lost.
          if history.isReplaced(made) { continue }
          let dot = held.map { "\($0.dot)" } ?? "nothing"
          history.blame("\(name) ends with \(dot) of row \(row), not \(made.version.dot)")
        } else if held?.dot == made.version.dot, made.isSeen, shown.parked[row] == nil,
          shown.rows[row]?.common != made.content
        {
          history.blame("\(name) shows other content of row \(row) than \(made.version.dot) had")
        }
      }
    }
  }
}
