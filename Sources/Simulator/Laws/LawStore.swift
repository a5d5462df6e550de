import Replication
import SQLite
import Store

/// A real store with one table that versions are merged into, far more than its application made.
final class LawStore {
  /// Who it is in a site.
  enum Part: Equatable {
    /// Nobody is the anchor.
    case free
    /// Somebody else is.
    case member
    /// It is the anchor, by this rule.
    case anchor(rule: String)
  }

  static let table = ApplicationTable(
    name: "law", sql: "(id INTEGER PRIMARY KEY, v INTEGER)", key: [("id", [])],
    collations: [.binary], columns: ["v"])
  private static let shape = TableShape(
    name: "law", keyCount: 1, columns: ["id", "v"], affinities: [.integer])
  private static let columns = ["id", "v"].map(ContentHash.column)
  private static let now = Instant(uptime: 1_000, wall: SimulatedClock.start)
  /// Of the anchor, where there is one.
  static let term = Term(number: 3, incarnation: 5)

  private let store: Store
  private let reader: Connection
  // After the connections: it is let go in this order.
  private let process: DiskProcess

  init(_ templates: Templates, number: Int = 0, _ part: Part = .free) throws {
    let disk = Disk(canLosePower: false)
    let template = try templates.image(
      [Self.table], tracking: [Self.table.name], number: number, hasHeard: true)
    disk.install(template.bytes, as: StoreReplica.path)
    process = DiskProcess(on: disk, random: Seeded(1))
    process.wall = Self.now.wall
    store = try Store(path: StoreReplica.path, vfs: process.name)
    reader = try Connection(path: StoreReplica.path, vfs: process.name)
    try take(part)
  }

  private func take(_ part: Part) throws {
    guard part != .free else { return }
    var isOwn = false
    if case .anchor(let rule) = part {
      try store.track([Self.table.name], rule: rule, at: Self.now)
      isOwn = true
    }
    _ = try store.govern(
      Governance(term: Self.term, isHeld: true, isOwn: isOwn, isFirst: true), at: Self.now)
    try finish()
  }

  /// Folds, and judges, until nothing is left to do.
  private func finish() throws { while try store.fold(at: Self.now).hasMore {} }

  /// Merges versions in one step, in this order, as part of an exchange of some kind.
  func merge(_ versions: [LawVersion], as kind: Begin.Kind = .repair) throws {
    var (batches, check) = ([[UInt8]](), UInt64(0))
    for start in stride(from: 0, to: versions.count, by: 500) {
      var writer = RowBatchWriter()
      for version in versions[start..<min(start + 500, versions.count)] {
        let key = Replication.Value.integer(version.row)
        writer.add(
          Self.shape, version.version,
          version.content.map { .values([key, .integer($0)]) } ?? .deleted(key: [key]))
      }
      batches.append(writer.bytes)
      check &+= writer.check
    }
    try merge(batches, kind, End(rows: UInt64(versions.count), check: check))
  }

  private func merge(_ batches: [[UInt8]], _ kind: Begin.Kind, _ end: End) throws {
    let merge = Merge(
      sender: Identity(high: 9, low: 9), kind: kind, batches: batches, rowsBefore: 0,
      checkBefore: 0, end: end, movesFrontier: kind != .repair)
    _ = try store.merge(merge, at: Self.now)
    try finish()
  }

  /// Merges everything that another store holds: all that it covers, or all that can be compared.
  func merge(_ other: LawStore, isFull: Bool) throws {
    let scope: Session.ExportScope =
      isFull ? .above(Frontier()) : .buckets(Array(0..<Digest.bucketCount))
    let opened = try other.store.openExport(scope, at: Self.now)
    defer { try? other.store.closeExport(opened.id) }
    var (batches, end) = ([[UInt8]](), End(rows: 0, check: 0))
    while case .batch(let batch) = try other.store.readExport(opened.id, at: Self.now) {
      batches.append(batch.bytes)
      end.rows += batch.rows
      end.check &+= batch.check
    }
    try merge(batches, isFull ? .full(covers: opened.covers) : .repair, end)
  }

  /// How many edits wait for the anchor's word, as the file has it.
  func unjudged() throws -> Int64 {
    try reader.scalar("SELECT count(*) FROM _flotilla_pending").integer ?? 0
  }

  /// What each row shows.
  func rows() throws -> [Int64: Int64] {
    var rows: [Int64: Int64] = [:]
    try reader.with("SELECT id, v FROM law") { (statement) throws(SQLiteError) in
      while try statement.step() { rows[statement.integer(0)] = statement.integer(1) }
    }
    return rows
  }

  static func hash(_ row: Int64, _ content: Int64) -> UInt64 {
    var hash = ContentHash()
    hash.add(column: columns[0], .integer(row))
    hash.add(column: columns[1], .integer(content))
    return hash.value
  }
}
