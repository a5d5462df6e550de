import Replication
import SQLite
import Testing

@testable import Store

/// Bringing a schema to that of another member by additions alone.
@Suite struct AdoptionTests {
  static let schema = """
    CREATE TABLE patient(id TEXT PRIMARY KEY, name TEXT NOT NULL);
    CREATE TABLE note(id INTEGER PRIMARY KEY, text);
    """

  /// Two replicas of one schema; the first then goes on by itself.
  private func pair(
    _ migration: String, rows: String = "INSERT INTO patient VALUES ('p', 'Ann')"
  ) throws -> (TestReplica, TestReplica) {
    let tables = ["patient", "note"]
    let first = try TestReplica(1, schema: Self.schema + rows, tracking: tables)
    let second = try TestReplica(2, schema: Self.schema)
    try first.exchange(with: second)
    try first.write(migration)
    try first.foldAll()
    return (first, second)
  }

  private func compare(_ second: TestReplica, with first: TestReplica) throws -> SchemaAdoption {
    try second.store.compare(with: first.store.schemaCopy.objects(), of: "one")
  }

  private func adopt(_ second: TestReplica, from first: TestReplica) throws -> SchemaAdoption {
    try second.store.adopt(first.store.schemaCopy.objects(), of: "one", at: second.now)
  }

  private func objects(_ replica: TestReplica) throws -> [String] {
    try replica.application.prepareRows(
      "SELECT sql FROM sqlite_schema WHERE name NOT GLOB '_flotilla_*' AND sql IS NOT NULL")
  }

