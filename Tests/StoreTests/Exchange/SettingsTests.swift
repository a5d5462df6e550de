import Replication
import SQLite
import Testing

@testable import Store

/// The site's tables: tracked anywhere, for everybody, in any order of arrival.
@Suite struct SettingsTests {
  static let words = LateSchemaTests.word
  static let schema = LateSchemaTests.schema
  static let rows = "INSERT INTO word VALUES ('Alpha', 1), ('beta', 2);"

  @Test func `a table that is tracked at one node is tracked at all`() throws {
    let r = try (1...3).map { try TestReplica($0, schema: Self.schema) }
    try r[1].write(Self.rows)
    try r[1].store.track(["word"], rule: "newest-wins", at: r[1].now)
    try r[1].foldAll()
    try r[0].pull(from: r[1])
    try r[2].pull(from: r[0])
    try r[2].write("UPDATE word SET meaning = 'new' WHERE w = 'ALPHA'")
    try r[0].pull(from: r[2])
    try r[1].pull(from: r[0])
    #expect(try Verdict(r, Self.words).faults == [])
    #expect(try r[1].value("SELECT meaning FROM word WHERE w = 'alpha'") == .string("new"))
  }

  @Test func `a table that is tracked again after an end is equal again`() throws {
    let r = try (1...3).map {
      try TestReplica($0, schema: Self.schema, tracking: $0 == 1 ? ["word"] : [])
    }
    try r[0].write(Self.rows)
    for replica in r.dropFirst() { try replica.pull(from: r[0]) }
    try r[0].store.untrack(["word"], at: r[0].now)
    for replica in r.dropFirst() { try replica.pull(from: r[0]) }
    #expect(try r[2].store.trackedTables().isEmpty)
    #expect(try r[2].content("word").count == 2)
    try r[1].write("INSERT INTO word VALUES ('gamma', 3)")
    try r[1].store.track(["word"], rule: nil, at: r[1].now)
    try r[1].foldAll()
    for replica in [r[0], r[2]] { try replica.pull(from: r[1]) }
    try r[2].write("DELETE FROM word WHERE w = 'BETA'")
    for _ in 0..<2 {
      try r[0].exchange(with: r[2])
      try r[1].exchange(with: r[2])
    }
    #expect(try r[0].content("word").count == 2)
    #expect(try Verdict(r, Self.words).faults == [])
  }

  /// Nothing was written at the others meanwhile, so nothing of theirs is lost.
  @Test(arguments: [true, false], [true, false])
  func `an update between two trackings is no conflict`(
    hasHeard: Bool, comparesFirst: Bool
  ) throws {
    let r = try (1...2).map {
      try TestReplica($0, schema: Self.schema, tracking: $0 == 1 ? ["word"] : [])
    }
    try r[1].pull(from: r[0])
    try r[1].write(Self.rows)
    try r[0].exchange(with: r[1])
    try r[0].store.untrack(["word"], at: r[0].now)
    if hasHeard { try r[1].pull(from: r[0]) }
    try r[0].write("UPDATE word SET meaning = 'new' WHERE w = 'alpha'")
    try trackAgain(r, comparesFirst: comparesFirst)
    for replica in r {
      #expect(try replica.value("SELECT count(*) FROM _flotilla_conflict") == .integer(0))
      #expect(try replica.value("SELECT meaning FROM word WHERE w = 'alpha'") == .string("new"))
    }
    #expect(try Verdict(r, Self.words).faults == [])
  }

  /// The first one tracks the table again, and both meet.
  private func trackAgain(_ r: [TestReplica], comparesFirst: Bool) throws {
    try r[0].store.track(["word"], rule: nil, at: r[0].now)
    if comparesFirst {
      // The setting alone has come, and the table was compared before the rows are here.
      try r[1].pull(from: r[0])
      try r[1].foldAll()
    }
    try r[0].foldAll()
    try r[1].pull(from: r[0])
    try r[0].exchange(with: r[1])
  }

