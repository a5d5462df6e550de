import Replication

/// One schedule: what it was, what went wrong, and how it went.
package struct Run: Sendable {
  /// The speed: versions and machines only, or with real stores on a simulated disk.
  package enum Depth: String, Sendable, CaseIterable {
    case pure
    case full
  }

  /// What a schedule is made from; equal plans run equally.
  package struct Plan: Sendable {
    package var depth: Depth
    package var seed: UInt64
    /// Steps of random life; nil for as many as the seed says.
    package var steps: Int?
    /// Whether all nodes have the tables when life begins, and whether losses come in a row, is
    /// drawn as well though the number of steps is given. Of the first kept seeds it was not.
    package var isDrawn = false
    /// Kinds of faults that happen whatever the seed says.
    package var with: [Faults.Kind] = []
    /// Kinds of faults that do not happen though the seed says so.
    package var without: [Faults.Kind] = []

    package init(_ depth: Depth, seed: UInt64) {
      self.depth = depth
      self.seed = seed
    }
  }

  package let plan: Plan
  package let faults: [String]
  package let story: [String]
  package let steps: Int
  package let kinds: [Faults.Kind]

  /// Runs a schedule to its end; `templates` are kept from one to the next.
  package init(_ plan: Plan, _ templates: Templates, isTold: Bool = false) {
    self.plan = plan
    var office = OfficePlan(seed: plan.seed)
    var random = Seeded(plan.seed)
    var faults = Faults(&random)
    var site = Seeded(plan.seed ^ 0x7269_6768_7473)
    faults.addRights(&site)
    if office == nil, faults[.rights] == 0 {
      var copies = Seeded(plan.seed ^ 0x636F_7069_6573)
      faults.addRestores(&copies)
      var clones = Seeded(plan.seed ^ 0x636C_6F6E_6573)
      faults.addClones(&clones)
      var times = Seeded(plan.seed ^ 0x7469_6D65_73)
      faults.addSiteTime(&times)
    }
    if office == nil, faults[.rights] == 0 {
      var time = Seeded(plan.seed ^ 0x7469_6D65)
      faults.addCollection(&time, chance: 300)
    }
    let isDrawn = plan.steps == nil || plan.isDrawn
    Self.choose(plan, isDrawn, &faults, &office)
    if office != nil, isDrawn {
      var time = Seeded(plan.seed ^ 0x676F_6E65)
      faults.addCollection(&time, chance: 150)
    }
    if office == nil, isDrawn {
      var bursts = Seeded(plan.seed ^ 0x6275_7273_7473)
      faults.addBursts(&bursts)
    }
    if isDrawn, plan.with.isEmpty, plan.depth == .full {
      var claims = Seeded(plan.seed ^ 0x756E_6971_7565)
      faults.addClaims(&claims)
      if plan.steps == nil { faults.addSwaps(&claims) }
    }
    Self.add(plan, isDrawn, &faults, &office)
    if isDrawn {
      var passing = Seeded(plan.seed ^ 0x7061_7373_696E_67)
      faults.addPassing(&passing)
    }
    if plan.without.contains(.office) { office = nil }
    for kind in plan.without { faults[kind] = 0 }
    if office != nil {
      let hasRights = faults[.rights] > 0
      for kind in OfficePlan.excluded(seed: plan.seed, but: plan.with, hasRights: hasRights) {
        faults[kind] = 0
      }
    }
    let drawn = Self.steps(random.below(1_000))
    steps = plan.steps ?? drawn
    var founding = Seeded(plan.seed ^ 0x666F_756E_6465_64)
    let isFounded = isDrawn && founding.chance(700)
    kinds = faults.kinds
    let story = Story(isTold: isTold)
    switch plan.depth {
    case .pure:
      (self.faults, self.story) = Self.pure(&random, faults, office, &site, story, steps: steps)
    case .full:
      do {
        (self.faults, self.story) = try Self.full(
          &random, faults, office, &site, story, templates, steps: steps, isFounded: isFounded,
          hasCharts: isDrawn && Charts.isWanted(faults, office, seed: plan.seed))
      } catch {
        (self.faults, self.story) = (["the schedule cannot begin: \(error)"], [])
      }
    }
  }

  /// Perhaps strangers, and whatever is to be there.
  private static func add(
    _ plan: Plan, _ isDrawn: Bool, _ faults: inout Faults, _ office: inout OfficePlan?
  ) {
    if isDrawn, plan.with.isEmpty, office == nil {
      var strangers = Seeded(plan.seed ^ 0x7374_7261_6E67)
      faults.addStrangers(&strangers)
    }
    guard !plan.with.isEmpty else { return }
    var forced = Seeded(plan.seed ^ 0x7769_7468)
    faults.insist(on: plan.with, &forced)
    if !plan.with.contains(.office) { office = nil }
  }

  /// Of rights and an anchor a schedule that has drawn both keeps one or the other, or both.
  private static func choose(
    _ plan: Plan, _ isDrawn: Bool, _ faults: inout Faults, _ office: inout OfficePlan?
  ) {
    guard office != nil, faults[.rights] > 0 else { return }
    // In memory rights do little: nothing is put back there.
    var coin = Seeded(plan.seed ^ 0x626F_7468)
    let isOffice = plan.depth == .pure || coin.chance(450)
    if isDrawn, plan.depth == .full, coin.chance(400) { return }
    if isOffice { faults[.rights] = 0 } else { office = nil }
  }

  /// Most schedules are short and some are long: per second more is found in short ones, but some
  /// faults take long.
  private static func steps(_ drawn: Int) -> Int {
    let skewed = drawn * drawn / 1_000 * drawn / 1_000
    return 15 + skewed * 135 / 1_000
  }

  private static func pure(
    _ random: inout Seeded, _ faults: Faults, _ office: OfficePlan?, _ site: inout Seeded,
    _ story: Story, steps: Int
  ) -> ([String], [String]) {
    let count = 2 + random.below(3)
    let isLine = random.chance(250)
    let replicas = (0..<count).map {
      MemoryReplica(number: $0, faults: faults, plan: office, &random)
    }
    var world = World(
      replicas: replicas, isLine: isLine, faults: faults, random: random, story: story)
    world.plan = office
    // Tables that nobody has: what one may do with the only one stays as it is.
    world.found(World<MemoryReplica>.SiteShape(tables: ["one", "other"], isLine: isLine), &site)
    world.run(steps: steps)
    return (world.history.faults, world.story.lines)
  }

  private static func full(
    _ random: inout Seeded, _ faults: Faults, _ office: OfficePlan?, _ site: inout Seeded,
    _ story: Story, _ templates: Templates, steps: Int, isFounded: Bool, hasCharts: Bool
  ) throws -> ([String], [String]) {
    let count = 2 + random.below(3)
    let isLine = random.chance(250)
    let tables = random.pick(ApplicationTable.groups)
    let names = RowNames()
    // One table may become the site's later, by any node; the ledger, which comes last, never.
    let late = tables.count > 3 && faults[.migration] > 0 && random.chance(500) ? 1 : 0
    var replicas: [StoreReplica] = []
    for number in 0..<count {
      replicas.append(
        try StoreReplica(
          number: number, of: count, tables: tables, tracking: tables.dropFirst(late).map(\.name),
          hasCharts: hasCharts, hasHeard: isFounded, templates: templates, names: names,
          faults: faults, plan: office,
          &random))
    }
    var world = World(
      replicas: replicas, isLine: isLine, faults: faults, random: random, story: story)
    world.plan = office
    world.found(
      World<StoreReplica>.SiteShape(tables: tables.map(\.name), isLine: isLine), &site)
    world.run(steps: steps)
    for replica in replicas { replica.end(templates.programs) }
    return (world.history.faults, world.story.lines)
  }
}

