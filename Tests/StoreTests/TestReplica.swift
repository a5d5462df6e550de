import Foundation
import Replication
import SQLite

@testable import Store

/// A replica in a folder of its own, with a second connection as the application.
final class TestReplica {
  static let site = Identity(high: 1, low: 1)

  let path: String
  let origin: Origin
  private(set) var store: Store
  private(set) var application: Connection
  private let folder: String
  private let pace: Pace
  var clock: Int64 = 1_800_000_000_000

  /// A replica that is still joining, so that the tables which it has are taken for the site's;
  /// else one whose owner is asked about them.
  init(
    _ number: UInt64, schema: String = "", tracking: [String] = [], pace: Pace = Pace(),
    isJoining: Bool = true
  ) throws {
    self.folder = NSTemporaryDirectory() + "flotilla-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    self.path = folder + "/test.db"
    self.pace = pace
    self.origin = Origin(rawValue: number << 60 | number)
    self.application = try Connection(path: path, mode: .create)
    application.setBusyTimeout(milliseconds: 5_000)
    try application.execute(schema)
    try ReplicaFile.initialise(
      path: path,
      as: ReplicaFile.Identities(
        site: Self.site, siteName: "Test", node: Identity(high: number, low: 0),
        nodeName: "node-\(number)", origin: origin))
    if isJoining {
      let copy = FirstCopy(
        inviter: Identity(high: 0, low: 0), name: "", address: "127.0.0.1:1", rows: 0)
      try application.execute(
        "INSERT INTO _flotilla_meta VALUES ('joining', \(literal(copy.text + "x")))")
    }
    self.store = try Store(path: path, pace: pace)
    if !tracking.isEmpty { try store.track(tracking, rule: nil, at: now) }
    try foldAll()
  }

  deinit { try? FileManager.default.removeItem(atPath: folder) }

  var now: Instant {
    clock += 10
    return Instant(uptime: clock, wall: clock)
  }

  /// Lets go of the file without another word, as a kill between two commits would, and opens it.
  func reopen() throws { store = try Store(path: path, pace: pace) }

  /// A copy of the file as it is now, for `restore`.
  func backUp() throws -> String {
    let copy = folder + "/backup-\(UUID().uuidString).db"
    try application.execute("VACUUM INTO '\(copy)'")
    return copy
  }

  /// Puts an earlier copy into the place of the file, and opens it.
  func restore(_ copy: String) throws {
    for suffix in ["", "-wal", "-shm"] { unlink(path + suffix) }
    try FileManager.default.copyItem(atPath: copy, toPath: path)
    application = try Connection(path: path, mode: .create)
    application.setBusyTimeout(milliseconds: 5_000)
    try reopen()
  }

  func write(_ sql: String) throws { try application.execute(sql) }

  func foldAll() throws { while try store.fold(at: now).hasMore {} }

  /// Everything that this replica holds and `frontier` does not.
  func export(above frontier: Frontier) throws -> (Frontier, [ExportBatch]) {
    try export(.above(frontier))
  }

  func export(
    _ scope: Session.ExportScope, filter: ExportFilter = .none
  ) throws -> (Frontier, [ExportBatch]) {
    let whole = try wholeExport(scope, filter: filter)
    return (whole.covers, whole.batches)
  }

  /// The same, with what an anchor has judged.
  func wholeExport(
    _ scope: Session.ExportScope, filter: ExportFilter = .none
  ) throws -> (covers: Frontier, batches: [ExportBatch], judged: Judged?) {
    let opened = try store.openExport(scope, filter: filter, at: now)
    defer { try? store.closeExport(opened.id) }
    var batches: [ExportBatch] = []
    var parts: [UInt8] = []
    while true {
      switch try store.readExport(opened.id, at: now) {
      case .part(let bytes): parts += bytes
      case .batch(var batch):
        batch.bytes = parts + batch.bytes
        parts = []
        batches.append(batch)
      case .paused, .done: return (opened.covers, batches, opened.judged)
      }
    }
  }

  /// One whole exchange from another replica to this one.
  @discardableResult
  func pull(from other: TestReplica) throws -> MergeOutcome {
    let (covers, batches, judged) = try other.wholeExport(.above(store.position.frontier))
    return try merge(batches, .full(covers: covers), from: other, judged: judged)
  }

  /// Merges whole batches in one step, to their End.
  @discardableResult
  func merge(
    _ batches: [ExportBatch], _ kind: Begin.Kind, from other: TestReplica, judged: Judged? = nil,
    held: Frontier = Frontier()
  ) throws -> MergeOutcome {
    var merge = Merge(
      sender: other.store.node, kind: kind, batches: batches.map(\.bytes), rowsBefore: 0,
      checkBefore: 0, end: End(batches), movesFrontier: kind != .repair)
    (merge.judged, merge.held) = (judged, held)
    merge.standing = other.store.stability.standing
    merge.asked = store.stability.fetching
    return try store.merge(merge, at: now)
  }

  /// Merges the first batches of a long exchange, which is then cut.
  func mergeSlice(_ batches: [ExportBatch], covers: Frontier, from other: TestReplica) throws {
    var merge = Merge(
      sender: other.store.node, kind: .full(covers: covers), batches: batches.map(\.bytes),
      rowsBefore: 0, checkBefore: 0, end: nil, movesFrontier: false)
    merge.standing = other.store.stability.standing
    merge.asked = store.stability.fetching
    _ = try store.merge(merge, at: now)
  }

  func exchange(with other: TestReplica) throws {
    try pull(from: other)
    try other.pull(from: self)
  }

  /// Every row of a table with the classes of its values, as text.
  func content(_ table: String) throws -> [String] {
    let columns = try application.rows(
      "SELECT name FROM pragma_table_xinfo(?) ORDER BY name", [.string(table)]
    ).compactMap { $0[0].string.map(quoted) }
    let terms = columns.map { "typeof(\($0)) || quote(\($0))" }.joined(separator: " || '|' || ")
    return try application.prepareRows("SELECT \(terms) FROM \(quoted(table)) ORDER BY 1")
      // How new versions are grows with each that comes.
      .filter { !$0.contains("'newestStamp'") }
  }

  /// One value out of the file, as the application sees it.
  func value(_ sql: String) throws -> SQLite.Value {
    let statement = try application.prepare(sql)
    return try statement.step() ? statement.value(0) : .null
  }
}

extension End {
  /// What a sender of these batches would say.
  init(_ batches: [ExportBatch]) {
    self.init(
      rows: batches.reduce(0) { $0 + $1.rows }, check: batches.reduce(0) { $0 &+ $1.check })
  }
}

extension Store {
  /// Lets go of all that the logs keep too much of.
  func trimLogs(at now: Instant) throws(StoreError) {
    for slice in try logExcess(at: now) { try letGo(of: slice) }
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
