import Replication
import SQLite
import Store

/// A real store with one table that versions are merged into, far more than its application made.
final class LawStore {
  static let table = ApplicationTable(
    name: "law", sql: "(id INTEGER PRIMARY KEY, v INTEGER)", key: [("id", [])],
    collations: [.binary], columns: ["v"])
  private static let shape = TableShape(name: "law", keyCount: 1, columns: ["id", "v"])
  private static let columns = ["id", "v"].map(ContentHash.column)
  private static let now = Instant(uptime: 1_000, wall: SimulatedClock.start)

  private let store: Store
  private let reader: Connection
  // After the connections: it is let go in this order.
  private let process: DiskProcess

  init(_ templates: Templates) throws {
    let disk = Disk(canLosePower: false)
    disk.install(
      try templates.image([Self.table], tracking: [Self.table.name], number: 0).bytes,
      as: StoreReplica.path)
    process = DiskProcess(on: disk, random: Seeded(1))
    process.wall = Self.now.wall
    store = try Store(path: StoreReplica.path, vfs: process.name)
    reader = try Connection(path: StoreReplica.path, vfs: process.name)
  }

  /// Merges versions in one step, in this order.
  func merge(_ versions: [LawVersion]) throws {
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
    try merge(batches: batches, rows: UInt64(versions.count), check: check)
  }

  private func merge(batches: [[UInt8]], rows: UInt64, check: UInt64) throws {
    let merge = Merge(
      sender: Identity(high: 9, low: 9), kind: .repair, batches: batches, rowsBefore: 0,
      checkBefore: 0, end: End(rows: rows, check: check), movesFrontier: false)
    _ = try store.merge(merge, at: Self.now)
  }

  /// Merges everything that another store holds.
  func merge(_ other: LawStore) throws {
    let opened = try other.store.openExport(
      .buckets(Array(0..<Digest.bucketCount)), at: Self.now)
    defer { try? other.store.closeExport(opened.id) }
    var (batches, rows, check) = ([[UInt8]](), UInt64(0), UInt64(0))
    while case .batch(let batch) = try other.store.readExport(opened.id, at: Self.now) {
      batches.append(batch.bytes)
      rows += batch.rows
      check &+= batch.check
    }
    try merge(batches: batches, rows: rows, check: check)
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

/// One version of a row of the table of laws.
struct LawVersion {
  let row: Int64
  /// Nil if it is deleted.
  let content: Int64?
  let version: Version

  init(row: Int64, content: Int64?, stamp: Int64, origin: UInt64, seq: UInt64) {
    self.row = row
    self.content = content
    let dot = Dot(Origin(rawValue: origin), seq)
    version = Version(
      dot: dot, created: dot, stamp: Stamp(rawValue: stamp),
      hash: content.map { LawStore.hash(row, $0) } ?? 0, isDeleted: content == nil)
  }

  /// What decides, said once more: the stamp, then the origin, then the content's hash.
  var rank: (Int64, UInt64, UInt64) {
    (version.stamp.rawValue, version.dot.origin.rawValue, version.hash)
  }
}
