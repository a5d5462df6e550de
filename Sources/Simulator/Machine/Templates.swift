import Replication
import SQLite
import Store

/// Finished database files, so that a schedule need not make them anew: one per set of tables and
/// node.
package final class Templates {
  private var images: [String: [UInt8]] = [:]

  package init() {}

  static let site = Identity(high: 1, low: 1)

  static func node(_ number: Int) -> Identity { Identity(high: 0, low: UInt64(number + 1)) }

  /// The origin of the one life that every node has.
  static func origin(of number: Int, life: UInt64 = 0) -> Origin {
    Origin.of(node(number), life: life, SimulatedSite.notary)
  }

  /// The file of a node; the first node of a site tracks these tables.
  func image(
    _ tables: [ApplicationTable], tracking: [String], number: Int, rules: OfficePlan? = nil
  ) throws -> [UInt8] {
    let key =
      tables.map(\.name).joined(separator: ",") + "/\(tracking.count)/\(number)"
      + (number == 0 ? rules.map { "/\($0.rule)" } ?? "" : "")
    if let image = images[key] { return image }
    let disk = Disk(canLosePower: false)
    _ = disk.create(StoreReplica.path)
    let process = DiskProcess(on: disk, random: Seeded(1))
    process.wall = SimulatedClock.start
    try Self.make(tables, tracking, number, rules, process)
    guard let image = disk.file(StoreReplica.path)?.bytes,
      disk.file(StoreReplica.path + "-wal")?.bytes.isEmpty ?? true
    else { preconditionFailure("the last connection has left a WAL behind") }
    images[key] = image
    return image
  }

  private static func make(
    _ tables: [ApplicationTable], _ tracking: [String], _ number: Int, _ rules: OfficePlan?,
    _ process: DiskProcess
  ) throws {
    let application = try Connection(path: StoreReplica.path, vfs: process.name)
    for table in tables { try application.execute("CREATE TABLE \(table.name)\(table.sql)") }
    let who = Store.Identities(
      site: site, siteName: "Test", node: node(number),
      nodeName: "node-\(number)", origin: origin(of: number))
    try Store.initialise(path: StoreReplica.path, as: who, vfs: process.name)
    guard number == 0 else { return }
    let store = try Store(path: StoreReplica.path, vfs: process.name)
    let now = Instant(uptime: 0, wall: SimulatedClock.start)
    guard let rules else { return try store.track(tracking, rule: nil, at: now) }
    for (number, table) in tracking.enumerated() {
      try store.track([table], rule: rules.rule(of: number), at: now)
    }
  }
}
