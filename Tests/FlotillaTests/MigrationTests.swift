import Testing

@testable import Flotilla

extension NodeTests {
  /// Applications that change their schema, beside a node and without one.
  ///
  /// Their transactions begin with the write lock: one that reads first and writes later fails with
  /// SQLITE_BUSY_SNAPSHOT if a fold comes in between.
  @Suite struct `Migrations` {
    static let all = [
      "ALTER TABLE item ADD COLUMN extra DEFAULT 5",
      """
      BEGIN IMMEDIATE; CREATE TABLE new(id TEXT PRIMARY KEY NOT NULL, text TEXT);
      INSERT INTO new SELECT id, text FROM item;
      DROP TABLE item; ALTER TABLE new RENAME TO item; COMMIT
      """,
      """
      BEGIN IMMEDIATE; CREATE TEMP TABLE kept AS SELECT * FROM item; DROP TABLE item;
      CREATE TABLE item(id TEXT PRIMARY KEY NOT NULL, text TEXT);
      INSERT INTO item SELECT * FROM kept; COMMIT
      """,
      """
      ALTER TABLE item RENAME TO old; CREATE TABLE item(id TEXT PRIMARY KEY NOT NULL, text TEXT);
      INSERT INTO item SELECT * FROM old; DROP TABLE old
      """,
      "ALTER TABLE item RENAME COLUMN id TO \"key\"; ALTER TABLE item RENAME COLUMN \"key\" TO id",
    ]

    @Test(arguments: all, [true, false])
    func `hide no edit`(_ migration: String, isRunning: Bool) async throws {
      try await TestSite.with { site in
        let (a, b) = (try await site.replica("a"), try await site.replica("b"))
        var first = try await site.run(a)
        let address = try await first.address
        _ = try await site.run(b, to: [first])
        try a.write("INSERT INTO item VALUES ('1', 'x'), ('2', 'x'), ('3', 'x')")
        #expect(try await eventually { try b.count() == 3 })
        if !isRunning { await first.stop() }
        try a.write(
          """
          UPDATE item SET text = 'before' WHERE id = '1'; \(migration);
          UPDATE item SET text = 'after' WHERE id = '2'; INSERT INTO item(id) VALUES ('4');
          DELETE FROM item WHERE id = '3'
          """)
        if !isRunning { first = try await site.run(a, listen: address) }
        let rows = ["1|before", "2|after", "4|NULL"]
        let look = "SELECT id, text FROM item ORDER BY id"
        #expect(try await eventually { try b.rows(look) == rows })
        // The triggers are there again: what comes later is captured, too.
        try a.write("UPDATE item SET text = 'later'")
        #expect(
          try await eventually { try b.rows(look) == ["1|later", "2|later", "4|later"] })
        #expect(try a.rows(look) == b.rows(look))
        #expect(try await eventually { try await first.isInSync })
      }
    }
  }
}
