import Replication
import SQLite
import Testing

@testable import Flotilla

extension NodeTests {
  /// A member that asks for rows and does not read them.
  @Suite struct `A peer that takes nothing` {
    @Test func `keeps the log no longer than a snapshot may`() async throws {
      try await TestSite.with { site in
        let a = try await site.replica("a")
        // More than the system and the outbox hold.
        try a.write(
          """
          WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400)
          INSERT INTO item SELECT 'k' || i, hex(randomblob(50000)) FROM n
          """)
        let node = try await site.run(a)
        let link = try await site.talk(to: node, "idle")
        func talk(asks: Bool) async throws {
          let none = Frontier()
          try await link.send(
            .have(Have(frontier: none, frontierHash: none.hash, rootDigest: 0, asks: asks)))
        }
        try await talk(asks: true)
        let program = try Connection(path: a.path)
        try program.execute("PRAGMA busy_timeout = 0")
        func isLogFree() throws -> Bool {
          try program.rows("PRAGMA wal_checkpoint(TRUNCATE)")[0][0] == .integer(0)
        }
        #expect(try await eventually { await node.connectedCount == 1 })
        let session = try #require(await node.sessions.values.first)
        // The buffers of the system are full, too.
        var looks = 0
        #expect(
          try await eventually {
            looks = await session.outbox.hasRoom ? 0 : looks + 1
            return looks > 50
          })
        #expect(try !isLogFree())
        try program.execute("CREATE TABLE big(b); INSERT INTO big VALUES (zeroblob(70000000))")
        try await talk(asks: false)
        #expect(try await eventually { try isLogFree() })
        #expect(await !session.isClosed)
        link.close()
      }
    }
  }
}
