import Replication
import SQLite
import Testing

@testable import Store

/// Migrations that give a column another default. A default counts for nothing in the hash of a
/// row, so rows that show different things may have one hash between two machines.
@Suite struct ChangedDefaultTests {
  private static let before =
    "CREATE TABLE job(id TEXT PRIMARY KEY NOT NULL, state TEXT DEFAULT 'new', note TEXT)"
  /// As a migration tool writes it: the old default becomes the new one in all rows.
  private static let migration = """
    BEGIN; CREATE TABLE n(id TEXT PRIMARY KEY NOT NULL, state TEXT DEFAULT 'open', note TEXT);
    INSERT INTO n SELECT id, replace(state, 'new', 'open'), note FROM job;
    DROP TABLE job; ALTER TABLE n RENAME TO job; COMMIT
    """

  private func replicas() throws -> [TestReplica] {
    let r = try [
      TestReplica(1, schema: Self.before, tracking: ["job"]), TestReplica(2, schema: Self.before),
    ]
    try r[1].pull(from: r[0])
    try r[0].write("INSERT INTO job VALUES ('a', 'closed', NULL)")
    try settle(r)
    return r
  }

  private func settle(_ r: [TestReplica]) throws {
    for _ in 0..<2 { try r[0].exchange(with: r[1]) }
  }

  private func states(_ replica: TestReplica) throws -> [String] {
    try replica.application.prepareRows("SELECT id || ' ' || state FROM job ORDER BY id")
  }

