import Replication

/// How often a member may have first copies as pages: fifteen at once, and then as time goes by.
///
/// To make a copy and to send it takes this node's processor and disk. Each costs a minute, or a
/// second for each 4 MiB if that is longer. Who is cut off pays for what it was sent.
struct CopyRations {
  /// A copy costs so much at least, in ms.
  static let least: Int64 = 60_000
  /// So many may be had at once, beside one that is made for them. An honest joiner may be killed
  /// again and again.
  static let atOnce: Int64 = 15

  /// When nothing is owed any more, by uptime in ms.
  private var ends: [Identity: Int64] = [:]

  /// Whether a member may have a copy of so many bytes.
  mutating func mayHave(_ bytes: Int, _ member: Identity, at now: Int64) -> Bool {
    ends = ends.filter { $0.value > now }
    return (ends[member] ?? now) - now <= Self.atOnce * Self.cost(of: bytes)
  }

  /// So many bytes of a copy were sent to a member, or all of it was made for it.
  mutating func note(_ bytes: Int, of all: Int, _ member: Identity, at now: Int64) {
    let share = Double(bytes) / Double(max(1, all))
    // Rounded up, many parts of a copy would cost more than the whole.
    let cost = Int64(share * Double(Self.cost(of: all)))
    ends[member] = max(now, ends[member] ?? now) + cost
  }

  private static func cost(of bytes: Int) -> Int64 { max(least, Int64(bytes) >> 12) }
}
