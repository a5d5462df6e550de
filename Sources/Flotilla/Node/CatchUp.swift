import Replication

/// A long exchange as `status` shows it: rows that are still to come, and the time they may take.
struct CatchUp: Sendable {
  private(set) var passage: Passage
  /// The first look at it: when, by uptime, and after how many rows.
  private let began: Int64
  private let firstRows: UInt64
  private var latest: Int64

  /// Goes on with what was known, unless this is another exchange.
  init(_ before: CatchUp?, _ passage: Passage, at now: Int64) {
    let isSame = before.map {
      $0.passage.total == passage.total && $0.passage.rows <= passage.rows
    }
    if let before, isSame == true {
      (self.began, self.firstRows) = (before.began, before.firstRows)
    } else {
      (self.began, self.firstRows) = (now, passage.rows)
    }
    (self.passage, self.latest) = (passage, now)
  }

  /// All was sent; what is on its way comes yet.
  mutating func end() { passage.rows = max(passage.rows, passage.total) }

  /// About how many rows of `ours` are missing where `theirs` is held.
  func rows(of ours: Frontier, above theirs: Frontier) -> UInt64 {
    let late = ours.distance(above: theirs.joined(passage.covers))
    return late.addingReportingOverflow(passage.left).partialValue
  }

  /// At the pace so far; nil as long as there is none.
  var secondsLeft: Double? {
    let (rows, milliseconds) = (passage.rows - firstRows, latest - began)
    guard rows > 0, milliseconds > 0 else { return nil }
    return Double(passage.left) * Double(milliseconds) / Double(rows) / 1_000
  }
}
