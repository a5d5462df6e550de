import Replication
import SQLite
import Testing

@testable import Store

/// One column gets the name that another one had, in one migration: `age, name` are `name, tag`
/// now. Each keeps its values, on machines that migrate at different times.
@Suite struct TakenNamesTests {
  private func replicas(_ schema: String, _ count: Int = 2) throws -> [TestReplica] {
    let r = try (1...UInt64(count)).map {
      try TestReplica($0, schema: schema, tracking: $0 == 1 ? ["person"] : [])
    }
    for replica in r.dropFirst() { try replica.pull(from: r[0]) }
    try r[0].write("INSERT INTO person(id, name, age) VALUES ('a', 'Ann', 1), ('b', 'Bob', 2)")
    for replica in r.dropFirst() { try replica.pull(from: r[0]) }
    return r
  }

  private func names(_ replica: TestReplica, _ column: String) throws -> [String] {
    try replica.application.prepareRows(
      "SELECT id || coalesce(\(column), '-') || coalesce(age, '-') FROM person ORDER BY id")
  }

  private func settle(_ r: [TestReplica]) throws {
    for _ in 0..<2 {
      for one in r { for other in r where one !== other { try one.pull(from: other) } }
    }
  }

  @Test(arguments: ["INTEGER", "TEXT"], [true, false])
  func `columns that take over each other's names keep their values`(
    type: String, isRemade: Bool
  ) throws {
    let schema = "CREATE TABLE person(id TEXT PRIMARY KEY NOT NULL, age \(type), name TEXT)"
    let remake = """
      BEGIN; CREATE TABLE p(id TEXT PRIMARY KEY NOT NULL, name \(type), tag TEXT);
      INSERT INTO p SELECT id, age, name FROM person; DROP TABLE person;
      ALTER TABLE p RENAME TO person; COMMIT
      """
    let migration =
      isRemade
      ? remake
      : """
      BEGIN; ALTER TABLE person RENAME COLUMN name TO tag;
      ALTER TABLE person RENAME COLUMN age TO name; COMMIT
      """
    let r = try replicas(schema)
    try r[0].write(migration)
    try r[0].foldAll()
    try r[0].write("UPDATE person SET name = 3, tag = 'Al' WHERE id = 'a'")
    try r[1].write("UPDATE person SET name = 'Rob' WHERE id = 'b'")
    for _ in 1...2 { try settle(r) }
    #expect(try names(r[1], "name") == ["aAl3", "bRob2"])
    let shown = "SELECT id || name || tag FROM person ORDER BY id"
    #expect(try r[0].application.prepareRows(shown) == ["a3Al", "b2Rob"])
    try r[1].write(migration)
    for _ in 1...2 { try settle(r) }
    for replica in r {
      #expect(try replica.application.prepareRows(shown) == ["a3Al", "b2Rob"])
      #expect(try replica.store.conflictLog.list(all: true).isEmpty)
      #expect(try replica.store.columns.kept() == [])
    }
    #expect(r[0].store.position.digest == r[1].store.position.digest)
  }

  @Test func `a machine that cannot tell which column took which name goes by the site`() throws {
    let schema = "CREATE TABLE person(id TEXT PRIMARY KEY NOT NULL, age TEXT, name TEXT)"
    let r = try replicas(schema)
    let migration = """
      BEGIN; ALTER TABLE person RENAME COLUMN name TO tag;
      ALTER TABLE person RENAME COLUMN age TO name; COMMIT
      """
    try r[0].write(migration)
    try settle(r)
    // Every value is another one before anybody looks.
    try r[1].write("\(migration); UPDATE person SET name = name + 10, tag = tag || 'x'")
    for _ in 1...2 { try settle(r) }
    let shown = "SELECT id || name || tag FROM person ORDER BY id"
    for replica in r {
      #expect(try replica.application.prepareRows(shown) == ["a11Annx", "b12Bobx"])
    }
    #expect(r[0].store.position.digest == r[1].store.position.digest)
  }

  /// A machine without a row makes the migration first, and cannot tell; where all are declared
  /// alike it takes each for the one of its name. The other machine's rows tell.
  @Test(arguments: ["INTEGER", "TEXT"])
  func `columns of an empty table are what rows of another machine say`(type: String) throws {
    let schema = "CREATE TABLE person(id TEXT PRIMARY KEY NOT NULL, a TEXT, b \(type), c TEXT)"
    let r = try (1...2).map {
      try TestReplica(UInt64($0), schema: schema, tracking: $0 == 1 ? ["person"] : [])
    }
    try r[1].pull(from: r[0])
    let migration = """
      BEGIN; ALTER TABLE person RENAME COLUMN c TO d; ALTER TABLE person RENAME COLUMN b TO c;
      ALTER TABLE person RENAME COLUMN a TO b; COMMIT
      """
    try r[1].write(migration)
    try r[1].foldAll()
    let firsts = try r[1].store.connection.rows(
      "SELECT name || first FROM _flotilla_named WHERE tbl = 'person' ORDER BY place"
    ).map { $0[0].string ?? "" }
    #expect(firsts[1...] == (type == "TEXT" ? ["bb", "cc", "dd"] : ["ba", "cb", "dc"]))
    try r[0].write("INSERT INTO person VALUES ('x', 'Ann', 1, 'Bern'), ('y', 'Bob', 2, NULL)")
    try r[0].foldAll()
    try r[0].write(migration)
    for _ in 1...2 { try settle(r) }
    try r[1].write("UPDATE person SET d = 'Genf' WHERE id = 'y'")
    for _ in 1...2 { try settle(r) }
    for replica in r {
      #expect(
        try replica.application.prepareRows("SELECT id || b || c || d FROM person ORDER BY id")
          == ["xAnn1Bern", "yBob2Genf"])
      #expect(try replica.store.columns.kept() == [])
    }
    #expect(r[0].store.position.digest == r[1].store.position.digest)
  }
}
