import Replication
import SQLite
import Testing

@testable import Store

/// A row goes to which many refer: they are parked before, some in a commit, and come back so.
@Suite struct CrowdTests {
  private static let schema = """
    CREATE TABLE customer(id TEXT PRIMARY KEY NOT NULL, best TEXT REFERENCES invoice);
    CREATE TABLE invoice(
      id TEXT PRIMARY KEY NOT NULL, note TEXT, customer TEXT REFERENCES customer);
    CREATE TABLE line(id TEXT PRIMARY KEY NOT NULL, invoice TEXT NOT NULL REFERENCES invoice);
    CREATE INDEX of_customer ON invoice(customer);
    CREATE INDEX of_invoice ON line(invoice);
    """

  /// Ann's machine, and one where 20 invoices are written that Ann does not know of.
  private func pair() throws -> (ann: TestReplica, other: TestReplica) {
    var pace = Pace()
    pace.parkedRows = 3
    let ann = try TestReplica(
      1, schema: Self.schema, tracking: ["customer", "invoice", "line"], pace: pace)
    let other = try TestReplica(2, schema: Self.schema, pace: pace)
    try ann.write("INSERT INTO customer VALUES ('c', NULL), ('d', NULL)")
    try ann.foldAll()
    try other.exchange(with: ann)
    try other.write("PRAGMA foreign_keys = ON")
    for number in 10..<30 { try other.write("INSERT INTO invoice VALUES (\(number), 'x', 'c')") }
    try other.foldAll()
    return (ann, other)
  }

  private func delete(_ ann: TestReplica) throws {
    try ann.write("DELETE FROM customer WHERE id = 'c'")
    try ann.foldAll()
  }

  private func slices(
    from author: TestReplica, at replica: TestReplica
  ) throws -> [MergeSlice] {
    let (covers, batches) = try author.export(above: replica.store.position.frontier)
    return try replica.store.slices(
      of: Merge(
        sender: author.store.node, kind: .full(covers: covers), batches: batches.map(\.bytes),
        rowsBefore: 0, checkBefore: 0, end: End(batches), movesFrontier: true))
  }

  private func count(_ replica: TestReplica, _ table: String) throws -> Int64 {
    try #require(try replica.value("SELECT count(*) FROM \(table)").integer)
  }

  private func expectSound(_ replica: TestReplica) throws {
    #expect(try replica.application.rows("PRAGMA foreign_key_check").isEmpty)
  }

  /// Folds until nothing waits; no commit may change more rows of a table than this.
  private func fold(_ replica: TestReplica, _ table: String, by most: Int64) throws {
    var (before, hasMore) = (try count(replica, table), true)
    while hasMore {
      hasMore = try replica.store.fold(at: replica.now).hasMore
      let now = try count(replica, table)
      #expect(abs(now - before) <= most)
      before = now
      try expectSound(replica)
    }
  }

  /// What a node does with a slice.
  private func merge(
    _ slice: MergeSlice, at replica: TestReplica, _ table: String, by most: Int64 = 3
  ) throws {
    guard try replica.store.mergeIfRoom(slice, at: replica.now) == nil else { return }
    replica.store.beginMakingWay()
    defer { replica.store.endMakingWay() }
    repeat {
      var before = try count(replica, table)
      while replica.store.isMakingWay {
        _ = try replica.store.fold(at: replica.now)
        let now = try count(replica, table)
        #expect(before - now <= most)
        before = now
        try expectSound(replica)
      }
      try #require(replica.store.hasMadeWay)
    } while try replica.store.mergeIfRoom(slice, at: replica.now) == nil
  }

  @Test func `what refers to a row that goes is parked before, a few rows in a commit`() throws {
    let (ann, other) = try pair()
    try delete(ann)
    for slice in try slices(from: ann, at: other) {
      try merge(slice, at: other, "invoice")
      try expectSound(other)
    }
    try fold(other, "invoice", by: 0)
    #expect(try count(other, "invoice") == 0)
    #expect(try count(other, "customer") == 1)
    #expect(try other.store.survey.figures().parked == 20)
    try ann.write("INSERT INTO customer VALUES ('c', NULL)")
    try ann.foldAll()
    for slice in try slices(from: ann, at: other) {
      _ = try #require(try other.store.mergeIfRoom(slice, at: other.now))
      #expect(try count(other, "invoice") <= 3)
    }
    try fold(other, "invoice", by: 3)
    #expect(try count(other, "invoice") == 20)
  }