  /// What was written at another node meanwhile is kept.
  @Test(arguments: [true, false])
  func `an update at another node between two trackings is in its log`(comparesFirst: Bool) throws {
    let r = try (1...2).map {
      try TestReplica($0, schema: Self.schema, tracking: $0 == 1 ? ["word"] : [])
    }
    try r[0].write(Self.rows)
    try r[1].pull(from: r[0])
    try r[0].store.untrack(["word"], at: r[0].now)
    try r[1].pull(from: r[0])
    for (replica, word) in zip(r, ["new", "other"]) {
      try replica.write("UPDATE word SET meaning = '\(word)' WHERE w = 'alpha'")
    }
    try trackAgain(r, comparesFirst: comparesFirst)
    #expect(try r[1].value("SELECT count(*) FROM _flotilla_conflict") == .integer(1))
    #expect(try r[0].value("SELECT count(*) FROM _flotilla_conflict") == .integer(0))
    #expect(try Verdict(r, Self.words).faults == [])
  }

  /// Nobody else has got what was written before the end came.
  @Test(arguments: [true, false], [true, false])
  func `what was written out of touch stands though tracking ended meanwhile`(
    hasHeard: Bool, comparesFirst: Bool
  ) throws {
    let r = try (1...2).map {
      try TestReplica($0, schema: Self.schema, tracking: $0 == 1 ? ["word"] : [])
    }
    try r[0].write(Self.rows + "INSERT INTO word VALUES ('gamma', 3)")
    try r[1].pull(from: r[0])
    r[1].clock += 60_000
    try r[1].write("UPDATE word SET meaning = 'mine' WHERE w = 'alpha'")
    try r[1].write("DELETE FROM word WHERE w = 'beta'; INSERT INTO word VALUES ('delta', 4)")
    try r[1].foldAll()
    r[0].clock += 120_000
    try r[0].store.untrack(["word"], at: r[0].now)
    if hasHeard { try r[1].pull(from: r[0]) }
    try trackAgain(r, comparesFirst: comparesFirst)
    for replica in r {
      #expect(
        try replica.prepareRows("SELECT lower(w) || meaning FROM word ORDER BY 1")
          == (hasHeard
            ? ["alphamine", "beta2", "delta4", "gamma3"] : ["alphamine", "delta4", "gamma3"]))
      #expect(try replica.value("SELECT count(*) FROM _flotilla_conflict") == .integer(0))
    }
    #expect(try Verdict(r, Self.words).faults == [])
  }

  /// Whether or not a node has heard that the table was not tracked for a while.
  @Test(arguments: [1, 500])
  func `what changes between two trackings is equal after the second`(slice: Int) throws {
    var pace = Pace()
    pace.comparedRows = slice
    let r = try (1...3).map {
      try TestReplica($0, schema: Self.schema, tracking: $0 == 1 ? ["word"] : [], pace: pace)
    }
    try r[0].write(Self.rows + "INSERT INTO word VALUES ('gamma', 3), ('delta', 4)")
    for replica in r.dropFirst() { try replica.pull(from: r[0]) }
    try r[0].store.untrack(["word"], at: r[0].now)
    try r[1].pull(from: r[0])
    try r[1].write(
      "DELETE FROM word WHERE w = 'alpha'; UPDATE word SET meaning = 'new' WHERE w = 'beta'")
    try r[0].write("DELETE FROM word WHERE w = 'gamma'")
    try r[1].store.track(["word"], rule: nil, at: r[1].now)
    try r[1].foldAll()
    try r[2].pull(from: r[1])
    try r[0].pull(from: r[2])
    try r[0].foldAll()
    for replica in [r[1], r[2]] { try replica.pull(from: r[0]) }
    #expect(try Verdict(r, Self.words).faults == [])
    #expect(
      try r[2].prepareRows("SELECT w || meaning FROM word ORDER BY w") == [
        "betanew", "delta4", "gamma3",
      ])
  }

  @Test func `rows that come late for a table no longer tracked leave nothing`() throws {
    let r = try (1...3).map {
      try TestReplica($0, schema: Self.schema, tracking: $0 == 1 ? ["word"] : [])
    }
    for replica in r.dropFirst() { try replica.pull(from: r[0]) }
    try r[2].write(Self.rows)
    try r[2].foldAll()
    for replica in r {
      replica.clock += 60_000
      if replica === r[0] { try replica.store.untrack(["word"], at: replica.now) }
    }
    try r[1].pull(from: r[0])
    try r[1].pull(from: r[2])
    try r[0].pull(from: r[1])
    try r[2].pull(from: r[0])
    #expect(try r[1].value("SELECT count(*) FROM _flotilla_shelf") == .integer(0))
    #expect(Set(r.map(\.store.position.digest.root)).count == 1)
  }

  /// The settings may have a higher dot than the rows, or come from elsewhere.
  @Test(arguments: 0..<6)
  func `settings and rows arrive in any order`(order: Int) throws {
    var pace = CatchUpTests.slices
    pace.batchRows = 1
    let r = try (1...2).map {
      try TestReplica($0, schema: Self.schema, tracking: $0 == 1 ? ["word"] : [], pace: pace)
    }
    try r[0].write(Self.rows)
    let (covers, batches) = try r[0].export(above: Frontier())
    #expect(batches.count == 3)
    let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]]
    var done: [ExportBatch] = []
    for index in orders[order] {
      _ = try r[1].store.merge(
        Merge(
          sender: r[0].store.node, kind: .full(covers: covers), batches: [batches[index].bytes],
          rowsBefore: End(done).rows, checkBefore: End(done).check, end: nil,
          movesFrontier: false), at: r[1].now)
      done.append(batches[index])
      if order % 2 == 1 { try r[1].reopen() }
    }
    _ = try r[1].store.merge(
      Merge(
        sender: r[0].store.node, kind: .full(covers: covers), batches: [], rowsBefore: 3,
        checkBefore: End(done).check, end: End(done), movesFrontier: true), at: r[1].now)
    #expect(try Verdict(r, Self.words).faults == [])
  }

  @Test func `rows of an unfinished exchange outlast another one`() throws {
    var pace = CatchUpTests.slices
    pace.batchRows = 1
    let r = try (1...3).map {
      try TestReplica($0, schema: Self.schema, tracking: $0 == 1 ? ["word"] : [], pace: pace)
    }
    try r[0].write(Self.rows)
    let (covers, batches) = try r[0].export(above: Frontier())
    try r[1].mergeSlice([batches[1], batches[2]], covers: covers, from: r[0])
    try r[1].pull(from: r[2])
    try r[1].merge(Array(batches.prefix(1)), .full(covers: covers), from: r[0])
    #expect(try Verdict(Array(r.prefix(2)), Self.words).faults == [])
  }

  @Test(arguments: [1, 1_000])
  func `a replica that joins with rows of its own ranks below the site`(batchRows: Int) throws {
    var pace = Pace()
    pace.batchRows = batchRows
    let first = try TestReplica(
      1, schema: Self.schema + Self.rows + "INSERT INTO word VALUES ('gone', 0)",
      tracking: ["word"], pace: pace)
    try first.write("DELETE FROM word WHERE w = 'gone'")
    try first.foldAll()
    let second = try TestReplica(
      2,
      schema: Self.schema + """
        INSERT INTO word VALUES ('Alpha', 1), ('BETA', 'other'), ('own', 5), ('gone', 'still');
        """)
    let (covers, batches) = try first.export(above: Frontier())
    var done: [ExportBatch] = []
    for batch in batches where batchRows == 1 {
      _ = try second.store.merge(
        Merge(
          sender: first.store.node, kind: .full(covers: covers), batches: [batch.bytes],
          rowsBefore: End(done).rows, checkBefore: End(done).check, end: nil,
          movesFrontier: false), at: second.now)
      done.append(batch)
    }
    let rest = batchRows == 1 ? [] : batches
    _ = try second.store.merge(
      Merge(
        sender: first.store.node, kind: .full(covers: covers), batches: rest.map(\.bytes),
        rowsBefore: End(done).rows, checkBefore: End(done).check, end: End(batches),
        movesFrontier: true), at: second.now)
    try second.foldAll()
    try first.exchange(with: second)
    #expect(try Verdict([first, second], Self.words).faults == [])
    #expect(
      try first.prepareRows("SELECT w || meaning FROM word ORDER BY w") == [
        "Alpha1", "beta2", "own5",
      ])
    let lost = try second.prepareRows("SELECT hex(loser) FROM _flotilla_conflict")
    #expect(lost.count == 2)
    #expect(lost.contains { $0.contains("6F74686572") })
    #expect(lost.contains { $0.contains("7374696C6C") })
  }
}
