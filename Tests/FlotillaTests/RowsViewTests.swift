import Foundation
import Replication
import Testing

@testable import Flotilla

/// What programs read in `_flotilla_rows_…` while nodes run.
@Suite(.serialized) struct `The view of the rows at work` {
  private static let row = """
    SELECT id || ' ' || coalesce(edited_by, '-') || ' ' || synced FROM _flotilla_rows_item
    ORDER BY id
    """

  /// No row while the table is not tracked here yet.
  private func rows(_ replica: TestReplica) -> [String] { (try? replica.rows(Self.row)) ?? [] }

  @Test func `tells when an edit is elsewhere, also after a restart`() async throws {
    try await TestSite.with { site in
      let a = try await site.replica("a")
      let b = try await site.replica("b")
      let first = try await site.run(a)
      try a.write("INSERT INTO item VALUES ('1', 'x')")
      #expect(try await eventually { rows(a) == ["1 a 0"] })
      let second = try await site.run(b, to: [first])
      #expect(try await eventually { rows(a) == ["1 a 1"] })
      #expect(try await eventually { rows(b) == ["1 a 1"] })
      try b.write("UPDATE item SET text = 'y'")
      #expect(try await eventually { rows(b) == ["1 b 1"] })
      #expect(try await eventually { rows(a) == ["1 b 1"] })
      await first.stop()
      await second.stop()
      #expect(rows(b) == ["1 b 1"])
      try b.write("INSERT INTO item VALUES ('2', 'x'); UPDATE item SET text = 'z' WHERE id = '1'")
      #expect(rows(b) == ["1 b 0"])
    }
  }

  @Test func `names who has written, also of nodes that never met`() async throws {
    try await TestSite.with { site in
      let a = try await site.replica("a")
      let b = try await site.replica("b")
      let c = try await site.replica("c")
      let middle = try await site.run(b)
      let first = try await site.run(a, to: [middle])
      try a.write("INSERT INTO item VALUES ('1', 'x')")
      #expect(try await eventually { rows(b) == ["1 a 1"] })
      await first.stop()
      let last = try await site.run(c, to: [middle])
      #expect(try await eventually { rows(c) == ["1 a 1"] })
      await last.stop()
      // It tells what it was told.
      let again = try await site.run(c)
      #expect(await again.authors[first.identity.node] == [1])
    }
  }

  @Test func `does not believe that somebody wrote what another has written`() async throws {
    try await TestSite.with { site in
      let a = try await site.replica("a")
      let node = try await site.run(a)
      let victim = try await site.run(try await site.replica("b"), to: [node])
      #expect(try await eventually { await node.connectedCount == 1 })
      await victim.stop()
      let identity = await victim.identity.node
      let link = try await site.talk(to: node, "liar")
      for first in stride(from: UInt64(0), to: 40, by: 8) {
        let lives = Array(first..<first + 8)
        try await link.send(
          .members([
            Member(node: identity, name: "b", addresses: [], lives: lives),
            Member(node: Identity(high: first, low: 9), name: "ghost", addresses: [], lives: lives),
            Member(node: node.identity.node, name: "a", addresses: [], lives: lives),
          ]))
      }
      try await link.send(.ping(sent: 0, ClockView(wall: 0)))
      while true { if case .pong(0, _) = try await link.receive() { break } }
      #expect(await node.authors[identity]?.count == Limits.lives)
      // Those, the liar's one, and the node's own.
      let authors = try a.rows("SELECT count(DISTINCT node), count(*) FROM _flotilla_author")
      #expect(authors == ["3|\(Limits.lives + 2)"])
      let origin = Origin.of(identity, life: 3, .openSSL)
      let known = try a.rows(
        "SELECT node FROM _flotilla_author WHERE origin = \(Int64(bitPattern: origin.rawValue))")
      #expect(known == ["\(identity)"])
      link.close()
    }
  }

  @Test func `has the anchor's time and the author's once a row is certified`() async throws {
    try await TestSite.with { site in
      let a = try await site.replica("a")
      let b = try await site.replica("b")
      let anchor = try await site.run(a)
      _ = try await a.library.appoint(.here, rule: "client-wins")
      try a.write("INSERT INTO item VALUES ('0', 'own')")
      // At once a certificate: the anchor's own word needs nobody else.
      #expect(try await eventually { rows(a) == ["0 a 1"] })
      let author = try await site.run(b, to: [anchor])
      #expect(try await eventually { rows(b) == ["0 a 1"] })
      await anchor.stop()
      try b.write("INSERT INTO item VALUES ('1', 'x')")
      #expect(try await eventually { rows(b) == ["0 a 1", "1 b 0"] })
      let times = "SELECT created_at, edited_at, updated_at FROM _flotilla_rows_item WHERE id = '1'"
      let tentative = try #require(try b.rows(times).first).split(separator: "|")
      #expect(Set(tentative).count == 1)
      let back = try await site.run(a, to: [author])
      _ = back
      #expect(try await eventually { rows(b) == ["0 a 1", "1 b 1"] })
      #expect(try await eventually { rows(a) == ["0 a 1", "1 b 1"] })
      for replica in [a, b] {
        let certified = try #require(try replica.rows(times).first).split(separator: "|")
        #expect(certified.prefix(2) == tentative.prefix(2))
        // The clocks of two nodes may differ by half of what a message takes there and back.
        #expect(certified[2] != tentative[2])
      }
    }
  }

  @Test func `is read by other programs as they are`() async throws {
    try await TestSite.with { site in
      let a = try await site.replica("a")
      let node = try await site.run(a)
      try a.write("INSERT INTO item VALUES ('it''s', 'x')")
      #expect(try await eventually { rows(a) == ["it's a 0"] })
      let python = """
        import sqlite3, sys
        db = sqlite3.connect(sys.argv[1])
        db.execute("PRAGMA trusted_schema = 0")
        print(*db.execute("SELECT i.text, r.edited_by, r.synced FROM item i "
          "LEFT JOIN _flotilla_rows_item r USING(id)").fetchone())
        """
      #expect(try run(["python3", "-c", python, a.path]) == "x a 0\n")
      let shell = "SELECT id, synced FROM _flotilla_rows_item"
      let words = ["sqlite3", "-readonly", "-cmd", "PRAGMA trusted_schema = 0", a.path, shell]
      #expect(try run(words) == "it's|0\n")
      let report = try await a.library.sql(shell)
      #expect(report.rows.count == 1)
      await #expect(throws: FlotillaError.self) {
        try await a.library.sql("DELETE FROM _flotilla_rows_item")
      }
      await node.stop()
    }
  }

  private func run(_ words: [String]) throws -> String {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = words
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    let bytes = try output.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    return String(decoding: bytes, as: UTF8.self)
  }
}
