/// What goes wrong in a schedule, and how often: chances in a thousand, per step of the kind that
/// they spoil.
package struct Faults: Sendable, Equatable {
  /// The kinds, by the names that a command line switches them off with.
  package enum Kind: Int, CaseIterable, Sendable {
    /// A frame never arrives.
    case loss
    /// A frame arrives twice.
    case duplication
    /// Two frames change places.
    case reordering
    /// A connection ends, perhaps in the middle of a frame, perhaps noticed by one side only.
    case interruption
    /// Two groups of nodes cannot reach each other.
    case partition
    /// Frames pass in one direction only.
    case oneWay
    /// Frames of one direction take long.
    case slowness
    /// The process is killed, before, in or after a commit, and starts again.
    case crash
    /// The machine loses power: what was not synced is lost, in part or whole.
    case powerCut
    /// The disk has no room for a while.
    case diskFull
    /// A call to the disk fails.
    case ioError
    /// The wall clock is set to another time.
    case clockStep
    /// Clocks run at their own speed.
    case clockDrift
    /// A reboot sets the wall clock to 1970.
    case noClock
    /// A node is off for days.
    case absence
    /// A node leaves for good, with what only it had.
    case death
    /// Long exchanges pause, and are merged in slices.
    case slices
    /// The application changes its schema.
    case migration
    /// The application drops a table or a column, or renames one.
    case removal
    /// Applications write in the middle of what Flotilla does.
    case interleaving
    /// Somebody is the anchor, and it changes who.
    case office
    /// A file is put back to an earlier state, alone or with what stands beside it.
    case restore
    /// Deleted versions are let go of, and nodes are not waited for.
    case collection
    /// Some nodes may not read or not write every table, and what they may changes.
    case rights
    /// A copy of a node's files runs beside it, for a while.
    case clone
    /// Stamps are given by the time of the site, which nodes hand on and lose: clocks are set, stop
    /// at 1970, and now and then everybody loses power.
    case siteTime
    /// What is lost is lost in a row: whole exchanges, now and then.
    case burst
    /// Nodes claim the unique values of others, and write their rows.
    case unique
    /// In tables that were made again, rows are written and deleted at once.
    case passing
    /// A program frees the value that a parked row claims, and gives it to a row that it makes.
    case swap
    /// Programs follow what changes, and do the same to a copy.
    case changes
    /// A member says what its program likes, and is shut out in the end.
    case liar
    /// Whose signature is whose, who signs, and what counts without is known bit by bit.
    case strangers
  }

  private var chances: [Int]

  /// Nothing goes wrong.
  package init() { chances = Array(repeating: 0, count: Kind.allCases.count) }

  /// About a third of the kinds, each more or less often.
  package init(_ random: inout Seeded) {
    self.init()
    // Whether there is an anchor, rights and so on is drawn apart from these.
    let apart: Set<Kind> = [
      .office, .rights, .restore, .collection, .clone, .siteTime, .burst, .unique, .passing,
      .swap, .changes, .liar, .strangers,
    ]
    for kind in Kind.allCases where !apart.contains(kind) && random.chance(350) {
      self[kind] = kind.rate(&random)
    }
  }

  /// Perhaps files that are put back. What migrations did since then would have to be done again.
  mutating func addRestores(_ random: inout Seeded) {
    guard random.chance(300) else { return }
    self[.restore] = Kind.restore.rate(&random)
    (self[.migration], self[.removal]) = (0, 0)
  }

  /// Perhaps deleted versions are let go of. Tables that go and come back have other ways to know
  /// what was deleted.
  mutating func addCollection(_ random: inout Seeded, chance: Int) {
    guard random.chance(chance) else { return }
    self[.collection] = Kind.collection.rate(&random)
    (self[.migration], self[.removal]) = (0, 0)
  }

  /// Has all of these, and none of those that do not go with them.
  mutating func insist(on kinds: [Kind], _ random: inout Seeded) {
    for kind in kinds where self[kind] == 0 { self[kind] = kind.rate(&random) }
    if !kinds.contains(.rights) { self[.rights] = 0 }
    if kinds.contains(.liar) {
      for kind in Kind.withoutLiar where !kinds.contains(kind) { self[kind] = 0 }
    }
    if kinds.contains(.strangers) {
      for kind in Kind.withoutStrangers { self[kind] = 0 }
    }
    if self[.unique] > 0 {
      for kind in Kind.withoutClaims where !kinds.contains(kind) { self[kind] = 0 }
    }
    if kinds.contains(.rights) {
      for kind in Kind.withoutRights where !kinds.contains(kind) { self[kind] = 0 }
    }
    let alone: [Kind] = [.restore, .collection, .clone]
    if kinds.contains(.migration) || kinds.contains(.removal) {
      for kind in alone where !kinds.contains(kind) { self[kind] = 0 }
    }
    if alone.contains(where: { self[$0] > 0 }) { (self[.migration], self[.removal]) = (0, 0) }
  }

  /// Perhaps a copy that runs beside its original.
  mutating func addClones(_ random: inout Seeded) {
    guard random.chance(250) else { return }
    self[.clone] = Kind.clone.rate(&random)
    (self[.migration], self[.removal]) = (0, 0)
  }

  /// Perhaps frames that are lost in a row.
  mutating func addBursts(_ random: inout Seeded) {
    guard random.chance(200) else { return }
    self[.burst] = Kind.burst.rate(&random)
    if self[.loss] == 0 { self[.loss] = Kind.loss.rate(&random) }
  }

  /// Perhaps rows that come and go at once, where tables are dropped.
  mutating func addPassing(_ random: inout Seeded) {
    guard self[.removal] > 0, random.chance(500) else { return }
    self[.passing] = Kind.passing.rate(&random)
  }

  /// Perhaps values that several nodes claim.
  mutating func addClaims(_ random: inout Seeded) {
    guard Kind.withoutClaims.allSatisfy({ self[$0] == 0 }), random.chance(300) else { return }
    self[.unique] = Kind.unique.rate(&random)
  }

  /// Perhaps values that go over to new rows while a parked row claims them.
  mutating func addSwaps(_ random: inout Seeded) {
    guard self[.unique] > 0, random.chance(500) else { return }
    self[.swap] = Kind.swap.rate(&random)
  }

  /// Perhaps members that do not know each other yet.
  mutating func addStrangers(_ random: inout Seeded) {
    guard Kind.withoutStrangers.allSatisfy({ self[$0] == 0 }), random.chance(200) else { return }
    self[.strangers] = Kind.strangers.rate(&random)
  }

  /// Perhaps the time of the site, and what is hard for it.
  mutating func addSiteTime(_ random: inout Seeded) {
    guard random.chance(300) else { return }
    self[.siteTime] = Kind.siteTime.rate(&random)
    for kind in [Kind.clockStep, .powerCut, .clockDrift] where self[kind] == 0 {
      self[kind] = kind.rate(&random)
    }
  }

  /// Perhaps rights, drawn by themselves: schedules without them are as if there were none.
  ///
  /// A table that is dropped where not everything may be read does not come again by itself, as
  /// docs/limits.md says: the two are not mixed.
  mutating func addRights(_ random: inout Seeded) {
    guard random.chance(400) else { return }
    self[.rights] = Kind.rights.rate(&random)
    self[.removal] = 0
  }

  package subscript(kind: Kind) -> Int {
    get { chances[kind.rawValue] }
    set { chances[kind.rawValue] = newValue }
  }

  /// The kinds that can happen.
  package var kinds: [Kind] { Kind.allCases.filter { self[$0] > 0 } }
}