  @Test func `adds tables, columns, indexes, views and triggers`() throws {
    let (first, second) = try pair(
      """
      ALTER TABLE patient ADD COLUMN ward TEXT NOT NULL DEFAULT 'A' COLLATE NOCASE;
      ALTER TABLE patient ADD COLUMN loud AS (upper(name));
      CREATE TABLE visit(id TEXT PRIMARY KEY, patient TEXT REFERENCES patient(id));
      CREATE UNIQUE INDEX patient_name ON patient(name, ward);
      CREATE VIEW whisper AS SELECT loud FROM patient;
      CREATE TRIGGER shout AFTER UPDATE OF ward ON patient BEGIN
        INSERT INTO note(text) VALUES (new.ward); END;
      CREATE VIRTUAL TABLE words USING fts5(text);
      """)
    let shown = try compare(second, with: first)
    #expect(shown.differences == [])
    #expect(
      shown.steps.map { "\($0.kind) \($0.name)" } == [
        "column ward", "column loud", "table visit", "table words", "index patient_name",
        "view whisper", "trigger shout",
      ])
    #expect(try objects(second).count == 2)
    #expect(try adopt(second, from: first) == shown)
    #expect(Set(try objects(second)) == Set(try objects(first)))
    #expect(try compare(second, with: first) == SchemaAdoption())
    #expect(try compare(first, with: second) == SchemaAdoption())
  }

  @Test func `adds what has strings in double quotes`() throws {
    let (first, second) = try pair(
      """
      CREATE TABLE ticket(id TEXT PRIMARY KEY, state TEXT CHECK (state IN ("open", "closed")));
      ALTER TABLE patient ADD COLUMN state TEXT CHECK (state <> "gone");
      CREATE UNIQUE INDEX one_open ON note(text) WHERE text = "open"
      """)
    #expect(try adopt(second, from: first).differences == [])
    #expect(Set(try objects(second)) == Set(try objects(first)))
    #expect(try compare(second, with: first) == SchemaAdoption())
    #expect(throws: SQLiteError.self) {
      try second.store.connection.prepare("SELECT \"no column\"")
    }
  }

  @Test(arguments: ["'note'", "note", "\"note\"", "'noted'"])
  func `fills a full-text index of another table's content`(content: String) throws {
    let (first, second) = try pair(
      """
      CREATE VIEW noted AS SELECT * FROM note;
      CREATE VIRTUAL TABLE words USING fts5(text, content = \(content), content_rowid='id');
      CREATE TRIGGER noting AFTER UPDATE ON note BEGIN
        INSERT INTO words(words, rowid, text) VALUES ('delete', old.id, old.text);
        INSERT INTO words(rowid, text) VALUES (new.id, new.text); END
      """)
    try second.write("INSERT INTO note VALUES (1, 'apple'), (2, 'pear')")
    let adoption = try adopt(second, from: first)
    // A view of a peer is not compiled.
    guard content != "'noted'" else {
      return #expect(adoption.differences.map(\.what) == ["comes empty"])
    }
    #expect(adoption.differences == [])
    try second.application.execute("UPDATE note SET text = 'plum' WHERE id = 1")
    let found = "SELECT rowid FROM words WHERE words MATCH 'plum OR pear' ORDER BY 1"
    #expect(try second.application.prepareRows(found) == ["1", "2"])
  }

  /// What others wrote before the column was here is there with the column, without another word.
  @Test func `puts what has waited into its place`() throws {
    let (first, second) = try pair("ALTER TABLE patient ADD COLUMN ward TEXT")
    try first.write("UPDATE patient SET ward = 'B'; CREATE TABLE visit(id PRIMARY KEY, at)")
    try first.store.track(["visit"], rule: nil, at: first.now)
    try first.write("INSERT INTO visit VALUES (1, 'now')")
    try first.foldAll()
    try second.pull(from: first)
    #expect(try adopt(second, from: first).steps.map(\.name) == ["ward", "visit"])
    #expect(try second.value("SELECT ward FROM patient") == .string("B"))
    #expect(try second.value("SELECT at FROM visit") == .string("now"))
    try second.write("UPDATE visit SET at = 'later'")
    try second.foldAll()
    try first.pull(from: second)
    #expect(try first.content("visit") == second.content("visit"))
  }

  @Test(
    arguments: [
      ("ALTER TABLE patient ADD COLUMN at DEFAULT 1; CREATE INDEX i ON patient(at)", true),
      ("CREATE UNIQUE INDEX i ON note(text)", false),
    ])
  func `leaves out what the rows here forbid`(migration: String, fits: Bool) throws {
    let (first, second) = try pair(migration)
    try second.write("INSERT INTO note VALUES (1, 'a'), (2, 'a')")
    let adoption = try adopt(second, from: first)
    #expect(adoption.differences.isEmpty == fits)
    #expect(try objects(second).contains { $0.contains(" INDEX i") } == fits)
    if !fits { #expect(adoption.differences[0].what.contains("UNIQUE constraint failed")) }
  }

  /// The values of such a column nobody can give to the rows that are here.
  @Test(
    arguments: [
      (
        "at TEXT DEFAULT CURRENT_TIMESTAMP",
        "has a default that is no constant, and there are rows"
      ),
      ("at DEFAULT (1 + 1)", "has a default that is no constant, and there are rows"),
      ("at INTEGER NOT NULL", "is NOT NULL without a default, and there are rows"),
    ])
  func `adds a column that rows cannot get only where there are none`(
    column: String, what: String
  ) throws {
    for hasRow in [true, false] {
      let (first, second) = try pair(
        """
        CREATE TABLE new_note(id INTEGER PRIMARY KEY, text, \(column));
        DROP TABLE note; ALTER TABLE new_note RENAME TO note
        """)
      if hasRow { try second.write("INSERT INTO note VALUES (1, 'a')") }
      let adoption = try adopt(second, from: first)
      #expect(adoption.steps.map(\.name) == (hasRow ? [] : ["at"]))
      #expect(adoption.differences.map(\.what) == (hasRow ? [what] : []))
    }
  }

  @Test(
    arguments: [
      ("ALTER TABLE patient RENAME COLUMN name TO full_name", "full_name", "is called name here"),
      ("ALTER TABLE patient DROP COLUMN name", "name", "is not at one"),
      ("DROP TABLE note", "note", "is not at one"),
      ("PRAGMA user_version = 7", "user_version", "is 7 at one and 0 here"),
      (
        "CREATE TABLE new__note(id INTEGER PRIMARY KEY, text, more)", "new__note",
        "seems to be a copy of \"note\" that a migration makes"
      ),
      (
        "CREATE TRIGGER t AFTER INSERT ON note BEGIN DELETE FROM _flotilla_version; END", "t",
        "names \"_flotilla_version\", which is no table of an application"
      ),
      (
        "DROP TABLE patient; CREATE TABLE patient(id TEXT, name TEXT, PRIMARY KEY(id, name))",
        "patient", "has another key at one"
      ),
      (
        """
        CREATE TABLE new_note(id INTEGER PRIMARY KEY, text CHECK(text <> ''));
        DROP TABLE note; ALTER TABLE new_note RENAME TO note
        """, "text", "is declared otherwise at one"
      ),
      (
        """
        CREATE TABLE new_note(id INTEGER PRIMARY KEY, text, UNIQUE(text));
        DROP TABLE note; ALTER TABLE new_note RENAME TO note
        """, "note", "has other constraints at one"
      ),
    ])
  func `names what differs otherwise`(migration: String, name: String, what: String) throws {
    let (first, second) = try pair(migration)
    try second.pull(from: first)
    let before = try objects(second)
    let adoption = try adopt(second, from: first)
    #expect(adoption.steps == [])
    #expect(adoption.differences.map(\.name) == [name])
    #expect(adoption.differences.map(\.what) == [what])
    #expect(try objects(second) == before)
  }

  /// A column is what it was first, whatever it is called there and here.
  @Test(
    arguments: [
      (
        """
        ALTER TABLE patient RENAME COLUMN name TO tag;
        ALTER TABLE patient RENAME COLUMN age TO name
        """,
        ["name: is called age here", "tag: is called name here"],
        ["age: is called name here", "name: is called tag here"]
      ),
      (
        """
        ALTER TABLE patient RENAME COLUMN name TO tag;
        ALTER TABLE patient ADD COLUMN name TEXT DEFAULT 'x'
        """,
        ["tag: is called name here", "name: is another column here"],
        ["name: is called tag here", "name: is not at two"]
      ),
      (
        "ALTER TABLE patient RENAME COLUMN id TO number", ["number: is called id here"],
        ["id: is called number here"]
      ),
      (
        "ALTER TABLE note RENAME TO task; ALTER TABLE patient RENAME TO note",
        ["note: is called \"patient\" here", "task: is called \"note\" here"],
        ["patient: is called \"note\" here", "note: is called \"task\" here"]
      ),
    ])
  func `calls nothing missing that has another name`(
    migration: String, here: [String], there: [String]
  ) throws {
    let (first, second) = try pair("ALTER TABLE patient ADD COLUMN age TEXT")
    try first.write("UPDATE patient SET age = '7'; INSERT INTO note VALUES (7, 'n')")
    try second.write("ALTER TABLE patient ADD COLUMN age TEXT")
    try first.exchange(with: second)
    try first.write("BEGIN; \(migration); COMMIT")
    try first.foldAll()
    try second.pull(from: first)
    let told = { (one: TestReplica, other: TestReplica, name: String) in
      try one.store.compare(with: other.store.schemaCopy.objects(), of: name).differences
        .map { "\($0.name): \($0.what)" }
    }
    #expect(Set(try told(second, first, "one")).isSuperset(of: here))
    #expect(Set(try told(first, second, "two")).isSuperset(of: there))
    let all = try told(second, first, "one") + told(first, second, "two")
    #expect(
      all.filter { $0.hasSuffix("is not at two") || $0.hasSuffix("is not at one") }
        .allSatisfy((here + there).contains))
  }

  @Test func `takes a new table under a name of before for another one`() throws {
    let (first, second) = try pair(
      "ALTER TABLE note RENAME TO task; CREATE TABLE note(id INTEGER PRIMARY KEY, due)")
    try second.pull(from: first)
    let told = try adopt(second, from: first)
    #expect(told.steps.isEmpty)
    let what = "is another table at one, where this one has a name of later"
    #expect(told.differences.map(\.what).contains(what), "\(told.differences)")
    try second.write("ALTER TABLE note RENAME TO task")
    try second.foldAll()
    #expect(try adopt(second, from: first).steps.map(\.name) == ["note"])
    let columns = "SELECT name FROM pragma_table_info('note')"
    #expect(try second.application.prepareRows(columns) == ["id", "due"])
  }

  /// A trigger that names a missing column would make every write of a program fail.
  @Test func `leaves out what names something that is not added`() throws {
    let (first, second) = try pair(
      """
      ALTER TABLE patient ADD COLUMN at INTEGER;
      CREATE TRIGGER dated AFTER INSERT ON patient BEGIN
        UPDATE patient SET at = 1 WHERE id = new.id; END;
      CREATE VIEW times AS SELECT id, At FROM patient;
      CREATE VIEW names AS SELECT name FROM patient;
      """)
    try second.write("ALTER TABLE patient ADD COLUMN at TEXT")
    let adoption = try adopt(second, from: first)
    #expect(adoption.steps.map(\.name) == ["names"])
    #expect(
      adoption.differences.map { "\($0.name) \($0.what)" } == [
        "at is declared otherwise at one",
        "times names \"At\", which is not here as it is at one",
        "dated names \"at\", which is not here as it is at one",
      ])
    try second.write("INSERT INTO patient(id, name) VALUES ('q', 'Bob')")
  }

  /// Fourteen views, each of which names the one before twice: SQLite takes half a minute to
  /// compile the last one.
  @Test func `compiles no view of a peer`() throws {
    let (first, second) = try pair("")
    var objects = try first.store.schemaCopy.objects()
    for number in 0..<24 {
      let from = number == 0 ? "note" : "v\(number - 1) a, v\(number - 1) b"
      let sql = "CREATE VIEW v\(number) AS SELECT 1 AS x FROM \(from)"
      objects.append(SchemaObject(kind: .view, name: "v\(number)", sql: sql))
    }
    objects.append(
      SchemaObject(
        kind: .trigger, name: "g",
        sql: "CREATE TRIGGER g AFTER INSERT ON note BEGIN SELECT x FROM v16; END"))
    #expect(try second.store.compare(with: objects, of: "one").steps.count == 25)
  }

  @Test func `leaves the books of migration tools to their tools`() throws {
    let book = "CREATE TABLE alembic_version(version_num VARCHAR(32) NOT NULL)"
    let (first, second) = try pair(
      "\(book); INSERT INTO alembic_version VALUES ('ae10'); ALTER TABLE note ADD COLUMN more")
    let adoption = try adopt(second, from: first)
    #expect(adoption.steps.map(\.name) == ["more"])
    #expect(adoption.differences.map(\.kind) == [.book])
    #expect(try objects(second).count == 2)
  }

  /// The name of a table is no consent, to its rows or to its columns.
  @Test func `does not touch a table that was never replicated here`() throws {
    let first = try TestReplica(
      1, schema: "CREATE TABLE own(id PRIMARY KEY, a, b); CREATE INDEX own_a ON own(a)",
      tracking: ["own"])
    let second = try TestReplica(
      2, schema: "CREATE TABLE own(id PRIMARY KEY, mine); INSERT INTO own VALUES (1, 2)",
      isJoining: false)
    for isHeldBack in [false, true] {
      if isHeldBack { try second.pull(from: first) }
      let adoption = try adopt(second, from: first)
      #expect(adoption.steps == [])
      #expect(adoption.differences.map(\.name) == ["own", "own_a"])
      #expect(adoption.differences[0].remedy?.contains("flotilla track") == true)
      #expect(try second.content("own") == ["integer1|integer2"])
      #expect(try objects(second).count == 1)
    }
  }

  @Test(
    arguments: [
      (.table, "x", "DROP TABLE patient"),
      (.table, "x", "CREATE TABLE _flotilla_evil(a PRIMARY KEY)"),
      (.table, "_flotilla_evil", "CREATE TABLE x(a)"),
      (.table, "x", "CREATE TABLE x AS SELECT * FROM patient"),
      (.index, "x", "CREATE INDEX x ON _flotilla_version(tbl)"),
      (.trigger, "x", "CREATE TRIGGER x AFTER INSERT ON _flotilla_journal BEGIN SELECT 1; END"),
      (.trigger, "x", "CREATE TRIGGER x AFTER INSERT ON nothing BEGIN SELECT 1; END"),
      (.view, "x", "CREATE TABLE t(a); DROP TABLE patient"),
      (.view, "x", "PRAGMA writable_schema = ON"),
      (.table, "patient", "CREATE TABLE patient(id TEXT PRIMARY KEY, name TEXT NOT NULL, x; DROP"),
    ] as [(SchemaObject.Kind, String, String)])
  func `nothing but additions is taken from a peer`(
    kind: SchemaObject.Kind, name: String, sql: String
  ) throws {
    let (first, second) = try pair("")
    let before = try second.application.prepareRows("SELECT sql FROM sqlite_schema ORDER BY name")
    var objects = try first.store.schemaCopy.objects()
    objects.append(SchemaObject(kind: kind, name: name, sql: sql))
    _ = try second.store.adopt(objects, of: "one", at: second.now)
    let after = try second.application.prepareRows(
      "SELECT sql FROM sqlite_schema WHERE name NOT IN ('x', 't') ORDER BY name")
    #expect(after == before)
    #expect(try second.content("patient").count == 1)
  }
}
