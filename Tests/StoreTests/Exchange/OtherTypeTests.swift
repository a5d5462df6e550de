import Replication
import SQLite
import Testing

@testable import Store

/// A migration gives `code` another type at one machine, and not yet at the others. What a column
/// of the old type cannot show as it came is kept, passed on, and shown once the column takes it.
@Suite struct OtherTypeTests {
  struct Change: Sendable {
    var before: String
    var after: String
    /// What every row has before.
    var old = "1"
    /// What a program writes at the machine that has migrated.
    var new: String

    init(_ before: String, _ after: String, old: String = "1", new: String) {
      (self.before, self.after, self.old, self.new) = (before, after, old, new)
    }
  }

  static let changes = [
    Change("INTEGER", "TEXT", new: "'00123'"),
    Change("INTEGER", "VARCHAR(20)", new: "'1e5'"),
    Change("INTEGER", "TEXT", new: "'12345678901234567890123'"),
    Change("INTEGER NOT NULL DEFAULT 0", "TEXT NOT NULL DEFAULT 0", new: "'0000'"),
    Change("INTEGER DEFAULT 123", "TEXT", new: "'0123'"),
    Change("INTEGER", "TEXT DEFAULT '007'", new: "'007'"),
    Change("TEXT", "INTEGER", old: "'x'", new: "7"),
    Change("TEXT", "REAL", old: "'x'", new: "2.5"),
    Change("REAL", "TEXT", old: "1.5", new: "'2.50'"),
    Change("REAL", "NUMERIC", old: "1.5", new: "2"),
    Change("DATE", "TEXT", new: "'2026'"),
    Change("NUMERIC", "BLOB", new: "'007'"),
    Change("TEXT", "", old: "'x'", new: "8"),
  ]

  private func replicas(_ change: Change, _ count: Int = 3) throws -> [TestReplica] {
    let schema = "CREATE TABLE item(id TEXT PRIMARY KEY NOT NULL, code \(change.before), n)"
    let r = try (1...UInt64(count)).map {
      try TestReplica($0, schema: schema, tracking: $0 == 1 ? ["item"] : [])
    }
    for replica in r.dropFirst() { try replica.pull(from: r[0]) }
    try r[0].write("INSERT INTO item VALUES ('a', \(change.old), 1), ('b', \(change.old), 2)")
    for replica in r.dropFirst() { try replica.pull(from: r[0]) }
    return r
  }

  private func migrate(_ replica: TestReplica, _ change: Change) throws {
    try replica.write(
      """
      BEGIN; CREATE TABLE new__item(id TEXT PRIMARY KEY NOT NULL, code \(change.after), n);
      INSERT INTO new__item SELECT id, code, n FROM item; DROP TABLE item;
      ALTER TABLE new__item RENAME TO item; COMMIT
      """)
  }

  private func write(_ replica: TestReplica, _ sql: String) throws {
    replica.clock += 60_000
    try replica.foldAll()
    try replica.write(sql)
    try replica.foldAll()
  }

  private func exchange(_ r: [TestReplica]) throws {
    for _ in 1...3 {
      for one in r { for other in r where other !== one { try one.pull(from: other) } }
    }
  }