  @Test func `a row that had the old default goes to who has migrated before`() throws {
    let r = try replicas()
    try r[0].write(Self.migration)
    try r[1].write("INSERT INTO job(id) VALUES ('b')")
    try settle(r)
    #expect(try states(r[0]) == ["a closed", "b new"])
    try r[1].write(Self.migration)
    try settle(r)
    for replica in r { #expect(try states(replica) == ["a closed", "b open"]) }
    #expect(r[0].store.position.digest == r[1].store.position.digest)
  }

  /// No row tells which column it is: the site says it when the migration was looked at.
  @Test func `so does one in a column that is renamed at once`() throws {
    let schema = "CREATE TABLE job(id TEXT PRIMARY KEY NOT NULL, state TEXT, note TEXT)"
    let steps = [
      """
      BEGIN; CREATE TABLE n(state TEXT DEFAULT 'open', id TEXT PRIMARY KEY NOT NULL, note TEXT);
      INSERT INTO n SELECT coalesce(state, 'open'), id, note FROM job;
      DROP TABLE job; ALTER TABLE n RENAME TO job; COMMIT
      """, "ALTER TABLE job RENAME COLUMN state TO status",
    ]
    let r = try (1...2).map {
      try TestReplica($0, schema: schema, tracking: $0 == 1 ? ["job"] : [])
    }
    try r[1].pull(from: r[0])
    for step in steps {
      try r[0].write(step)
      try r[0].foldAll()
    }
    try r[1].write("INSERT INTO job(id) VALUES ('b')")
    try r[0].pull(from: r[1])
    for step in steps { try r[1].write(step) }
    try settle(r)
    for replica in r {
      #expect(try replica.application.prepareRows("SELECT id || status FROM job") == ["bopen"])
    }
    #expect(r[0].store.position.digest == r[1].store.position.digest)
  }

  @Test func `an edit made before a default changes elsewhere stands, and is no conflict`() throws {
    let r = try replicas()
    try r[0].write("INSERT INTO job(id) VALUES ('b')")
    try settle(r)
    for replica in r { replica.clock += 3_600_000 }
    try r[1].write("UPDATE job SET note = 'mine' WHERE id = 'b'")
    try r[1].foldAll()
    r[0].clock += 3_600_000
    try r[0].write(Self.migration)
    try r[0].foldAll()
    try settle(r)
    try r[1].write(Self.migration)
    try settle(r)
    for replica in r {
      #expect(try states(replica) == ["a closed", "b open"])
      #expect(try replica.value("SELECT note = 'mine' FROM job WHERE id = 'b'").integer == 1)
      #expect(try replica.store.survey.figures().conflicts == 0)
    }
    #expect(r[0].store.position.digest == r[1].store.position.digest)
  }

  @Test func `a comparison that is killed half-way still knows of the new default`() throws {
    let r = try replicas()
    try r[0].write(Self.migration)
    for number in 0..<1_200 { try r[1].write("INSERT INTO job(id) VALUES ('b\(number)')") }
    try settle(r)
    try r[1].write(Self.migration)
    #expect(try r[1].store.fold(at: r[1].now).hasMore)
    try r[1].reopen()
    try settle(r)
    #expect(try states(r[0]) == states(r[1]))
    #expect(try r[0].value("SELECT count(*) FROM job WHERE state = 'open'").integer == 1_200)
  }

  @Test(arguments: [0, 1])
  func `edits to the default of each machine end as one of them`(last: Int) throws {
    let r = try replicas()
    try r[0].write(Self.migration)
    try r[0].foldAll()
    for (index, state) in [(1 - last, 0), (last, 1)].map({ ($0.0, $0.0 == 0 ? "open" : "new") }) {
      r[index].clock = 1_800_000_100_000 + (index == last ? 50_000 : 0)
      try r[index].write("UPDATE job SET state = '\(state)' WHERE id = 'a'")
      try r[index].foldAll()
    }
    try settle(r)
    #expect(try states(r[0]) == states(r[1]))
  }

  /// The same, but each row keeps what it has.
  private static let copying = migration.replacing("replace(state, 'new', 'open')", with: "state")

  /// Replicas of which the first one has migrated, and written this to `a` then.
  private func replicas(writing state: String) throws -> [TestReplica] {
    let r = try replicas()
    try r[0].write(Self.copying)
    try write(r[0], "UPDATE job SET state = \(state) WHERE id = 'a'")
    try settle(r)
    return r
  }

  private func write(_ replica: TestReplica, _ sql: String) throws {
    replica.clock += 60_000
    try replica.foldAll()
    try replica.write(sql)
    try replica.foldAll()
  }

  private func kept(_ replica: TestReplica) throws -> Shelf.Entry? {
    let table = try #require(replica.store.tables.table(called: "job"))
    let key = try #require(table.key([.text(Array("a".utf8))]))
    return try replica.store.shelf.entry(table: table.id, key: key)
  }

  private func expect(
    _ r: [TestReplica], _ state: String, at location: SourceLocation = #_sourceLocation
  ) throws {
    for replica in r {
      #expect(
        try replica.application.prepareRows("SELECT quote(state) FROM job") == [state],
        sourceLocation: location)
      #expect(try kept(replica) == nil, sourceLocation: location)
      #expect(try replica.store.conflictLog.list(all: true).isEmpty, sourceLocation: location)
    }
    #expect(
      r[0].store.position.digest == r[1].store.position.digest, sourceLocation: location)
    #expect(try r[0].content("job") == r[1].content("job"), sourceLocation: location)
  }

  /// The default of one machine counts at the other one.
  private static let written: [(state: String, isCounted: Bool?)] = [
    ("'new'", true), ("'open'", false), ("NULL", nil),
  ]

  @Test(arguments: written)
  func `a value that counts otherwise elsewhere is kept by its column`(
    state: String, isCounted: Bool?
  ) throws {
    let r = try replicas(writing: state)
    let value = Replication.Value.text(Array(state.dropFirst().dropLast().utf8))
    let standIns = isCounted.map {
      [StandIn(name: "state", value: value, shown: value, isCounted: $0)]
    }
    #expect(try kept(r[1])?.standIns == standIns)
    #expect(try kept(r[1])?.rest ?? 0 == 0)
    // It is shown, so nobody is told that anything waits.
    #expect(try r[1].store.columns.kept() == [])
    try write(r[1], "UPDATE job SET note = 'mine'")
    try settle(r)
    #expect(try kept(r[1])?.standIns == standIns)
    try r[1].reopen()
    try r[1].write(Self.copying)
    try settle(r)
    try expect(r, state)
  }

  @Test(arguments: written)
  func `a migration may change it with all others`(state: String, isCounted: Bool?) throws {
    let r = try replicas(writing: state)
    try r[1].write(Self.migration)
    try settle(r)
    try expect(r, state == "'new'" ? "'open'" : state)
  }

  @Test(arguments: written, ["'new'", "'open'", "NULL", "'closed'"])
  func `what a program writes over it stands`(
    written: (state: String, isCounted: Bool?), next: String
  ) throws {
    let r = try replicas(writing: written.state)
    try write(r[1], "UPDATE job SET state = \(next)")
    try settle(r)
    try write(r[0], "UPDATE job SET note = 'mine'")
    try settle(r)
    try r[1].write(Self.copying)
    try settle(r)
    try expect(r, next)
  }

  @Test(arguments: written)
  func `what a program writes over it before a change of the schema stands`(
    state: String, isCounted: Bool?
  ) throws {
    let r = try replicas(writing: state)
    r[1].clock += 60_000
    try r[1].write("UPDATE job SET state = 'new'; CREATE INDEX i ON job(note)")
    try settle(r)
    try r[1].write(Self.copying)
    try settle(r)
    try expect(r, "'new'")
  }

  @Test(arguments: written)
  func `what a migration makes of it is no edit`(state: String, isCounted: Bool?) throws {
    let r = try replicas(writing: state)
    try write(r[0], "UPDATE job SET note = 'mine'")
    r[1].clock = r[0].clock + 60_000
    try r[1].write(Self.migration)
    try settle(r)
    try expect(r, state)
    #expect(try r[1].value("SELECT note = 'mine' FROM job").integer == 1)
  }

  @Test(arguments: ["'new'", "'open'"])
  func `a column that comes later counts its values as they came`(fallback: String) throws {
    let r = try (1...2).map {
      try TestReplica(
        $0, schema: "CREATE TABLE job(id TEXT PRIMARY KEY NOT NULL, note TEXT)",
        tracking: $0 == 1 ? ["job"] : [])
    }
    try r[1].pull(from: r[0])
    try r[0].write("ALTER TABLE job ADD COLUMN state TEXT DEFAULT 'open'")
    try r[0].write("INSERT INTO job(id, state) VALUES ('a', 'new')")
    try settle(r)
    try r[1].write("ALTER TABLE job ADD COLUMN state TEXT DEFAULT \(fallback)")
    try r[1].foldAll()
    #expect(try kept(r[1])?.standIns.count ?? 0 == (fallback == "'new'" ? 1 : 0))
    #expect(try kept(r[1])?.rest ?? 0 == 0)
    try write(r[1], "UPDATE job SET note = 'mine'")
    try settle(r)
    try r[1].write(Self.copying)
    try settle(r)
    try r[0].write(Self.copying)
    try settle(r)
    try expect(r, "'new'")
  }

  @Test func `a column that is dropped goes on to count what it held at its default`() throws {
    let r = try replicas(writing: "'new'")
    try r[1].write("ALTER TABLE job DROP COLUMN state")
    try write(r[1], "UPDATE job SET note = 'mine'")
    try settle(r)
    #expect(try states(r[0]) == ["a new"])
    try r[1].write("ALTER TABLE job ADD COLUMN state TEXT DEFAULT 'open'")
    try settle(r)
    try expect(r, "'new'")
  }

  /// To its author `grade` is another column than `mark`, and it has made no rename of it.
  private static let schemas = [
    """
    CREATE TABLE team(id TEXT PRIMARY KEY NOT NULL);
    CREATE TABLE job(id TEXT PRIMARY KEY NOT NULL, mark NUMERIC DEFAULT 1,
      team TEXT REFERENCES team(id))
    """,
    "CREATE TABLE job(id TEXT PRIMARY KEY NOT NULL, mark NUMERIC DEFAULT 1, team TEXT)",
  ]

  /// A default that was filled in says nothing beside a NULL that somebody has written.
  @Test(arguments: schemas)
  func `a NULL goes before what its column has by default, also in a row that has waited`(
    schema: String
  ) throws {
    let r = try [
      TestReplica(1, schema: schema, tracking: ["job"]), TestReplica(2, schema: schema),
    ]
    try r[1].pull(from: r[0])
    func migration(_ value: String) -> String {
      """
      BEGIN; CREATE TABLE n(id TEXT PRIMARY KEY NOT NULL, grade NUMERIC DEFAULT 1, team TEXT);
      INSERT INTO n SELECT id, \(value), team FROM job;
      DROP TABLE job; ALTER TABLE n RENAME TO job; COMMIT
      """
    }
    try r[0].write("INSERT INTO job VALUES ('a', 5, NULL)")
    try settle(r)
    try r[0].write(migration("mark + 10"))
    try r[0].write("DELETE FROM job")
    try r[0].write("INSERT INTO job VALUES ('b', NULL, 'none')")
    try settle(r)
    // No other row tells what the column is here.
    try r[1].write(migration("mark"))
    for _ in 0..<2 { try settle(r) }
    let rows = try r.map {
      try $0.application.prepareRows(
        "SELECT id || ' ' || coalesce(grade, '-') FROM job ORDER BY id")
    }
    #expect(rows[0] == ["b -"] && rows[1] == rows[0])
    #expect(r[0].store.position.digest == r[1].store.position.digest)
  }

  /// The first machine hands on a NULL of `mark` beside the default of its own `grade`.
  @Test func `a NULL under the first name of a column goes before a default under a later one`()
    throws
  {
    let r = try (1...UInt64(3)).map {
      try TestReplica($0, schema: Self.schemas[1], tracking: $0 == 1 ? ["job"] : [])
    }
    func settleAll() throws {
      for _ in 0..<2 {
        for one in r { for other in r where one !== other { try one.pull(from: other) } }
      }
    }
    try r[1].pull(from: r[0])
    try r[2].pull(from: r[0])
    try r[0].write("INSERT INTO job VALUES ('a', 5, NULL)")
    try settleAll()
    try r[0].write(
      """
      BEGIN; CREATE TABLE n(id TEXT PRIMARY KEY NOT NULL, grade NUMERIC DEFAULT 1, team TEXT);
      INSERT INTO n SELECT id, mark + 10, team FROM job;
      DROP TABLE job; ALTER TABLE n RENAME TO job; COMMIT
      """)
    try r[1].write("INSERT INTO job VALUES ('b', NULL, NULL)")
    try settleAll()
    try r[0].write("UPDATE job SET team = 't' WHERE id = 'b'")
    try settleAll()
    try r[0].store.map("job", "mark", to: "grade", at: r[0].now)
    for _ in 0..<2 { try settleAll() }
    for (replica, column) in zip(r, ["grade", "mark", "mark"]) {
      let rows = try replica.application.prepareRows(
        "SELECT id || coalesce(\(column), '-') || coalesce(team, '-') FROM job ORDER BY id")
      #expect(rows == ["a15-", "b-t"])
      #expect(replica.store.position.digest == r[0].store.position.digest)
    }
  }

  @Test(
    arguments: [
      ([.integer(1), .null], 2), ([.null, .integer(1)], 1), ([.integer(5), .null], 1),
      ([.integer(5), .integer(7)], 2), ([.null, .integer(7)], 2),
    ] as [([Replication.Value], Int)])
  func `of two values for a column the later goes in, unless it says less`(
    values: [Replication.Value], chosen: Int
  ) throws {
    let r = try TestReplica(1, schema: Self.schemas[1], tracking: ["job"])
    try r.write("ALTER TABLE job RENAME COLUMN mark TO grade")
    try r.foldAll()
    let statements = try #require(r.store.tables.table("job")?.statements)
    let columns = statements.columns(for: ["id", "mark", "grade"], [.text([97])] + values)
    #expect(columns.compactMap { $0.column == 1 ? $0.index : nil } == [chosen])
  }
}
