import Replication
import SQLite
import Testing

@testable import Store

/// What has gathered of a long exchange is merged in the order of its keys, in several commits.
@Suite struct MergeSliceTests {
  static let schema = "CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT);"

  static var pace: Pace {
    var pace = Pace()
    (pace.batchRows, pace.mergedRows) = (4, 3)
    return pace
  }

  /// One replica that has edited its 20 rows in this order, and one that has not heard of it.
  private func replicas(
    _ keys: [Int], schema: String = schema, tracking: [String] = ["t"]
  ) throws -> (author: TestReplica, other: TestReplica) {
    let author = try TestReplica(1, schema: schema, tracking: tracking, pace: Self.pace)
    let other = try TestReplica(2, schema: schema, pace: Self.pace)
    for key in keys { try author.write("INSERT INTO t VALUES (\(key), 'v\(key)')") }
    try author.foldAll()
    return (author, other)
  }

  private func merge(
    _ batches: [ExportBatch], covers: Frontier, from author: TestReplica, isEnd: Bool = false
  ) -> Merge {
    Merge(
      sender: author.store.node, kind: .full(covers: covers), batches: batches.map(\.bytes),
      rowsBefore: 0, checkBefore: 0, end: isEnd ? End(batches) : nil, movesFrontier: isEnd)
  }

  private func keys(_ slice: MergeSlice) throws -> [Replication.Value] {
    try slice.rows().filter { $0.shape.name == "t" }.compactMap { $0.row.values.first }
  }

  static let scattered = [7, 3, 19, 1, 12, 5, 16, 2, 20, 9, 4, 14, 11, 6, 18, 8, 13, 10, 17, 15]

