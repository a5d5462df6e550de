import Foundation
import Replication
import SQLite
import Testing

@testable import Flotilla

/// What a statement that is run online says beside its verdict.
@Suite(.serialized) struct `A statement online` {
  /// An anchor that runs, and a client that is a member and has its rows; both are given.
  private func withAnchor(
    _ body: (TestSite, _ server: TestReplica, _ client: TestReplica, _ anchor: Node) async throws
      -> Void
  ) async throws {
    try await TestSite.with { site in
      let server = try await site.replica("server")
      let client = try await site.replica("client")
      try server.write("INSERT INTO item VALUES ('1', 'first')")
      let anchor = try await site.run(server)
      _ = try await server.library.appoint(.here, rule: "server-wins-on-conflict")
      try await body(site, server, client, anchor)
    }
  }

  /// Starts the client's node, in touch with the anchor.
  private func run(_ client: TestReplica, _ site: TestSite, _ anchor: Node) async throws -> Node {
    let node = try await site.run(client, to: [anchor])
    #expect(try await eventually { try await node.isInSync })
    return node
  }

  @Test func `that asks does so without a node, too, whether the anchor is there or not`()
    async throws
  {
    try await withAnchor { site, _, client, anchor in
      let node = try await run(client, site, anchor)
      await node.stop()
      let query = "WITH t AS (SELECT text FROM item) SELECT text FROM t"
      let answer = try await client.library.sqlOnline(query, timeout: .seconds(10))
      #expect(answer.verdict == "accepted" && answer.server?.rows == [[.text("first")]])
      await anchor.stop()
      let alone = try await client.library.sqlOnline(query, timeout: .seconds(1))
      #expect(alone.verdict == "pending" && alone.server == nil)
      #expect(alone.local.rows == [[.text("first")]])
      let plain = try await client.library.sqlOnline("SELECT text FROM item", timeout: .seconds(1))
      #expect(plain == alone)
    }
  }

  @Test func `says since when the anchor is away, if that is why there is no verdict`()
    async throws
  {
    try await withAnchor { site, _, client, anchor in
      let node = try await run(client, site, anchor)
      let judged = try await client.library.sqlOnline(
        "INSERT INTO item VALUES ('2', 'new')", timeout: .seconds(60))
      #expect(judged.verdict == "accepted" && judged.away == nil)
      await anchor.stop()
      #expect(try await eventually { await node.connectedCount == 0 })
      let report = try await client.library.sqlOnline(
        "UPDATE item SET text = 'x' WHERE id = '2'", timeout: .seconds(1))
      #expect(report.verdict == "pending" && report.obstacle == nil)
      #expect(report.away?.anchor == "server" && report.away?.since != nil)
    }
  }

  @Test func `that touches no replicated row has no verdict`() async throws {
    try await withAnchor { site, _, client, anchor in
      _ = try await run(client, site, anchor)
      try client.write("CREATE TABLE plain(a)")
      for (statement, changes) in [
        ("INSERT INTO plain VALUES (1)", 1), ("UPDATE item SET text = 'x' WHERE id = 'none'", 0),
        ("INSERT OR IGNORE INTO item VALUES ('1', 'other')", 0),
      ] {
        let report = try await client.library.sqlOnline(statement, timeout: .seconds(10))
        #expect(report.verdict == nil && report.rows.isEmpty, "\(statement)")
        #expect(report.local.changes == changes, "\(statement)")
      }
      // An edit of a view counts no row, and touches one all the same.
      try client.write(
        """
        CREATE VIEW text AS SELECT text FROM item; CREATE TRIGGER set_text
        INSTEAD OF INSERT ON text BEGIN UPDATE item SET text = NEW.text; END
        """)
      let report = try await client.library.sqlOnline(
        "INSERT INTO text VALUES ('by view')", timeout: .seconds(10))
      #expect(report.verdict == "accepted" && report.rows.count == 1)
    }
  }

  @Test func `that returns rows gives those that stand once it was accepted`() async throws {
    try await withAnchor { site, _, client, anchor in
      _ = try await run(client, site, anchor)
      let report = try await client.library.sqlOnline(
        "UPDATE item SET text = 'mine' RETURNING text", timeout: .seconds(10))
      #expect(report.verdict == "accepted")
      #expect(report.server?.rows == [[.text("mine")]])
    }
  }

  @Test func `on a node that was shut out says so, and how to come back`() async throws {
    try await withAnchor { site, server, client, anchor in
      let node = try await run(client, site, anchor)
      _ = try await server.library.revoke("client")
      #expect(
        try await eventually {
          try await node.status(all: true).remarks.contains { $0.contains("was shut out") }
        })
      for statement in ["UPDATE item SET text = 'mine'", "SELECT text FROM item"] {
        let report = try await client.library.sqlOnline(statement, timeout: .seconds(1))
        #expect(report.verdict == "pending")
        #expect(report.obstacle?.contains("was shut out of the site by server") == true)
        #expect(report.obstacle?.contains("flotilla leave") == true)
      }
    }
  }

  @Test func `names who can appoint an anchor where there is none`() async throws {
    try await TestSite.with { site in
      let (a, b) = (try await site.replica("a"), try await site.replica("b"))
      let first = try await site.run(a)
      _ = try await run(b, site, first)
      for (replica, remedy) in [
        (a, "appoint one: flotilla anchor \(a.path) --here"),
        (b, "appoint one on an admin (a): flotilla anchor DB --here"),
      ] {
        let error = await #expect(throws: FlotillaError.self) {
          try await replica.library.sqlOnline("DELETE FROM item", timeout: .seconds(5))
        }
        #expect(error?.remedy?.hasSuffix(remedy) == true, "\(error as Any)")
      }
    }
  }

  @Test func `is judged by nobody once the anchor is shut out, which is said`() async throws {
    try await TestSite.with { site in
      let ((a, _), _, (c, _)) = try await site.three()
      _ = try await a.library.appoint(.node("b"), rule: "client-wins")
      let named = try await a.library.members().members.filter(\.is_anchor).map(\.node)
      #expect(named == ["b"])
      #expect(try await !a.library.revoke(c.name).was_anchor)
      #expect(try await a.library.revoke("b").was_anchor)
      #expect(try await !a.library.members().members.contains(where: \.is_anchor))
    }
  }

  @Test func `waits for the lock of another program as long as was said`() async throws {
    try await withAnchor { site, _, client, anchor in
      _ = try await run(client, site, anchor)
      let holder = try Connection(path: client.path)
      try holder.execute("BEGIN IMMEDIATE; INSERT INTO item VALUES ('held', 'x')")
      let start = ContinuousClock.now
      let error = await #expect(throws: FlotillaError.self) {
        try await client.library.sqlOnline(
          "UPDATE item SET text = 'mine'", timeout: .milliseconds(1_500))
      }
      #expect(error?.code == .locked)
      let took = ContinuousClock.now - start
      #expect(took < .seconds(4), "\(took)")
      try holder.execute("ROLLBACK")
    }
  }
}
