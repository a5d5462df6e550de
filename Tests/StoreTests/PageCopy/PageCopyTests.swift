import Foundation
import Replication
import SQLite
import Testing

@testable import Store

/// First copies by pages: what travels, and what comes of it.
@Suite struct PageCopyTests {
  @Test func `every table of Flotilla is the site's or a file's own`() throws {
    let scratch = try Connection(path: ":memory:", mode: .create)
    try scratch.execute(Layout.statements)
    try scratch.execute(Layout.additions)
    try Journal.create(on: scratch)
    try scratch.execute(UndoBook.statements)
    let tables = try scratch.prepareRows("SELECT name FROM sqlite_schema WHERE type = 'table'")
    let named = CopiedTables.shared + CopiedTables.own
    #expect(named.sorted() == tables.sorted())
    #expect(Set(named).count == named.count)
    #expect(Set(CopiedTables.unfinished).isSubset(of: CopiedTables.own))
  }

  @Test func `a copy brings what owners have signed, and its own word of who sends it`() throws {
    let site = try PageCopySite()
    site.a.store.lives.sign { _ in Array(repeating: 1, count: Reach.signatureLength) }
    try site.fill()
    let insert = "INSERT INTO _flotilla_reach VALUES (?, ?, 1, 5, 1, ?)"
    let connection = try Connection(path: site.a.path)
    for (origin, byte) in [(50, 1 as UInt8), (60, 0)] as [(Int64, UInt8)] {
      try connection.run(
        insert,
        [
          .integer(origin), .string(Identity(high: 9, low: 9).description),
          .blob(Array(repeating: byte, count: Reach.signatureLength)),
        ])
    }
    let a = site.a.store
    let reaches = try site.copied().position.reaches
    #expect(reaches[Origin(rawValue: 50)]?.seq == 5)
    // Not signed by the keys that are known: whoever got that from here would hang up.
    #expect(reaches[Origin(rawValue: 60)] == nil)
    #expect(reaches[a.own]?.seq == a.position.frontier[a.own] && reaches[a.own] != nil)
  }

  /// The rest comes again: nothing that its source says alone is counted.
  @Test func `a copy counts what owners have signed for, and what is exempt`() throws {
    var site = try PageCopySite()
    site.a.store.lives.sign { _ in Array(repeating: 1, count: Reach.signatureLength) }
    try site.fill()
    // A source that lies.
    try site.make()
    let connection = try Connection(path: site.pages)
    try connection.execute(
      "INSERT INTO _flotilla_origin(origin, seq) VALUES (50, 1000), (60, 7), (70, 8)")
    try connection.run(
      "INSERT INTO _flotilla_reach VALUES (50, ?, 1, 5, 1, ?)",
      [
        .string(Identity(high: 9, low: 9).description),
        .blob(Array(repeating: 1, count: Reach.signatureLength)),
      ])
    connection.clearStatements()
    let held = site.a.store.position.frontier
    let others = held.list.map(\.origin).filter { $0 != site.a.store.own }
    site.exempt = Set(others + [Origin(rawValue: 70)])
    try site.join()
    try site.adopt()
    let again = try Store(path: site.joiner).position
    #expect([50, 60, 70].map { again.frontier[Origin(rawValue: $0)] } == [5, 0, 8])
    #expect(again.frontier[site.a.store.own] == held[site.a.store.own])
  }

