import Replication
import SQLite
import Testing

@testable import Store

/// Rights that are taken and given while edits are under way.
@Suite struct `Rights that change in a replica` {
  private static let schema = "CREATE TABLE note(id TEXT PRIMARY KEY NOT NULL, text TEXT)"
  private let site: TestReplica
  private let leaf: TestReplica

  init() throws {
    site = try TestReplica(1, schema: Self.schema, tracking: ["note"])
    leaf = try TestReplica(2, schema: Self.schema, pace: Self.slow)
    try site.write("INSERT INTO note VALUES ('a', 'x'), ('b', 'y')")
    try leaf.exchange(with: site)
  }

  /// Compares and sends row by row.
  private static var slow: Pace {
    var pace = Pace()
    pace.comparedRows = 1
    pace.batchRows = 1
    return pace
  }

  private func allow(_ right: Right, delivered: UInt64 = 0) throws {
    try leaf.store.allow(Rights(tables: ["note": right]), delivered: delivered, at: leaf.now)
  }

  /// The site is known to hold `held`.
  private func askBack(from held: Frontier = Frontier()) throws {
    let (_, batches) = try site.export(.rows(try leaf.store.wantedRows()))
    try leaf.merge(batches, .repair, from: site, held: held)
  }

  private var edits: UInt64 { leaf.store.position.frontier[leaf.origin] }

  @Test func `once all is compared the first edit with a new right counts`() throws {
    try allow(.none)
    try allow(.write)
    try leaf.foldAll()
    try leaf.write("UPDATE note SET text = 'mine' WHERE id = 'a'")
    try leaf.foldAll()
    #expect(edits == 1)
    #expect(try leaf.value("SELECT count(*) FROM _flotilla_conflict") == .integer(0))
  }

  @Test func `what was written without the right stays refused though the process dies`() throws {
    try allow(.none)
    try leaf.write("UPDATE note SET text = 'hack'; INSERT INTO note VALUES ('c', 'new')")
    try leaf.foldAll()
    try allow(.write)
    _ = try leaf.store.fold(at: leaf.now)
    try leaf.reopen()
    try leaf.foldAll()
    try leaf.pull(from: site)
    try askBack()
    #expect(edits == 0)
    #expect(try leaf.content("note") == site.content("note"))
    #expect(try leaf.value("SELECT count(*) FROM _flotilla_conflict") == .integer(3))
  }

  @Test func `a newer version of the same content is put back as well`() throws {
    try allow(.read)
    try leaf.write("DELETE FROM note WHERE id = 'a'")
    try leaf.foldAll()
    for text in ["z", "x"] {
      try site.write("UPDATE note SET text = '\(text)' WHERE id = 'a'")
      try site.foldAll()
    }
    try leaf.pull(from: site)
    #expect(try leaf.content("note") == site.content("note"))
    #expect(try leaf.store.wantedRows().isEmpty)
  }

  @Test func `a row that was taken back is asked for, as it may have been on its way`() throws {
    try leaf.write("INSERT INTO note VALUES ('c', 'sent')")
    try leaf.foldAll()
    // It reaches somebody, who cannot say so any more.
    try site.pull(from: leaf)
    try allow(.read)
    #expect(try leaf.value("SELECT count(*) FROM note") == .integer(2))
    try askBack()
    #expect(try leaf.content("note") == site.content("note"))
    #expect(try leaf.store.wantedRows().isEmpty)
  }

  @Test func `a row that is edited with the right to waits for nothing`() throws {
    try allow(.read)
    try leaf.write("UPDATE note SET text = 'hack' WHERE id = 'a'")
    try leaf.foldAll()
    #expect(try leaf.store.wantedRows().count == 1)
    try allow(.write)
    try leaf.write("UPDATE note SET text = 'mine' WHERE id = 'a'")
    try leaf.foldAll()
    #expect(try leaf.store.wantedRows().isEmpty)
    try site.pull(from: leaf)
    #expect(try leaf.content("note") == site.content("note"))
  }

  @Test func `an exchange that was on its way when rights changed covers nothing`() throws {
    try allow(.none)
    let before = leaf.store.rights
    try site.write("INSERT INTO note VALUES ('c', 'hidden')")
    try site.foldAll()
    let (covers, _) = try site.export(
      .above(leaf.store.position.frontier), filter: ExportFilter(reader: before))
    try allow(.read)
    var merge = Merge(
      sender: site.store.node, kind: .full(covers: covers), batches: [], rowsBefore: 0,
      checkBefore: 0, end: End(rows: 0, check: 0), movesFrontier: true)
    merge.reader = before
    _ = try leaf.store.merge(merge, at: leaf.now)
    #expect(leaf.store.position.frontier[site.origin] == 0)
    try leaf.foldAll()
    try leaf.pull(from: site)
    #expect(try leaf.content("note") == site.content("note"))
  }

