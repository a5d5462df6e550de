import Replication
import SQLite
import Testing

@testable import Store

/// What owners have signed of their origins is kept, told, and bounds what is taken.
@Suite struct `A reach in a file` {
  private static let (other, third) = (Origin(rawValue: 50), Origin(rawValue: 60))

  private static func signature(of word: any Signable) -> [UInt8] {
    let seq = (word as? Reach)?.seq ?? 0
    return Array(repeating: UInt8(truncatingIfNeeded: seq), count: Reach.signatureLength)
  }

  private static func reach(_ origin: Origin, _ seq: UInt64) -> Reach {
    var reach = Reach(
      origin: origin, node: Identity(high: 9, low: 9), life: 1, seq: seq, run: 4)
    reach.signature = signature(of: reach)
    return reach
  }

  private func replica() throws -> TestReplica {
    let replica = try TestReplica(1, schema: WrongBatchTests.schema, tracking: ["t"])
    replica.store.lives.sign(by: Self.signature)
    return replica
  }

  private func take(
    _ replica: TestReplica, covers: Frontier, _ reaches: [Reach]
  ) throws {
    var merge = Merge(
      sender: Identity(high: 9, low: 9), kind: .full(covers: covers), batches: [], rowsBefore: 0,
      checkBefore: 0, end: End(rows: 0, check: 0), movesFrontier: true)
    (merge.reaches, merge.sealed) = (
      reaches,
      Sealed([:], own: replica.origin, last: 0, held: Frontier(), exempt: nil)
    )
    merge.base = replica.store.position.frontier
    _ = try replica.store.merge(merge, at: replica.now)
  }

  @Test func `is kept with what it covers, and only a later one replaces it`() throws {
    let replica = try replica()
    try take(replica, covers: Frontier([Self.other: 3]), [Self.reach(Self.other, 7)])
    try take(replica, covers: Frontier([Self.other: 5]), [Self.reach(Self.other, 5)])
    let again = try Store(path: replica.path)
    #expect(again.position.reaches.values == [Self.reach(Self.other, 7)])
    #expect(again.position.frontier[Self.other] == 5)
  }

  /// A version before believed what it was told.
  @Test func `takes back what was counted beyond it, so that all of it comes again`() throws {
    let replica = try replica()
    try take(replica, covers: Frontier([Self.other: 1 << 40, Self.third: 2]), [])
    let before = replica.store.position.frontier
    #expect(before[Self.other] == 1 << 40)
    // What the sender left out was by that: it covers nothing of it.
    try take(
      replica, covers: Frontier([Self.other: 7, Self.third: 2]),
      [Self.reach(Self.other, 7), Self.reach(Self.third, 9)])
    let frontier = replica.store.position.frontier
    #expect(frontier[Self.other] == 0 && frontier[Self.third] == 2)
    try take(replica, covers: Frontier([Self.other: 7]), [Self.reach(Self.other, 7)])
    #expect(replica.store.position.frontier[Self.other] == 7)
  }

  @Test func `is signed for what is written here, and for the lives before`() throws {
    let replica = try replica()
    #expect(replica.store.position.reaches[replica.origin]?.seq != 0)
    try replica.store.lives.begin(run: 3)
    try replica.write("INSERT INTO t VALUES (1, 'one')")
    let pushed = try replica.store.fold(at: replica.now).push
    let position = replica.store.position
    let last = position.frontier[replica.origin]
    let own = try #require(position.reaches[replica.origin])
    #expect(own.seq == last && own.run == 3 && own.node == replica.store.node)
    #expect(own.signature == Self.signature(of: own))
    #expect(pushed == nil || pushed?.reach == own)
    let next = Origin(rawValue: 7)
    try replica.store.beginLife(
      .moved, origin: next, life: 8, run: 5, reissuingAbove: nil, at: replica.now)
    let reaches = replica.store.position.reaches
    #expect(reaches[replica.origin]?.seq == last && reaches[next]?.life == 8)
    // The one of a life before is in the file.
    #expect(try Store(path: replica.path).position.reaches[replica.origin] != nil)
  }

  /// A file of the version before has another table in its place, and no reach at all.
  @Test func `comes into a file of the version before, with its next run`() throws {
    let replica = try replica()
    let connection = try Connection(path: replica.path)
    try connection.execute(
      """
      DROP TABLE _flotilla_reach;
      CREATE TABLE _flotilla_testimony(node TEXT PRIMARY KEY NOT NULL, origin, seq, run);
      INSERT INTO _flotilla_origin(origin, seq) VALUES (71, 6);
      INSERT INTO _flotilla_author(origin, node, name, life)
        SELECT 71, node, name, 3 FROM _flotilla_author LIMIT 1
      """)
    let again = try Store(path: replica.path)
    again.lives.sign(by: Self.signature)
    try again.lives.begin(run: 9)
    // The file may be an older one: others may hold more of that life, which is exempt.
    _ = try again.becomeSure(at: replica.now)
    #expect(again.position.reaches[Origin(rawValue: 71)] == nil)
    let old = "SELECT count(*) FROM sqlite_schema WHERE name = '_flotilla_testimony'"
    // A node of the version before may still run beside this.
    #expect(try connection.scalar(old).integer == 1)
  }

