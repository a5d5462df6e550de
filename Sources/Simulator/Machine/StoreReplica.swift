import Replication
import SQLite
import Store

/// A real store on a simulated disk, and the application that uses the same file.
final class StoreReplica: SimulatedReplica {
  static let path = "/replica.db"

  let site = Templates.site
  let id: Identity
  let name: String
  var origin: Origin
  let number: Int
  /// What a copy of the file has.
  var backup: [String: [UInt8]] = [:]
  /// The runs and lives that its file knows of; of a machine that is gone, too.
  var runLog = RunLog()
  var signs = true {
    didSet { if signs, !oldValue { open?.lives.sign(by: SimulatedSite.signature) } }
  }
  var departed: Set<Origin> = [] { didSet { open?.departed = departed } }
  let tables: [ApplicationTable]
  let names: RowNames
  private let schemas: SchemaCache
  /// What the file was at first; nil for a copy.
  let template: Template?
  /// What the store went by when it was last looked at; tables that may not be read are not.
  private(set) var rights = Rights.all
  /// Rights are changing, and what that did to the rows has not been looked at.
  var isFollowing = false
  private var readable: [ApplicationTable]
  private let pace: Pace
  private let faults: Faults
  /// Long exchanges are merged in slices, which show.
  let isWhole: Bool
  /// Where each transaction is whole in the end.
  var mayBeWhole: Bool {
    [.restore, .clone, .rights].allSatisfy { faults[$0] == 0 }
  }
  /// Columns are dropped and renamed: nothing is promised of what is in them.
  private let losesColumns: Bool
  /// Whether somebody is the anchor now and then.
  private let hasOffice: Bool
  /// Whether deleted versions are let go of.
  private let collects: Bool
  /// Something was forbidden once, so that applications may have tried.
  private(set) var wasForbidden = false
  /// How much of its own the world has told it to be held by others.
  var delivered: UInt64 = 0
  /// Tables whose right has changed since everything was folded: what was written there meanwhile
  /// may be refused or not.
  private var unsettled: Set<String> = []
  let disk: Disk
  private var open: Store?
  // After the store: it is let go in this order.
  var process: DiskProcess
  var application: Application
  /// The table whose key changes, if the schedule has it.
  var charts: Charts?
  var witness = Witness()
  /// What was seen to descend from what in the middle of the work under way.
  private var glances = Lineage()
  /// What was in a table that the application has taken away since the last look.
  private var dropped: [RowNumber: Version] = [:]
  /// What the application has written, and nobody has looked at.
  private var writes = Traces()
  /// What programs have written and no parked row may displace; looked at where nobody judges.
  var spared = AnytimeSpared()
  let mischief: Mischief
  /// What follows the changes here, if the schedule has it.
  var followed: FollowedChanges?
  var random: Seeded
  /// Whether the application has written since the last look, and what others had by then.
  var hasWritten = true
  private var lastVersion: Int64 = -1
  /// The schema that the store has last seen: what comes with a later one was perhaps not noted.
  private var knownSchema: Int64 = -1

  init(
    number: Int, of count: Int, tables: [ApplicationTable], tracking: [String],
    hasCharts: Bool, hasHeard: Bool, templates: Templates, names: RowNames, faults: Faults,
    plan: OfficePlan?,
    _ random: inout Seeded
  ) throws {
    id = Templates.node(number)
    name = "node-\(number)"
    origin = Templates.origin(of: number)
    self.number = number
    self.tables = tables
    self.names = names
    schemas = templates.schemas
    readable = tables
    var pace = Self.pace(faults, &random)
    if let plan { (pace.judgedRows, pace.judgedAtOnce) = (plan.judgedRows, plan.judgedRows) }
    self.pace = pace
    self.faults = faults
    hasOffice = plan != nil
    collects = faults[.collection] > 0
    // What one life wrote together may meet what the next one wrote, row by row.
    isWhole =
      faults[.slices] == 0 && faults[.restore] == 0 && faults[.clone] == 0
      && plan.map { $0.judgedRows >= 500 } ?? true
    losesColumns = faults[.removal] > 0
    disk = Disk(canLosePower: faults[.powerCut] + faults[.siteTime] > 0)
    let more = hasCharts ? [Charts.table] : []
    let template = try templates.image(
      tables + more, tracking: tracking + more.map(\.name), number: number, rules: plan,
      hasHeard: hasHeard)
    self.template = template
    disk.install(template.bytes, as: Self.path)
    process = DiskProcess(on: disk, random: random.fork())
    application = try Application(
      on: disk, tables: tables, number: number, of: count, names: names, random: random.fork(),
      going: templates.programs.take(for: template))
    (application.claims, application.passing) = (faults[.unique], faults[.passing])
    application.swaps = faults[.swap]
    mischief = Mischief(faults, random.fork())
    self.random = random.fork()
    if faults[.changes] > 0 { followed = FollowedChanges(Seeded(UInt64(number))) }
    if hasCharts { charts = Charts(number: number, random: random.fork()) }
    open = try Store(path: Self.path, pace: pace, vfs: process.name, schemas: schemas)
    if signs { open?.lives.sign(by: SimulatedSite.signature) }
    witness.begin(try observe())
    process.fate = { [unowned self] in self.fate(of: $0) }
    process.failsToRead = { [mischief] in mischief.failsToRead() }
  }

