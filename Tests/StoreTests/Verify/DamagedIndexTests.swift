import Replication
import SQLite
import Testing

@testable import Store

/// A row that an index does not find is there all the same.
@Suite struct DamagedIndexTests {
  private static func replica() throws -> TestReplica {
    let replica = try AuditTests.replica()
    try replica.hideFromIndex("Key7")
    let found = "SELECT count(*) FROM t WHERE id = 'Key7'"
    #expect(try replica.value(found) == .integer(0))
    #expect(try replica.value("SELECT count(*) FROM t NOT INDEXED") == .integer(300))
    return replica
  }

  @Test func `no repair takes what it hides for deleted`() throws {
    let replica = try Self.replica()
    let before = replica.store.position.frontier
    for repairs in [false, true] {
      let error = #expect(throws: StoreError.self) { try replica.audit(repairs: repairs) }
      #expect(error?.code == .damaged)
      #expect(error?.message.contains("missing from index sqlite_autoindex_t_1") == true)
      #expect(error?.remedy?.contains("REINDEX") == true)
    }
    try replica.foldAll()
    #expect(replica.store.position.frontier == before)
    try replica.write("REINDEX")
    #expect(try replica.audit(repairs: true).count == 0)
  }

  @Test func `nor does a comparison, which goes on once the index is made anew`() throws {
    let replica = try Self.replica()
    let before = replica.store.position.frontier
    for _ in 1...2 {
      try replica.store.repair()
      let error = #expect(throws: StoreError.self) { try replica.foldAll() }
      #expect(error?.code == .damaged)
      #expect(replica.store.position.frontier == before)
      try replica.reopen()
    }
    // It is told from time to time, and all else goes on meanwhile.
    for _ in 1...2 {
      #expect(throws: StoreError.self) { try replica.foldAll() }
      let folded = replica.store.position.frontier
      try replica.write("INSERT INTO t(id) VALUES ('new')")
      try replica.foldAll()
      try replica.write("DELETE FROM t WHERE id = 'new'")
      try replica.foldAll()
      #expect(replica.store.position.frontier[replica.origin] == folded[replica.origin] + 2)
      #expect(try replica.store.isComparing() == false)
      replica.clock += 600_000
    }
    let last = replica.store.position.frontier
    try replica.write("REINDEX")
    try replica.foldAll()
    #expect(replica.store.position.frontier == last)
    #expect(try replica.audit().count == 0)
  }

  @Test func `nor does an edit that finds the row by another way`() throws {
    let replica = try Self.replica()
    let own = replica.origin
    let before = replica.store.position.frontier[own]
    for value in [-7, -8] {
      try replica.write("UPDATE t NOT INDEXED SET v = \(value) WHERE v IN (7, -7)")
      let error = #expect(throws: StoreError.self) { try replica.foldAll() }
      #expect(error?.code == .damaged)
      #expect(replica.store.position.frontier[own] == before)
      if value == -7 { replica.clock += 600_000 }
    }
    // Other rows of the table go on.
    try replica.write("INSERT INTO t(id) VALUES ('new')")
    try replica.foldAll()
    #expect(replica.store.position.frontier[own] == before + 1)
    try replica.reopen()
    #expect(throws: StoreError.self) { try replica.foldAll() }
    #expect(replica.store.position.frontier[own] == before + 1)
    replica.clock += 600_000
    try replica.write("REINDEX")
    try replica.foldAll()
    #expect(replica.store.position.frontier[own] == before + 2)
    #expect(try replica.value("SELECT v FROM t WHERE id = 'Key7'") == .integer(-8))
    #expect(try replica.audit().count == 0)
  }

  @Test func `an edit while a comparison is under way has that begin anew`() throws {
    let replica = try Self.replica()
    try replica.store.repair()
    for _ in 1...2 { _ = try replica.store.fold(at: replica.now) }
    try replica.write("UPDATE t NOT INDEXED SET v = -7 WHERE v = 7")
    #expect(throws: StoreError.self) { try replica.foldAll() }
    let before = replica.store.position.frontier[replica.origin]
    replica.clock += 600_000
    try replica.write("REINDEX")
    try replica.foldAll()
    #expect(replica.store.position.frontier[replica.origin] == before + 1)
    #expect(try replica.audit().count == 0)
  }

