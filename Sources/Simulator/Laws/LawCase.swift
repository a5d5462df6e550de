import Replication

/// A few random versions of one row, as three nodes may have made them, with an anchor or without.
struct LawCase {
  let versions: [LawVersion]

  /// `seq` counts the versions of all cases. Where nobody was ever the anchor all are plain; where
  /// one judges them, no author falls behind itself.
  init(row: Int, seq: inout UInt64, isPlain: Bool, isJudged: Bool, _ random: inout Seeded) {
    var versions: [LawVersion] = []
    for _ in 0..<2 + random.below(3) {
      seq += 1
      let law = LawVersion(
        row: Int64(row), content: random.chance(250) ? nil : Int64(random.below(4)),
        stamp: Int64(1 + random.below(3)), origin: UInt64(1 + random.below(3)), seq: seq)
      let earlier = versions.map(\.version)
      let made = isPlain ? law : Self.judged(law, after: earlier, &random)
      versions.append(isPlain || !isJudged ? made : Self.rising(made, after: earlier))
    }
    self.versions = versions
  }

  /// Perhaps a certificate, or an edit that was made on one; of terms and epochs so few that many
  /// are equal. In the term of the anchor there are edits alone, some on what it has said and
  /// forgotten since.
  private static func judged(
    _ law: LawVersion, after earlier: [Version], _ random: inout Seeded
  ) -> LawVersion {
    let term = random.pick([
      .none, Term(number: 1, incarnation: 1), Term(number: 1, incarnation: 2),
      Term(number: 2, incarnation: 0),
    ])
    if random.chance(200) {
      return law.made(in: LawStore.term, epoch: UInt64(random.below(3) * 50_000))
    }
    let epoch = UInt64(random.below(3))
    let knows = earlier.filter { _ in random.chance(400) }
    var law = law.made(in: term, epoch: epoch)
    if let base = knows.last, random.chance(600) {
      (law.version.created, law.version.createdAt) = (base.created, base.createdAt)
    }
    if let edit = earlier.first, term != .none, random.chance(400) {
      // A certificate carries what its edit said; one of no known edit stands for any other.
      law = law.certifying(random.chance(500) ? edit.edit : law.version.dot, in: term, epoch: epoch)
    } else {
      law.version.session = random.chance(200) ? random.next() : 0
    }
    for other in knows where other.edit.origin != law.version.edit.origin {
      law.version.context.add(other.edit)
    }
    return random.chance(150) ? law.undated : law
  }

  /// An author writes a row again on what it wrote before, or on what came after that. An anchor
  /// goes by it: of two edits of one author it looks at the later one alone.
  private static func rising(_ law: LawVersion, after earlier: [Version]) -> LawVersion {
    let own = earlier.filter { $0.dot.origin == law.version.dot.origin }
    guard let last = own.max(by: { $0.rank < $1.rank }), law.version.rank < last.rank else {
      return law
    }
    var law = law.made(in: last.term, epoch: last.epoch)
    law.version.certificate = nil
    law.version.stamp = last.stamp.successor
    return law
  }
}
