import Testing

@testable import Flotilla

/// Bringing back what lost.
@Suite(.serialized) struct `What lost and is restored` {
  @Test func `has its key as it was spelled, where the collation takes both for one`()
    async throws
  {
    try await TestSite.with { site in
      let schema = """
        CREATE TABLE item(id TEXT PRIMARY KEY NOT NULL COLLATE NOCASE, text TEXT)
        """
      let a = try await site.replica("a", schema: schema)
      let b = try await site.replica("b", schema: schema)
      try a.write("INSERT INTO item VALUES ('anna', 'base')")
      let first = try await site.run(a)
      let second = try await site.run(b, to: [first])
      #expect(try await eventually { try await second.isInSync })
      await second.stop()
      try a.write("UPDATE item SET text = 'of a'")
      // Later, by more than nodes on a busy machine differ about the time of the site.
      try await Task.sleep(for: .seconds(1))
      try b.write("UPDATE item SET id = 'Anna', text = 'of b'")
      _ = try await site.run(b, to: [first])
      #expect(try await eventually { try a.rows("SELECT * FROM item") == ["Anna|of b"] })
      let lost = try #require(try await a.library.conflicts().conflicts.first)
      _ = try await a.library.restoreConflict(lost.id)
      for replica in [a, b] {
        #expect(try await eventually { try replica.rows("SELECT * FROM item") == ["anna|of a"] })
      }
    }
  }

  @Test func `goes by the key of its time, where the table has another one of as many columns`()
    async throws
  {
    try await TestSite.with { site in
      let schema = """
        CREATE TABLE item(id TEXT PRIMARY KEY NOT NULL, number TEXT NOT NULL, text TEXT)
        """
      let a = try await site.replica("a", schema: schema)
      let b = try await site.replica("b", schema: schema)
      try a.write("INSERT INTO item VALUES ('7', '1', 'base'), ('8', '7', 'other')")
      let first = try await site.run(a)
      let second = try await site.run(b, to: [first])
      #expect(try await eventually { try await second.isInSync })
      await second.stop()
      try a.write("DELETE FROM item WHERE id = '7'")
      try await Task.sleep(for: .seconds(1))
      try b.write("UPDATE item SET text = 'of b' WHERE id = '7'")
      _ = try await site.run(b, to: [first])
      #expect(try await eventually { try a.rows("SELECT text FROM item").contains("of b") })
      try a.write(
        """
        BEGIN IMMEDIATE;
        CREATE TABLE n(id TEXT NOT NULL, number TEXT PRIMARY KEY NOT NULL, text TEXT);
        INSERT INTO n SELECT * FROM item; DROP TABLE item; ALTER TABLE n RENAME TO item; COMMIT
        """)
      let lost = try #require(try await a.library.conflicts().conflicts.first)
      #expect(lost.key == ["id": .text("7")] && lost.key_columns == ["id"])
      _ = try await a.library.restoreConflict(lost.id)
      #expect(try a.rows("SELECT id FROM item") == ["8"])
      // Where neither side tells, nobody guesses.
      try a.write(
        """
        INSERT INTO _flotilla_conflict(id, name, key, at, reason)
        SELECT 99, name, key, at, 'not-allowed' FROM _flotilla_conflict WHERE id = \(lost.id)
        """)
      #expect(try await a.library.conflict(99).key_columns == nil)
      await #expect(throws: FlotillaError.self) { try await a.library.restoreConflict(99) }
      #expect(try a.rows("SELECT id FROM item") == ["8"])
    }
  }

  @Test func `was not deleted since where what stands is parked`() async throws {
    try await TestSite.with { site in
      let schema = "CREATE TABLE item(id TEXT PRIMARY KEY NOT NULL, u TEXT UNIQUE, text TEXT)"
      let a = try await site.replica("a", schema: schema)
      let b = try await site.replica("b", schema: schema)
      try a.write("INSERT INTO item VALUES ('j', 'y', 'first')")
      try await Task.sleep(for: .milliseconds(50))
      try a.write("INSERT INTO item VALUES ('k', '1', 'base')")
      let first = try await site.run(a)
      var second = try await site.run(b, to: [first])
      #expect(try await eventually { try await second.isInSync })
      for (here, there) in [
        ("text = 'of a' WHERE id = 'k'", "text = 'of b' WHERE id = 'k'"),
        ("u = 'x' WHERE id = 'j'", "u = 'x' WHERE id = 'k'"),
      ] {
        await second.stop()
        try a.write("UPDATE item SET \(here)")
        try await Task.sleep(for: .seconds(1))
        try b.write("UPDATE item SET \(there)")
        second = try await site.run(b, to: [first])
        #expect(
          try await eventually {
            try a.rows("SELECT count(*) FROM item WHERE text IN ('base', 'of a')") == ["0"]
          })
      }
      #expect(try await eventually { try a.rows("SELECT id FROM item") == ["j"] })
      let lost = try #require(
        try await a.library.conflicts().conflicts.first { $0.loser?.row?["text"] == .text("of a") })
      let change = try await a.library.restoreConflict(lost.id)
      #expect(!change.was_gone)
      #expect(try a.rows("SELECT text FROM item WHERE id = 'k'") == ["of a"])
    }
  }
}
