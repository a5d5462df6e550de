import Replication
import SQLite
import Testing

@testable import Store

/// Rows that are longer than a frame: read, hashed and sent without a copy of the whole.
@Suite struct LongRowTests {
  static let schema = """
    CREATE TABLE t(id INTEGER, k TEXT, b BLOB, n, r REAL, PRIMARY KEY(id, k)) WITHOUT ROWID;
    CREATE TABLE u(id INTEGER PRIMARY KEY, v TEXT, w DEFAULT 7);
    """

  private func replicas(_ pace: Pace) throws -> [TestReplica] {
    let r = try (1...2).map {
      try TestReplica(
        UInt64($0), schema: Self.schema, tracking: $0 == 1 ? ["t", "u"] : [], pace: pace)
    }
    try r[1].pull(from: r[0])
    return r
  }

  private func expectEqual(_ r: [TestReplica]) throws {
    for table in ["t", "u"] { #expect(try r[0].content(table) == r[1].content(table)) }
    #expect(r[0].store.position.frontier == r[1].store.position.frontier)
    #expect(r[0].store.position.digest == r[1].store.position.digest)
  }

  /// The pieces of every batch of an export.
  private func pieces(_ replica: TestReplica, above held: Frontier) throws -> [[[UInt8]]] {
    let opened = try replica.store.openExport(.above(held), at: replica.now)
    defer { try? replica.store.closeExport(opened.id) }
    var (all, pieces): ([[[UInt8]]], [[UInt8]]) = ([], [])
    while true {
      switch try replica.store.readExport(opened.id, at: replica.now) {
      case .part(let bytes): pieces.append(bytes)
      case .batch(let batch):
        all.append(pieces + [batch.bytes])
        pieces = []
      case .paused, .done: return all
      }
    }
  }

  @Test(arguments: [20, 21, 50, 97, 1_000_000])
  func `a long row goes in pieces, the others together`(_ size: Int) throws {
    var pace = Pace()
    (pace.longRow, pace.pieceBytes) = (150, size)
    let r = try replicas(pace)
    let held = r[1].store.position.frontier
    try r[0].write(
      """
      INSERT INTO t VALUES (1, 'a', NULL, 1, 0.5), (2, 'b', zeroblob(9), 'short', -1e300);
      INSERT INTO t VALUES (3, 'c', randomblob(300), hex(randomblob(80)), 1), (4, 'd', '', x'', 2);
      INSERT INTO u VALUES (1, hex(randomblob(120)), 7), (2, '', randomblob(200)), (3, 'c', 7);
      """)
    let batches = try pieces(r[0], above: held)
    let long = batches.filter { $0.count > 1 }
    #expect(size > 1_000 ? long.isEmpty : long.count == 3)
    #expect(batches.count == 6)
    #expect(batches.joined().allSatisfy { $0.count < size + 200 })
    try r[1].pull(from: r[0])
    try expectEqual(r)
  }

  @Test func `what was begun is ended before an export pauses`() throws {
    var pace = Pace()
    (pace.longRow, pace.pieceBytes, pace.snapshotTime) = (50, 30, 0)
    let r = try replicas(pace)
    try r[0].write("INSERT INTO u(id, v) VALUES (1, hex(zeroblob(100))), (2, 'x')")
    let opened = try r[0].store.openExport(
      .above(r[1].store.position.frontier), at: r[0].now)
    var parts: [UInt8] = []
    while case .part(let bytes) = try r[0].store.readExport(opened.id, at: r[0].now) {
      if parts.isEmpty { try r[0].write("ALTER TABLE u ADD COLUMN z; UPDATE u SET z = 1") }
      parts += bytes
      try r[0].foldAll()
    }
    guard case .paused = try r[0].store.readExport(opened.id, at: r[0].now) else {
      Issue.record("not paused")
      return
    }
    #expect(parts.count > 200)
    try r[0].store.closeExport(opened.id)
  }

  /// A pause is no answer after a piece.
  @Test func `what keeps too much of the log is given up in the middle`() throws {
    var pace = Pace()
    (pace.longRow, pace.pieceBytes, pace.mostWalBytes) = (50, 30, 200_000)
    let r = try replicas(pace)
    try r[0].write("INSERT INTO u(id, v) VALUES (1, hex(zeroblob(100)))")
    let opened = try r[0].store.openExport(
      .above(r[1].store.position.frontier), at: r[0].now)
    guard case .part = try r[0].store.readExport(opened.id, at: r[0].now) else {
      Issue.record("no piece")
      return
    }
    try r[0].write("INSERT INTO t(id, k, b) VALUES (1, 'k', zeroblob(300000))")
    r[0].store.cutSpentExports(at: r[0].now)
    #expect(throws: StoreError.self) {
      _ = try r[0].store.readExport(opened.id, at: r[0].now)
    }
    let free = try r[0].application.rows("PRAGMA wal_checkpoint(TRUNCATE)")
    #expect(free[0][0] == .integer(0))
    try r[0].store.closeExport(opened.id)
    try r[1].pull(from: r[0])
    try expectEqual(r)
  }

  @Test func `its hash is that of its values, wherever it is taken`() throws {
    let r = try replicas(Pace())
    try r[0].write(
      """
      INSERT INTO t VALUES (1, 'a', randomblob(700000), hex(randomblob(1)), 1);
      INSERT INTO u(id, v) VALUES (1, hex(randomblob(400001))), (2, 'short');
      INSERT INTO u VALUES (3, hex(zeroblob(300000)), randomblob(300003));
      """)
    try r[0].foldAll()
    for name in ["t", "u"] {
      let table = try #require(r[0].store.tables.table(name))
      let statements = try #require(table.statements)
      let all = statements.selectAfter(hasStart: false)
      for row in try r[0].store.connection.rows(all, [.integer(9)]) {
        let values = row.map(Replication.Value.init)
        let key = try #require(table.key(Array(values.prefix(statements.shape.keyCount))))
        let version = try #require(try r[0].store.versions.version(table: table.id, key: key))
        #expect(version.hash == statements.contentHash(values))
      }
    }
    try r[1].pull(from: r[0])
    try expectEqual(r)
  }

  @Test func `a table of long rows is compared a few at a time`() throws {
    let schema = """
      CREATE TABLE u(id INTEGER PRIMARY KEY, v); WITH RECURSIVE n(i) AS (
        SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 6)
      INSERT INTO u SELECT i, zeroblob(600000) FROM n
      """
    let replica = try TestReplica(1, schema: schema)
    try replica.store.track(["u"], rule: nil, at: replica.now)
    var slices: [Int] = []
    while true {
      let result = try replica.store.fold(at: replica.now)
      slices.append(result.versions)
      guard result.hasMore else { break }
    }
    #expect(slices.filter { $0 > 0 } == [2, 2, 2])
  }
}
