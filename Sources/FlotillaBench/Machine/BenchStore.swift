import Foundation
import Replication
import SQLite
import Store

/// A replica without a node: a store, the application beside it, and exchanges by call.
final class BenchStore {
  let path: String
  let number: UInt64
  private(set) var store: Store
  private(set) var application: Connection

  /// A file with the tables of `schema` and, before they become the site's, `rows` of them.
  init(
    _ number: UInt64, in place: Workplace, schema: String = "", tracking: [String] = [],
    rows: (Connection) throws -> Void = { _ in }, at now: Instant
  ) throws {
    self.number = number
    path = "\(place.folder)/store-\(number).db"
    application = try Connection(path: path, mode: .create)
    try application.execute(schema)
    try rows(application)
    try ReplicaFile.initialise(
      path: path,
      as: ReplicaFile.Identities(
        site: Identity(high: 1, low: 1), siteName: "Bench", node: Identity(high: 2, low: number),
        nodeName: "node-\(number)", origin: Self.origin(number, life: 0)))
    store = try Store(path: path)
    if !tracking.isEmpty { try store.track(tracking, rule: nil, at: now) }
    try fold(at: now)
  }

  private static func origin(_ number: UInt64, life: UInt64) -> Origin {
    Origin(rawValue: mix(number << 32 | life))
  }

  func fold(at now: Instant) throws { while try store.fold(at: now).hasMore {} }

  /// Takes over what another replica holds and this one lacks; gives the number of rows.
  @discardableResult
  func pull(from other: BenchStore, at now: Instant) throws -> Int {
    let merge = try fetch(from: other, at: now)
    try take(merge, at: now)
    return Int(merge.end?.rows ?? 0)
  }

  /// Reads what another replica holds and this one lacks, as one exchange.
  func fetch(from other: BenchStore, at now: Instant) throws -> Merge {
    let opened = try other.store.openExport(.above(store.position.frontier), at: now)
    defer { try? other.store.closeExport(opened.id) }
    var (batches, parts) = ([[UInt8]](), [UInt8]())
    var (rows, check) = (UInt64(0), UInt64(0))
    reading: while true {
      switch try other.store.readExport(opened.id, at: now) {
      case .batch(let batch):
        batches.append(parts + batch.bytes)
        parts = []
        (rows, check) = (rows + batch.rows, check &+ batch.check)
      case .part(let bytes): parts += bytes
      case .paused, .done: break reading
      }
    }
    return Merge(
      sender: other.store.node, kind: .full(covers: opened.covers), batches: batches,
      rowsBefore: 0, checkBefore: 0, end: End(rows: rows, check: check), movesFrontier: true)
  }

  /// Merges an exchange, in as many commits as it takes.
  func take(_ merge: Merge, at now: Instant) throws { _ = try store.merge(merge, at: now) }

  /// So many rows go into one commit of a long exchange.
  func mergesAs(_ rows: Int) { store.pace.mergedRows = rows }

  /// A copy of the file as it is now.
  func backUp() throws {
    try? FileManager.default.removeItem(atPath: path + ".copy")
    try application.execute("VACUUM INTO '\(path).copy'")
  }

  /// Puts the copy in the file's place, and goes on under a new origin.
  func restore(life: UInt64, at now: Instant) throws {
    application = try Connection(path: ":memory:")
    store = try Store(path: "\(path).copy")
    for suffix in ["", "-wal", "-shm"] {
      try? FileManager.default.removeItem(atPath: path + suffix)
    }
    try FileManager.default.copyItem(atPath: "\(path).copy", toPath: path)
    store = try Store(path: path)
    application = try Connection(path: path)
    try store.beginLife(
      .restored, origin: Self.origin(number, life: life), life: life, run: life,
      reissuingAbove: nil, at: now)
  }

  /// Bytes of the file once its log is in it; with `vacuum` also once it has no room to spare.
  func fileSize(vacuum: Bool = false) throws -> Int {
    if vacuum { try application.execute("VACUUM") }
    return try Self.fileSize(of: application)
  }

  static func fileSize(of connection: Connection) throws -> Int {
    // A connection that has not read since does not know that there is a log.
    _ = try connection.row("SELECT count(*) FROM sqlite_schema")
    guard try connection.row("PRAGMA wal_checkpoint(TRUNCATE)")?.first?.integer == 0 else {
      throw BenchError("the log of \(connection.path) is in use")
    }
    let attributes = try FileManager.default.attributesOfItem(atPath: connection.path)
    return (attributes[.size] as? Int) ?? 0
  }
}

extension Instant {
  /// So many ms after the beginning of a simulated life.
  static func life(_ milliseconds: Int64) -> Instant {
    Instant(uptime: milliseconds, wall: 1_800_000_000_000 + milliseconds)
  }
}