  @Test func `a copy holds the same rows and versions, and a life of its own`() throws {
    let site = try PageCopySite()
    try site.fill()
    let b = try site.copied()
    let a = site.a.store
    #expect(b.position.digest == a.position.digest)
    #expect(b.position.frontier == a.position.frontier)
    #expect(b.own != a.own && b.position.frontier[b.own] == 0)
    #expect(b.nodeName == "b")
    #expect(try b.firstCopy()?.inviter == a.node)
    for table in PageCopySite.tracked {
      let content = try site.a.content(table)
      #expect(content.count > 0)
      let columns = try site.rows("SELECT name FROM pragma_table_info('\(table)') ORDER BY name")
      let terms = columns.map { "typeof(\($0)) || quote(\($0))" }.joined(separator: " || '|' || ")
      #expect(try site.rows("SELECT \(terms) FROM \(table) ORDER BY 1") == content)
    }
    #expect(try site.rows("SELECT count(*) FROM secret") == ["0"])
    #expect(try site.rows("PRAGMA integrity_check") == ["ok"])
    #expect(
      try site.rows("SELECT count(*) FROM _flotilla_local WHERE comparing IS NOT NULL")
        == ["0"])
    #expect(try site.rows("SELECT * FROM sqlite_sequence WHERE name = 'seen'") == [])
    #expect(try site.rows("PRAGMA journal_mode") == ["wal"])
    let schema = "SELECT type || name || sql FROM sqlite_schema WHERE sql NOT NULL ORDER BY 1"
    #expect(try site.rows(schema) == site.a.application.prepareRows(schema))
  }

  @Test func `a copy has columns that SQLite works out`() throws {
    let site = try PageCopySite(
      schema: """
        CREATE TABLE item(
          q INTEGER AS (p * 2) STORED, id TEXT PRIMARY KEY, r AS (p + 1), p INTEGER)
        """, tracking: ["item"])
    try site.a.write("INSERT INTO item(id, p) VALUES ('a', 3), ('b', NULL)")
    try site.a.foldAll()
    let b = try site.copied()
    #expect(b.position.digest == site.a.store.position.digest)
    let rows = try site.rows("SELECT quote(id) || quote(p) || quote(q) || quote(r) FROM item")
    #expect(rows == ["'a'364", "'b'NULLNULLNULL"])
  }

  @Test func `edits flow both ways after it`() throws {
    let site = try PageCopySite()
    try site.fill()
    let b = try site.copied()
    let program = try Connection(path: site.joiner)
    try program.execute(
      """
      UPDATE item SET note = 'from b' WHERE qty = 3; DELETE FROM tag;
      INSERT INTO seen(at) VALUES(9)
      """
    )
    try site.a.write("UPDATE item SET note = 'from a' WHERE qty = 4")
    try site.a.foldAll()
    while try b.fold(at: site.a.now).hasMore {}
    try exchange(site.a.store, b, at: site.a.now)
    try exchange(b, site.a.store, at: site.a.now)
    #expect(b.position.digest == site.a.store.position.digest)
    for sql in [
      "SELECT note, count(*) FROM item WHERE note GLOB 'from*' GROUP BY 1",
      "SELECT quote(id) || note FROM item ORDER BY 1", "SELECT count(*) FROM tag",
      "SELECT count(*) FROM seen",
    ] {
      #expect(try site.rows(sql) == site.a.application.prepareRows(sql), "\(sql)")
    }
    #expect(try site.rows("SELECT count(*) FROM _flotilla_conflict") == ["0"])
  }

  @Test func `nothing of the inviter alone is in the pages`() throws {
    let site = try PageCopySite()
    try site.fill()
    try site.a.write(
      """
      INSERT INTO item(id, note) VALUES(x'01', 'GONE-FOR-GOOD'); DELETE FROM item WHERE id = x'01';
      INSERT INTO _flotilla_conflict(name, key, at, reason, loser)
        VALUES('item', x'00', 1, 'older', 'LOSER-OF-A-CONFLICT');
      INSERT INTO _flotilla_peer(node, name, address) VALUES('n', 'PEER-NAME', 'PEER-ADDRESS');
      INSERT INTO _flotilla_meta VALUES('clock', 'CLOCK-OF-A');
      INSERT INTO _flotilla_choice VALUES('secret', 'CHOICE');
      INSERT INTO _flotilla_author VALUES(77, 'AUTHOR-NODE', 'AUTHOR-NAME', 1);
      INSERT INTO _flotilla_verdict(seq, name, key) VALUES(1, 'VERDICT-OF', x'00');
      CREATE TABLE _flotilla_forgotten(x); INSERT INTO _flotilla_forgotten VALUES('FORGOTTEN');
      """)
    try site.a.foldAll()
    try site.make()
    let bytes = try Data(contentsOf: URL(fileURLWithPath: site.pages))
    for word in [
      "SESAME", "GONE-FOR-GOOD", "LOSER-OF", "PEER-NAME", "PEER-ADDRESS", "CLOCK-OF-A", "CHOICE",
      "AUTHOR-NODE", "AUTHOR-NAME", "VERDICT-OF", "FORGOTTEN",
    ] {
      #expect(bytes.range(of: Data(word.utf8)) == nil, "\(word)")
    }
    #expect(bytes.range(of: Data("Item 1".utf8)) != nil)
    let copy = try Connection(path: site.pages)
    #expect(try copy.prepareRows("PRAGMA freelist_count") == ["0"])
    let tables = try copy.prepareRows("SELECT name FROM sqlite_schema WHERE type = 'table'")
    #expect(
      Set(tables)
        == Set(
          CopiedTables.shared + PageCopySite.tracked + ["_flotilla_meta", "sqlite_sequence"]))
    #expect(
      Set(try copy.prepareRows("SELECT name FROM _flotilla_meta"))
        .isSubset(of: CopiedTables.sharedValues.map(\.rawValue)))
  }

  private func exchange(_ from: Store, _ to: Store, at now: Instant) throws {
    let opened = try from.openExport(.above(to.position.frontier), at: now)
    var batches: [ExportBatch] = []
    while case .batch(let batch) = try from.readExport(opened.id, at: now) { batches.append(batch) }
    try from.closeExport(opened.id)
    _ = try to.merge(
      Merge(
        sender: from.node, kind: .full(covers: opened.covers), batches: batches.map(\.bytes),
        rowsBefore: 0, checkBefore: 0, end: End(batches), movesFrontier: true), at: now)
  }

  /// Root joins with the database of somebody who exchanges files for links to files of root.
  @Test(arguments: ["pages", "database"], ["a link", "another name"])
  func `what is no file, or has another name, is neither put in place nor given away`(
    file: String, means: String
  ) throws {
    let site = try PageCopySite()
    try site.make()
    try site.join()
    let path = file == "pages" ? site.pages : site.joiner
    let other = site.a.path + "-other"
    try FileManager.default.moveItem(atPath: path, toPath: other)
    if means == "a link" {
      try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: other)
    } else {
      try FileManager.default.linkItem(atPath: other, toPath: path)
    }
    #expect(chmod(other, 0o600) == 0)
    let error = #expect(throws: StoreError.self) { try site.adopt() }
    // SQLite opens no link, and this node no file that has another name.
    let reason = means == "a link" ? "unable to open database" : "cannot open \(path)"
    #expect(error?.message.contains(reason) == true, "\(error?.message ?? "")")
    var status = stat()
    #expect(stat(other, &status) == 0 && status.st_mode & 0o777 == 0o600)
    #expect(try Connection(path: other).scalar("PRAGMA quick_check").string == "ok")
  }
}