extension Faults.Kind {
  /// A chance for this kind: rare where it takes much away, frequent where it only delays.
  func rate(_ random: inout Seeded) -> Int {
    switch self {
    case .loss, .duplication, .reordering: 1 + random.below(150)
    case .interruption: 5 + random.below(80)
    case .partition, .oneWay: 2 + random.below(20)
    case .slowness: 300 + random.below(650)
    case .crash, .powerCut: 20 + random.below(200)
    case .diskFull, .ioError: 1 + random.below(20)
    case .clockStep, .noClock: 2 + random.below(20)
    case .clockDrift: 1_000
    case .absence: 1 + random.below(5)
    case .death: 1 + random.below(3)
    case .slices: 100 + random.below(500)
    case .migration, .removal: 30 + random.below(300)
    case .interleaving: 5 + random.below(100)
    case .office: 0
    case .changes: 1_000
    case .liar: 200 + random.below(700)
    case .strangers: 20 + random.below(200)
    case .collection: 20 + random.below(80)
    case .restore, .clone: 50 + random.below(300)
    case .rights: 200 + random.below(800)
    case .siteTime: 1 + random.below(30)
    case .burst: 400 + random.below(500)
    case .unique, .passing, .swap: 300 + random.below(650)
    }
  }

  /// What is not tried where nodes claim each other's values: of a file that was put back, nobody
  /// knows what it had claimed.
  static let withoutClaims: [Self] = [.restore, .clone, .collection, .rights]

  /// What is not tried beside a liar: nobody knows what a machine holds that it has told something.
  static let withoutLiar: [Self] = [
    .migration, .removal, .restore, .clone, .collection, .unique, .swap, .passing,
  ]

  /// What is not tried where some do not sign yet: that their file was put back nobody can show.
  static let withoutStrangers: [Self] = [.restore, .clone, .collection, .rights, .liar]

  /// Where these happen an edit may have another time than that at which its row was written.
  static let redating: [Self] = [
    .clockStep, .clockDrift, .noClock, .powerCut, .siteTime, .interleaving, .migration, .removal,
    .rights, .unique,
  ]

  /// What is not tried beside rights.
  static let withoutRights: [Self] = [
    .removal, .passing, .siteTime, .restore, .collection, .clone, .unique, .swap,
  ]
}