  @Test func `a row that waits is neither handed on nor covered`() throws {
    for id in ["b", "c"] {
      try leaf.write("INSERT OR REPLACE INTO note VALUES ('\(id)', 'mine')")
      try leaf.foldAll()
    }
    try site.pull(from: leaf)
    try allow(.read, delivered: 2)
    try leaf.write("UPDATE note SET text = 'hack' WHERE id = 'c'")
    try leaf.foldAll()
    try allow(.write)
    let (covers, batches) = try leaf.export(above: Frontier())
    let rows = try site.export(above: Frontier()).1.reduce(0) { $0 + $1.rows }
    #expect(covers[leaf.origin] == 1)
    #expect(batches.reduce(0) { $0 + $1.rows } == rows - 1)
    try askBack()
    #expect(leaf.store.position.wanted == 0)
    #expect(try leaf.export(above: Frontier()).0[leaf.origin] == 2)
  }

  @Test(arguments: [Right.read, .none])
  func `who may do everything again waits for nothing that nobody has`(right: Right) throws {
    let author = try TestReplica(3, schema: Self.schema)
    try author.exchange(with: site)
    try author.write(
      "UPDATE note SET text = 'unheard' WHERE id = 'a'; INSERT INTO note VALUES ('c', 'unheard')")
    try author.foldAll()
    try leaf.pull(from: author)
    // The author loses the right before any whole member has its edits.
    try author.store.allow(Rights(general: .read), delivered: 0, at: author.now)
    try allow(right)
    try leaf.write("UPDATE note SET text = 'hack'")
    try leaf.foldAll()
    try allow(.write)
    try leaf.foldAll()
    try leaf.pull(from: site)
    try askBack(from: site.store.position.frontier)
    #expect(try leaf.content("note") == site.content("note"))
    #expect(leaf.store.position.digest == site.store.position.digest)
    #expect(leaf.store.position.frontier == site.store.position.frontier)
    // Nothing of what was written is lost.
    #expect(
      try leaf.value("SELECT count(*) FROM _flotilla_conflict WHERE reason = 'not-allowed'")
        == .integer(3))
  }

  @Test func `what a catch-up has left out is not taken for worked through`() throws {
    try site.write("INSERT INTO note VALUES ('c', 'z')")
    let (covers, batches) = try site.export(above: Frontier())
    try leaf.mergeSlice(Array(batches.prefix(1)), covers: covers, from: site)
    #expect(try !leaf.store.progress.frontier(of: site.store.node).isEmpty)
    try allow(.none)
    try allow(.read)
    #expect(try leaf.store.progress.frontier(of: site.store.node).isEmpty)
  }

  @Test(arguments: [1, 20_000])
  func `a leaf covers nothing beyond what it wrote with a right that it has lost`(
    remembered: Int
  ) throws {
    let schema = Self.schema + "; CREATE TABLE bill(id TEXT PRIMARY KEY NOT NULL, sum INTEGER)"
    var pace = Pace()
    pace.recentRows = remembered
    let author = try TestReplica(3, schema: schema, tracking: ["note", "bill"], pace: pace)
    for sql in [
      "INSERT INTO note VALUES ('a', 'x')", "INSERT INTO bill VALUES ('1', 5)",
      "INSERT INTO note VALUES ('b', 'y')",
    ] {
      try author.write(sql)
      try author.foldAll()
    }
    let last = author.store.position.frontier[author.origin]
    let rights = Rights(tables: ["bill": .read])
    try author.store.allow(rights, delivered: last, at: author.now)
    func covers(_ held: UInt64, reader: Rights = .all) throws -> UInt64 {
      let filter = ExportFilter(reader: reader, sender: rights)
      return try author.export(.above(Frontier([author.origin: held])), filter: filter).0[
        author.origin]
    }
    // The settings, the note and the bill, in this order.
    #expect(try covers(last - 3) == last - 2)
    #expect(try covers(last - 2) == last - 2)
    #expect(try covers(last - 1) == last)
    // Who may not read it lacks nothing.
    #expect(try covers(last - 2, reader: Rights(tables: ["bill": .none])) == last)
  }

  @Test func `what was replaced by an edit that was taken back is not covered`() throws {
    for text in ["first", "second"] {
      try leaf.write("UPDATE note SET text = '\(text)' WHERE id = 'a'")
      try leaf.foldAll()
      if text == "first" { try site.pull(from: leaf) }
    }
    // The second edit is taken back; the first is at the site alone, which another may not reach.
    try leaf.write("INSERT INTO note VALUES ('c', 'new')")
    try allow(.read, delivered: 1)
    func covers(_ held: UInt64) throws -> UInt64 {
      let filter = ExportFilter(sender: leaf.store.rights)
      return try leaf.export(.above(Frontier([leaf.origin: held])), filter: filter).0[leaf.origin]
    }
    #expect(try covers(0) == 0)
    #expect(try covers(1) == 3)
    try leaf.reopen()
    #expect(try covers(0) == 0)
    // Among those that may do everything the digests tell what is missing.
    try leaf.store.allow(.all, delivered: 1, at: leaf.now)
    #expect(try covers(0) == 3)
  }

  @Test(arguments: [
    [
      "UPDATE note SET text = 'newer' WHERE id = 'a'",
      "UPDATE note SET text = 'mine' WHERE id = 'a'",
    ],
    ["DELETE FROM note WHERE id = 'a'", "INSERT INTO note VALUES ('a', 'mine')"],
  ])
  func `what an edit that was taken back had replaced comes again`(edits: [String]) throws {
    let author = try TestReplica(3, schema: Self.schema)
    try author.exchange(with: site)
    try author.write(edits[0])
    try author.foldAll()
    try leaf.pull(from: author)
    try leaf.write(edits[1])
    try leaf.foldAll()
    try allow(.read)
    // Who answers does not have yet what was here already.
    try askBack()
    try site.pull(from: author)
    try leaf.pull(from: site)
    #expect(try leaf.content("note") == author.content("note"))
    #expect(leaf.store.position.digest == author.store.position.digest)
  }

  @Test func `a push that was on its way when an edit was taken back covers nothing`() throws {
    try site.write("UPDATE note SET text = 'pushed' WHERE id = 'a'")
    let push = try #require(try site.store.fold(at: site.now).push)
    try leaf.write("UPDATE note SET text = 'mine' WHERE id = 'b'")
    let before = leaf.store.rights
    try allow(.read)
    var merge = Merge(
      sender: site.store.node, kind: .push(origin: push.origin, from: push.from, to: push.to),
      batches: [push.batch], rowsBefore: 0, checkBefore: 0,
      end: End(rows: push.rows, check: push.check), movesFrontier: true)
    merge.reader = before
    _ = try leaf.store.merge(merge, at: leaf.now)
    #expect(leaf.store.position.frontier[site.origin] == 0)
    try leaf.pull(from: site)
    #expect(try leaf.content("note") == site.content("note"))
  }

  @Test func `a row is put back as a whole member has it that covers what was taken back`() throws {
    let author = try TestReplica(3, schema: Self.schema)
    try author.exchange(with: site)
    try author.write("UPDATE note SET text = 'unheard' WHERE id = 'a'")
    try author.foldAll()
    try leaf.pull(from: author)
    // The author loses the right before any whole member has its edit.
    try author.store.allow(
      Rights(general: .read), delivered: 0, at: author.now)
    try allow(.read)
    try leaf.write("UPDATE note SET text = 'hack' WHERE id = 'a'")
    try leaf.foldAll()
    try leaf.store.allow(
      Rights(tables: ["note": .write, "bill": .read]), delivered: 0, at: leaf.now)
    // Who does not know that edit may be about to get it.
    try askBack()
    #expect(try leaf.store.wantedRows().count == 1)
    let known = author.store.position.frontier.joined(site.store.position.frontier)
    try askBack(from: known)
    #expect(try leaf.store.wantedRows().isEmpty)
    #expect(try leaf.content("note") == site.content("note"))
    #expect(leaf.store.position.digest == site.store.position.digest)
  }

  @Test func `a table is tracked no more if the setting is taken back`() throws {
    for replica in [site, leaf] {
      try replica.application.execute("CREATE TABLE task(id TEXT PRIMARY KEY NOT NULL, text TEXT)")
    }
    try leaf.store.track(["task"], rule: nil, at: leaf.now)
    try leaf.write("INSERT INTO task VALUES ('1', 'mine')")
    try leaf.foldAll()
    try allow(.read)
    #expect(try leaf.store.trackedTables().map(\.name) == ["note"])
    try allow(.write)
    try site.exchange(with: leaf)
    #expect(try site.store.trackedTables().map(\.name) == ["note"])
    #expect(leaf.store.position.digest == site.store.position.digest)
    // What is in it becomes the site's when somebody tracks it who may.
    try site.store.track(["task"], rule: nil, at: site.now)
    try site.foldAll()
    try leaf.exchange(with: site)
    try leaf.foldAll()
    try site.exchange(with: leaf)
    #expect(try site.content("task") == leaf.content("task"))
    #expect(try site.value("SELECT text FROM task") == .string("mine"))
  }

  @Test func `a parked row stands once what was in its way is taken out`() throws {
    let schema = "CREATE TABLE badge(id INTEGER PRIMARY KEY, code INTEGER UNIQUE)"
    let site = try TestReplica(3, schema: schema, tracking: ["badge"])
    let reader = try TestReplica(4, schema: schema)
    try reader.pull(from: site)
    try reader.store.allow(Rights(general: .read), delivered: 0, at: reader.now)
    try reader.store.allow(.all, delivered: 0, at: reader.now)
    try reader.write("INSERT INTO badge VALUES (1, 7)")
    try reader.foldAll()
    try site.write("INSERT INTO badge VALUES (2, 7)")
    try reader.pull(from: site)
    #expect(try reader.content("badge") != site.content("badge"))
    try reader.store.allow(Rights(general: .read), delivered: 0, at: reader.now)
    #expect(try reader.content("badge") == site.content("badge"))
  }

  /// It waited for a parked box, and was in no table; nobody may read that one any more.
  @Test(arguments: [Right.read, .none])
  func `a parked row stands once what claimed its value is taken back`(right: Right) throws {
    let schema = `A row that is parked`.boxes
    let site = try TestReplica(3, schema: schema, tracking: ["box", "item"])
    let leaf = try TestReplica(4, schema: schema)
    try leaf.pull(from: site)
    try site.write("INSERT INTO box VALUES ('first', 'code')", at: 10)
    try leaf.write("INSERT INTO box VALUES ('second', 'code')", at: 20)
    try site.pull(from: leaf)
    let delivered = leaf.store.position.frontier[leaf.origin]
    try leaf.write("INSERT INTO item VALUES ('claims', 7, 'second')", at: 30)
    try site.write("INSERT INTO item VALUES ('later', 7, NULL)", at: 40)
    try leaf.pull(from: site)
    let parked = try leaf.store.tableSurvey.parkedRows().map(\.why).sorted()
    #expect(parked == ["constraint", "constraint", "parent"])
    let rights = Rights(tables: ["box": .write, "item": right])
    try leaf.store.allow(rights, delivered: delivered, at: leaf.now)
    #expect(try leaf.content("item") == site.content("item"))
    #expect(try leaf.content("item").count == 1)
  }

  /// It had taken the value of a row that was put back before it, and gave way to that.
  @Test func `a row that was parked while it waited is parked no more once it is put back`() throws
  {
    let schema = "CREATE TABLE badge(id INTEGER PRIMARY KEY, code INTEGER UNIQUE)"
    let site = try TestReplica(1, schema: schema, tracking: ["badge"])
    let leaf = try TestReplica(2, schema: schema)
    try site.write("INSERT INTO badge VALUES (1, 1)")
    try site.write("INSERT INTO badge VALUES (2, 2)")
    try leaf.exchange(with: site)
    try leaf.store.allow(Rights(tables: ["badge": .read]), delivered: 0, at: leaf.now)
    try leaf.write("UPDATE badge SET code = 3 WHERE id = 1")
    try leaf.write("UPDATE badge SET code = 1 WHERE id = 2")
    try leaf.foldAll()
    for wanted in try leaf.store.wantedRows() {
      let (_, batches) = try site.export(.rows([wanted]))
      try leaf.merge(batches, .repair, from: site)
    }
    #expect(try leaf.store.wantedRows().isEmpty)
    #expect(try leaf.value("SELECT count(*) FROM _flotilla_shelf") == .integer(0))
    #expect(try leaf.content("badge") == site.content("badge"))
    #expect(try leaf.content("badge").count == 2)
  }

  @Test func `who may write nothing any more covers nothing`() throws {
    try leaf.write("INSERT INTO note VALUES ('c', 'z')")
    try leaf.foldAll()
    try site.pull(from: leaf)
    let reader = Rights(general: .read)
    try leaf.store.allow(reader, delivered: 1, at: leaf.now)
    let (covers, batches) = try leaf.export(
      .above(Frontier()), filter: ExportFilter(sender: reader))
    #expect(covers.isEmpty)
    #expect(batches.isEmpty)
    let licence = LeafLicence(origin: leaf.origin, rights: reader)
    #expect(licence.allows(.full(covers: covers)))
  }
}
