/// A member may say anything of what was collected.
extension StabilityNews {
  /// The latest stamp of a deleted version that can have gone by a moment: it was kept for a
  /// retention. The times of two members may differ.
  package static func latestFloor(at moment: Int64) -> Stamp {
    Stamp(millisecondsSince1970: moment - Stability.retention + SiteClock.farthest)
  }

  /// The same without what cannot be.
  ///
  /// A floor of a term that nobody was appointed for, or of a delete that must be kept still, would
  /// lie above what is written from now on. Who was never a member has acknowledged nothing.
  package func possible(
    signedTerm: UInt64, latest: Stamp, isMember: (Identity) -> Bool
  ) -> StabilityNews {
    var news = self
    news.floors = Floors(
      floors.buckets.filter { _, floor in
        floor.term.number <= signedTerm + Office.onTheWay && floor.stamp <= latest
          && floor.epoch <= Epoch.most(at: latest)
      })
    if let cut {
      news.cut = Cut(
        mark: cut.mark, previous: cut.previous, frontier: cut.frontier,
        acknowledged: cut.acknowledged.filter { isMember($0.key) })
    }
    return news
  }
}