extension World {
  /// Lives, heals, and looks at what must hold in the end.
  mutating func run(steps: Int) {
    history.collects = hasCollection
    history.migrates = faults[.migration] > 0
    history.hasStrangers = faults[.strangers] > 0
    history.hasSteadyClocks = !hasLives && Faults.Kind.redating.allSatisfy { faults[$0] == 0 }
    if hasSiteTime { foundTime() }
    if hasLives { for node in nodes.indices { attempt(node, nil, 0) { try $0.beginRun(node) } } }
    live(steps: steps)
    let needsRepair = faults[.removal] > 0 || history.hasForks || liar != nil
    if !settle() || needsRepair && !repair() { history.blame("they never fall silent") }
    // Clocks are compared once a minute, and each node follows its neighbour.
    if hasSiteTime { for node in nodes.indices where node == 0 || !isTimed { idle(for: 65_000) } }
    do {
      var shown: [(name: String, shown: Observation)] = []
      for node in nodes.all where !node.isDead && node.replica.rights.isWhole {
        shown.append((node.replica.name, try node.replica.observeEnd(mayClash: history.mayClash)))
      }
      for node in nodes.all where !node.isDead { try node.replica.inspectEnd(&history) }
      let charts = try nodes.all.filter { !$0.isDead }.map { try $0.replica.chart() }
      if charts.contains(where: { $0 != charts[0] }) { history.blame("charts are not equal") }
      EventuallyEqual.check(digests: digests, shown, &history)
      EventuallyEqual.check(shown, &history)
      FinallyNewest.check(shown, &history)
      let living = nodes.all.filter { !$0.isDead }.map(\.replica)
      FinallySigned.check(
        living.map { ($0.name, $0.own, $0.frontier) }, invented: liar?.invented ?? [], &history)
      FinallyAppointed.check(shown, appointments: appointments, owners: owners, &history)
      EventuallyStanding.check(shown, &history)
      if faults[.unique] > 0 {
        let dead = nodes.all.filter(\.isDead).map(\.replica.name)
        FinallyFound.check(shown, dead: Set(dead), &history)
      }
      if plan == nil { try checkLogs(shown) }
      if hasSiteTime { EventuallyTimed.check(times, &history) }
      if plan != nil { try checkOffice(shown) }
      if hasRights { try checkRights(shown) }
    } catch {
      history.blame("a replica cannot be read in the end: \(error)")
    }
  }
}
