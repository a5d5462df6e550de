import Replication
import SQLite
import Testing

@testable import Store

/// A member that may write claims things about others: what nobody could pass on is not taken.
@Suite struct HostileClaimTests {
  private func merge(
    _ replica: TestReplica, covers: Frontier, judged: Judged? = nil
  ) throws {
    var merge = Merge(
      sender: Identity(high: 9, low: 9), kind: .full(covers: covers), batches: [], rowsBefore: 0,
      checkBefore: 0, end: End(rows: 0, check: 0), movesFrontier: true)
    merge.judged = judged
    _ = try replica.store.merge(merge, at: replica.now)
  }

  private func invented(from first: UInt64, count: Int) -> Frontier {
    Frontier(
      Dictionary(
        uniqueKeysWithValues: (0..<UInt64(count)).map { (Origin(rawValue: first + $0), 1) }))
  }

  @Test func `invented origins leave room for those of members`() throws {
    let replica = try TestReplica(1, schema: WrongBatchTests.schema, tracking: ["t"])
    try merge(replica, covers: invented(from: 100, count: 1_000))
    #expect(throws: StoreError.self) {
      try merge(replica, covers: invented(from: 100_000, count: 15_000))
    }
    #expect(replica.store.position.frontier.list.count <= Limits.strangeOrigins + 1)
    // A node that begins a new life is heard all the same.
    let life = Origin(rawValue: 77)
    try replica.store.members.note([
      KnownAuthor(origin: life, node: Identity(high: 2, low: 2), name: "b", life: 5)
    ])
    try merge(replica, covers: invented(from: 100, count: 1_000).joined(Frontier([life: 3])))
    for number in 0..<40 as Range<UInt64> {
      try? merge(replica, covers: invented(from: 1_000_000 * number, count: 1))
    }
    try merge(replica, covers: Frontier([life: 4]))
    #expect(replica.store.position.frontier[life] == 4)
    #expect(replica.store.position.frontier.list.count <= Limits.strangeOrigins + 2)
  }

  @Test func `what was judged stays short enough to be told`() throws {
    let replica = try TestReplica(1, schema: WrongBatchTests.schema, tracking: ["t"])
    let term = Term(number: 1, incarnation: 1)
    let held = invented(from: 50, count: 20)
    for round in 1...5 as ClosedRange<UInt64> {
      let frontier = invented(from: round * 1_000_000, count: Limits.frontierEntries - 20)
      try merge(
        replica, covers: held, judged: Judged(term: term, frontier: frontier.joined(held)))
      let judged = replica.store.currentJudged
      #expect(judged.frontier.covers(held) && judged.frontier.list.count <= 1_024)
      #expect(try Judged(judged.bytes) == judged)
    }
  }

  @Test func `invented tables are in nobody's way who tracks one`() throws {
    let columns = "(id INTEGER PRIMARY KEY, name TEXT)"
    let replicas = try KeysTests.site(
      2, schema: "CREATE TABLE patient\(columns); CREATE TABLE visit\(columns)",
      tables: ["patient"])
    for replica in replicas { replica.store.tables.limit = 40 }
    for start in stride(from: 0, to: 80, by: 20) {
      let rows = (start..<start + 20).map { number in
        HostileKeysTests.row(
          replicas[0],
          TableShape(
            name: "invented\(number)", keyCount: 1, columns: ["id"], affinities: [.integer]),
          UInt64(number + 1), [.integer(1)])
      }
      try HostileKeysTests.send(rows, to: replicas[0])
    }
    #expect(replicas[0].store.tables.byID.count <= 50)
    try KeysTests.settle(replicas)
    try replicas[1].store.track(["visit"], rule: nil, at: replicas[1].now)
    for (replica, name) in zip(replicas, ["one", "two"]) {
      try KeysTests.settle(replicas)
      KeysTests.later(replica, than: replicas)
      try replica.write("INSERT INTO visit(name) VALUES ('\(name)')")
      try replica.foldAll()
    }
    try KeysTests.settle(replicas)
    for replica in replicas {
      #expect(try replica.prepareRows("SELECT name FROM visit ORDER BY 1") == ["one", "two"])
    }
    #expect(replicas[0].store.position.digest == replicas[1].store.position.digest)
  }

  @Test func `rows of tables that nobody tracks go on every node once somebody says so`() throws {
    let schema = "CREATE TABLE patient(id INTEGER PRIMARY KEY, name TEXT)"
    let replicas = try KeysTests.site(2, schema: schema, tables: ["patient"])
    let start = replicas[0].clock
    func send(
      _ number: Int, _ seq: UInt64, after: Int64? = nil, to replica: TestReplica
    ) throws {
      let shape = TableShape(
        name: "invented\(number)", keyCount: 1, columns: ["id"], affinities: [.integer])
      let row = HostileKeysTests.row(
        replicas[0], shape, seq, [.integer(Int64(seq))], stamp: start + (after ?? Int64(seq)))
      try HostileKeysTests.send([row], to: replica)
    }
    for number in 0..<3 { try send(number, UInt64(number + 1), to: replicas[0]) }
    try KeysTests.settle(replicas)
    for replica in replicas {
      let stray = try replica.store.tableSurvey.strayTables()
      #expect(stray.map(\.name) == ["invented0", "invented1", "invented2"])
      #expect(stray.allSatisfy { $0.authors == [HostileKeysTests.liar] && $0.rows == 1 })
    }
    KeysTests.later(replicas[0], than: replicas)
    try replicas[0].store.endStrayTables(["invented0", "invented1"], at: replicas[0].now)
    #expect(try replicas[0].store.tableSurvey.strayTables().map(\.name) == ["invented2"])
    try KeysTests.settle(replicas)
    // One of the same time comes late.
    try send(1, 7, after: 2, to: replicas[1])
    try KeysTests.settle(replicas)
    for replica in replicas {
      #expect(try replica.store.tableSurvey.strayTables().map(\.name) == ["invented2"])
      #expect(try replica.store.trackedTables().map(\.name) == ["patient"])
    }
    #expect(replicas[0].store.position.digest == replicas[1].store.position.digest)
  }

  @Test func `who tracks a table meanwhile loses nothing when rows of its name are dropped`()
    throws
  {
    let schema = """
      CREATE TABLE patient(id INTEGER PRIMARY KEY, name TEXT);
      CREATE TABLE visit(id INTEGER PRIMARY KEY, name TEXT)
      """
    let replicas = try KeysTests.site(2, schema: schema, tables: ["patient"])
    let shape = TableShape(
      name: "visit", keyCount: 1, columns: ["id"], affinities: [.integer])
    let row = HostileKeysTests.row(replicas[0], shape, 1, [.integer(1)])
    try HostileKeysTests.send([row], to: replicas[0])
    KeysTests.later(replicas[1], than: replicas)
    try replicas[1].write("INSERT INTO visit VALUES (5, 'honest')")
    try replicas[1].store.track(["visit"], rule: nil, at: replicas[1].now)
    try replicas[1].foldAll()
    KeysTests.later(replicas[0], than: replicas)
    try replicas[0].store.endStrayTables(["visit"], at: replicas[0].now)
    try KeysTests.settle(replicas)
    for replica in replicas {
      #expect(try replica.store.trackedTables().map(\.name) == ["patient", "visit"])
    }
    #expect(try replicas[1].store.conflictLog.list(all: true).isEmpty)
    #expect(try replicas[1].prepareRows("SELECT id FROM visit") == ["5"])
  }

  /// A member may track as many tables as it likes: others go on, and people can stop that.
  @Test func `tables that a member has tracked are left alone beyond a limit`() throws {
    let replicas = try KeysTests.site(2, schema: WrongBatchTests.schema, tables: ["t"])
    let shape = TableShape(
      name: "_flotilla_table", keyCount: 1, columns: ["name", "rule"], affinities: [.text])
    replicas[0].store.tables.limit = 40
    let names = (0..<90).map { "invented\($0)" }
    let rows = names.enumerated().map { number, name in
      let values = [HostileKeysTests.text(name), HostileKeysTests.text("")]
      return HostileKeysTests.row(replicas[0], shape, UInt64(number + 1), values)
    }
    try HostileKeysTests.send(rows, to: replicas[0])
    #expect(replicas[0].store.tables.tracked.count == 40)
    try replicas[0].write("CREATE TABLE more(id TEXT PRIMARY KEY)")
    #expect {
      try replicas[0].store.track(["more"], rule: nil, at: replicas[0].now)
    } throws: { ($0 as? StoreError)?.remedy?.contains("untrack") == true }
    KeysTests.later(replicas[0], than: replicas)
    try replicas[0].store.untrack(Array(names.prefix(52)), at: replicas[0].now)
    try replicas[0].store.track(["more"], rule: nil, at: replicas[0].now)
    #expect(replicas[0].store.tables.table("more")?.isTracked == true)
  }

  /// The highest of all ranks, the highest that a site may reach, and what nobody can have counted.
  @Test(arguments: [
    (Stamp.highest, UInt64(1) << 62, false), (.highest, 0, false), (.latest, 0, false),
    (.latest, 1 << 40, false), (.latest, Epoch.latest - 1, true), (.zero, 1 << 52, true),
  ])
  func `no rank freezes a row`(stamp: Stamp, epoch: UInt64, isRefused: Bool) throws {
    let schema = "CREATE TABLE patient(id INTEGER PRIMARY KEY, name TEXT)"
    let replicas = try KeysTests.site(2, schema: schema, tables: ["patient"])
    try replicas[0].write("INSERT INTO patient VALUES (7, 'first')")
    try replicas[0].foldAll()
    try KeysTests.settle(replicas)
    for replica in replicas {
      let row = HostileKeysTests.row(
        replica, HostileKeysTests.patient, 1, [.integer(7), HostileKeysTests.text("frozen")]
      ) { version in
        version.dot = Dot(Origin(rawValue: .max), 1)
        (version.created, version.stamp, version.epoch) = (version.dot, stamp, epoch)
        version.createdAt = stamp
      }
      let send = { try HostileKeysTests.send([row], to: replica) }
      if isRefused { #expect(throws: StoreError.self) { try send() } } else { try send() }
    }
    for (replica, name) in zip(replicas, ["second", "third"]) {
      KeysTests.later(replica, than: replicas)
      try replica.write("UPDATE patient SET name = '\(name)'")
      try replica.foldAll()
      try KeysTests.settle(replicas)
      for other in replicas {
        #expect(try other.value("SELECT name FROM patient") == .string(name))
      }
    }
    #expect(replicas[0].store.position.digest == replicas[1].store.position.digest)
  }

  /// The row of a member that has signed for its edits, and has made itself an anchor.
  @Test func `a certificate counts from the anchor of its term alone`() throws {
    let (term, origin) = (Term(number: 1, incarnation: 5), Origin(rawValue: 8))
    for (owner, counts) in [(Identity(high: 3, low: 3), false), (Identity(high: 4, low: 4), true)] {
      let replica = try TestReplica(1, schema: WrongBatchTests.schema, tracking: ["t"])
      try replica.write("INSERT INTO t VALUES (1, 'what stands')")
      _ = try replica.store.fold(at: replica.now)
      let dot = Dot(origin, 3)
      var version = Version(
        dot: dot, created: dot, stamp: Stamp(millisecondsSince1970: 5), hash: 0, isDeleted: true)
      (version.term, version.epoch) = (term, 1)
      version.certificate = Version.Certificate(edit: dot, at: version.stamp)
      var writer = RowBatchWriter()
      writer.add(
        TableShape(name: "t", keyCount: 1, columns: ["id", "a"], affinities: [.integer, .text]),
        version, .deleted(key: [.integer(1)]))
      let covers = Frontier([origin: 3])
      var merge = Merge(
        sender: Identity(high: 9, low: 9), kind: .full(covers: covers), batches: [writer.bytes],
        rowsBefore: 0, checkBefore: 0, end: End(rows: 1, check: writer.check),
        movesFrontier: true)
      merge.reaches = [
        Reach(
          origin: origin, node: owner, life: 0, seq: 3, run: 1,
          signature: Array(repeating: 1, count: Reach.signatureLength))
      ]
      merge.sealed = Sealed([:], own: replica.origin, last: 0, held: Frontier(), exempt: [])
      merge.sealed?.appointees = Appointees([
        Appointment(term: term, node: Identity(high: 4, low: 4), isForced: false)
      ])
      let outcome = try replica.store.merge(merge, at: replica.now)
      #expect(outcome.result.leftOut.isEmpty == counts)
      #expect(replica.store.position.frontier[origin] == (counts ? 3 : 0))
      #expect(try replica.value("SELECT count(*) FROM t") == .integer(counts ? 0 : 1))
    }
  }

  /// It would never look at edits of which a member says that it has judged them.
  @Test func `an anchor takes nobody's word for what it has judged`() throws {
    let replica = try TestReplica(1, schema: WrongBatchTests.schema, tracking: ["t"])
    let term = Term(number: 1, incarnation: 5)
    let governance = Governance(term: term, isHeld: true, isOwn: true, isFirst: true)
    _ = try replica.store.govern(governance, at: replica.now)
    let other = Origin(rawValue: 8)
    let judged = Judged(term: term, frontier: Frontier([other: 1 << 40]))
    try merge(replica, covers: Frontier([other: 2]), judged: judged)
    #expect(replica.store.currentJudged.frontier[other] <= 2)
  }
}
