/// What can be of a version that a member has told of.
///
/// A liar gives a row the highest epoch and the latest stamp that can be written. Were that to
/// stand for good, nobody could edit the row any more. So stamps and epochs that no site can reach
/// count for nothing, and an edit always finds a place above one that a site can reach.
extension Version {
  /// Whether a site can have such a stamp and epoch by the year 2248.
  package var isPossible: Bool { stamp <= .latest && epoch <= Epoch.latest }

  /// Whether an epoch can have been reached by a time.
  package func isReached(by time: Stamp) -> Bool {
    epoch == 0 || !isPossible || epoch <= Epoch.most(at: time)
  }

  /// From where an edit over this counts on: from nothing, if this cannot be. A stamp that cannot
  /// be counted on any more is left for the next epoch.
  var base: (term: Term, epoch: UInt64) {
    guard isPossible else { return (.none, 0) }
    return (term, stamp < .latest ? epoch : epoch + 1)
  }
}

extension Stamp {
  /// No edit is later: the year 2248.
  package static let latest = Stamp(millisecondsSince1970: SiteClock.latest)

  /// The stamp of an edit made at `moment` over a version.
  package static func placing(_ moment: Int64, above old: Version?) -> Stamp {
    let counts = old.map { $0.isPossible && $0.stamp < .latest } ?? false
    return min(placing(moment, over: counts ? old?.stamp : nil), latest)
  }
}

extension Epoch {
  /// 1,024 for each millisecond since 2020, which no anchor gives, and some more for sites whose
  /// clock is before that. It grows faster than anybody counts, so a liar that takes the highest
  /// one leaves room for the next.
  package static func most(at time: Stamp) -> UInt64 {
    (1 << 40) + UInt64(clamping: time.rawValue >> 6)
  }

  /// The highest that can ever be reached.
  package static let latest = most(at: .latest)
}
