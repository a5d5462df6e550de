import Replication
import SQLite
import Testing

@testable import Store

/// A row follows each of the rows to which it refers, however its foreign keys are declared.
@Suite struct ManyReferencesTests {
  /// Two machines that do not hear of each other write the same with other names, `#` here. Gives
  /// what `shown` shows on each once they have.
  private func shown(
    _ sql: String, schema: String, tables: [String], writing statements: String
  ) throws -> [[String]] {
    let replicas = try KeysTests.site(2, schema: schema, tables: tables)
    for (replica, name) in zip(replicas, ["Ann", "Bob"]) {
      KeysTests.later(replica, than: replicas)
      try replica.write(statements.replacing("#", with: name))
      try replica.foldAll()
    }
    try KeysTests.settle(replicas)
    return try replicas.map { try $0.application.prepareRows(sql) }
  }

  @Test func `a match of two teams of eleven`() throws {
    let columns = (1...22).map { "p\($0) INTEGER REFERENCES player" }.joined(separator: ", ")
    let names = (1...22).map { "(SELECT name FROM player WHERE id = p\($0))" }
    let found = try shown(
      "SELECT id || ':' || \(names.joined(separator: " || ")) FROM match ORDER BY id",
      schema: """
        CREATE TABLE player(id INTEGER PRIMARY KEY, name TEXT);
        CREATE TABLE match(id TEXT PRIMARY KEY NOT NULL, \(columns))
        """, tables: ["player", "match"],
      writing: """
        INSERT INTO player VALUES \((1...22).map { "(\($0), '#\($0)')" }.joined(separator: ", "));
        INSERT INTO match VALUES ('#', \((1...22).map(String.init).joined(separator: ", ")))
        """)
    let wanted = ["Ann", "Bob"].map { name in
      "\(name):" + (1...22).map { "\(name)\($0)" }.joined()
    }
    #expect(found == [wanted, wanted])
  }

  @Test(arguments: ["INTEGER", "TEXT", "", "REAL"])
  func `to a tenant and a number, as numbers and as text`(type: String) throws {
    let number = type == "INTEGER" ? "1" : "'1'"
    let found = try shown(
      """
      SELECT note.id || ' ' || person.name FROM note JOIN person
      ON person.tenant = note.tenant AND person.id = note.person
      JOIN page ON page.note = person.id ORDER BY 1
      """,
      schema: """
        CREATE TABLE person(
          tenant INTEGER NOT NULL, id INTEGER PRIMARY KEY, name TEXT, UNIQUE(tenant, id));
        CREATE TABLE note(id TEXT PRIMARY KEY NOT NULL, tenant INTEGER, person \(type),
          FOREIGN KEY(tenant, person) REFERENCES person(tenant, id));
        CREATE TABLE page(note \(type) REFERENCES person(id), line INTEGER, PRIMARY KEY(note, line))
        """, tables: ["person", "note", "page"],
      writing: """
        INSERT INTO person VALUES (7, 1, '#'); INSERT INTO note VALUES ('#', 7, \(number));
        INSERT INTO page VALUES (\(number), 1)
        """)
    #expect(found == [["Ann Ann", "Bob Bob"], ["Ann Ann", "Bob Bob"]])
  }
}
