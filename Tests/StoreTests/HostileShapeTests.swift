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

  // MARK: Too long

  /// A row that waits is kept with the names of its columns.
  @Test func `longer names than a peer may have are refused`() throws {
    let replicas = try KeysTests.site(2, schema: Self.schema, tables: ["patient"])
    let (size, key) = (Limits.namesBytes / 128, [("id", Replication.Value.integer(1))])
    try HostileKeysTests.send(
      [row(replicas[0], "patient", key, of: size, length: 120)], to: replicas[0])
    // What the table has itself leaves less room.
    try replicas[0].write(
      "ALTER TABLE patient ADD COLUMN \(String(repeating: "z", count: 500)) TEXT")
    try replicas[0].foldAll()
    try KeysTests.settle(replicas)
    try expectEqual(replicas, 1, of: "patient")
    #expect(throws: StoreError.self) {
      try HostileKeysTests.send(
        [row(replicas[0], "patient", key, of: size, length: 125, 2)], to: replicas[0])
    }
  }

  /// First names are a part of the shape, and settings of the site.
  @Test func `first names are no longer together than can travel`() {
    let columns = (0..<200).map { "c\($0)" }
    let names = ColumnNames(
      of: columns, known: [],
      settings: columns.map { ($0, $0 + String(repeating: "x", count: 500)) })
    #expect(names.firsts.reduce(0) { $0 + $1.utf8.count } <= Limits.namesBytes)
    #expect(Set(names.firsts).count == columns.count)
    #expect(names.firsts.last == "c199")
  }

  static let refused: [(String, String, String)] = [
    ("CREATE TABLE \(long)(id INTEGER PRIMARY KEY)", long, "has 513 bytes"),
    ("CREATE TABLE t(id INTEGER PRIMARY KEY, \(long))", "t", "has 513 bytes"),
    (
      "CREATE TABLE t(id INTEGER PRIMARY KEY, "
        + (0..<140).map { "\(long.prefix(500))\($0)" }.joined(separator: ", ") + ")", "t",
      "longer than 65536 bytes"
    ),
    (
      "CREATE TABLE \(composed)(id INTEGER PRIMARY KEY); "
        + "CREATE TABLE \(apart)(id INTEGER PRIMARY KEY)", composed, "names of the tables"
    ),
    (
      "CREATE TABLE t(id INTEGER PRIMARY KEY, \(composed), \(apart))", "t", "names of the columns"
    ),
    // The sign of a unit that is a letter as well.
    ("CREATE TABLE t(id INTEGER PRIMARY KEY, K, \u{212A})", "t", "names of the columns"),
  ]

  @Test(arguments: refused)
  func `names that do not travel are refused with a reason`(
    schema: String, table: String, reason: String
  ) throws {
    let replica = try TestReplica(1, schema: schema)
    guard
      case .refused(let text, let remedy) = try replica.store.tableSurvey.trackability(of: table)
    else {
      Issue.record("it is accepted")
      return
    }
    #expect(text.contains(reason), "\(text)")
    #expect(remedy?.isEmpty == false)
    // A member that has no such table tracks it for the site.
    let other = try TestReplica(2, schema: "CREATE TABLE other(id INTEGER PRIMARY KEY)")
    try other.store.track(["other"], rule: nil, at: other.now)
    let tracked = TableShape(
      name: Tables.settings, keyCount: 1, columns: ["name", "rule"], affinities: [.text])
    let setting = HostileKeysTests.row(
      replica, tracked, 1, [HostileKeysTests.text(table), HostileKeysTests.text("")])
    try HostileKeysTests.send([setting], to: replica)
    try replica.write("INSERT INTO \(table)(id) VALUES (1)")
    try replica.foldAll()
    try other.pull(from: replica)
  }

  // MARK: Alike

  @Test func `columns that read the same are malformed`() throws {
    let replica = try KeysTests.site(1, schema: Self.schema, tables: ["patient"])[0]
    for others in [[Self.composed, Self.apart], ["K", "\u{212A}"], ["E\u{301}", Self.composed]] {
      let known = (["id"] + others).map { ($0, Replication.Value.integer(1)) }
      #expect(throws: StoreError.self) {
        try HostileKeysTests.send([row(replica, "patient", known, of: 3)], to: replica)
      }
    }
  }

  /// Two machines have spelled the name of one column in two ways.
  @Test func `a column that is spelled in another way elsewhere is that column`() throws {
    let one = "CREATE TABLE t(id INTEGER PRIMARY KEY, \(Self.composed) TEXT, v TEXT)"
    let other = "CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT, \(Self.apart) TEXT)"
    let first = try TestReplica(1, schema: one, tracking: ["t"])
    let second = try TestReplica(2, schema: other)
    try first.write("INSERT INTO t VALUES (1, 'a', 'b')")
    try first.foldAll()
    try second.pull(from: first)
    #expect(try second.value("SELECT \(Self.apart) FROM t") == .string("a"))
    KeysTests.later(second, than: [first])
    try second.write("UPDATE t SET \(Self.apart) = 'c'")
    try second.foldAll()
    try KeysTests.settle([first, second])
    #expect(try first.value("SELECT \(Self.composed) FROM t") == .string("c"))
    #expect(try first.value("SELECT v FROM t") == .string("b"))
  }
}
