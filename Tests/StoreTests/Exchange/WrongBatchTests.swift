import Replication
import SQLite
import Testing

@testable import Store

/// Whatever is wrong with what a peer sends: it is refused and changes nothing.
@Suite struct WrongBatchTests {
  static let schema = """
    CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT);
    CREATE TABLE pair(a TEXT, b TEXT, PRIMARY KEY(a, b)) WITHOUT ROWID;
    """

  func replica() throws -> TestReplica {
    try TestReplica(
      1, schema: Self.schema + "INSERT INTO t VALUES (1, 'a'); INSERT INTO pair VALUES ('x', 'y')",
      tracking: ["t", "pair"])
  }

  static let stranger = Origin(rawValue: 99)

  static func version(_ seq: UInt64, hash: UInt64 = 7) -> Version {
    let dot = Dot(stranger, seq)
    return Version(
      dot: dot, created: dot, stamp: Stamp(rawValue: 1 << 61), hash: hash, isDeleted: hash == 0)
  }

  static func batch(
    _ rows: [(TableShape, WireRow.Content)]
  ) -> (bytes: [UInt8], end: End) {
    var writer = RowBatchWriter()
    for (index, row) in rows.enumerated() {
      var hash: UInt64 = 7
      if case .deleted = row.1 { hash = 0 }
      writer.add(row.0, version(UInt64(index + 1), hash: hash), row.1)
    }
    return (writer.bytes, End(rows: UInt64(writer.rowCount), check: writer.check))
  }

  /// Every row of every table in the file.
  func everything(_ replica: TestReplica) throws -> [String] {
    let names = try replica.prepareRows(
      "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
    return try names.flatMap { name in try [name] + replica.content(name) }
  }

  func expectRefusal(
    _ bytes: [UInt8], _ end: End, sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let replica = try replica()
    let before = try everything(replica)
    let position = replica.store.position
    #expect(throws: StoreError.self, sourceLocation: sourceLocation) {
      try replica.store.merge(
        Merge(
          sender: Identity(high: 9, low: 9),
          kind: .full(covers: Frontier([Self.stranger: 9])), batches: [bytes], rowsBefore: 0,
          checkBefore: 0, end: end, movesFrontier: true), at: replica.now)
    }
    #expect(try everything(replica) == before, sourceLocation: sourceLocation)
    #expect(replica.store.position.frontier == position.frontier, sourceLocation: sourceLocation)
    #expect(replica.store.position.digest == position.digest, sourceLocation: sourceLocation)
    // The next one is as good as ever.
    try replica.write("UPDATE t SET v = 'b'")
    let other = try TestReplica(2, schema: Self.schema)
    try other.pull(from: replica)
    #expect(try other.content("t") == replica.content("t"), sourceLocation: sourceLocation)
  }

  static let t = TableShape(
    name: "t", keyCount: 1, columns: ["id", "v"], affinities: [.integer])
  static let row = (t, WireRow.Content.values([.integer(1), .text([0x7A])]))

  @Test func `a wrong number of rows or a wrong check is refused`() throws {
    let (bytes, end) = Self.batch([Self.row])
    try expectRefusal(bytes, End(rows: end.rows + 1, check: end.check))
    try expectRefusal(bytes, End(rows: end.rows, check: end.check ^ 1))
    try expectRefusal(Array(bytes.dropLast()), end)
    try expectRefusal(bytes + [0], end)
  }

  @Test func `a frontier that nobody could be told is refused`() throws {
    let replica = try replica()
    let empty = Self.batch([])
    func covering(_ first: UInt64) throws {
      let origins = (first..<first + 16_384).map { (Origin(rawValue: $0), UInt64(1)) }
      let covers = Frontier(Dictionary(uniqueKeysWithValues: origins))
      _ = try replica.store.merge(
        Merge(
          sender: Identity(high: 9, low: 9), kind: .full(covers: covers), batches: [empty.bytes],
          rowsBefore: 0, checkBefore: 0, end: empty.end, movesFrontier: true), at: replica.now)
    }
    #expect(throws: StoreError.self) { try covering(1_000) }
    #expect(replica.store.position.frontier.entries.count == 1)
  }

  @Test(arguments: [
    (TableShape(name: "t", keyCount: 2, columns: ["id", "v"]), 2),
    (TableShape(name: "t", keyCount: 1, columns: ["v", "id"]), 2),
    (TableShape(name: "pair", keyCount: 1, columns: ["a", "b"]), 2),
    (TableShape(name: "pair", keyCount: 2, columns: ["b", "a"]), 2),
  ])
  func `rows with a key of other columns touch no table`(
    shape: TableShape, width: Int
  ) throws {
    let replica = try replica()
    let before = try ["t", "pair"].flatMap { try replica.content($0) }
    let values = (0..<width).map { Replication.Value.integer(Int64($0)) }
    let key = Array(values.prefix(shape.keyCount))
    let (bytes, end) = Self.batch([(shape, .values(values)), (shape, .deleted(key: key))])
    _ = try replica.store.merge(
      Merge(
        sender: Identity(high: 9, low: 9), kind: .full(covers: Frontier([Self.stranger: 2])),
        batches: [bytes], rowsBefore: 0, checkBefore: 0, end: end, movesFrontier: true),
      at: replica.now)
    #expect(try ["t", "pair"].flatMap { try replica.content($0) } == before)
  }

