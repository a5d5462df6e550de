import Replication
import SQLite
import Testing

@testable import Store

/// Settings of the site with which a member would stop the others, or learn what is not its own.
@Suite struct HostileSettingsTests {
  static let schema = "CREATE TABLE patient(id INTEGER PRIMARY KEY, name TEXT)"
  static let names = TableShape(
    name: Renames.settings, keyCount: 2, columns: ["tbl", "name", "first"],
    affinities: [.text, .text])

  /// Tells a replica that the site knows a name of a table under another one.
  static func tell(
    _ table: String, _ name: String, _ first: String, to replica: TestReplica, seq: UInt64 = 1
  ) throws {
    let values = [table, name, first].map(HostileKeysTests.text)
    let row = HostileKeysTests.row(replica, names, seq, values, stamp: 1_900_000_000_000)
    try HostileKeysTests.send([row], to: replica)
    try replica.foldAll()
  }

  /// Writes at each of them, and expects all of them to show that; one that joins as well.
  private func expectExchange(_ replicas: [TestReplica]) throws {
    for (number, replica) in replicas.enumerated() {
      KeysTests.later(replica, than: replicas)
      try replica.write("INSERT INTO patient VALUES (\(number + 1), 'x')")
      try replica.foldAll()
    }
    try KeysTests.settle(replicas)
    let joiner = try TestReplica(9, schema: Self.schema)
    try joiner.pull(from: replicas[0])
    for replica in replicas + [joiner] {
      #expect(try replica.value("SELECT count(*) FROM patient") == .integer(2))
    }
  }

  @Test(arguments: [
    ("_flotilla_column", "name"), ("_flotilla_column", "first"), ("_flotilla_table", "name"),
    ("_flotilla_TABLE", "rule"), ("_flotilla_number", "tbl"),
  ])
  func `no setting renames a column of the settings`(table: String, column: String) throws {
    let replicas = try KeysTests.site(2, schema: Self.schema, tables: ["patient"])
    try Self.tell(table, column, "zz", to: replicas[0])
    try replicas[0].write("CREATE TABLE visit(id INTEGER PRIMARY KEY)")
    try replicas[0].store.track(["visit"], rule: nil, at: replicas[0].now)
    try expectExchange(replicas)
    #expect(try replicas[1].store.trackedTables().map(\.name).sorted() == ["patient", "visit"])
  }

  @Test(arguments: [("_flotilla_version", "patient"), ("patient", "_flotilla_version")])
  func `no setting renames a table of Flotilla`(name: String, first: String) throws {
    let replicas = try KeysTests.site(2, schema: Self.schema, tables: ["patient"])
    try Self.tell(TableNames.owner, name, first, to: replicas[0])
    #expect(replicas[0].store.tables.names.first(of: name) == nil)
    try expectExchange(replicas)
  }

  // MARK: Tables that are not the site's

  /// Two tables are declared alike, and one of them is gone here.
  @Test func `no setting gives a table away that was never the site's`() throws {
    let replicas = try KeysTests.site(
      2, schema: Self.schema, tables: ["patient"],
      beginning: "INSERT INTO patient VALUES (1, 'Ann'), (2, 'Bob')")
    for replica in replicas {
      try replica.write("DELETE FROM _flotilla_meta WHERE name = 'joining'")
      try replica.reopen()
    }
    try replicas[0].write(
      "CREATE TABLE salary(id INTEGER PRIMARY KEY, name TEXT); INSERT INTO salary VALUES (7, 'x')")
    try replicas[0].foldAll()
    try replicas[0].write("DROP TABLE patient")
    try replicas[0].foldAll()
    try Self.tell(TableNames.owner, "salary", "patient", to: replicas[0])
    #expect(try replicas[0].store.tableSurvey.askedTables() == ["salary"])
    try replicas[0].exchange(with: replicas[1])
    for replica in replicas { try replica.foldAll() }
    #expect(try replicas[0].content("salary").count == 1)
    #expect(try replicas[1].content("patient").count == 2)
  }

  @Test func `a table that has the rows of one that is gone is that one`() throws {
    let replicas = try KeysTests.site(
      2, schema: Self.schema, tables: ["patient"],
      beginning: "INSERT INTO patient VALUES (1, 'Ann'), (2, 'Bob')")
    for replica in replicas {
      try replica.write("DELETE FROM _flotilla_meta WHERE name = 'joining'")
      try replica.reopen()
    }
    try replicas[1].write("ALTER TABLE patient RENAME TO person")
    try replicas[1].foldAll()
    try replicas[0].write("ALTER TABLE patient RENAME TO person")
    try replicas[0].exchange(with: replicas[1])
    for replica in replicas { #expect(try replica.store.tableSurvey.askedTables().isEmpty) }
    #expect(try replicas[0].store.columns.all().map(\.table) == ["person"])
  }

  // MARK: Names that do not travel

  static let unsendable = [String(repeating: "z", count: 513), "a\u{0}b", ""]

  @Test(arguments: ["name", "id"], unsendable)
  func `a first name that does not travel is not taken`(column: String, first: String) throws {
    let replicas = try KeysTests.site(2, schema: Self.schema, tables: ["patient"])
    try Self.tell("patient", column, first, to: replicas[0])
    try expectExchange(replicas)
    let columns = try #require(replicas[0].store.columns.all().first).columns
    #expect(columns.map(\.first) == ["id", "name"])
  }

  /// A file may have taken one in before it was known that it does not travel.
  @Test func `a first name that was taken in before, and does not travel, is given up`() {
    let known = ColumnNames.Known(name: "name", declaration: "TEXT", first: Self.unsendable[0])
    let names = ColumnNames(of: ["id", "name"], known: [known], settings: [])
    #expect(names.firsts == ["id", "name"])
  }

  @Test func `a longest name that another column has taken travels with a number`() {
    let long = String(repeating: "é", count: Limits.name / 2)
    let names = ColumnNames(of: [long, "x"], known: [], settings: [("x", long)])
    #expect(names.firsts[1] == long)
    #expect(names.firsts[0].hasSuffix("é~2"))
    #expect(names.firsts[0].utf8.count == Limits.name)
  }
}
