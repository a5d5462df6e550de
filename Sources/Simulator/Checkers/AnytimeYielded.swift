import Replication

/// A parked row gives way to one that could not see it: it is made again as it was, as if it were
/// created one millisecond after that one, whatever the time is.
struct AnytimeYielded {
  private struct Yielding {
    var trace: Traces.Trace
    var version: Version
    /// False if a row that keeps the value is here and was created at another time; nil if none is
    /// here any more, for something that came in the same commit has taken its place.
    var isAfterKeeper: Bool?
  }

  /// By value, when the rows were created that have had it at this node.
  private var keepers: [Int64: Set<Stamp>] = [:]
  /// What was seen last, also in the middle of some work.
  private var last = Observation()
  private var found: [Yielding] = []

  /// `seq` is the last of its own that the node had when all was folded.
  mutating func look(at now: Observation, own: Origin, above seq: UInt64) {
    defer { last = now }
    for (row, badge) in now.standing {
      guard let code = badge.code, let version = now.versions[row] else { continue }
      keepers[code, default: []].insert(version.createdAt)
    }
    for (row, badge) in now.parked {
      guard let version = now.versions[row], let old = last.versions[row],
        version.dot != old.dot, version.dot.origin == own, version.created == version.dot,
        version.hash == old.hash
      else { continue }
      let isAfter = badge.code.flatMap { keepers[$0] }?.contains {
        Stamp.placing($0.millisecondsSince1970 + 1, over: old.stamp) == version.stamp
      }
      let isKept = now.standing.contains { other, standing in
        guard standing.code == badge.code, let dot = now.versions[other]?.dot else { return false }
        return dot.origin == own && dot.seq > seq
      }
      found.append(
        Yielding(
          trace: Traces.Trace(row: row, badge: badge), version: version,
          isAfterKeeper: isAfter == true || isKept ? isAfter == true : nil))
    }
  }

  /// The versions that were made so since the last check. Where the row that kept the value is seen
  /// no more, it was created by `latest` or had a later time from what it replaced.
  mutating func check(
    by latest: Int64?, _ history: inout History, at node: String
  ) -> Set<Dot> {
    for yielding in found {
      history.traces.add(madeAgain: yielding.trace, at: node)
      let version = yielding.version
      let limit = latest.map { Stamp(millisecondsSince1970: $0 + 1) } ?? .zero
      let isAfter =
        yielding.isAfterKeeper
        ?? (!history.isDated || version.stamp <= max(limit, history.highestOfAll))
      if isAfter || !version.isTentative { continue }
      history.blame(
        "\(node) makes row \(yielding.trace.row) again "
          + "\(version.stamp.millisecondsSince1970), not just after what has its value")
    }
    defer { found = [] }
    return Set(found.map(\.version.dot))
  }
}
