import Replication
import SQLite
import Testing

@testable import Store

/// The schema that an inviter sends is SQL of another machine: only plain objects are made.
@Suite struct SchemaCopyTests {
  @Test(arguments: [
    "CREATE TABLE x AS WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i FROM c) SELECT * FROM c",
    "CREATE TEMP TABLE x(a PRIMARY KEY)", "CREATE TABLE main.x(a PRIMARY KEY)",
    "DROP TABLE t", "", "CREATE",
  ])
  func `what no replica has stored is left out`(_ sql: String) throws {
    let replica = try TestReplica(1)
    let remarks = try SchemaCopy.create(
      [SchemaObject(kind: .table, name: "x", sql: sql)], on: replica.store.connection)
    #expect(remarks.count == 1)
    #expect(try replica.store.schemaCopy.objects().isEmpty)
  }

  @Test(arguments: [
    "CREATE TABLE \"x\"(a PRIMARY KEY)", "CREATE TABLE x /* a table */ (a PRIMARY KEY)",
    "CREATE VIRTUAL TABLE x USING fts5(a)", "CREATE TABLE 'x'(a PRIMARY KEY, b AS (a))",
  ])
  func `what a replica stores is made`(_ sql: String) throws {
    let replica = try TestReplica(1)
    #expect(
      try SchemaCopy.create(
        [SchemaObject(kind: .table, name: "x", sql: sql)], on: replica.store.connection) == [])
    #expect(try replica.store.schemaCopy.objects().map(\.name).contains("x"))
  }

  /// As SQLite takes them where it is not told otherwise.
  @Test func `what has strings in double quotes is made`() throws {
    let first = try TestReplica(
      1,
      schema: """
        CREATE TABLE visit(id TEXT PRIMARY KEY, state TEXT CHECK (state IN ("open", "closed")));
        CREATE UNIQUE INDEX one_open ON visit(id) WHERE state = "open";
        """, tracking: ["visit"])
    try first.write("INSERT INTO visit VALUES ('v', 'open')")
    try first.foldAll()
    let second = try TestReplica(2)
    let objects = try first.store.schemaCopy.objects()
    #expect(try SchemaCopy.create(objects, on: second.store.connection) == [])
    #expect(try second.store.schemaCopy.objects() == objects)
    try second.pull(from: first)
    #expect(try second.content("visit") == first.content("visit"))
    #expect(throws: SQLiteError.self) {
      try second.store.connection.prepare("SELECT \"no column\"")
    }
  }

  private static let book = "CREATE TABLE alembic_version(version_num VARCHAR(32) NOT NULL)"

  private static func entry(_ table: String, _ column: String) -> SchemaObject {
    SchemaObject(.entry, of: table, [.init(column: column, value: .text(Array("ae10".utf8)))])
  }

  /// Whoever gets the schema of a machine has its migrations.
  @Test func `a new file takes over the books of migrations with the schema`() throws {
    let first = try TestReplica(
      1,
      schema: Self.book + "; INSERT INTO alembic_version VALUES ('ae10');"
        + "PRAGMA user_version = 7; CREATE TABLE note(id PRIMARY KEY); INSERT INTO note VALUES (1)")
    let second = try TestReplica(2)
    let objects = try first.store.schemaCopy.objects()
    #expect(try SchemaCopy.create(objects, on: second.store.connection) == [])
    #expect(try second.prepareRows("SELECT version_num FROM alembic_version") == ["ae10"])
    #expect(try second.value("PRAGMA user_version") == .integer(7))
    #expect(try second.value("SELECT count(*) FROM note") == .integer(0))
  }

  @Test(arguments: [
    ("CREATE TABLE x(a PRIMARY KEY, b AS (absent(a)))", false),
    ("CREATE VIRTUAL TABLE x USING absent(a)", true),
  ])
  func `no book is taken over without a table that its migrations have made`(
    sql: String, isTaken: Bool
  ) throws {
    let replica = try TestReplica(1)
    let objects = [
      SchemaObject(kind: .table, name: "alembic_version", sql: Self.book),
      SchemaObject(kind: .table, name: "x", sql: sql),
      Self.entry("alembic_version", "version_num"),
      SchemaObject(.number, of: "user_version", [.init(column: "", value: .integer(7))]),
    ]
    #expect(try SchemaCopy.create(objects, on: replica.store.connection).count == 1)
    let taken = try replica.prepareRows("SELECT version_num FROM alembic_version")
    #expect(taken == (isTaken ? ["ae10"] : []))
    #expect(try replica.value("PRAGMA user_version") == .integer(isTaken ? 7 : 0))
  }

  /// The machine that joins has not migrated yet, or its inviter has not.
  @Test(arguments: [["person", "patient"], ["patient", "person"]])
  func `a table that a file has under another name is not made once more`(
    names: [String]
  ) throws {
    let schema = { (name: String) in
      "CREATE TABLE \(name)(id TEXT PRIMARY KEY NOT NULL, name TEXT);"
    }
    let first = try TestReplica(1, schema: schema(names[0]), tracking: [names[0]])
    try first.write("ALTER TABLE \(names[0]) RENAME TO \(names[1])")
    try first.foldAll()
    let objects = try first.store.schemaCopy.objects()
    let second = try TestReplica(2, schema: schema(names[0]))
    let remarks = try SchemaCopy.create(objects, on: second.store.connection)
    #expect(remarks == ["\(names[1]) was left out: this file has it as \(names[0])"])
    try second.pull(from: first)
    #expect(try second.store.tableSurvey.waitingTables() == [])
    try second.write("ALTER TABLE \(names[0]) RENAME TO \(names[1])")
    let fresh = try TestReplica(3)
    #expect(try SchemaCopy.create(objects, on: fresh.store.connection) == [])
    #expect(try fresh.content(names[1]) == [])
  }

  /// The lie gives the name of the key to another column, which only who has none believes.
  @Test(arguments: ["", "CREATE TABLE patient(id INTEGER PRIMARY KEY, name TEXT)"])
  func `who joins goes by the names of columns that its inviter has`(schema: String) throws {
    let first = try KeysTests.site(
      1, schema: HostileSettingsTests.schema, tables: ["patient"],
      beginning: "INSERT INTO patient VALUES (1, 'Ann')")[0]
    try HostileSettingsTests.tell("patient", "name", "id", to: first)
    let second = try TestReplica(2, schema: schema)
    #expect(
      try SchemaCopy.create(first.store.schemaCopy.objects(), on: second.store.connection) == [])
    try second.pull(from: first)
    #expect(try second.content("patient") == first.content("patient"))
    #expect(try second.content("patient").count == 1)
    #expect(second.store.position.digest == first.store.position.digest)
  }

  @Test func `first names that are told count for columns of these names alone`() throws {
    let first = try TestReplica(
      1, schema: "CREATE TABLE note(id PRIMARY KEY, text)", tracking: ["note"])
    try first.write("ALTER TABLE note RENAME COLUMN text TO body")
    try first.foldAll()
    let objects = try first.store.schemaCopy.objects()
    for (schema, names) in [
      ("", ["id", "text"]), ("CREATE TABLE note(id PRIMARY KEY, text)", []),
      ("CREATE TABLE note(id PRIMARY KEY, body, more)", []),
    ] {
      let second = try TestReplica(2, schema: schema)
      #expect(try SchemaCopy.create(objects, on: second.store.connection) == [])
      #expect(try second.store.tables.renames.read("note").known.map(\.first) == names)
    }
    let lies = ["_flotilla_meta", ""].map { table in
      SchemaObject(
        .entry, of: "_flotilla_named",
        [(table, "note"), ("id", "_flotilla_meta"), ("body", "")].map {
          .init(column: $0, value: .text(Array($1.utf8)))
        })
    }
    let third = try TestReplica(3)
    let tables = objects.filter { $0.kind == .table }
    #expect(try SchemaCopy.create(tables + lies, on: third.store.connection) == [])
    #expect(try third.value("SELECT count(*) FROM _flotilla_named") == .integer(0))
  }

  @Test func `a file that had tables keeps its own books and numbers`() throws {
    let second = try TestReplica(2, schema: "CREATE TABLE mine(id PRIMARY KEY)")
    let objects = [
      SchemaObject(kind: .table, name: "alembic_version", sql: Self.book),
      Self.entry("alembic_version", "version_num"),
      SchemaObject(.number, of: "user_version", [.init(column: "", value: .integer(7))]),
    ]
    #expect(try SchemaCopy.create(objects, on: second.store.connection) == [])
    #expect(try second.value("SELECT count(*) FROM alembic_version") == .integer(0))
    #expect(try second.value("PRAGMA user_version") == .integer(0))
  }

  @Test func `nothing but books and their columns is filled by an inviter`() throws {
    let second = try TestReplica(2)
    let objects = [
      SchemaObject(kind: .table, name: "alembic_version", sql: Self.book),
      SchemaObject(kind: .table, name: "note", sql: "CREATE TABLE note(id PRIMARY KEY)"),
      Self.entry("note", "id"), Self.entry("alembic_version", "a\" OR 1"),
      Self.entry("_flotilla_meta", "name"), Self.entry("missing", "id"),
      SchemaObject(.entry, of: "alembic_version", []),
      SchemaObject(.number, of: "user_version", [.init(column: "", value: .integer(.max))]),
      SchemaObject(.number, of: "writable_schema", [.init(column: "", value: .integer(1))]),
      SchemaObject(.number, of: "application_id", []),
    ]
    #expect(try SchemaCopy.create(objects, on: second.store.connection) == [])
    #expect(try second.value("SELECT count(*) FROM note") == .integer(0))
    #expect(try second.value("SELECT count(*) FROM alembic_version") == .integer(0))
    #expect(try second.value("PRAGMA user_version") == .integer(0))
  }
}
