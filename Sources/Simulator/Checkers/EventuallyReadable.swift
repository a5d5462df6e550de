import Replication

/// In the end a node that may not do everything has of each table that it may read what the others
/// have, and waits for nothing.
///
/// A version that only it was given before its author was lost is not looked at, nor a row that
/// waits where it has such a one. Neither is one that its author had to take back while others got
/// it, nor a row that it had written over such a one: docs/limits.md says so.
enum EventuallyReadable {
  static func check(
    _ leaf: (name: String, shown: Observation), _ whole: (name: String, shown: Observation),
    mayRead: (RowNumber) -> Bool, _ history: inout History
  ) {
    let (name, shown, other) = (leaf.name, leaf.shown, whole.shown)
    for row in shown.waiting.sorted() where other.versions[row] != nil {
      if let held = shown.versions[row],
        history.isWithdrawn(held.dot, row) || !other.frontier.covers(held.dot)
      {
        continue
      }
      history.blame("row \(row) at \(name) still waits")
    }
    let shelved = shown.shelved.filter { row in
      guard let rival = shown.rivals[row] else { return true }
      // The others do not have this row as it is here, and what has its value they may have.
      if shown.versions[row] != other.versions[row], mayDiffer(row, leaf, other, history) {
        return false
      }
      // A row that the others do not have as it is here may have its value.
      guard mayDiffer(rival, leaf, other, history) else { return true }
      return shown.rows[rival] == other.rows[rival]
    }
    if !shelved.isEmpty { history.blame("\(name) still has \(shelved.sorted()) on its shelf") }
    let all = Set(shown.versions.keys).union(other.versions.keys).union(shown.rows.keys)
      .union(other.rows.keys)
    for row in all.sorted() where mayRead(row) && !mayDiffer(row, leaf, other, history) {
      if shown.versions[row] != other.versions[row] {
        history.blame(
          "row \(row) at \(name) is \(dot(shown, row)), at \(whole.name) \(dot(other, row))")
      } else if shown.rows[row] != other.rows[row], !shown.shelved.contains(row) {
        history.blame("row \(row) at \(name) is not as at \(whole.name)")
      }
    }
    if !shown.frontier.covers(other.frontier) {
      history.blame("\(name)'s frontier lacks what \(whole.name) has")
    }
  }

  /// Whether a leaf may show something else of a row than a whole member does.
  private static func mayDiffer(
    _ row: RowNumber, _ leaf: (name: String, shown: Observation), _ other: Observation,
    _ history: History
  ) -> Bool {
    let known = other.versions[row]
    guard let held = leaf.shown.versions[row] else {
      if let known { return history.isWithdrawn(known.dot, row) }
      return leaf.shown.waiting.contains(row) && history.isLeft(row, at: leaf.name, other)
    }
    return !other.frontier.covers(held.dot) || history.isWithdrawn(held.dot, row)
      || known.map { history.isWithdrawn($0.dot, row) } == true
  }

  private static func dot(_ shown: Observation, _ row: RowNumber) -> String {
    shown.versions[row].map { "\($0.dot)" } ?? "nothing"
  }
}
