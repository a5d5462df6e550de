import Replication

/// A node makes a delete only of a row that its application has deleted, or moved to another key: a
/// row that is not here because its table was dropped, or because it is parked, was not.
enum AnytimeDeleted {
  static func check(
    _ news: [(row: RowNumber, version: Version)], by own: Origin, _ deleted: Set<RowNumber>,
    _ history: inout History, at node: String, mayWrite: (RowNumber) -> Bool
  ) {
    // What a life hands on it may have heard from others.
    if history.hasForks || history.hasCopies || history.collects { return }
    for (row, version) in news
    where version.dot.origin == own && version.isDeleted && !deleted.contains(row) && mayWrite(row)
    {
      history.blame("\(node) makes \(version.dot), a delete of row \(row) that no program deleted")
    }
  }
}
