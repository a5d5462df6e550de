/// Whether a connection is so slow that fewer bytes are worth the time that it takes to pack them.
///
/// For example, a radio link at the edge of its reach takes 200 bytes a ms, and packing 300,000.
/// Between two machines on one switch the merge of the rows takes longer than to send them.
struct LinkPace: Sendable {
  /// What takes more bytes a ms is not slow: 32 Mbit/s. The quickest receiver merges four times as
  /// much.
  private static let fast = 4_000
  /// At first a connection is taken for slow, and after a rest of so many ms, until that many bytes
  /// are gone. Until then the kernel takes what it is given, and nothing is known.
  private static let rest: Int64 = 1_000
  private static let most = 256 << 10
  /// A fast one is known as slow when it has stood still for a moment.
  private static let least = -(128 << 10)

  /// By how many bytes less it has taken than a fast one.
  private var behind = Self.most
  private var last = Int64.min

  /// Whether what is written now, by uptime, is to be packed.
  mutating func isSlow(at now: Int64) -> Bool {
    if now - Self.rest > last { behind = Self.most }
    return behind > 0
  }

  /// So many bytes went between two times, in ms of uptime.
  mutating func note(_ bytes: Int, from start: Int64, to end: Int64) {
    let owed = Int(min(Self.rest, max(0, end - start))) * Self.fast
    behind = max(Self.least, min(Self.most, behind + owed - bytes))
    last = end
  }
}