  @Test func `rows of a long exchange are merged by table and key, a few in a commit`() throws {
    let (author, other) = try replicas(Self.scattered)
    let (covers, batches) = try author.export(above: Frontier())
    let slices = try other.store.slices(of: merge(batches, covers: covers, from: author))
    let all = try slices.map { try $0.rows() }
    #expect(all.allSatisfy { $0.count <= 3 } && all.reduce(0) { $0 + $1.count } == 21)
    // The settings come first: they tell that the table is the site's.
    #expect(all.first?.first.map { Tables.isSettings($0.shape.name) } == true)
    #expect(try slices.flatMap(keys) == (1...20).map { .integer($0) })
    #expect(slices.map(\.isLast) == slices.indices.map { $0 == slices.count - 1 })
    for slice in slices { _ = try other.store.merge(slice, at: other.now) }
    #expect(try other.value("SELECT count(*) FROM t") == .integer(20))
    #expect(other.store.position.frontier.isEmpty)
    // All has been worked through that the sender has sent, whatever came last in its place.
    #expect(
      try other.store.progress.frontier(of: author.store.node)
        == covers.reached(at: Dot(author.origin, covers[author.origin])))
  }

  @Test func `a small exchange is one commit as it was sent, after one of the settings`() throws {
    let (author, other) = try replicas(Self.scattered)
    let (covers, batches) = try author.export(above: Frontier())
    let whole = merge(batches, covers: covers, from: author, isEnd: true)
    let slices = try other.store.slices(of: whole)
    #expect(slices.map(\.isLast) == [false, true])
    #expect(try slices[0].rows().allSatisfy { Tables.isSettings($0.shape.name) })
    #expect(
      try keys(slices[1]) == Self.scattered.map { .integer(Int64($0)) })
    for slice in slices { _ = try other.store.merge(slice, at: other.now) }
    try author.write("INSERT INTO t VALUES (22, 'x'), (21, 'x')")
    try author.foldAll()
    let (more, later) = try author.export(above: covers)
    let one = try other.store.slices(of: merge(later, covers: more, from: author, isEnd: true))
    #expect(one.count == 1 && one[0].isLast && !one[0].isLong)
    // At the end of a long one nothing is left of that.
    var rest = whole
    rest.rowsBefore = 5
    rest.end = End(rows: 5 + (whole.end?.rows ?? 0), check: whole.end?.check ?? 0)
    let cut = try other.store.slices(of: rest)
    #expect(cut.count == 8 && cut.allSatisfy(\.isLong))
    #expect(cut.map { $0.merge.movesFrontier } == cut.map(\.isLast))
    #expect(cut.map { $0.merge.end != nil } == cut.map(\.isLast))
  }

  /// Batches whose rows say that they had 16 other keys before, each.
  private func renumbered(_ batches: [ExportBatch]) throws -> [ExportBatch] {
    try batches.map { batch in
      let read = try RowBatch(bytes: batch.bytes)
      var writer = RowBatchWriter()
      for row in read.rows {
        var version = row.version
        if read.tables[row.table].name == "t" {
          version.numbering.turn = .zero
          version.numbering.former = try (1...16).map { number in
            let key = try #require(Key([.integer(Int64(1_000 + number))], collations: [.binary]))
            return FormerKey(key: key, created: version.dot, edit: version.dot)
          }
        }
        writer.add(read.tables[row.table], version, row.content)
      }
      return ExportBatch(bytes: writer.bytes, rows: batch.rows, check: writer.check)
    }
  }

  @Test(arguments: [(60, true), (80, false)])
  func `former keys count as rows`(count: Int, isWhole: Bool) throws {
    let (author, other) = try replicas(Array(1...count))
    let (covers, batches) = try author.export(above: Frontier())
    let whole = merge(try renumbered(batches), covers: covers, from: author, isEnd: true)
    let rows = try other.store.slices(of: whole).map(keys).filter { !$0.isEmpty }
    #expect(rows.map(\.count) == (isWhole ? [count] : Array(repeating: 1, count: count)))
  }

  @Test(arguments: [1, 4, 6])
  func `a merge that was cut between its slices begins anew, and loses nothing`(
    count: Int
  ) throws {
    let (author, other) = try replicas(Self.scattered)
    let (covers, batches) = try author.export(above: Frontier())
    let slices = try other.store.slices(of: merge(batches, covers: covers, from: author))
    for slice in slices.prefix(count) { _ = try other.store.merge(slice, at: other.now) }
    try other.reopen()
    // Of rows in the order of their keys nothing follows about the order in which they were sent.
    #expect(try other.store.progress.frontier(of: author.store.node).isEmpty)
    #expect(other.store.position.frontier.isEmpty)
    try other.pull(from: author)
    #expect(try Verdict([author, other], [TestTable.plain]).faults == [])
  }

  @Test func `what a program writes between two slices ranks against what they bring`() throws {
    let (author, other) = try replicas(Self.scattered)
    try other.pull(from: author)
    for key in Self.scattered { try author.write("UPDATE t SET v = 'new' WHERE id = \(key)") }
    try author.foldAll()
    let (covers, batches) = try author.export(above: other.store.position.frontier)
    let slices = try other.store.slices(of: merge(batches, covers: covers, from: author))
    #expect(slices.count == 7)
    for (number, slice) in slices.enumerated() {
      if number == 3 {
        other.clock += 5_000
        try other.write("UPDATE t SET v = 'here' WHERE id IN (1, 20)")
      }
      _ = try other.store.merge(slice, at: other.now)
    }
    #expect(try other.value("SELECT count(*) FROM t WHERE v = 'here'") == .integer(2))
    try other.pull(from: author)
    try author.pull(from: other)
    #expect(try author.value("SELECT count(*) FROM t WHERE v = 'here'") == .integer(2))
    #expect(try Verdict([author, other], [TestTable.plain]).faults == [])
  }

  @Test func `a row comes after what it refers to, and before that when both are deleted`() throws {
    // By name and number the child is the first.
    let schema = """
      CREATE TABLE a(id INTEGER PRIMARY KEY, t INTEGER REFERENCES t(id));
      \(Self.schema)
      """
    let (author, other) = try replicas(
      Self.scattered, schema: schema, tracking: ["a", "t"])
    for key in Self.scattered { try author.write("INSERT INTO a VALUES (\(key), \(key))") }
    try author.foldAll()
    try other.pull(from: author)
    try author.write("DELETE FROM a WHERE id < 4; DELETE FROM t WHERE id < 4")
    try author.write("UPDATE a SET t = 5 WHERE id > 17; UPDATE t SET v = 'new' WHERE id > 17")
    try author.foldAll()
    let (covers, batches) = try author.export(above: other.store.position.frontier)
    let slices = try other.store.slices(of: merge(batches, covers: covers, from: author))
    let order = try slices.flatMap { try $0.rows() }.map { row in
      row.shape.name + (row.row.version.isDeleted ? "-" : "+")
    }
    #expect(
      order == ["a-", "a-", "a-", "t-", "t-", "t-", "t+", "t+", "t+", "a+", "a+", "a+"])
    for slice in slices {
      #expect(try other.store.merge(slice, at: other.now).shelved == 0)
      #expect(try other.value("SELECT count(*) FROM _flotilla_shelf") == .integer(0))
    }
  }

  @Test func `a fault in the last batch leaves all as it was`() throws {
    let (author, other) = try replicas(Self.scattered)
    let (covers, batches) = try author.export(above: Frontier())
    var wrong = merge(batches, covers: covers, from: author)
    wrong.batches[wrong.batches.count - 1].removeLast()
    let error = #expect(throws: StoreError.self) { try other.store.slices(of: wrong) }
    #expect(error?.code == .wire)
    #expect(throws: StoreError.self) { try other.store.merge(wrong, at: other.now) }
    #expect(try other.value("SELECT count(*) FROM t") == .integer(0))
  }

  /// The list of recent rows may not hold what the first slices have brought.
  @Test func `who got all of a long exchange in one step passes all of it on`() throws {
    let (author, other) = try replicas([])
    try author.write(
      """
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 1100)
      INSERT INTO t SELECT i, 'v' || i FROM n
      """)
    try author.foldAll()
    let (covers, batches) = try author.export(above: Frontier())
    let whole = merge(batches, covers: covers, from: author, isEnd: true)
    #expect(try other.store.slices(of: whole).count > 300)
    _ = try other.store.merge(whole, at: other.now)
    let third = try TestReplica(3, schema: Self.schema, pace: Self.pace)
    try third.pull(from: other)
    #expect(try Verdict([author, other, third], [TestTable.plain]).faults == [])
  }
}