  @Test func `a row that a trigger of a program deletes is gone, and no index is doubted`() throws {
    let replica = try AuditTests.replica()
    // Younger than those that note, so it deletes the row before that is noted as written.
    try replica.write(
      """
      CREATE TRIGGER gone AFTER UPDATE ON t WHEN NEW.v < 0
      BEGIN DELETE FROM t WHERE id = NEW.id; END
      """)
    try replica.foldAll()
    let before = replica.store.position.frontier[replica.origin]
    try replica.write("UPDATE t SET v = -7 WHERE id = 'Key7'")
    try replica.foldAll()
    #expect(replica.store.position.frontier[replica.origin] == before + 1)
    #expect(replica.store.verification.sound.isEmpty)
    #expect(try replica.audit().count == 0)
  }

  @Test func `what was written there without the right to counts for nothing`() throws {
    let replica = try Self.replica()
    let own = replica.store.position.frontier[replica.origin]
    for right in [Right.none, .write] {
      let rights = Rights(tables: ["t": right, "pair": right, "other": right])
      try replica.store.allow(rights, delivered: own, at: replica.now)
    }
    let table = try #require(replica.store.tables.table("t"))
    #expect(throws: StoreError.self) { try replica.foldAll() }
    try replica.foldAll()
    #expect(replica.store.ownRights.regained == [table.id])
    replica.clock += 600_000
    try replica.write("REINDEX")
    try replica.foldAll()
    #expect(replica.store.ownRights.regained == [])
  }

  @Test func `what refers to its rows waits for their numbers`() throws {
    let replica = try Self.replica()
    let table = try #require(replica.store.tables.table("t"))
    try replica.store.repair()
    #expect(throws: StoreError.self) { try replica.foldAll() }
    let key = try #require(table.key([.text(Array("Key7".utf8))]))
    try replica.store.transaction {
      try replica.store.kinship.unnoted.put(
        parent: table.id, key, child: table.id, Key(bytes: key.bytes + [1]))
    }
    try replica.write("INSERT INTO other VALUES (1, 1)")
    try replica.foldAll()
    #expect(replica.store.kinship.unnoted.count == 1)
    replica.clock += 600_000
    try replica.write("REINDEX; INSERT INTO other VALUES (2, 1)")
    try replica.foldAll()
    try replica.write("INSERT INTO other VALUES (3, 1)")
    try replica.foldAll()
    #expect(replica.store.kinship.unnoted.count == 0)
  }

  @Test func `the check of the file names it, which a quick one does not`() throws {
    let replica = try Self.replica()
    let health = try replica.store.survey.health()
    #expect(health.damage == nil && !health.isWhole)
    #expect(health.lostRows?.hasPrefix("t: row ") == true)
    try replica.write("REINDEX")
    #expect(try replica.store.survey.health().isWhole)
  }

  @Test func `a value that a column may not hold is no damage`() throws {
    let replica = try TestReplica(
      1, schema: "CREATE TABLE t(id TEXT PRIMARY KEY NOT NULL, v CHECK(v > 0))", tracking: ["t"])
    try replica.write("INSERT INTO t VALUES ('a', 1), ('b', 2)")
    try replica.foldAll()
    try replica.write("PRAGMA ignore_check_constraints = ON; UPDATE t SET v = -1 WHERE id = 'a'")
    try replica.foldAll()
    try replica.writePastTriggers("DELETE FROM t WHERE id = 'b'")
    #expect(try replica.audit(repairs: true).findings.map(\.kind) == [.removed])
    try replica.foldAll()
    #expect(try replica.audit().count == 0)
    #expect(try replica.store.survey.health().isWhole)
  }
}

extension TestReplica {
  /// Takes one row of `t` out of the index of its key, as a disk that loses a page does: an index
  /// that lacks it takes the place of the true one. The file is sound page by page.
  func hideFromIndex(_ key: String) throws {
    try application.execute(
      """
      CREATE TABLE shadow(id TEXT PRIMARY KEY NOT NULL COLLATE NOCASE);
      INSERT INTO shadow(rowid, id) SELECT rowid, id FROM t WHERE id <> \(literal(key));
      """)
    let other = try Connection(path: path)
    try other.execute(
      """
      PRAGMA writable_schema = ON;
      UPDATE sqlite_schema SET rootpage = (
        SELECT sum(rootpage) FROM sqlite_schema
        WHERE name IN ('sqlite_autoindex_t_1', 'sqlite_autoindex_shadow_1')) - rootpage
      WHERE name IN ('sqlite_autoindex_t_1', 'sqlite_autoindex_shadow_1');
      PRAGMA writable_schema = RESET;
      """)
    let version = try other.schemaVersion()
    try other.execute("PRAGMA schema_version = \(version + 1)")
    try Connection(path: path).execute("DROP TABLE shadow")
  }
}
