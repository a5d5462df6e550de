import Replication
import SQLite
import Testing

@testable import Store

/// Files that an older version has made.
@Suite struct `A file of an older format` {
  /// Takes the tables back to what format 1 had.
  private static let format1 = """
    DROP VIEW IF EXISTS _flotilla_rows_note;
    DROP TABLE _flotilla_conflict; DROP TABLE _flotilla_author; DROP TABLE _flotilla_term;
    DROP TABLE _flotilla_pending; DROP TABLE _flotilla_ruling; DROP TABLE _flotilla_verdict;
    CREATE TABLE _flotilla_conflict(
      id INTEGER PRIMARY KEY, tbl INTEGER NOT NULL, key BLOB NOT NULL, at INTEGER NOT NULL,
      reason TEXT NOT NULL, row BLOB
    );
    ALTER TABLE _flotilla_version DROP COLUMN cstamp; ALTER TABLE _flotilla_version DROP COLUMN at;
    ALTER TABLE _flotilla_version DROP COLUMN extra;
    ALTER TABLE _flotilla_version DROP COLUMN author;
    ALTER TABLE _flotilla_lost DROP COLUMN author;
    ALTER TABLE _flotilla_lost DROP COLUMN cstamp; ALTER TABLE _flotilla_lost DROP COLUMN at;
    ALTER TABLE _flotilla_lost DROP COLUMN extra;
    DELETE FROM _flotilla_meta WHERE name IN ('office', 'judged');
    UPDATE _flotilla_meta SET value = 1 WHERE name = 'format';
    """

  private func makeOld(_ encoding: String) throws -> TestReplica {
    let replica = try TestReplica(
      1, schema: "PRAGMA encoding = '\(encoding)'; " + AnchorSite.schema, tracking: ["note"])
    try replica.write("INSERT INTO note VALUES ('r', 'here'), ('gone', 'x')")
    try replica.foldAll()
    try replica.write("DELETE FROM note WHERE id = 'gone'")
    try replica.foldAll()
    try replica.write(Self.format1)
    let table = try #require(replica.store.tables.table("note"))
    let entry = Shelf.Entry(
      why: .constraint,
      values: [("id", .text(Array("r".utf8))), ("text", .text(Array("løst €".utf8)))], keyCount: 1)
    for (id, row) in [(3, SQLite.Value.blob(Shelf.encode(entry))), (5, .null)] {
      try replica.application.run(
        "INSERT INTO _flotilla_conflict VALUES (?, ?, ?, 1700000000000, 'unseen', ?)",
        [.integer(Int64(id)), .integer(table.id), .blob([0x30, 0x72, 0]), row])
    }
    return replica
  }

  @Test(arguments: ["UTF-8", "UTF-16le"])
  func `is brought to the present one, with its conflicts`(encoding: String) throws {
    let replica = try makeOld(encoding)
    let before = replica.store.position
    for _ in 0..<2 {
      try replica.reopen()
      #expect(replica.store.position.frontier == before.frontier)
      #expect(replica.store.position.digest == before.digest)
      #expect(
        try replica.value("SELECT value FROM _flotilla_meta WHERE name = 'format'") == .integer(4))
      #expect(try replica.conflicts() == ["løst € lost to ?: unseen ()", "? lost to ?: unseen ()"])
      #expect(try replica.store.conflictLog.list(all: false).map(\.id) == [5, 3])
    }
    // One entry for one edit, here too.
    #expect(
      try replica.value(
        "SELECT count(*) FROM sqlite_schema WHERE name = '_flotilla_conflict_once'") == .integer(1))
    let fresh = try TestReplica(2, schema: AnchorSite.schema)
    try fresh.pull(from: replica)
    #expect(try fresh.content("note") == replica.content("note"))
    #expect(fresh.store.position.digest == replica.store.position.digest)
    // And it can be the anchor.
    let appointment = Appointment(
      term: Term(number: 1, incarnation: 1), node: replica.store.node, isForced: false)
    let governance = try #require(
      Appointments.governance(of: [appointment], for: replica.store.node))
    _ = try replica.store.govern(governance, at: replica.now)
    try replica.write("UPDATE note SET text = 'certified'")
    try replica.foldAll()
    #expect(try replica.version()?.isTentative == false)
  }

  @Test func `folds what triggers of before have noted, and gets those of now`() throws {
    let replica = try TestReplica(1, schema: AnchorSite.schema, tracking: ["note"])
    let own = replica.origin
    try replica.write("INSERT INTO note VALUES ('r', 'here'), ('also', 'here')")
    try replica.foldAll()
    let before = replica.store.position.frontier[own]
    let triggers = try replica.application.rows(
      "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'")
    for trigger in triggers {
      let (name, sql) = (trigger[0].string ?? "", trigger[1].string ?? "")
      let old = sql.replacing(", row", with: "").replacing("OLD.rowid, ", with: "")
        .replacing("NEW.rowid, ", with: "").replacing("\"note\".rowid, ", with: "")
      try replica.write("DROP TRIGGER \(name); \(old)")
    }
    try replica.write(
      """
      ALTER TABLE _flotilla_journal DROP COLUMN row;
      ALTER TABLE _flotilla_journal ADD COLUMN k1;
      UPDATE _flotilla_meta SET value = 3 WHERE name = 'format';
      DELETE FROM note WHERE id = 'r'; UPDATE note SET text = 'there' WHERE id = 'also'
      """)
    let waiting = "SELECT id, tbl, at, k0, k1 FROM _flotilla_journal"
    let noted = try replica.application.rows(waiting)
    #expect(noted.count == 2)
    try replica.reopen()
    #expect(try replica.application.rows(waiting) == noted)
    try replica.foldAll()
    #expect(replica.store.position.frontier[own] == before + 2)
    #expect(try Journal.width(on: replica.application) == 2)
    try replica.write("UPDATE note SET text = 'anywhere'")
    let row = "SELECT k0 FROM note JOIN _flotilla_journal AS j ON note.rowid = j.row"
    #expect(try replica.value(row) == .string("also"))
  }

  @Test func `is as it was if its upgrade fails half-way`() throws {
    let replica = try makeOld("UTF-8")
    // Somebody has a table in the way.
    try replica.write("CREATE VIEW _flotilla_ruling AS SELECT 1")
    let schema = "SELECT group_concat(sql) FROM (SELECT sql FROM sqlite_schema ORDER BY name)"
    let before = try replica.value(schema)
    #expect(throws: StoreError.self) { try replica.reopen() }
    #expect(try replica.value(schema) == before)
    try replica.write("DROP VIEW _flotilla_ruling")
    try replica.reopen()
    #expect(try replica.conflicts().count == 2)
  }

  @Test func `that is newer is refused, and stays as it is`() throws {
    let replica = try TestReplica(1, schema: AnchorSite.schema, tracking: ["note"])
    try replica.write("UPDATE _flotilla_meta SET value = 5 WHERE name = 'format'")
    let error = #expect(throws: StoreError.self) { try replica.reopen() }
    #expect(error?.code == .newerFormat)
  }
}
