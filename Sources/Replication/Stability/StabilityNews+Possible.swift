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
  /// lie above what is written from now on. A cut of a number that no site has come to would use
  /// the numbers up.
  package func possible(knowing appointees: Appointees, at moment: Int64) -> StabilityNews {
    var news = self
    let latest = Self.latestFloor(at: moment)
    news.floors = Floors(
      floors.buckets.filter { _, floor in
        appointees.knows(floor.term) && floor.stamp <= latest
          && floor.epoch <= Epoch.most(at: latest)
      })
    let most = Mark.most(at: moment + SiteClock.farthest)
    news.cut = cut.flatMap { $0.mark.number <= most ? $0 : nil }
    news.acknowledgements = acknowledgements.filter { $0.value.mark.number <= most }
    return news
  }

  /// The same without acknowledgements that are not signed, or by whom nobody here knows; nil if
  /// one is forged. What is `known` was looked at before, and what is older is not taken.
  package func signed(
    beside known: [Identity: Acknowledgement], isSigned: (Acknowledgement) -> Bool?
  ) -> StabilityNews? {
    var news = self
    for (node, said) in acknowledgements where said != known[node] {
      guard !said.signature.isEmpty, said.isLater(than: known[node]),
        let isSigned = isSigned(said)
      else {
        news.acknowledgements[node] = nil
        continue
      }
      guard isSigned else { return nil }
    }
    return news
  }
}
