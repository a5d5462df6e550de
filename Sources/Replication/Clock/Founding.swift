/// One founding of site time: who holds to the same one means the same moment by the same number.
package struct Founding: Sendable, Hashable {
  /// What stood behind it.
  package enum Source: UInt8, Sendable {
    /// A person who has set the time of the site.
    case person = 0
    /// A clock that could be believed: it was on all the time, and nobody had set it.
    case clock = 1
    /// Nothing but the last time that was known: what has passed since is lost.
    case memory = 2
  }

  /// How often a person has set the time; what was set last holds over all before it.
  package var reign: UInt64
  package var source: Source
  /// 1 for the one of `init`, one more each time that nobody had site time any more.
  package var generation: UInt64
  package var id: UInt64

  package init(reign: UInt64 = 0, source: Source, generation: UInt64, id: UInt64) {
    self.reign = reign
    self.source = source
    self.generation = generation
    self.id = id
  }

  /// Counters beyond this are refused, so that one can always be added.
  package static let most: UInt64 = 1 << 32
  /// No peer is believed that people have set the time so often.
  static let mostTold = most / 2
  /// So many words of persons a node may have missed, which a peer that is no admin tells it.
  static let leap: UInt64 = 64

  /// Which of two holds for new stamps where they meet: the last word of a person, then one with a
  /// clock behind it, then the older.
  package func holds(over other: Founding) -> Bool {
    if reign != other.reign { return reign > other.reign }
    let (isBlind, isOtherBlind) = (source == .memory, other.source == .memory)
    if isBlind != isOtherBlind { return isOtherBlind }
    return (generation, id) < (other.generation, other.id)
  }
}
