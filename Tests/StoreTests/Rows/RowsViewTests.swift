import Replication
import SQLite
import Testing

@testable import Store

@Suite struct `The view of the rows` {
  private static let schema = "CREATE TABLE t(id INTEGER PRIMARY KEY, text TEXT)"
  private static let row = "id || ' ' || coalesce(edited_by, '-') || ' ' || synced"

  private func rows(_ replica: TestReplica) throws -> [String] {
    try replica.application.prepareRows("SELECT \(Self.row) FROM _flotilla_rows_t ORDER BY id")
  }

  private func time(_ replica: TestReplica) throws -> String {
    let seconds = "\(replica.clock) / 1000.0, 'unixepoch'"
    return try replica.value("SELECT strftime('%Y-%m-%d %H:%M:%f', \(seconds))").string ?? ""
  }

  @Test func `says when a row was made and changed, and by whom`() throws {
    let a = try TestReplica(1, schema: Self.schema, tracking: ["t"])
    let b = try TestReplica(2, schema: Self.schema)
    try a.write("INSERT INTO t VALUES (1, 'x'), (2, 'y')")
    try a.foldAll()
    try b.exchange(with: a)
    // Whatever the writer's clock says, here that of the machine: this is the time of the site.
    let before = try time(b)
    try b.write("UPDATE t SET text = 'z' WHERE id = 1; DELETE FROM t WHERE id = 2")
    try b.foldAll()
    let after = try time(b)
    try b.exchange(with: a)
    for replica in [a, b] {
      let row = try #require(
        try replica.application.row(
          "SELECT created_at, updated_at, edited_at FROM _flotilla_rows_t"))
      #expect(row[1] == row[2])
      #expect((row[0].string ?? "") <= before)
      #expect(before...after ~= (row[1].string ?? ""))
      #expect(try replica.value("SELECT count(*) FROM _flotilla_rows_t") == .integer(1))
    }
    #expect(try rows(b) == ["1 node-2 0"])
    // Nobody has told yet who writes under that origin.
    #expect(try rows(a) == ["1 - 1"])
    try a.store.members.note([
      KnownAuthor(origin: b.origin, node: b.store.node, name: "node-2", life: 7)
    ])
    #expect(try rows(a) == ["1 node-2 1"])
    try a.store.members.rename([b.store.node: "ward"])
    #expect(try rows(a) == ["1 ward 1"])
  }

  @Test func `says of a row that was touched that it is not synced, also while no node runs`()
    throws
  {
    let a = try TestReplica(1, schema: Self.schema, tracking: ["t"])
    try a.write("INSERT INTO t VALUES (1, 'x'), (2, 'y')")
    #expect(try rows(a) == [])
    try a.foldAll()
    #expect(try rows(a) == ["1 node-1 0", "2 node-1 0"])
    try a.store.lives.setDelivered(a.store.position.frontier[a.origin])
    #expect(try rows(a) == ["1 node-1 1", "2 node-1 1"])
    try a.write("UPDATE t SET text = 'z' WHERE id = 2")
    #expect(try rows(a) == ["1 node-1 1", "2 node-1 0"])
    try a.foldAll()
    #expect(try rows(a) == ["1 node-1 1", "2 node-1 0"])
    try a.store.lives.setDelivered(a.store.position.frontier[a.origin])
    #expect(try rows(a) == ["1 node-1 1", "2 node-1 1"])
    try a.reopen()
    #expect(try a.store.lives.delivered() == a.store.position.frontier[a.origin])
    #expect(try rows(a) == ["1 node-1 1", "2 node-1 1"])
  }

  @Test func `knows no time of rows that were there before the site`() throws {
    let a = try TestReplica(1, schema: Self.schema, tracking: ["t"])
    let b = try TestReplica(
      2, schema: Self.schema + "; INSERT INTO t VALUES (5, 'old'); UPDATE t SET text = 'older'")
    try a.foldAll()
    try b.exchange(with: a)
    try b.foldAll()
    #expect(
      try b.value("SELECT count(*) FROM _flotilla_rows_t WHERE updated_at IS NULL").integer == 1)
    try b.write("UPDATE t SET text = 'new'")
    try b.foldAll()
    #expect(
      try b.value("SELECT created_at IS NULL AND updated_at > '2020' FROM _flotilla_rows_t").integer
        == 1)
  }

  @Test func `is of no use to be tracked, and is not passed on`() throws {
    let a = try TestReplica(1, schema: Self.schema, tracking: ["t"])
    #expect(try TableSchema.all(on: a.application) == ["t"])
    let answer = try Trackability.check(table: "_flotilla_rows_t", on: a.application)
    guard case .refused = answer else {
      Issue.record("\(answer)")
      return
    }
    #expect(try a.store.schemaCopy.objects().map(\.name) == ["t"])
  }

  @Test func `goes with the tracking, and with Flotilla`() throws {
    let a = try TestReplica(
      1, schema: Self.schema + "; CREATE TABLE u(id TEXT PRIMARY KEY)", tracking: ["t", "u"])
    let views = "SELECT name FROM sqlite_schema WHERE type = 'view' ORDER BY name"
    #expect(try a.application.prepareRows(views) == ["_flotilla_rows_t", "_flotilla_rows_u"])
    try a.store.untrack(["t"], at: a.now)
    #expect(try a.application.prepareRows(views) == ["_flotilla_rows_u"])
    try a.store.track(["t"], rule: nil, at: a.now)
    #expect(try a.application.prepareRows(views) == ["_flotilla_rows_t", "_flotilla_rows_u"])
    try a.store.leave()
    #expect(
      try a.application.prepareRows("SELECT name FROM sqlite_schema WHERE sql <> '' ORDER BY 1")
        == ["t", "u"])
  }

  @Test(arguments: [
    "a b", "it's", "say \"x\"", "select", "Ünïcode", "t;--", "new", "v", "a", "r", "bytes", "at",
    "stamp",
  ])
  func `may have any name, and so may its columns`(_ name: String) throws {
    let table = quoted(name)
    let a = try TestReplica(
      1, schema: "CREATE TABLE \(table)(\(table) TEXT, more, PRIMARY KEY(\(table)))",
      tracking: [name])
    try a.write("INSERT INTO \(table) VALUES ('x', 1)")
    try a.foldAll()
    let view = quoted("_flotilla_rows_" + name)
    #expect(try a.value("SELECT \(table) FROM \(view)") == .string("x"))
  }

  @Test func `leaves a key column its name, and calls its own otherwise`() throws {
    let a = try TestReplica(
      1, schema: "CREATE TABLE t(Synced TEXT, created_at INT, PRIMARY KEY(Synced, created_at))",
      tracking: ["t"])
    try a.write("INSERT INTO t VALUES ('x', 1)")
    try a.foldAll()
    #expect(
      try a.application.prepareRows("SELECT name FROM pragma_table_info('_flotilla_rows_t')") == [
        "Synced", "created_at", "_flotilla_created_at", "updated_at", "edited_at", "edited_by",
        "_flotilla_synced",
      ])
    #expect(
      try a.value("SELECT Synced || created_at || _flotilla_synced FROM _flotilla_rows_t")
        == .string("x10"))
  }

  @Test(arguments: [9, 32, 100]) func `is there for wide keys`(_ width: Int) throws {
    let columns = (1...width).map { "k\($0)" }.joined(separator: ", ")
    let a = try TestReplica(
      1, schema: "CREATE TABLE t(\(columns), PRIMARY KEY(\(columns)))", tracking: ["t"])
    let values = (1...width).map { $0 % 2 == 0 ? "'\($0)'" : "\($0)" }.joined(separator: ", ")
    try a.write("INSERT INTO t VALUES (\(values))")
    try a.foldAll()
    let query = "FROM t JOIN _flotilla_rows_t AS r USING (\(columns)) WHERE r.synced = 0"
    #expect(try a.value("SELECT count(*) \(query)") == .integer(1))
  }

  @Test func `comes to a file that an older Flotilla has set up`() throws {
    let a = try TestReplica(1, schema: Self.schema, tracking: ["t"])
    try a.write("INSERT INTO t VALUES (1, 'x')")
    try a.foldAll()
    try a.write(
      """
      DROP VIEW _flotilla_rows_t; DROP TABLE _flotilla_author; DROP TABLE _flotilla_pending;
      DROP TABLE _flotilla_lost; UPDATE _flotilla_meta SET value = 1 WHERE name = 'format';
      """)
    for column in ["author", "extra", "at", "cstamp"] {
      try a.write("ALTER TABLE _flotilla_version DROP COLUMN \(column)")
    }
    try a.reopen()
    #expect(try rows(a) == ["1 node-1 0"])
  }
}
