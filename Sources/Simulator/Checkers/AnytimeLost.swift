import Replication

/// Who has lost a row with its table does not delete it: a program that writes the row in the table
/// that was made again, and deletes it at once, has never seen what the others have.
enum AnytimeLost {
  static func check(
    _ lost: Set<RowNumber>, _ news: [(row: RowNumber, version: Version)], own: Origin,
    _ history: inout History, at node: String
  ) {
    guard !lost.isEmpty else { return }
    for (row, version) in news
    where version.dot.origin == own && version.isDeleted && lost.contains(row) {
      history.blame("\(node) makes \(version.dot), a delete of row \(row), which it has lost")
    }
  }
}