  /// A copy of the files of another one, which another program uses; the store opens at the start.
  init(copying other: StoreReplica, as number: Int, _ random: inout Seeded) throws {
    (id, origin, self.number, name) = (other.id, other.origin, other.number, "node-\(number)")
    (tables, names, readable) = (other.tables, other.names, other.tables)
    template = nil
    schemas = other.schemas
    (pace, faults, hasOffice) = (other.pace, other.faults, other.hasOffice)
    collects = other.collects
    (isWhole, losesColumns) = (other.isWhole, other.losesColumns)
    disk = Disk(canLosePower: other.disk.canLosePower)
    for part in Self.parts {
      if let bytes = other.disk.file(part)?.bytes { disk.install(bytes, as: part) }
    }
    process = DiskProcess(on: disk, random: random.fork())
    application = try Application(
      on: disk, tables: tables, number: number, of: other.application.count, names: names,
      random: random.fork())
    application.sharesBadges = true
    mischief = Mischief(faults, random.fork())
    self.random = random.fork()
    witness.begin(try observe())
  }

  /// Small slices and batches, so that a few rows do what a million would.
  private static func pace(_ faults: Faults, _ random: inout Seeded) -> Pace {
    var pace = Pace()
    pace.journalEntries = random.pick([3, 10, 1_000])
    pace.comparedRows = random.pick([2, 5, 500])
    if faults[.slices] > 0 { pace.wholeRows = 0 }
    pace.batchRows = random.pick([1, 3, 500])
    pace.rowsTogether = [1: 1, 3: 2][pace.batchRows] ?? 4
    pace.mergedRows = pace.batchRows == 1 ? 2 : pace.batchRows
    pace.parkedRows = pace.batchRows
    if pace.batchRows == 3 { (pace.longRow, pace.pieceBytes) = (30, 20) }
    pace.recentRows = random.pick([4, 12, 60, 20_000])
    if faults[.slices] > 0 { pace.snapshotTime = random.pick([0, 40, 30_000]) }
    return pace
  }

  /// The store, unless its process is gone.
  func store() throws -> Store {
    guard let open else { throw StoreError(.closed, "the process is gone") }
    return open
  }

  var schemaHash: UInt64 { open?.schemaHash ?? 0 }
  var position: Position {
    open?.position ?? Position(frontier: Frontier(), digest: Digest(), own: origin)
  }
  var own: Origin { open?.own ?? origin }
  var isGone: Bool { process.isDead }
  var hasTrouble: Bool { mischief.hasTrouble }
  func calmDisk(_ isCalm: Bool) { mischief.isCalm = isCalm }
  func spoilDisk(_ random: inout Seeded) { mischief.spoil(&random) }

  func kill() {
    process.die()
    close()
  }

  func close() { open = nil }

  func cutPower(_ random: inout Seeded) {
    kill()
    application.die()
    disk.cutPower(&random)
  }

