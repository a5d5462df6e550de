import SQLite
import Testing

@testable import Flotilla

/// Rows of a large transaction are elsewhere before all of them are folded.
@Suite(.timeLimit(.minutes(2))) struct EarlyRowsTests {
  @Test func `are in the tables of a peer while the journal of their author is still being folded`()
    async throws
  {
    try await TestSite.with { site in
      let (a, b) = (try await site.replica("a"), try await site.replica("b"))
      let node = try await site.run(a)
      _ = try await site.run(b, to: [node])
      try a.write("INSERT INTO item VALUES ('first', 'x')")
      #expect(try await eventually { try b.count() == 1 })
      // The first edit of a life has its author's first signature told to and fro.
      try await Task.sleep(for: .seconds(1))
      try a.write(
        """
        WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 60000)
        INSERT INTO item SELECT printf('%08x', i * 2654435761 & 0xffffffff), 'row ' || i FROM n
        """)
      var (came, isFolded) = (1, false)
      while came == 1 {
        // In this order: what is there has come before the journal is looked at.
        came = try b.count()
        isFolded = try a.rows("SELECT 1 FROM _flotilla_journal LIMIT 1").isEmpty
        // Both nodes work in this process: who never waits takes a processor from them.
        try await Task.sleep(for: .milliseconds(2))
      }
      #expect(came < 60_001)
      #expect(!isFolded)
      #expect(try await eventually(within: .seconds(180)) { try b.count() == 60_001 })
      let sum = "SELECT count(*), sum(length(id) + length(text)), min(id), max(id) FROM item"
      #expect(try a.rows(sum) == b.rows(sum))
    }
  }
}
