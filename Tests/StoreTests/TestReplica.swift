import Foundation
import Replication
import SQLite
import Store

/// A replica in a folder of its own, with a second connection as the application.
final class TestReplica {
  static let site = Identity(high: 1, low: 1)

  let path: String
  let store: Store
  let application: Connection
  private let folder: String
  var clock: Int64 = 1_800_000_000_000

  init(_ number: UInt64, schema: String = "", tracking: [String] = []) throws {
    self.folder = NSTemporaryDirectory() + "flotilla-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    self.path = folder + "/test.db"
    self.application = try Connection(path: path, mode: .create)
    application.setBusyTimeout(milliseconds: 5_000)
    try application.execute(schema)
    try Store.initialise(
      path: path,
      as: Store.Identities(
        site: Self.site, siteName: "Test", node: Identity(high: number, low: 0),
        nodeName: "node-\(number)", origin: Origin(rawValue: number << 60 | number)))
    self.store = try Store(path: path)
    if !tracking.isEmpty { try store.track(tracking, rule: nil, at: now) }
    while try store.fold(at: now).hasMore {}
  }

  deinit { try? FileManager.default.removeItem(atPath: folder) }

  var now: Instant {
    clock += 10
    return Instant(uptime: clock, wall: clock)
  }

  func write(_ sql: String) throws { try application.execute(sql) }

  /// Everything that this replica holds and `frontier` does not.
  func export(above frontier: Frontier) throws -> (Frontier, [ExportBatch]) {
    let opened = try store.openExport(.above(frontier), at: now)
    defer { try? store.closeExport(opened.id) }
    var batches: [ExportBatch] = []
    while case .batch(let batch) = try store.readExport(opened.id, at: now) {
      batches.append(batch)
    }
    return (opened.covers, batches)
  }

  /// One whole exchange from another replica to this one.
  func pull(from other: TestReplica) throws {
    let (covers, batches) = try other.export(above: store.position.frontier)
    let rows = batches.reduce(0) { $0 + $1.rows }
    let check = batches.reduce(0) { $0 &+ $1.check }
    _ = try store.merge(
      Merge(
        sender: other.store.node, kind: .full(covers: covers), batches: batches.map(\.bytes),
        rowsBefore: 0, checkBefore: 0, end: End(rows: rows, check: check), movesFrontier: true),
      at: now)
  }

  func exchange(with other: TestReplica) throws {
    try pull(from: other)
    try other.pull(from: self)
  }

  /// Every row of a table with the classes of its values, as text.
  func content(_ table: String) throws -> [String] {
    let columns = try application.rows("SELECT name FROM pragma_table_xinfo(?)", [.string(table)])
      .compactMap { $0[0].string.map(quoted) }
    let terms = columns.map { "typeof(\($0)) || quote(\($0))" }.joined(separator: " || '|' || ")
    return try application.prepareRows("SELECT \(terms) FROM \(quoted(table)) ORDER BY 1")
  }
}

extension Connection {
  func prepareRows(_ sql: String) throws -> [String] {
    let statement = try prepare(sql)
    var rows: [String] = []
    while try statement.step() { rows.append(statement.string(0) ?? "NULL") }
    return rows
  }
}