  func restart(at now: Instant, hadPower: Bool, _ history: inout History) throws {
    open = nil
    mischief.begin()
    if !hadPower {
      spared.merged()
      application = try application.restart(on: disk, random: random.fork())
      try charts?.readAgain(on: application.connection)
      hasWritten = true
      witness.setBack(to: try observe(), own: origin, &history, at: name)
    }
    process = DiskProcess(on: disk, random: random.fork())
    process.wall = now.wall
    process.fate = { [unowned self] in self.fate(of: $0) }
    process.failsToRead = { [mischief] in mischief.failsToRead() }
    witness.beginClocks()
    open = try Store(path: Self.path, pace: pace, vfs: process.name, schemas: schemas)
    if signs { open?.lives.sign(by: SimulatedSite.signature) }
    open?.departed = departed
    try lookAtRights(&history)
    try inspect(at: now, &history)
  }

  func write(_ random: inout Seeded, at now: Instant, _ story: inout Story) throws {
    application.setClock(now.wall)
    if charts != nil {
      charts?.begin(try application.isCaptured(Charts.name))
      try charts?.write(on: application.connection, &story)
      hasWritten = true
    }
    let isKnown = try application.schemaVersion() == knownSchema
    let before = try rows()
    let claimed = try standingBadges()
    let last = try application.lastTouch()
    guard try application.write(&random, &story) else { return }
    let (standing, after) = (try standingBadges(), try rows())
    writes.add(standing, over: claimed, at: name)
    spared.wrote(standing, over: claimed)
    hasWritten = true
    witness.written(
      after, before: before, touching: try application.touched(after: last), own: own,
      at: isKnown ? now.wall : 0)
  }

  /// The rows whose values all claim, where they do.
  private func standingBadges() throws -> [RowNumber: Badge] {
    application.claims > 0 ? try application.standingBadges() : [:]
  }

  func remove(_ random: inout Seeded, at now: Instant, _ story: inout Story) throws {
    application.setClock(now.wall)
    let before = try rows()
    let versions = try application.versions(of: tables)
    let gone = try application.remove(&random, &story)
    hasWritten = true
    let after = try rows()
    let away = gone.union(before.keys.filter { after[$0] == nil }.map(names.table))
    dropped.merge(versions.filter { away.contains(names.table(of: $0.key)) }) { $1 }
    if gone.isEmpty {
      witness.reshaped(after)
    } else {
      witness.removed(Set(before.keys).subtracting(after.keys))
    }
  }

  /// What the application reads of its tables.
  func rows() throws -> [RowNumber: Observation.Content] {
    let rows = try application.rows(of: readable)
    guard losesColumns else { return rows }
    return rows.mapValues { Observation.Content(whole: $0.common, common: $0.common) }
  }

  /// Tracks the tables that are not tracked yet; only a node that has the site's settings may.
  func trackAll(at now: Instant) throws {
    guard rights.isWhole, try application.isCaptured(Ledger.name) else { return }
    let missing = try tables.filter { !application.isGone($0) }.map(\.name)
      .filter { try !application.isCaptured($0) }
    guard !missing.isEmpty else { return }
    try begin(now).track(missing, rule: nil, at: now)
  }

  /// A call of the store is about to touch the disk.
  private func fate(of call: DiskProcess.Call) -> DiskProcess.Fate {
    if call == .lock, mischief.interleaves() {
      var story = Story(isTold: false)
      let now = Instant(at: process.wall)
      if let shown = try? observe() { witness.glance(shown, own: origin, &glances) }
      // Whoever cannot write now, because the store does, writes another time.
      try? write(&mischief.random, at: now, &story)
    }
    return mischief.fate(of: call)
  }

  func observe() throws -> Observation {
    let stability = collects ? try application.stability() : Stability()
    return Observation(
      frontier: try application.frontier(), versions: try application.versions(of: readable),
      lost: try application.lost(of: readable),
      dropped: losesColumns ? try application.rowsOfDropped() : [], rows: try rows(),
      shelved: try application.shelved(inPart: !losesColumns).filter(mayRead),
      hidden: try application.shelved(inPart: false),
      standing: try standingBadges(),
      parked: application.claims > 0 ? try application.parkedBadges() : [:],
      waiting: wasForbidden ? try application.waiting().filter(mayRead) : [],
      rivals: rights.isWhole ? [:] : try application.rivals(),
      refused: wasForbidden ? try application.refused() : [:],
      givenUp: collects ? try application.givenUp() : [:],
      isRenewing: stability.renewal != nil, isBehind: stability.standing.isBehind,
      log: try application.log(of: tables),
      office: hasOffice ? try application.office(of: tables) : nil)
  }

