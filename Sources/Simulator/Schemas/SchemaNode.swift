import Replication
import SQLite
import Store

/// A replica of a random schema: a store, a program, and somebody who looks on with plain SQL.
final class SchemaNode {
  private static let path = "/schema.db"

  let number: Int
  let name: String
  private(set) var store: Store
  let program: Connection
  let watcher: Connection
  // After the connections: they are let go in this order.
  private let disk: Disk
  private var process: DiskProcess
  private let programProcess: DiskProcess
  private let schemas = SchemaCache()
  private let pace: Pace
  private let skew: Int64
  /// How many migrations have been made here.
  var level = 0
  /// What is wrong with what was committed.
  private(set) var faults: [String] = []
  /// How often it has looked at all that programs had written.
  private(set) var looks = 0
  private var seen: Int64 = -1
  /// After how many calls of the store's process what becomes of the next one.
  private var mishap: (calls: Int, fate: DiskProcess.Fate)?
  /// What it has heard about the anchor.
  private var appointments: [Appointment] = []
  /// While a migration commits one statement after the other nothing holds.
  private var isMigrating = false
  /// A row of others may have come while the table of its parent was away, and the migration has
  /// ended since: until somebody has looked it may refer to nothing.
  private var isUnseen = false
  /// The schema that the file has now, if the checks of it hold in each commit.
  private(set) var schema: ApplicationSchema
  private(set) var reading: SchemaReading

  init(
    _ number: Int, _ schema: ApplicationSchema, at world: Int64, _ random: inout Seeded
  ) throws {
    (self.number, self.name, self.schema) = (number, "node-\(number)", schema)
    reading = SchemaReading(schema)
    var pace = Pace()
    pace.journalEntries = random.pick([3, 10, 1_000])
    pace.comparedRows = random.pick([2, 5, 500])
    pace.batchRows = random.pick([1, 3, 500])
    pace.rowsTogether = [1: 1, 3: 2][pace.batchRows] ?? 4
    pace.parkedRows = pace.batchRows
    pace.recentRows = random.pick([4, 20_000])
    self.pace = pace
    skew = Int64(random.below(4_000)) - 2_000
    disk = Disk(canLosePower: false)
    disk.install([], as: Self.path)
    process = DiskProcess(on: disk, random: random.fork())
    programProcess = DiskProcess(on: disk, random: random.fork())
    process.wall = SimulatedClock.start + world + skew
    programProcess.wall = process.wall
    program = try Connection(path: Self.path, vfs: programProcess.name)
    watcher = try Connection(path: Self.path, vfs: programProcess.name)
    try program.execute("PRAGMA foreign_keys = ON; \(ApplicationSchema.cache)")
    for sql in schema.statements { try program.execute(sql) }
    let copy = FirstCopy(inviter: Templates.node(0), name: "node-0", address: "-", rows: 0)
    try ReplicaFile.initialise(
      path: Self.path,
      as: ReplicaFile.Identities(
        site: Templates.site, siteName: "Test", node: Templates.node(number), nodeName: name,
        origin: Templates.origin(of: number)),
      copying: number == 0 ? nil : copy, vfs: process.name)
    store = try Store(path: Self.path, pace: pace, vfs: process.name, schemas: schemas)
    watch()
  }

  func setClock(_ world: Int64) {
    process.wall = SimulatedClock.start + world + skew
    programProcess.wall = process.wall
  }

  var now: Instant { Instant(uptime: process.wall, wall: process.wall) }

  /// Each time the store takes a lock, what was committed until then is looked at.
  private func watch() {
    process.fate = { [unowned self] call in
      guard call == .lock else { return strike() }
      inspect()
      return .done
    }
  }

  private func strike() -> DiskProcess.Fate {
    guard let next = mishap else { return .done }
    mishap = next.calls > 0 ? (next.calls - 1, next.fate) : nil
    return next.calls > 0 ? .done : next.fate
  }

  /// Something goes wrong with one of the next calls: the disk is full or fails, and the process
  /// goes on, or it is killed. Gives whether it came to that.
  func suffer(_ random: inout Seeded, _ work: () throws -> Void) throws -> Bool {
    mishap = (random.below(24), random.pick([.full, .failed, .deadBefore, .deadAfter]))
    defer { mishap = nil }
    do {
      try work()
      return false
    } catch {
      guard mishap == nil else { throw error }
      if process.isDead { try restart() }
      return true
    }
  }

