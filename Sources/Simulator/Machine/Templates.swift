import Replication
import SQLite
import Store

/// Finished database files, so that a schedule need not make them anew: one per set of tables and
/// node.
package final class Templates {
  /// What a file is made from: two that differ in any of this are two files.
  private struct Content: Hashable {
    var tables: [String]
    /// Tables that are the site's, as far as the node has heard: none if it is new.
    var tracking: [String]
    var rule: Int?
    var number: Int
  }

  private var images: [Content: [UInt8]] = [:]
  /// What the first node tells the others, by its file.
  private var news: [Content: Merge] = [:]
  private static let now = Instant(uptime: 0, wall: SimulatedClock.start)
  /// Schemas of tables, by their definitions: most schedules have the same few.
  let schemas = SchemaCache()

  package init() {}

  static let site = Identity(high: 1, low: 1)

  static func node(_ number: Int) -> Identity { Identity(high: 0, low: UInt64(number + 1)) }

  /// The origin of the one life that every node has.
  static func origin(of number: Int, life: UInt64 = 0) -> Origin {
    Origin.of(node(number), life: life, SimulatedSite.notary)
  }

  /// The file of a node; the first node of a site tracks these tables, and others do if they have
  /// heard of that already.
  func image(
    _ tables: [ApplicationTable], tracking: [String], number: Int, rules: OfficePlan? = nil,
    hasHeard: Bool = false
  ) throws -> [UInt8] {
    let isNew = number > 0 && !hasHeard
    let names = tables.map(\.name)
    let site = Content(tables: names, tracking: tracking, rule: rules?.rule, number: 0)
    let key =
      isNew
      ? Content(tables: names, tracking: [], rule: nil, number: number)
      : Content(tables: names, tracking: tracking, rule: rules?.rule, number: number)
    if let image = images[key] { return image }
    if number > 0, hasHeard, news[site] == nil {
      let first = try image(tables, tracking: tracking, number: 0, rules: rules)
      news[site] = try withFile(first) { try everything(from: $0) }.result
    }
    let made = try withFile(nil) { process in
      try make(tables, tracking, number, rules, process)
      guard !isNew, let news = news[site], number > 0 else { return }
      _ = try store(process).merge(news, at: Self.now)
    }
    images[key] = made.file
    return made.file
  }

  /// Works on a file, or an empty one; gives what it holds in the end.
  private func withFile<Result>(
    _ image: [UInt8]?, _ body: (DiskProcess) throws -> Result
  ) throws -> (file: [UInt8], result: Result) {
    let disk = Disk(canLosePower: false)
    disk.install(image ?? [], as: StoreReplica.path)
    let process = DiskProcess(on: disk, random: Seeded(1))
    process.wall = SimulatedClock.start
    let result = try body(process)
    guard let file = disk.file(StoreReplica.path)?.bytes,
      disk.file(StoreReplica.path + "-wal")?.bytes.isEmpty ?? true
    else { preconditionFailure("the last connection has left a WAL behind") }
    return (file, result)
  }

  private func store(_ process: DiskProcess) throws -> Store {
    try Store(path: StoreReplica.path, vfs: process.name, schemas: schemas)
  }

  private func make(
    _ tables: [ApplicationTable], _ tracking: [String], _ number: Int, _ rules: OfficePlan?,
    _ process: DiskProcess
  ) throws {
    let application = try Connection(path: StoreReplica.path, vfs: process.name)
    for table in tables { try application.execute("CREATE TABLE \(table.name)\(table.sql)") }
    let who = Store.Identities(
      site: Self.site, siteName: "Test", node: Self.node(number),
      nodeName: "node-\(number)", origin: Self.origin(of: number))
    try Store.initialise(path: StoreReplica.path, as: who, vfs: process.name)
    guard number == 0 else { return }
    let store = try store(process)
    guard let rules else { return try store.track(tracking, rule: nil, at: Self.now) }
    for (number, table) in tracking.enumerated() {
      try store.track([table], rule: rules.rule(of: number), at: Self.now)
    }
  }

  /// All that a file has, as another node gets it.
  private func everything(from process: DiskProcess) throws -> Merge {
    let store = try store(process)
    let opened = try store.openExport(.above(Frontier()), at: Self.now)
    var batches: [ExportBatch] = []
    while case .batch(let batch) = try store.readExport(opened.id, at: Self.now) {
      batches.append(batch)
    }
    try store.closeExport(opened.id)
    let end = End(
      rows: batches.reduce(0) { $0 + $1.rows }, check: batches.reduce(0) { $0 &+ $1.check })
    return Merge(
      sender: store.node, kind: .full(covers: opened.covers), batches: batches.map(\.bytes),
      rowsBefore: 0, checkBefore: 0, end: end, movesFrontier: true)
  }
}