  @Test func `rows of more shapes of a key than are kept are left out, and nothing else`() throws {
    let replica = try replica()
    @discardableResult
    func send(_ number: UInt64) throws -> MergeOutcome {
      let shape = TableShape(
        name: "t", keyCount: 1, columns: ["k\(number)", "v"], affinities: [.text],
        generation: Limits.generations)
      var writer = RowBatchWriter()
      writer.add(
        shape, Self.version(number), .values([.text(Array("k".utf8)), .null]))
      return try replica.store.merge(
        Merge(
          sender: Identity(high: 9, low: 9),
          kind: .full(covers: Frontier([Self.stranger: number])), batches: [writer.bytes],
          rowsBefore: 0, checkBefore: 0, end: End(rows: 1, check: writer.check),
          movesFrontier: true), at: replica.now)
    }
    let count = UInt64(Limits.keyShapes)
    let kept = "SELECT count(*) FROM _flotilla_version WHERE hash IS NOT NULL AND origin > 1"
    // With the one that the table has here.
    for number in 1..<count { #expect(try send(number).unmatched.leftOut == 0) }
    let before = try replica.value(kept)
    #expect(try send(count).unmatched.leftOut == 1)
    #expect(try replica.value(kept) == before)
    #expect(replica.store.position.frontier[Self.stranger] == count)
    try replica.write("UPDATE t SET v = 'b'")
    try replica.foldAll()
    #expect(try replica.content("t") == ["integer1|text'b'"])
  }

  @Test func `a key whose columns nobody has named is left out`() throws {
    let replica = try replica()
    let before = try ["t", "pair", "_flotilla_version"].flatMap { try replica.content($0) }
    let wide = TableShape(name: "t", keyCount: 2, columns: ["0", "1"])
    let (bytes, end) = Self.batch([(wide, .deleted(key: [.integer(1), .integer(1)]))])
    let outcome = try replica.store.merge(
      Merge(
        sender: Identity(high: 9, low: 9), kind: .full(covers: Frontier([Self.stranger: 1])),
        batches: [bytes], rowsBefore: 0, checkBefore: 0, end: end, movesFrontier: true),
      at: replica.now)
    #expect(outcome.unmatched.leftOut == 1)
    #expect(try ["t", "pair", "_flotilla_version"].flatMap { try replica.content($0) } == before)
  }

  /// Names never become SQL, and tables that the site does not track are not touched.
  @Test(arguments: [
    "sqlite_schema", "_flotilla_meta", "_flotilla_version", "_FLOTILLA_META", "secret", "\"; DROP",
  ])
  func `rows of tables that nobody tracks wait and touch nothing`(name: String) throws {
    let replica = try replica()
    try replica.write("CREATE TABLE secret(name TEXT PRIMARY KEY, value)")
    try replica.foldAll()
    let tables = ["secret", "_flotilla_meta", "t", "pair"]
    let before = try tables.flatMap { try replica.content($0) }
    let shape = TableShape(name: name, keyCount: 1, columns: ["name", "value"])
    let (bytes, end) = Self.batch([
      (shape, .values([.text(Array("site".utf8)), .text([0x7A])])),
      (shape, .deleted(key: [.text(Array("node".utf8))])),
    ])
    _ = try replica.store.merge(
      Merge(
        sender: Identity(high: 9, low: 9), kind: .full(covers: Frontier([Self.stranger: 2])),
        batches: [bytes], rowsBefore: 0, checkBefore: 0, end: end, movesFrontier: true),
      at: replica.now)
    #expect(try tables.flatMap { try replica.content($0) } == before)
    try replica.reopen()
    let again = try TestReplica(2, schema: Self.schema)
    try again.pull(from: replica)
    #expect(try again.content("t") == replica.content("t"))
  }

  /// Settings are rows, too: a peer may track anything, but only what can be tracked is.
  @Test(arguments: [
    "sqlite_schema", "_flotilla_meta", "_flotilla_version", "_FLOTILLA_local", "view", "heap",
    "words",
    "words_data", "words_content", "checked",
  ])
  func `settings that name what cannot be tracked do no harm`(name: String) throws {
    let replica = try replica()
    try replica.write(
      """
      CREATE VIEW view AS SELECT * FROM t; CREATE TABLE heap(a);
      CREATE VIRTUAL TABLE words USING fts5(w); INSERT INTO words VALUES ('one two');
      CREATE TABLE checked(name TEXT PRIMARY KEY, value CHECK(name <> ''));
      PRAGMA writable_schema = ON;
      UPDATE sqlite_schema SET sql = replace(sql, 'name <>', 'f(name) <>') WHERE name = 'checked';
      PRAGMA writable_schema = RESET
      """)
    let settings = TableShape(name: "_flotilla_table", keyCount: 1, columns: ["name", "rule"])
    let shape = TableShape(name: name, keyCount: 1, columns: ["name", "value"])
    let before = try replica.content("_flotilla_meta")
    let (bytes, end) = Self.batch([
      (settings, .values([.text(Array(name.utf8)), .text(Array("newest-wins".utf8))])),
      (shape, .values([.text(Array("site".utf8)), .text([0x7A])])),
      (shape, .deleted(key: [.text(Array("node".utf8))])),
    ])
    _ = try replica.store.merge(
      Merge(
        sender: Identity(high: 9, low: 9), kind: .full(covers: Frontier([Self.stranger: 3])),
        batches: [bytes], rowsBefore: 0, checkBefore: 0, end: end, movesFrontier: true),
      at: replica.now)
    #expect(try replica.content("_flotilla_meta") == before)
    try replica.write("UPDATE t SET v = 'after'")
    try replica.reopen()
    try replica.foldAll()
    #expect(try replica.content("_flotilla_meta") == before)
    let other = try TestReplica(2, schema: Self.schema)
    try other.pull(from: replica)
    #expect(try other.content("t") == replica.content("t"))
  }
}