  /// How a row shows `code` and `n`; `literal` as it stands in SQL.
  private func expect(
    _ r: [TestReplica], a literal: String, n: Int, at location: SourceLocation = #_sourceLocation
  ) throws {
    for replica in r {
      let shown = try replica.application.prepareRows(
        "SELECT quote(code) || ' ' || n FROM item WHERE id = 'a'")
      #expect(shown == ["\(literal) \(n)"], sourceLocation: location)
      #expect(
        replica.store.position.digest == r[0].store.position.digest, sourceLocation: location)
      #expect(
        try replica.application.prepareRows("SELECT why FROM _flotilla_shelf") == [],
        sourceLocation: location)
      #expect(try replica.store.conflictLog.list(all: true).isEmpty, sourceLocation: location)
      #expect(try replica.content("item") == r[0].content("item"), sourceLocation: location)
    }
  }

  /// What a person has to know of: a number whose text is shown, and a NULL for which a default
  /// is, say all that came.
  @Test(arguments: [
    (Change("INTEGER", "TEXT", new: "'00123'"), KeptColumns.Fate.shownOtherwise),
    (Change("REAL", "TEXT", new: "'2.50'"), .shownOtherwise),
    (Change("TEXT", "INTEGER", old: "'x'", new: "7"), .inItsForm),
    (Change("TEXT", "REAL", old: "'x'", new: "2.5"), .inItsForm),
    (Change("TEXT NOT NULL DEFAULT ''", "TEXT", old: "'x'", new: "NULL"), .inItsForm),
  ])
  func `what is kept is told by whether the column says it`(
    change: Change, fate: KeptColumns.Fate
  ) throws {
    let r = try replicas(change, 2)
    try migrate(r[0], change)
    try write(r[0], "UPDATE item SET code = \(change.new) WHERE id = 'a'")
    try r[1].pull(from: r[0])
    let wanted = KeptColumns(table: "item", fate: fate, columns: ["code"], rows: 1)
    #expect(try r[1].store.columns.kept().contains(wanted))
  }

  @Test(arguments: changes)
  func `a value of a new type outlives edits and migrations of others`(change: Change) throws {
    let r = try replicas(change)
    try migrate(r[0], change)
    try r[0].foldAll()
    try write(r[0], "UPDATE item SET code = \(change.new) WHERE id = 'a'")
    let wanted = try r[0].application.prepareRows("SELECT quote(code) FROM item WHERE id = 'a'")
    // Through a machine that cannot show it, and edits another column.
    try r[1].pull(from: r[0])
    try r[2].pull(from: r[1])
    try write(r[1], "UPDATE item SET n = 10 WHERE id = 'a'")
    try exchange(r)
    try r[1].reopen()
    try migrate(r[1], change)
    try r[1].foldAll()
    try exchange(r)
    try expect(Array(r[0...1]), a: wanted[0], n: 10)
    try migrate(r[2], change)
    // In the same moment as the migration, before anybody looked.
    try write(r[2], "UPDATE item SET n = 11 WHERE id = 'a'")
    try exchange(r)
    try expect(r, a: wanted[0], n: 11)
  }

  @Test(arguments: changes)
  func `what a program writes into the column itself stands`(change: Change) throws {
    let r = try replicas(change, 2)
    try migrate(r[0], change)
    try r[0].foldAll()
    try write(r[0], "UPDATE item SET code = \(change.new) WHERE id = 'a'")
    try r[1].pull(from: r[0])
    r[1].clock += 60_000
    try write(r[1], "UPDATE item SET code = 99 WHERE id = 'a'")
    try exchange(r)
    try migrate(r[1], change)
    try r[1].foldAll()
    try exchange(r)
    let wanted = try r[0].application.prepareRows("SELECT quote(code) FROM item WHERE id = 'a'")
    #expect(["99", "'99'", "99.0", "'99.0'"].contains(wanted[0]))
    try expect(r, a: wanted[0], n: 1)
  }

  @Test func `a kept value that enters a column of another type is kept on`() throws {
    let schema = "CREATE TABLE item(id TEXT PRIMARY KEY NOT NULL, n)"
    let r = try (1...3).map {
      try TestReplica($0, schema: schema, tracking: $0 == 1 ? ["item"] : [])
    }
    for replica in r.dropFirst() { try replica.pull(from: r[0]) }
    try r[0].write("ALTER TABLE item ADD COLUMN code TEXT")
    try r[0].write("INSERT INTO item VALUES ('a', 1, '00123')")
    try r[1].pull(from: r[0])
    try r[1].write("ALTER TABLE item ADD COLUMN code INTEGER")
    try r[1].foldAll()
    #expect(try r[1].application.prepareRows("SELECT quote(code) FROM item") == ["123"])
    try write(r[1], "UPDATE item SET n = 10")
    try exchange(r)
    #expect(try r[0].application.prepareRows("SELECT quote(code) || n FROM item") == ["'00123'10"])
    try r[2].write("ALTER TABLE item ADD COLUMN code VARCHAR(9)")
    try r[2].foldAll()
    #expect(try r[2].application.prepareRows("SELECT quote(code) || n FROM item") == ["'00123'10"])
  }

  /// A column without a type keeps the sign of zero, and one of REAL does not.
  @Test func `a zero below zero is kept where it is shown without its sign`() throws {
    let r = try (1...UInt64(2)).map { number in
      let type = number == 1 ? "" : "REAL"
      return try TestReplica(
        number, schema: "CREATE TABLE item(id TEXT PRIMARY KEY NOT NULL, x \(type), n)",
        tracking: number == 1 ? ["item"] : [])
    }
    try r[1].pull(from: r[0])
    try r[0].application.run("INSERT INTO item VALUES ('a', ?, 1)", [.real(-0.0)])
    try r[0].foldAll()
    try exchange(r)
    func sign(_ replica: TestReplica) throws -> FloatingPointSign? {
      if case .real(let real) = try replica.value("SELECT x FROM item") { real.sign } else { nil }
    }
    #expect(try sign(r[0]) == .minus)
    #expect(try sign(r[1]) == .plus)
    #expect(try r[1].audit().count == 0)
    try write(r[1], "UPDATE item SET n = 2")
    try exchange(r)
    #expect(try sign(r[0]) == .minus)
    #expect(try r[0].application.prepareRows("SELECT n FROM item") == ["2"])
    #expect(r[0].store.position.digest == r[1].store.position.digest)
  }

  @Test func `a long value that shows a short number is passed on whole`() throws {
    let change = Change("INTEGER", "TEXT", new: "")
    let r = try replicas(change)
    for replica in [r[0], r[2]] {
      try migrate(replica, change)
      try replica.foldAll()
    }
    let zeros = "replace(hex(zeroblob(3000000)), '00', '0')"
    try write(r[0], "UPDATE item SET code = \(zeros) || '7' WHERE id = 'a'")
    try r[1].pull(from: r[0])
    #expect(try r[1].application.prepareRows("SELECT quote(code) FROM item") == ["7", "1"])
    try r[2].pull(from: r[1])
    #expect(
      try r[2].application.prepareRows("SELECT length(code) FROM item WHERE id = 'a'")
        == ["3000001"])
    try exchange(r)
    #expect(try r[0].content("item") == r[2].content("item"))
    #expect(r[2].store.position.digest == r[0].store.position.digest)
  }

  @Test func `what was kept before values of other types were is read`() throws {
    let shown = Replication.Value.text(Array("x".utf8))
    let standIn = StandIn(name: "note", value: .null, shown: shown, isCounted: true)
    var entry = Shelf.Entry(why: .columns, values: [], keyCount: 1)
    entry.standIns = [standIn]
    var writer = ByteWriter()
    writer.uint(1)
    writer.uint(0)
    writer.word(0)
    writer.uint(1)
    writer.text("note")
    writer.value(shown)
    writer.byte(1)
    #expect(Shelf.encode(entry) == writer.bytes)
    #expect(Shelf.decode(writer.bytes, .columns)?.standIns == [standIn])
  }

  /// Prices are texts of two digits, and become numbers. Nobody has edited a row where that is made
  /// first; where it is made later a program writes before anybody has looked.
  @Test(arguments: ["20.00", "7.5", "0.250", "-3.10", "20.17"])
  func `an edit stands over what a migration has made of a price`(price: String) throws {
    let change = Change("varchar(20)", "decimal", old: "'\(price)'", new: "0")
    let r = try replicas(change, 2)
    try migrate(r[0], change)
    try r[0].foldAll()
    try migrate(r[1], change)
    try r[1].write("UPDATE item SET n = 9 WHERE id = 'a'")
    try r[1].foldAll()
    for _ in 0..<2 { try r[0].exchange(with: r[1]) }
    for replica in r {
      #expect(
        try replica.application.prepareRows("SELECT id || n FROM item ORDER BY id") == ["a9", "b2"])
      #expect(try replica.store.conflictLog.list(all: true).isEmpty)
    }
    #expect(r[0].store.position.digest == r[1].store.position.digest)
  }
}
