import Flotilla
import Foundation
import SQLite
import Testing

@testable import Mirror

/// What a mirror writes at its site, without a server.
@Suite struct `Rows that a mirror writes` {
  private func link(_ table: String, in site: SiteFile) throws -> TableLink {
    let here = try #require(try SiteTable.read(table, on: site.connection))
    return TableLink(
      number: 1, site: here,
      server: ServerTable(
        schema: "s", name: table, columns: [], key: ["id"], changesRows: false,
        hasTriggers: false, isTransactional: true),
      columns: ["id", "v"].enumerated().map { place, name in
        TableLink.Column(
          place: place, name: name, serverName: name, takesNull: true,
          form: ColumnForm(kind: .real, affinity: Affinity(declared: "", isStrict: false)))
      }, key: [0])
  }

  @Test func `leave triggers what they say of conflicts, and no conflict without a word`() throws {
    let path = NSTemporaryDirectory() + "flotilla-site-\(UUID().uuidString).db"
    defer { try? FileManager.default.removeItem(atPath: path) }
    try Connection(path: path, mode: .create).execute(
      """
      CREATE TABLE job(id INTEGER PRIMARY KEY, v);
      CREATE VIEW _flotilla_rows_job AS SELECT 1;
      CREATE TABLE shy(id INTEGER PRIMARY KEY, v UNIQUE ON CONFLICT IGNORE);
      CREATE VIEW _flotilla_rows_shy AS SELECT 1;
      CREATE TABLE touched(id INTEGER PRIMARY KEY);
      CREATE TRIGGER made AFTER INSERT ON job BEGIN INSERT OR IGNORE INTO touched VALUES (0); END;
      CREATE TRIGGER changed AFTER UPDATE ON job
        BEGIN INSERT OR IGNORE INTO touched VALUES (0); END;
      """)
    let site = try SiteFile(Replica(path: path))
    let job = try link("job", in: site)
    for id in 1...2 as ClosedRange<Int64> {
      let row: [Value] = [.integer(id), .integer(5)]
      try site.write(MirroredRow(job, key: [.integer(id)], row: row), over: nil)
      let next: [Value] = [.integer(id), .integer(6)]
      try site.write(MirroredRow(job, key: [.integer(id)], row: next), over: row)
    }
    #expect(try site.connection.scalar("SELECT sum(v) FROM job") == .integer(12))
    let shy = try link("shy", in: site)
    let first = MirroredRow(shy, key: [.integer(1)], row: [.integer(1), .integer(5)])
    try site.write(first, over: nil)
    #expect(throws: SQLiteError.self) {
      try site.write(
        MirroredRow(shy, key: [.integer(2)], row: [.integer(2), .integer(5)]), over: nil)
    }
  }

  @Test func `may exchange what is unique as the schema is now, and is read once`() throws {
    let path = NSTemporaryDirectory() + "flotilla-site-\(UUID().uuidString).db"
    defer { try? FileManager.default.removeItem(atPath: path) }
    let program = try Connection(path: path, mode: .create)
    try program.execute(
      """
      CREATE TABLE job(id INTEGER PRIMARY KEY, v UNIQUE);
      CREATE VIEW _flotilla_rows_job AS SELECT 1;
      CREATE TABLE line(id INTEGER PRIMARY KEY, v REFERENCES job(v) ON UPDATE CASCADE);
      """)
    let site = try SiteFile(Replica(path: path))
    let job = try link("job", in: site)
    #expect(try site.exchangeable(job) == ["v"])
    try program.execute("CREATE TRIGGER look AFTER UPDATE ON line BEGIN SELECT 1; END")
    #expect(try site.exchangeable(job) == nil)
    try program.execute("DROP TRIGGER look; ALTER TABLE job ADD COLUMN w")
    try program.execute("CREATE UNIQUE INDEX both ON job(W, v)")
    #expect(try site.exchangeable(job) == ["v", "w"])
    // Each statement that looks into the schema asks whether it may, anew when it is prepared.
    var looks = 0
    site.connection.clearStatements()
    site.connection.setAuthorizer { access, _ in
      if access == .select { looks += 1 }
      return true
    }
    for _ in 0..<10 { #expect(try site.exchangeable(job) == ["v", "w"]) }
    #expect(looks == 0)
  }
}