  private func created(_ key: String, _ replica: TestReplica) throws -> Stamp {
    let table = try #require(replica.store.tables.table(called: "customer"))
    let key = try #require(table.key([.text(Array(key.utf8))]))
    let version = try replica.store.versions.version(table: table.id, key: key)
    return try #require(version).createdAt
  }

  /// The customer is not deleted: one that was made before has its number.
  @Test func `what refers to a row that gives way to another is parked before, too`() throws {
    var pace = Pace()
    pace.parkedRows = 3
    let schema = """
      CREATE TABLE customer(id TEXT PRIMARY KEY NOT NULL, number INT UNIQUE);
      CREATE TABLE invoice(id TEXT PRIMARY KEY NOT NULL, customer TEXT REFERENCES customer);
      CREATE INDEX of_customer ON invoice(customer);
      CREATE TABLE line(id TEXT PRIMARY KEY NOT NULL, invoice TEXT REFERENCES invoice);
      CREATE INDEX of_invoice ON line(invoice);
      """
    let ann = try TestReplica(1, schema: schema, tracking: ["customer", "invoice", "line"])
    let bob = try TestReplica(3, schema: schema)
    let other = try TestReplica(2, schema: schema, pace: pace)
    for replica in [bob, other] { try replica.exchange(with: ann) }
    try ann.write("INSERT INTO customer VALUES ('first', 1)")
    try ann.foldAll()
    KeysTests.later(bob, than: [ann])
    try bob.write("INSERT INTO customer VALUES ('second', 1)")
    for number in 10..<30 {
      try bob.write("INSERT INTO invoice VALUES (\(number), 'second')")
      try bob.write("INSERT INTO line VALUES (\(number), \(number))")
    }
    try bob.foldAll()
    // Which stands is the one that was made first.
    let (first, second) = (try created("first", ann), try created("second", bob))
    #expect(first < second)
    try other.pull(from: bob)
    #expect(try count(other, "line") == 20)
    for slice in try slices(from: ann, at: other) { try merge(slice, at: other, "invoice") }
    try fold(other, "invoice", by: 3)
    #expect(try other.content("customer") == ann.content("customer"))
    #expect(try count(other, "invoice") == 0)
    #expect(try count(other, "line") == 0)
    #expect(try other.store.survey.figures().parked == 41)
    // What stands in the end is what stands where all came at once.
    try ann.pull(from: other)
    try ann.foldAll()
    #expect(try ann.store.survey.figures().parked == 41)
    try ann.write("UPDATE customer SET number = 2")
    try ann.foldAll()
    for slice in try slices(from: ann, at: other) { try merge(slice, at: other, "invoice") }
    try fold(other, "invoice", by: 3)
    for table in ["customer", "invoice", "line"] {
      #expect(try other.content(table) == ann.content(table))
    }
    #expect(try count(other, "line") == 20)
  }

