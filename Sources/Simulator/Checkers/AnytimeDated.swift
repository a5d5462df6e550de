import Replication

/// No edit is stamped beyond the time of the site at its author, unless it replaces one that was;
/// and what one node writes of a row is stamped in the order of writing.
enum AnytimeDated {
  /// So many versions of a row are made between two looks, at most.
  private static let most: Int64 = 64

  /// Where no clock is ever set, an edit has the time at which its row was last written, or the one
  /// after what it replaces.
  static func check(
    _ row: RowNumber, _ version: Version, writtenAt moment: Int64, over old: Version?,
    _ history: inout History, at node: String
  ) {
    guard version.isTentative, moment < .max else { return }
    let latest = max(Stamp(millisecondsSince1970: moment), old?.stamp ?? .zero)
    guard version.stamp.rawValue > latest.rawValue + most else { return }
    let stamp = version.stamp.millisecondsSince1970
    history.blame("\(node) stamps row \(row) \(stamp), which was written at \(moment)")
  }

  /// `isRecalled` tells that the clocks are known as a process that was killed has kept them.
  static func check(
    _ row: RowNumber, _ version: Version, _ site: Int64?, isRecalled: Bool,
    _ history: inout History, at node: String
  ) {
    // What a liar has said stands above any time. What is made after a machine was put back comes
    // below what it made before that.
    if history.lied.contains(row) || history.isForked(version.dot) { return }
    let now = site.map(Stamp.init(millisecondsSince1970:)) ?? .zero
    // Above a floor, which is that of many rows.
    let highest = max(history.collects ? history.highestOfAll : history.highest[row] ?? .zero, now)
    if version.stamp.rawValue > highest.rawValue + most {
      let time = site.map { "at \($0)" } ?? "without the time of the site"
      history.blame("\(node) stamps row \(row) \(version.stamp.millisecondsSince1970) \(time)")
    }
    // A certificate keeps the time of its edit, and so does an edit that is made again.
    if version.isTentative, version.first == version.dot,
      let last = history.last(version.dot.origin, row),
      last.dot.seq < version.dot.seq,
      !isOrdered(version, after: last, within: isRecalled ? Dating.tolerance : 0)
    {
      history.blame("\(node) stamps row \(row) below what it wrote before, \(last.dot)")
    }
  }

  /// Made over a later word of the anchor, which may have an earlier time, an edit has the time at
  /// which it was written: perhaps the same millisecond, without a count.
  private static func isOrdered(
    _ version: Version, after last: Version, within tolerance: Int64
  ) -> Bool {
    if (last.term, last.epoch) < (version.term, version.epoch) {
      let (before, after) = (last.stamp, version.stamp)
      return before.millisecondsSince1970 <= after.millisecondsSince1970 + tolerance
    }
    return last.stamp < version.stamp
  }
}
