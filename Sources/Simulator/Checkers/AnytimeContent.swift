import Replication

/// What a dot names is the same on every replica: what was shipped is what was folded.
enum AnytimeContent {
  /// Looks at the rows whose version is new here; `waiting` are those that the application
  /// has changed since.
  static func check(
    _ news: [(row: RowNumber, version: Version)], _ after: Observation, _ history: inout History,
    at node: String, _ waiting: Set<RowNumber>
  ) {
    for (row, version) in news {
      if history.isOfLiar(version) { history.noteLied(row) }
      guard let made = history[version.dot], !waiting.contains(row),
        !history.isForked(version.dot)
      else { continue }
      if made.row != row || made.version.rank != version.rank {
        history.blame("\(version.dot) is row \(row) at \(node), and row \(made.row) elsewhere")
      }
      // What waits to be put back is not as its version has it.
      guard made.isSeen, !after.shelved.contains(row), !after.waiting.contains(row) else {
        continue
      }
      if after.rows[row]?.common != made.content {
        history.blame("\(version.dot) of row \(row) has other content at \(node)")
      }
    }
  }
}