  func mayRead(_ row: RowNumber) -> Bool { rights.right(to: names.table(of: row)) != .none }

  func held(where isWanted: (String) -> Bool) throws -> [RowNumber: Version] {
    try application.versions(of: tables.filter { isWanted($0.name) })
  }

  /// The store goes by other rights than before: what it took back, and what is seen now.
  func lookAtRights(_ history: inout History) throws {
    let before = (rights, readable)
    do {
      try followRights(&history)
      isFollowing = false
    } catch {
      // The disk has failed: it is looked at once the process runs.
      (rights, readable) = before
      throw error
    }
  }

  private func followRights(_ history: inout History) throws {
    guard let open, open.rights != rights else { return }
    let before = rights
    let old = readable
    rights = open.rights
    readable = tables.filter { rights.right(to: $0.name) != .none }
    wasForbidden = true
    unsettled.formUnion(
      tables.map(\.name).filter { before.right(to: $0) != rights.right(to: $0) })
    hasWritten = true
    let tracked = Set(try open.trackedTables().map(\.name))
    let ended = Set(tables.map(\.name)).subtracting(tracked)
    let change = Witness.Change(
      held: try application.versions(of: old),
      opened: Set(readable.map(\.name).filter { before.right(to: $0) == .none }),
      changed: Set(tables.map(\.name).filter { before.right(to: $0) != rights.right(to: $0) }),
      closed: Set(tables.map(\.name).filter { before.mayWrite($0) && !rights.mayWrite($0) }),
      hidden: Set(tables.map(\.name).filter { rights.right(to: $0) == .none }),
      ended: ended, isWhole: rights.isWhole, delivered: delivered)
    history.lineage.join(&glances)
    try witness.follow(change, observe(), own: origin, table: names.table, &history, at: name)
  }

  func inspect(at now: Instant, _ history: inout History) throws {
    // It may have died when it had just gone over to other rights: which ones it says when it runs.
    if isFollowing, open == nil { return }
    try followChanges(&history, isEnd: false)
    if application.claims > 0, !hasOffice, !losesColumns, !collects, mayBeWhole {
      try lookAtParking(&history)
    }
    // Nothing that anybody has committed since the last look: nothing new to see.
    let version = try application.dataVersion()
    guard hasWritten || version != lastVersion else { return }
    (hasWritten, lastVersion) = (false, version)
    knownSchema = try application.schemaVersion()
    history.traces.join(&writes)
    history.hide(dropped, of: origin)
    dropped = [:]
    if application.claims > 0 {
      history.traces.add(logged: try application.loggedBadges(), at: name)
    }
    if losesColumns { history.lose(try application.lost(of: tables)) }
    let present = tables.filter { !application.isGone($0) }
    let captured = try application.capturedTables()
    guard present.allSatisfy({ captured.contains($0.name) }) else {
      // Who had seen what is noted all the same: an edit may be deleted again before all are there.
      witness.glance(try observe(), own: origin, &glances)
      let isKnown = faults[.rights] > 0 || losesColumns
      return witness.wait(
        try rows(), isKnown ? try application.versions(of: readable) : [:], own: origin)
    }
    history.lineage.join(&glances)
    let isFolded = try application.isFolded()
    let shown = try observe()
    if application.hasDropped {
      let delivered = try application.delivered()
      witness.forget(
        shown, of: origin, above: delivered,
        wasDropped: { application.hasDropped(names.table(of: $0)) },
        &history)
    }
    witness.check(
      shown, own: origin, isFolded: isFolded, at: name, now, &history
    ) { [rights, names, unsettled] row in
      let table = names.table(of: row)
      return min(unsettled.contains(table) ? .read : .write, rights.right(to: table))
    }
    if isFolded { unsettled = [] }
    if isWhole, !history.hasPaused, rights.right(to: Ledger.name) != .none {
      let own = wasForbidden ? id.low - 1 : nil
      try AnytimeWhole.check(application, besides: own, &history, at: name)
    }
    if random.chance(20) { try AnytimeConstraints.check(application, &history, at: name) }
  }
}