  /// The process of the store ends, and another one begins.
  func restart() throws {
    process.die()
    let next = DiskProcess(on: disk, random: Seeded(UInt64(number)))
    next.wall = process.wall
    store = try Store(path: Self.path, pace: pace, vfs: next.name, schemas: schemas)
    process = next
    watch()
    try govern(by: appointments)
  }

  /// Hears of appointments that it does not know.
  func hear(_ appointments: [Appointment]) throws {
    guard appointments.count > self.appointments.count else { return }
    try govern(by: appointments)
    self.appointments = appointments
  }

  private func govern(by appointments: [Appointment]) throws {
    guard let governance = Appointments.governance(of: appointments, for: store.node)
    else { return }
    _ = try store.govern(governance, at: now)
    while store.currentOffice.term < governance.term {
      try foldAll()
      _ = try store.govern(governance, at: now)
    }
    inspect()
  }

  /// How far it is.
  var standing: String { "\(store.position.frontier) \(store.currentJudged)" }

  /// Gives whether more is to be folded.
  @discardableResult
  func fold() throws -> Bool {
    let hasMore = try store.fold(at: now).hasMore
    if !hasMore { (isUnseen, looks) = (false, looks + 1) }
    inspect()
    return hasMore
  }

  func foldAll() throws { while try fold() {} }

  /// Everything that another one has and this one lacks, in steps if so wanted; after `limit` of
  /// them the link breaks.
  func pull(from other: SchemaNode, inSteps: Bool, limit: Int = .max) throws {
    try hear(other.appointments)
    let (covers, batches, judged) = try other.export(.above(store.position.frontier))
    let groups = inSteps ? batches.map { [$0] } : [batches]
    var (rows, check) = (UInt64(0), UInt64(0))
    for (place, group) in (groups.isEmpty ? [[]] : groups).enumerated() {
      guard place < limit else { return }
      let isLast = place >= groups.count - 1
      var merge = Merge(
        sender: other.store.node, kind: .full(covers: covers), batches: group.map(\.bytes),
        rowsBefore: rows, checkBefore: check, end: nil, movesFrontier: isLast)
      rows += group.reduce(0) { $0 + $1.rows }
      check &+= group.reduce(0) { $0 &+ $1.check }
      if isLast { merge.end = End(rows: rows, check: check) }
      merge.standing = other.store.stability.standing
      merge.judged = judged
      _ = try store.merge(merge, at: now)
      looks += 1
      inspect()
    }
  }

  private func export(
    _ scope: Session.ExportScope
  ) throws -> (covers: Frontier, batches: [ExportBatch], judged: Judged?) {
    let opened = try store.openExport(scope, at: now)
    var batches: [ExportBatch] = []
    var part: [UInt8] = []
    reading: while true {
      switch try store.readExport(opened.id, at: now) {
      case .part(let bytes): part += bytes
      case .batch(var batch):
        batch.bytes = part + batch.bytes
        part = []
        batches.append(batch)
      case .paused, .done: break reading
      }
    }
    try store.closeExport(opened.id)
    return (opened.covers, batches, opened.judged)
  }

  /// Everything in which the digests differ.
  func repair(from other: SchemaNode) throws {
    let differing = store.position.digest.differing(from: other.store.position.digest)
    guard !differing.isEmpty else { return }
    let batches = try other.export(.buckets(differing)).batches
    let (rows, check) = (
      batches.reduce(0) { $0 + $1.rows }, batches.reduce(0) { $0 &+ $1.check }
    )
    _ = try store.merge(
      Merge(
        sender: other.store.node, kind: .repair, batches: batches.map(\.bytes), rowsBefore: 0,
        checkBefore: 0, end: End(rows: rows, check: check), movesFrontier: false), at: now)
    inspect()
  }

