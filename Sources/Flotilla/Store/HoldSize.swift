/// How many rows go into one commit: as many as fit into a hold of the write lock that programs
/// hardly notice.
///
/// 500 rows with long texts may take 20 ms, and 2,000 short ones. There are no more: rows that are
/// as they were cost little, and the next ones may all be new.
struct HoldSize: Sendable {
  /// For how long the lock is held, in ms.
  static let aim: Int64 = 20
  static let range = 250...2_000
  /// A verdict looks at more than a row, and may place others.
  static let verdicts = 25...2_000

  private let range: ClosedRange<Int>
  private(set) var rows = 500

  init(_ range: ClosedRange<Int> = HoldSize.range) { self.range = range }

  /// A commit of so many rows held the lock for so many ms.
  mutating func held(for time: Int64) {
    let fitting = Int64(rows) * Self.aim / max(1, time)
    let bounded = min(max(fitting, Int64(rows) / 2), Int64(rows) * 2)
    rows = min(max(Int(bounded), range.lowerBound), range.upperBound)
  }
}
