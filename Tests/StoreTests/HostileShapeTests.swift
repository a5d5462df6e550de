import Replication
import SQLite
import Testing

@testable import Store

/// Columns that are too many, too long, or that read like others: what was taken in is passed on.
@Suite struct HostileShapeTests {
  static let schema = "CREATE TABLE patient(id INTEGER PRIMARY KEY, name TEXT)"
  static let long = String(repeating: "n", count: Limits.name + 1)
  static let (composed, apart) = ("\u{e9}", "e\u{301}")

  /// A row with so many columns of which this file knows the first ones alone.
  private func row(
    _ replica: TestReplica, _ table: String, _ known: [(String, Replication.Value)], of count: Int,
    length: Int = 0, _ seq: UInt64 = 1, stamp: Int64? = nil, key: KeyAffinity = .integer
  ) -> (TableShape, Version, WireRow.Content) {
    let ending = String(repeating: "y", count: length)
    let others = (known.count..<count).map { number -> (String, Replication.Value) in
      ("x\(number)\(ending)", .integer(Int64(number)))
    }
    let all: [(String, Replication.Value)] = known + others
    let shape = TableShape(
      name: table, keyCount: 1, columns: all.map(\.0), affinities: [key])
    return HostileKeysTests.row(replica, shape, seq, all.map(\.1), stamp: stamp)
  }

  private func expectEqual(_ replicas: [TestReplica], _ count: Int64, of table: String) throws {
    for replica in replicas {
      #expect(try replica.value("SELECT count(*) FROM \(table)") == .integer(count))
    }
    let digests = replicas.map(\.store.position.digest)
    #expect(digests.allSatisfy { $0 == digests[0] })
  }

  // MARK: Too many

  @Test func `a row of as many columns as can travel is passed on`() throws {
    let replicas = try KeysTests.site(2, schema: Self.schema, tables: ["patient"])
    try HostileKeysTests.send(
      [row(replicas[0], "patient", [("id", .integer(1))], of: Limits.columns)], to: replicas[0])
    try replicas[1].pull(from: replicas[0])
    try expectEqual(replicas, 1, of: "patient")
    // The table has got more columns since.
    try replicas[0].write("ALTER TABLE patient ADD COLUMN a; ALTER TABLE patient ADD COLUMN b")
    KeysTests.later(replicas[0], than: replicas)
    try replicas[0].write("UPDATE patient SET a = 1; INSERT INTO patient(id) VALUES (2)")
    try replicas[0].foldAll()
    try KeysTests.settle(replicas)
    try expectEqual(replicas, 2, of: "patient")
  }

  @Test func `a row of as many columns as can travel waits, and comes back`() throws {
    let schema = "CREATE TABLE t(id TEXT PRIMARY KEY, name TEXT, u TEXT UNIQUE)"
    let replicas = try KeysTests.site(2, schema: schema, tables: ["t"])
    let same = HostileKeysTests.text("same")
    let known: [(String, Replication.Value)] = [("id", HostileKeysTests.text("k")), ("u", same)]
    let wide = row(
      replicas[0], "t", known, of: Limits.columns, stamp: 1_700_000_001_000, key: .text)
    try HostileKeysTests.send([wide], to: replicas[0])
    let plain = TableShape(
      name: "t", keyCount: 1, columns: ["id", "name", "u"], affinities: [.text])
    let earlier = HostileKeysTests.row(
      replicas[0], plain, 2, [HostileKeysTests.text("first"), HostileKeysTests.text("x"), same],
      stamp: 1_700_000_000_000)
    try HostileKeysTests.send([earlier], to: replicas[0])
    #expect(try replicas[0].value("SELECT id FROM t") == .string("first"))
    try KeysTests.settle(replicas)
    try replicas[0].write("DELETE FROM t")
    try replicas[0].foldAll()
    try KeysTests.settle(replicas)
    try expectEqual(replicas, 1, of: "t")
    for replica in replicas { #expect(try replica.value("SELECT id FROM t") == .string("k")) }
  }
}
