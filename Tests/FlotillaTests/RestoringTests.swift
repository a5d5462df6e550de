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
}