  @Test func `rows that were parked before come back if nothing goes after all`() throws {
    let (ann, other) = try pair()
    try delete(ann)
    let slice = try #require(try slices(from: ann, at: other).last)
    #expect(try other.store.mergeIfRoom(slice, at: other.now) == nil)
    other.store.beginMakingWay()
    for _ in 0..<4 { #expect(try other.store.fold(at: other.now).hasMore) }
    #expect(try count(other, "invoice") == 8)
    try other.reopen()
    try expectSound(other)
    try fold(other, "invoice", by: 3)
    #expect(try count(other, "invoice") == 20)
    // A merge that fails leaves nothing out of its table either.
    #expect(try other.store.mergeIfRoom(slice, at: other.now) == nil)
    other.store.beginMakingWay()
    for _ in 0..<4 { #expect(try other.store.fold(at: other.now).hasMore) }
    other.store.endMakingWay()
    try fold(other, "invoice", by: 3)
    #expect(try count(other, "invoice") == 20)
    #expect(try other.store.survey.figures().parked == 0)
  }

  /// Rows of somebody else come meanwhile, before the first one is parked: then nothing waits.
  @Test func `rows that were parked before come back if the merge fails before it begins`() throws {
    let (ann, other) = try pair()
    let bob = try TestReplica(3, schema: Self.schema)
    try bob.exchange(with: ann)
    try bob.write("INSERT INTO customer VALUES ('e', NULL)")
    try bob.foldAll()
    try delete(ann)
    let slice = try #require(try slices(from: ann, at: other).last)
    #expect(try other.store.mergeIfRoom(slice, at: other.now) == nil)
    other.store.beginMakingWay()
    try other.pull(from: bob)
    while other.store.isMakingWay { _ = try other.store.fold(at: other.now) }
    #expect(try count(other, "invoice") == 0)
    #expect(other.store.parking.recall == nil)
    other.store.endMakingWay()
    try fold(other, "invoice", by: 3)
    #expect(try count(other, "invoice") == 20)
    #expect(try other.store.survey.figures().parked == 0)
  }

  @Test func `rows that refer to what refers to it are parked before those`() throws {
    let (ann, other) = try pair()
    for number in 0..<30 {
      try other.write("INSERT INTO line VALUES (\(number), \(10 + number % 4))")
    }
    try other.foldAll()
    try delete(ann)
    for slice in try slices(from: ann, at: other) { try merge(slice, at: other, "line") }
    #expect(try count(other, "invoice") == 0)
    #expect(try count(other, "line") == 0)
    try ann.write("INSERT INTO customer VALUES ('c', NULL)")
    try ann.foldAll()
    try other.pull(from: ann)
    try fold(other, "line", by: 3)
    #expect(try count(other, "invoice") == 20)
    #expect(try count(other, "line") == 30)
  }

  /// Each row refers to the one before it, so all go with the first.
  @Test(arguments: [false, true])
  func `a long chain of rows is parked from its end, with a commit for a few of them`(
    isRing: Bool
  ) throws {
    var pace = Pace()
    pace.parkedRows = 3
    let schema = "CREATE TABLE part(id TEXT PRIMARY KEY NOT NULL, of TEXT REFERENCES part)"
    let ann = try TestReplica(1, schema: schema, tracking: ["part"])
    let other = try TestReplica(2, schema: schema, pace: pace)
    try ann.write("INSERT INTO part VALUES ('p100', NULL)")
    try ann.foldAll()
    try other.exchange(with: ann)
    for number in 101..<200 {
      try other.write("INSERT INTO part VALUES ('p\(number)', 'p\(number - 1)')")
    }
    // A ring goes in one commit, and that is found out soon.
    if isRing { try other.write("UPDATE part SET of = 'p199' WHERE id = 'p100'") }
    try other.foldAll()
    KeysTests.later(ann, than: [other])
    try ann.write("DELETE FROM part")
    try ann.foldAll()
    var folds = 0
    for slice in try slices(from: ann, at: other) {
      guard try other.store.mergeIfRoom(slice, at: other.now) == nil else { continue }
      other.store.beginMakingWay()
      defer { other.store.endMakingWay() }
      repeat {
        while other.store.isMakingWay, folds < 500 {
          folds += 1
          _ = try other.store.fold(at: other.now)
        }
        guard other.store.hasMadeWay else {
          #expect(isRing)
          _ = try other.store.merge(slice, at: other.now)
          break
        }
      } while try other.store.mergeIfRoom(slice, at: other.now) == nil
    }
    try other.foldAll()
    #expect(folds < (isRing ? 200 : 100))
    #expect(try count(other, "part") == 0)
    #expect(try other.store.survey.figures().parked == 99)
    try ann.write("INSERT INTO part VALUES ('p100', NULL)")
    try ann.foldAll()
    try other.pull(from: ann)
    try fold(other, "part", by: 4)
    #expect(try count(other, "part") == 100)
  }

  /// Without an index each look reads the whole table. A chain of 4,000 rows took half a minute.
  @Test func `a chain is found in one look where no index helps`() throws {
    let schema = "CREATE TABLE part(id TEXT PRIMARY KEY NOT NULL, of TEXT REFERENCES part)"
    let replica = try TestReplica(1, schema: schema, tracking: ["part"])
    let all = (100..<200).reversed().map { "p\($0)" }
    for (id, of) in zip(all, ["gone"] + all) {
      try replica.write("INSERT INTO part VALUES ('\(id)', '\(of)')")
    }
    let references = replica.store.settlement.references
    let reference = try #require(references.all.first)
    for (isLong, most, found) in [(false, 500, 1), (true, 500, 100), (true, 7, 7), (true, 0, 1)] {
      let keys = try references.children(
        of: reference, [[.string("gone")]], most: most, isLong: isLong,
        on: replica.store.connection)
      #expect(keys == all.prefix(found).map { [.string($0)] })
    }
  }

  @Test func `a row that goes may refer to one of those that refer to it`() throws {
    let (ann, other) = try pair()
    try other.write("UPDATE customer SET best = 12 WHERE id = 'c'")
    try other.foldAll()
    try delete(ann)
    for slice in try slices(from: ann, at: other) { try merge(slice, at: other, "invoice", by: 4) }
    try fold(other, "invoice", by: 3)
    #expect(try count(other, "invoice") == 0)
    try expectSound(other)
    #expect(try other.store.survey.figures().parked == 20)
  }

  @Test func `what a program writes meanwhile is parked with the rest`() throws {
    let (ann, other) = try pair()
    try delete(ann)
    let slice = try #require(try slices(from: ann, at: other).last)
    #expect(try other.store.mergeIfRoom(slice, at: other.now) == nil)
    other.store.beginMakingWay()
    _ = try other.store.fold(at: other.now)
    try other.write("INSERT INTO invoice VALUES ('new', 'x', 'c')")
    try other.write("UPDATE invoice SET note = 'y' WHERE id = '29'")
    try other.write("UPDATE invoice SET customer = 'd' WHERE id = '28'")
    while other.store.isMakingWay { _ = try other.store.fold(at: other.now) }
    _ = try #require(try other.store.mergeIfRoom(slice, at: other.now))
    other.store.endMakingWay()
    try other.foldAll()
    try expectSound(other)
    #expect(try other.content("invoice").count == 1)
    #expect(try other.store.survey.figures().parked == 20)
    try ann.exchange(with: other)
    try ann.write("INSERT INTO customer VALUES ('c', NULL)")
    try ann.foldAll()
    try other.exchange(with: ann)
    try other.foldAll()
    #expect(try other.content("invoice") == ann.content("invoice"))
    #expect(try other.value("SELECT note FROM invoice WHERE id = '29'") == .string("y"))
    #expect(try count(other, "invoice") == 21)
  }

  /// Each row waits for the one before it, and the first one for what nobody has.
  @Test(arguments: [false, true])
  func `the way through rows that wait for each other is gone a few steps in a commit`(
    isClosed: Bool
  ) throws {
    var pace = Pace()
    pace.parkedRows = 3
    let schema = "CREATE TABLE part(id TEXT PRIMARY KEY NOT NULL, of TEXT REFERENCES part)"
    let ann = try TestReplica(1, schema: schema, tracking: ["part"], pace: pace)
    let other = try TestReplica(2, schema: schema, pace: pace)
    try other.exchange(with: ann)
    try ann.write("INSERT INTO part VALUES ('p99', NULL)")
    for number in 100..<160 {
      try ann.write("INSERT INTO part VALUES ('p\(number)', 'p\(number - 1)')")
    }
    try ann.foldAll()
    // This one comes last, if at all.
    try ann.write("UPDATE part SET of = 'p159' WHERE id = 'p99'")
    try ann.foldAll()
    let (covers, batches) = try ann.export(above: other.store.position.frontier)
    let all = try batches.map { try RowBatch(bytes: $0.bytes) }
    for batch in all {
      for row in batch.rows where batch.tables[row.table].name == "part" {
        guard isClosed || row.values[0] != .text(Array("p99".utf8)) else { continue }
        var writer = RowBatchWriter()
        writer.add(batch.tables[row.table], row.version, row.content)
        _ = try other.store.merge(
          Merge(
            sender: ann.store.node, kind: .full(covers: covers), batches: [writer.bytes],
            rowsBefore: 0, checkBefore: 0, end: nil, movesFrontier: false), at: other.now)
      }
    }
    try other.reopen()
    var (folds, steps, hasMore) = (0, 0, true)
    while hasMore, folds < 500 {
      hasMore = try other.store.fold(at: other.now).hasMore
      folds += 1
      if other.store.parking.recall?.rings?.place != nil { steps += 1 }
      try expectSound(other)
    }
    #expect(try count(other, "part") == (isClosed ? 61 : 0))
    // 60 rows, three in a commit; what was found out once is not looked for again.
    #expect((15...40).contains(steps))
    #expect(folds < 100)
  }

  /// Two rows wait for each other's parents, and one of them comes with what both need: the ring
  /// stands, however few rows may come back in a commit.
  @Test(arguments: [false, true])
  func `a ring of rows that come one after another stands`(isToOtherColumn: Bool) throws {
    var pace = Pace()
    pace.parkedRows = 1
    let target = isToOtherColumn ? "(name)" : "(id)"
    let schema = """
      CREATE TABLE part(id TEXT PRIMARY KEY NOT NULL, name TEXT UNIQUE, of TEXT REFERENCES
        part\(target), n);
      """
    let author = try TestReplica(1, schema: schema, tracking: ["part"], pace: pace)
    let other = try TestReplica(2, schema: schema, pace: pace)
    try other.exchange(with: author)
    try author.write(
      """
      INSERT INTO part VALUES ('a', 'a', NULL, 1), ('b', 'b', NULL, 1), ('c', 'c', NULL, 1);
      UPDATE part SET of = CASE id WHEN 'a' THEN 'b' WHEN 'b' THEN 'c' ELSE 'a' END
      """)
    try author.foldAll()
    let (covers, batches) = try author.export(above: other.store.position.frontier)
    let batch = try #require(batches.first)
    let rows = try RowBatch(bytes: batch.bytes)
    #expect(rows.rows.count == 3)
    // First `a`, which waits for `b`; then `c`, which waits for `a`; then `b`.
    for index in [0, 2, 1] {
      var writer = RowBatchWriter()
      let row = rows.rows[index]
      writer.add(rows.tables[row.table], row.version, row.content)
      _ = try other.store.merge(
        Merge(
          sender: author.store.node, kind: .full(covers: covers), batches: [writer.bytes],
          rowsBefore: 0, checkBefore: 0, end: nil, movesFrontier: false), at: other.now)
      try expectSound(other)
    }
    try other.foldAll()
    #expect(try count(other, "part") == 3)
    try expectSound(other)
  }

  /// A number means another reference after a migration.
  @Test func `makes way as often as before where the foreign keys are others`() throws {
    let (ann, _) = try pair()
    let reference = try #require(ann.store.settlement.references.all.first)
    let target = Crowd.Target(reference, [.string("c")])
    var crowd = Crowd()
    crowd.begin()
    var tries = 0
    while crowd.takeTry(target, by: 1) { tries += 1 }
    #expect(tries > 1)
    let goesOn = crowd.takeTry(target, by: 2)
    #expect(goesOn)
  }
}

extension Crowd {
  /// Whether way is made for it once more: something is parked, and it comes back.
  fileprivate mutating func takeTry(_ target: Target, by signature: Int64) -> Bool {
    add([target], by: signature)
    guard !targets.isEmpty else { return false }
    note([Step(parked: 1, passed: 0, isLast: true)])
    return true
  }
}
