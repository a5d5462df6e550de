/// How much of the conflict log is kept.
package struct ConflictBounds: Sendable, Equatable {
  package var count: Int
  package var days: Int
  /// What more than `least` may take together; nil if somebody chose the count.
  package var bytes: Int?

  /// So many are kept however large they are.
  package static let least = 2_000

  /// Those of so many days are kept beyond the count, unless somebody chose it. A machine that
  /// comes back after weeks may lose more edits in a minute than anybody has seen.
  package static let recentDays = 30

  package init(count: Int = 10_000, days: Int = 400, bytes: Int? = nil) {
    self.count = count
    self.days = days
    self.bytes = bytes
  }

  /// What entries about the rows of one other member may take, but for the last one.
  ///
  /// That member has them in a log of its own. Rows of 1 MB that are refused shall fill no disk.
  static let bytesOfOne = 64 << 20

  /// An entry, as far as it matters for what is kept.
  struct Entry {
    var id: Int64
    var isOpen: Bool
    /// Whether it is of the last `recentDays`.
    var isRecent = false
    var bytes: Int
    /// The other member whose rows these are; nil of own ones, and where nobody knows.
    var payer: String?
  }

  /// Which entries go, of all from the newest on.
  ///
  /// Open ones stay before settled ones, and the first of each member before the second of any. So
  /// who loses ten thousand times pushes out nobody else's.
  func excess(of entries: [Entry]) -> [Int64] {
    var counts: [String?: Int] = [:]
    var sums: [String: Int] = [:]
    var (gone, left): ([Int64], [(entry: Entry, nth: Int)]) = ([], [])
    for entry in entries.filter(\.isOpen) + entries.filter({ !$0.isOpen }) {
      let nth = counts[entry.payer, default: 0]
      counts[entry.payer] = nth + 1
      if let payer = entry.payer {
        sums[payer, default: 0] += entry.bytes
        if bytes != nil, nth > 0, sums[payer, default: 0] > Self.bytesOfOne {
          gone.append(entry.id)
          continue
        }
      }
      left.append((entry, nth))
    }
    left.sort { one, other in
      (one.entry.isOpen ? 0 : 1, one.nth, -one.entry.id)
        < (other.entry.isOpen ? 0 : 1, other.nth, -other.entry.id)
    }
    var sum = 0
    for (place, item) in left.enumerated() {
      sum += item.entry.bytes
      let isCounted = bytes == nil || !item.entry.isRecent
      if place >= count && isCounted || place >= Self.least && sum > bytes ?? .max {
        gone.append(item.entry.id)
      }
    }
    return gone
  }

  /// What a log may take beside the rest of its file: what nobody looks at shall not become the
  /// larger part of it, unless both are small.
  static func bytes(besides rest: Int) -> Int { max(16 << 20, rest / 4) }
}
