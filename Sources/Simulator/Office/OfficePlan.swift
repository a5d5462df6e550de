import Replication

/// What a schedule does about the anchor: drawn from the seed, but apart from everything else, so
/// that a schedule without an anchor is the same as ever.
package struct OfficePlan: Sendable {
  /// What happens to the office, and how often: chances in a thousand, per step.
  package enum Event: Int, CaseIterable, Sendable {
    /// An anchor is appointed in order.
    case handOver
    /// One takes office without waiting for its predecessor.
    case takeOver
    /// Two are appointed under one number.
    case rivalry
    /// From now on there is none.
    case abolition
    /// The one that is the anchor is appointed again.
    case reappointment
    /// The anchor is killed.
    case kill
    /// A table gets another rule.
    case newRule

    fileprivate func rate(_ random: inout Seeded) -> Int {
      switch self {
      case .handOver, .takeOver: 3 + random.below(40)
      case .rivalry, .reappointment: 2 + random.below(20)
      case .abolition: 1 + random.below(8)
      case .kill: 5 + random.below(60)
      case .newRule: 1 + random.below(20)
      }
    }
  }

  private var chances: [Int]
  /// Which rule the first table has; the next has the next.
  package let rule: Int
  /// Whether authors tell that they are in touch with the anchor.
  package let hasOnline: Bool
  /// Whether nobody is the anchor in the end.
  package let endsWithout: Bool
  /// Edits that are judged in one commit, at most.
  package let judgedRows: Int
  /// In how many steps the first one is appointed, in a thousand: 1000 for at once.
  package let start: Int
  package var random: Seeded

  /// Nil for half of all seeds: nobody is ever the anchor.
  package init?(seed: UInt64) {
    var random = Seeded(mix(seed) ^ 0x0FF1_CE)
    guard random.chance(500) else { return nil }
    chances = OfficePlan.Event.allCases.map { random.chance(350) ? $0.rate(&random) : 0 }
    rule = random.below(MergeRules.all.count)
    hasOnline = random.chance(600)
    endsWithout = random.chance(80)
    judgedRows = random.pick([1, 2, 5, 500])
    start = random.pick([1_000, 200, 40])
    self.random = random
  }

  /// Faults that do not happen beside an anchor: what is lost with a table nobody can judge, and
  /// an appointment must not be parted from those before it. Frames that are doubled, and
  /// migrations, happen in a third of the schedules, or where they are asked for. What is not tried
  /// beside rights is not tried beside both.
  static func excluded(
    seed: UInt64, but wanted: [Faults.Kind], hasRights: Bool
  ) -> [Faults.Kind] {
    var coin = Seeded(seed ^ 0x6D69_6772_6174)
    var never: [Faults.Kind] = [.removal, .loss, .reordering]
    if hasRights { never += Faults.Kind.withoutRights }
    if coin.chance(350) { return never }
    return never + [.duplication, .migration].filter { !wanted.contains($0) }
  }

  package subscript(event: Event) -> Int { chances[event.rawValue] }

  func rule(of table: Int) -> String { MergeRules.all[(rule + table) % MergeRules.all.count].name }
}
