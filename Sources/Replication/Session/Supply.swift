/// What a member was sent and has not shown to have, over all its connections: who comes back again
/// and again as one that holds nothing waits before it is sent more.
///
/// Each row that it was sent is a millisecond, a minute at most, and time takes that away. Each
/// number by which it shows to have come further than ever takes eight away. Whoever lacks
/// something in a new connection waits for what is left beyond 1,000; three times it need not, and
/// once more each minute, for links are cut.
package struct Supply: Sendable, Equatable {
  private static let most: Int64 = 60_000 + Int64(Limits.wholeRows)
  /// So many rows a number is worth that came: of what goes, most may be lost on the way.
  private static let worth: Int64 = 8

  /// What is left, in ms, as of `last`.
  private var left: Int64 = 0
  private var last: Int64 = 0
  /// The most that it has ever shown to hold, or to have worked through: a number counts once.
  private var furthest = Frontier()
  private var cuts = Allowance(most: 3, pause: 60_000)
  /// The same of rows of buckets, of which nothing tells that they have arrived.
  var repair = Session.Rest()
  /// For each ms for which rows were read to tell it what is held here it owes ten: 30 s of it at
  /// once, and then it waits before it is told again.
  var accounts = Toll(free: 30_000, most: 3_600_000)

  package init() {}

  /// So many rows went.
  mutating func note(_ rows: UInt64, at now: Instant) {
    pass(until: now)
    left = min(Self.most, left + Int64(min(UInt64(Self.most), rows)))
  }

  /// It has come so far with what others wrote, and this node holds.
  mutating func show(_ frontier: Frontier, at now: Instant) {
    pass(until: now)
    let gain = frontier.distance(above: furthest)
    left -= min(left, Self.worth * Int64(min(UInt64(Self.most), gain)))
    furthest.join(frontier)
  }

  /// When somebody is sent rows who has come in a new connection, by uptime.
  mutating func due(at now: Instant) -> Int64 {
    pass(until: now)
    let rest = left - Int64(Limits.wholeRows)
    return rest <= 0 || cuts.take(at: now) ? now.uptime : now.uptime + rest
  }

  /// What two connections with one member come to.
  package func joined(_ other: Supply) -> Supply {
    var (mine, theirs) = (self, other)
    let now = Instant(uptime: max(last, other.last), wall: 0)
    mine.pass(until: now)
    theirs.pass(until: now)
    var joined = mine.left < theirs.left ? theirs : mine
    joined.furthest = mine.furthest.joined(theirs.furthest)
    joined.cuts = mine.cuts.joined(theirs.cuts)
    joined.accounts = mine.accounts.joined(theirs.accounts)
    joined.repair = mine.repair.end < theirs.repair.end ? theirs.repair : mine.repair
    return joined
  }

  private mutating func pass(until now: Instant) {
    left -= min(left, max(0, now.uptime - last))
    last = now.uptime
  }
}

extension Session {
  /// The peer shows that it has come so far.
  ///
  /// Its own edits do not count, for it may number them as it likes; nor does what is not here.
  mutating func shows(_ frontier: Frontier, _ now: Instant) {
    guard let peer else { return }
    let own = configuration.notary.map { Origin.of(peer.node, life: peer.life, $0) }
    let others = frontier.capped(by: position.frontier).keeping {
      $0 != own && position.reaches[$0]?.node != peer.node
    }
    supply.show(others, at: now)
  }
}