  /// A machine was put back, and has come further since.
  @Test func `is kept of runs before as well`() throws {
    let replica = try replica()
    var later = Self.reach(Self.other, 12)
    later.run = 9
    for reach in [Self.reach(Self.other, 10), later] {
      try take(replica, covers: Frontier([Self.other: reach.seq]), [reach])
    }
    let reaches = try Store(path: replica.path).position.reaches
    #expect(reaches[Self.other] == later)
    #expect(reaches.earlier[Self.other] == [Self.reach(Self.other, 10)])
  }

  /// What is left out by one commit is covered by no later one of that session.
  @Test func `lets nothing be covered of which a row was left out`() throws {
    let replica = try replica()
    let dot = Dot(Self.other, 3)
    var writer = RowBatchWriter()
    writer.add(
      TableShape(name: "t", keyCount: 1, columns: ["id", "a"], affinities: [.integer, .text]),
      Version(
        dot: dot, created: dot, stamp: Stamp(millisecondsSince1970: 5), hash: 0, isDeleted: true),
      .deleted(key: [.integer(1)]))
    let covers = Frontier([Self.other: 7, Self.third: 2])
    var merge = Merge(
      sender: Identity(high: 9, low: 9), kind: .full(covers: covers), batches: [writer.bytes],
      rowsBefore: 0, checkBefore: 0, end: nil, movesFrontier: false)
    merge.sealed = Sealed([:], own: replica.origin, last: 0, held: Frontier(), exempt: [Self.third])
    let before = replica.store.position.age
    let outcome = try replica.store.merge(merge, at: replica.now)
    #expect(outcome.result.leftOut == [Self.other: Omission(from: 3)])
    #expect(outcome.result.rows == 1 && outcome.result.known == 1)
    // No program had to wait for that.
    #expect(replica.store.position.age == before)
    #expect(try replica.store.progress.frontier(of: merge.sender)[Self.other] == 0)
    // Its signature comes before End.
    merge.reaches = [Self.reach(Self.other, 7)]
    (merge.batches, merge.end, merge.movesFrontier) = ([], End(rows: 0, check: 0), true)
    merge.leaveOut(outcome.result.leftOut)
    _ = try replica.store.merge(merge, at: replica.now)
    #expect(replica.store.position.frontier[Self.other] == 0)
    #expect(replica.store.position.frontier[Self.third] == 2)
  }

  /// A machine is put back into the middle of a life that ended later.
  @Test func `is signed for a life that ends in the run that wrote it last`() throws {
    let replica = try replica()
    try replica.store.lives.begin(run: 3)
    try replica.write("INSERT INTO t VALUES (1, 'one')")
    _ = try replica.store.fold(at: replica.now)
    try replica.store.beginLife(
      .moved, origin: Origin(rawValue: 7), life: 8, run: 5, reissuingAbove: nil, at: replica.now)
    #expect(replica.store.position.reaches[replica.origin]?.run == 3)
  }

  /// What was written while no node ran is signed for, though its life is over; of a version before
  /// others may hold more.
  @Test func `is signed for a life in which nothing was told, but for one of before`() throws {
    for isFromBefore in [false, true] {
      let replica = try TestReplica(1, schema: WrongBatchTests.schema, tracking: ["t"])
      try replica.write("INSERT INTO t VALUES (1, 'one')")
      _ = try replica.store.fold(at: replica.now)
      let (old, last) = (replica.origin, replica.store.position.frontier[replica.origin])
      let connection = try Connection(path: replica.path)
      if isFromBefore { try connection.execute("CREATE TABLE _flotilla_testimony(node)") }
      replica.store.lives.sign(by: Self.signature)
      try replica.store.beginLife(
        .moved, origin: Origin(rawValue: 7), life: 8, run: 5, reissuingAbove: nil, at: replica.now)
      #expect(replica.store.position.reaches[old]?.seq == (isFromBefore ? nil : last))
    }
  }

  /// Members that sign for ever new lives leave room for others.
  @Test func `makes its origin one that is known`() throws {
    let replica = try replica()
    let most = UInt64(Limits.strangeOrigins)
    let signed = (1...most).map { Origin(rawValue: 1_000 + $0) }
    let reaches = signed.map { Self.reach($0, 1) }
    let covers = Frontier(Dictionary(uniqueKeysWithValues: signed.map { ($0, 1) }))
    try take(replica, covers: covers, reaches)
    try take(replica, covers: Frontier([Self.other: 1]), [])
    #expect(replica.store.position.frontier[Self.other] == 1)
  }
}
