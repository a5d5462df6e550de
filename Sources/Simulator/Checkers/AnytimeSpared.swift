/// A fold parks nothing that a program has just written, for that could not see what is parked; and
/// once all is folded, no row is parked beside a value that is free.
struct AnytimeSpared {
  /// What programs have written at this node since all of it was folded.
  private var written: [RowNumber: Badge] = [:]
  /// Whether a fold has ended since the last look, and whether it left nothing.
  private var hasFolded: Bool?

  /// A program has written; what it displaced it has seen.
  mutating func wrote(_ after: [RowNumber: Badge], over before: [RowNumber: Badge]) {
    for row in Set(after.keys).union(before.keys) where after[row] != before[row] {
      written[row] = after[row]
    }
  }

  mutating func folded(hasMore: Bool) { hasFolded = !hasMore }

  /// What came from elsewhere may have been there before what was written.
  mutating func merged() { (written, hasFolded) = ([:], nil) }

  mutating func check(
    standing: [RowNumber: Badge], parked: [RowNumber: Badge], isFolded: Bool,
    _ history: inout History, at node: String
  ) {
    guard let isWhole = hasFolded else { return }
    hasFolded = nil
    for (row, badge) in written.sorted(by: { $0.key < $1.key }) where parked[row] == badge {
      history.blame("\(node) has parked row \(row), which a program has just written there")
    }
    guard isWhole, isFolded else { return }
    written = [:]
    for (row, badge) in parked.sorted(by: { $0.key < $1.key }) {
      if let code = badge.code, standing.contains(where: { $0.value.code == code }) { continue }
      history.blame("row \(row) is parked at \(node), where nobody has its value any more")
    }
  }
}
