import SQLite
import Testing

@testable import Store

@Suite struct SchemaCacheTests {
  static let table = """
    CREATE TABLE t(a TEXT PRIMARY KEY, b INT DEFAULT 1, c AS (b + 1));
    CREATE UNIQUE INDEX i ON t(b) WHERE b > 0; CREATE TABLE other(x PRIMARY KEY);
    """

  @Test(
    arguments: [
      "ALTER TABLE t ADD COLUMN d DEFAULT 'x'", "ALTER TABLE t RENAME COLUMN b TO bb",
      "DROP INDEX i; ALTER TABLE t DROP COLUMN c", "DROP INDEX i",
      "DROP INDEX i; CREATE UNIQUE INDEX i ON t(b)", "CREATE UNIQUE INDEX j ON t(b + 1, a)",
      "DROP INDEX i; CREATE UNIQUE INDEX j ON t(b); CREATE UNIQUE INDEX i ON t(b) WHERE b > 0",
      "DROP TABLE t", "ALTER TABLE t RENAME TO u", "DROP TABLE t; CREATE TABLE T(a PRIMARY KEY)",
      "DROP TABLE t; CREATE VIEW t AS SELECT 1", "DROP TABLE t; ALTER TABLE other RENAME TO t",
      "CREATE TABLE fresh(a TEXT PRIMARY KEY COLLATE NOCASE); DROP TABLE t; "
        + "ALTER TABLE fresh RENAME TO t",
    ])
  func `what was read once is read again when its definition has changed`(change: String) throws {
    let connection = try Connection(path: ":memory:", mode: .create)
    try connection.execute(Self.table)
    let schemas = SchemaCache()
    let before = try TableSchema.read("t", on: connection)
    for _ in 0..<2 { #expect(try schemas.now("t", 1, connection)?.schema == before) }
    try connection.execute(change)
    let after = try TableSchema.read("t", on: connection)
    #expect(after != before)
    for _ in 0..<2 { #expect(try schemas.now("t", 1, connection)?.schema == after) }
  }

  @Test func `files that define one name otherwise may share what was read`() throws {
    let schemas = SchemaCache()
    let connections = try (0..<10).map { count in
      let connection = try Connection(path: ":memory:", mode: .create)
      let columns = (0..<count).map { ", c\($0)" }.joined()
      try connection.execute("CREATE TABLE t(a TEXT PRIMARY KEY\(columns))")
      return connection
    }
    for connection in connections + connections.reversed() {
      let schema = try TableSchema.read("t", on: connection)
      #expect(try schemas.now("t", 1, connection)?.schema == schema)
    }
  }

  @Test(arguments: [
    "DROP TRIGGER _flotilla_1_insert", "DROP VIEW _flotilla_rows_t",
    "DROP VIEW _flotilla_rows_t; CREATE VIEW _flotilla_rows_t AS SELECT 1",
    "CREATE TRIGGER x BEFORE INSERT ON t BEGIN SELECT RAISE(IGNORE); END",
    "CREATE TRIGGER _flotilla_1_x AFTER INSERT ON other BEGIN SELECT 1; END",
    "DROP TRIGGER _flotilla_1_update; "
      + "CREATE TRIGGER _flotilla_1_update AFTER UPDATE ON t BEGIN SELECT 1; END",
  ])
  func `whether a table is captured is looked at each time`(change: String) throws {
    let connection = try Connection(path: ":memory:", mode: .create)
    try connection.execute(Self.table)
    try connection.execute(Layout.statements + Layout.additions)
    try Journal.create(on: connection)
    let schemas = SchemaCache()
    let schema = try #require(try schemas.now("t", 1, connection)?.schema)
    #expect(try schemas.now("t", 1, connection)?.isIntact == false)
    try Capture.install(schema, id: 1, on: connection)
    #expect(try schemas.now("t", 1, connection)?.isIntact == false)
    try RowsView.renew(schema, id: 1, on: connection)
    for _ in 0..<2 { #expect(try schemas.now("t", 1, connection)?.isIntact == true) }
    #expect(try schemas.now("t", 2, connection)?.isIntact == false)
    try connection.execute(change)
    for _ in 0..<2 { #expect(try schemas.now("t", 1, connection)?.isIntact == false) }
  }
}

extension SchemaCache {
  fileprivate func now(_ name: String, _ id: Int64, _ connection: Connection) throws -> Known? {
    try read(name, id: id, among: StoredObjects(connection), on: connection)
  }
}