  /// Looks at what was committed last: every constraint that the schema declares holds.
  func inspect() {
    guard !isMigrating else { return }
    do {
      let version = try watcher.dataVersion()
      guard version != seen else { return }
      seen = version
      for sql in reading.broken {
        let count = try watcher.scalar(sql).integer ?? 0
        if count > 0 { blame("\(count) rows break a constraint: \(sql)") }
      }
      for line in try damage(seenBy: watcher) { blame(line) }
      for row in isUnseen ? [] : try watcher.rows("PRAGMA foreign_key_check")
      where try isKnown(row[2].string ?? "") {
        blame("a reference of \(row[0].string ?? "?") to \(row[2].string ?? "?") leads nowhere")
      }
    } catch {
      blame("cannot be read: \(error)")
    }
  }

  /// Whether a table is the site's, as far as is known here. One that was renamed and made anew in
  /// one go may have to be named first; until its rows were looked at nobody knows what they are.
  private func isKnown(_ name: String) throws -> Bool {
    let site = store.tables.siteName(name)
    // Not by the store, which may be taking a lock just now.
    let isTracked = try watcher.row(
      "SELECT 1 FROM _flotilla_table WHERE name = ?", [.string(site)])
    guard isTracked != nil else { return false }
    guard let table = schema.tables.first(where: { $0.name == name }), table.first != name
    else { return true }
    let compared = try watcher.row("SELECT 1 FROM _flotilla_local WHERE comparing IS NOT NULL")
    return compared == nil && site == table.first
  }

  /// What `integrity_check` says of the tables.
  func damage(seenBy connection: Connection) throws(SQLiteError) -> [String] {
    var damage: [String] = []
    for sql in reading.integrity {
      // Of a table without rowid it reads the wrong column where the key is not the first (seen
      // with 3.40.1): what it says of values is not heard, and NULL is looked for by plain queries.
      damage += try connection.rows(sql).compactMap(\.first?.string)
        .filter { $0 != "ok" && !$0.contains(" value in ") }
    }
    return damage
  }

  func blame(_ fault: String) {
    if faults.count < 3 { faults.append("\(name): \(fault)") }
  }

  /// Makes a migration of which each statement is a transaction, and the node looks after some of
  /// them. Old scripts set the table of before aside. Tells what happened.
  func makeInParts(_ migration: Migration, _ random: inout Seeded) throws -> [String] {
    isMigrating = true
    defer { (isMigrating, isUnseen) = (false, true) }
    let setsAside = random.chance(500)
    try program.execute(
      "PRAGMA foreign_keys = OFF; PRAGMA legacy_alter_table = \(setsAside ? "ON" : "OFF")")
    var story: [String] = []
    let statements = setsAside ? migration.settingAside : migration.statements
    for (place, sql) in statements.enumerated() {
      story.append("    \(sql)")
      try program.execute(sql)
      // A row that comes back before a unique index is there may be in its way.
      let isOpen = statements[place...].dropFirst().contains { $0.hasPrefix("CREATE UNIQUE") }
      guard !isOpen, random.chance(300) else { continue }
      story.append("    \(name) looks")
      try foldAll()
    }
    try program.execute("PRAGMA legacy_alter_table = OFF; PRAGMA foreign_keys = ON")
    return story
  }

  /// Tracks tables that have appeared, as a node does. What refers to them may have come before.
  func takeIn() throws {
    try foldAll()
    let names = try store.untracked.new().map(\.name)
    isUnseen = true
    try store.track(names, rule: nil, at: now)
    try foldAll()
  }

  /// A program drops a table and makes it again, empty, and the node looks.
  func empty(_ table: ApplicationSchema.Table) throws {
    isUnseen = true
    try program.execute("PRAGMA foreign_keys = OFF; BEGIN; DROP TABLE \(table.name)")
    let statements =
      [schema.creation(of: table)] + table.indexes.map { schema.creation(of: $0, on: table) }
      + schema.tables.flatMap(\.triggers).map(schema.creation(of:))
    for sql in statements {
      try program.execute(sql.replacing("CREATE TRIGGER ", with: "CREATE TRIGGER IF NOT EXISTS "))
    }
    try program.execute("COMMIT; PRAGMA foreign_keys = ON")
    try foldAll()
  }

  /// The schema changes from now on: nobody looks at what is half done.
  func migrated(to schema: ApplicationSchema) {
    self.schema = schema
    reading = SchemaReading(schema)
    level += 1
    watcher.clearStatements()
    program.clearStatements()
  }
}
