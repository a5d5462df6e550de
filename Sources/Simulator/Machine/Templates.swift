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

  private var images: [Content: Template] = [:]
  /// What the first node tells the others, by its file.
  private var news: [Content: Merge] = [:]
  private static let now = Instant(at: SimulatedClock.start)
  /// Schemas of tables, by their definitions: most schedules have the same few.
  let schemas = SchemaCache()
  let programs = IdlePrograms()

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
  ) throws -> Template {
    if number > 0, !hasHeard { return try founded(tables, number) }
    let site = Content(
      tables: tables.map(\.name), tracking: tracking, rule: rules?.rule, number: 0)
    var key = site
    key.number = number
    if let image = images[key] { return image }
    if number > 0, news[site] == nil {
      let first = try image(tables, tracking: tracking, number: 0, rules: rules)
      news[site] = try withFile(first.bytes) { try everything(from: $0) }.result
    }
    let made = try withFile(founded(tables, number).bytes) { process in
      let store = try store(process)
      guard number > 0 else { return try track(tracking, rules, store) }
      if let news = news[site] { _ = try store.merge(news, at: Self.now) }
    }.file
    let image = Template(made)
    images[key] = image
    return image
  }

  /// The file of a node that has heard of nobody and tracks nothing.
  private func founded(_ tables: [ApplicationTable], _ number: Int) throws -> Template {
    let key = Content(tables: tables.map(\.name), tracking: [], rule: nil, number: number)
    if let image = images[key] { return image }
    let image = Template(try withFile(nil) { try found(tables, number, $0) }.file)
    images[key] = image
    return image
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

  private func found(
    _ tables: [ApplicationTable], _ number: Int, _ process: DiskProcess
  ) throws {
    let application = try Connection(path: StoreReplica.path, vfs: process.name)
    for table in tables { try application.execute("CREATE TABLE \(table.name)\(table.sql)") }
    let who = ReplicaFile.Identities(
      site: Self.site, siteName: "Test", node: Self.node(number),
      nodeName: "node-\(number)", origin: Self.origin(of: number))
    try ReplicaFile.initialise(path: StoreReplica.path, as: who, vfs: process.name)
  }

  private func track(_ tracking: [String], _ rules: OfficePlan?, _ store: Store) throws {
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
