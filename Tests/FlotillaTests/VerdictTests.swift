import Foundation
import Replication
import Synchronization
import Testing

@testable import Flotilla

/// Edits whose verdict is awaited.
@Suite(.serialized) struct `An awaited verdict` {
  private static let many = """
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
    INSERT INTO item SELECT printf('%04d', i), 'first' FROM n
    """

  /// An anchor and a client that both have the rows, in touch; then the anchor is stopped.
  private func withAnchorAway(
    rows: String = "INSERT INTO item VALUES ('1', 'first')",
    _ body: (TestSite, _ server: TestReplica, _ client: TestReplica, _ address: String) async throws
      -> Void
  ) async throws {
    try await TestSite.with { site in
      let server = try await site.replica("server")
      let client = try await site.replica("client")
      try server.write(rows)
      let anchor = try await site.run(server)
      _ = try await server.library.appoint(.here, rule: "server-wins-on-conflict")
      let address = try await anchor.address
      let node = try await site.run(client, to: [address])
      #expect(try await eventually(within: .seconds(30)) { try await node.isInSync })
      await anchor.stop()
      #expect(try await eventually { await node.connectedCount == 0 })
      try await body(site, server, client, address)
    }
  }

  /// What comes of a statement that is run while the anchor is away, which starts after that.
  private func answer(
    to statement: String, at client: TestReplica, startingAnchor start: () async throws -> Void
  ) async throws -> OnlineReport {
    let isRun = Mutex(false)
    async let answer = client.library.sqlOnline(statement, timeout: .seconds(60)) { _ in
      isRun.withLock { $0 = true }
    }
    #expect(try await eventually { isRun.withLock { $0 } })
    try await start()
    return try await answer
  }

  @Test func `counts all rows that were touched, however many, and soon`() async throws {
    try await withAnchorAway(rows: Self.many) { site, server, client, address in
      try server.write("UPDATE item SET text = 'of the server' WHERE id = '2999'")
      var start = ContinuousClock.now
      let report = try await answer(to: "UPDATE item SET text = 'mine'", at: client) {
        start = ContinuousClock.now
        _ = try await site.run(server, listen: address)
      }
      #expect(ContinuousClock.now - start < .seconds(30))
      #expect(report.verdict == "rejected")
      #expect(report.rows.count == 3000 && report.local.touched.count == 3000)
      let rejected = report.rows.filter { $0.verdict.verdict == "rejected" }
      #expect(rejected.map { $0.local.key } == [["id": .text("2999")]])
      #expect(rejected.first?.server?.values == [.text("2999"), .text("of the server")])
      #expect(report.rows.count { $0.verdict.verdict == "accepted" } == 2999)
    }
  }

  @Test func `is not waited for longer than was said, and the row here is told at once`()
    async throws
  {
    try await withAnchorAway { _, _, client, _ in
      let start = ContinuousClock.now
      let told = Mutex<Duration?>(nil)
      let report = try await client.library.sqlOnline(
        "UPDATE item SET text = 'mine'", timeout: .seconds(5)
      ) { local in
        #expect(local.touched.first?.values == [.text("1"), .text("mine")])
        told.withLock { $0 = ContinuousClock.now - start }
      }
      #expect(report.verdict == "pending" && report.obstacle == nil)
      // Nothing has come from the anchor.
      #expect(report.rows.count == 1 && report.rows[0].server == nil)
      let took = ContinuousClock.now - start
      #expect(took >= .seconds(4) && took < .seconds(7), "\(took)")
      #expect(told.withLock { $0 }! < .seconds(3))
    }
  }

  @Test func `is that of the edit that waits where a statement leaves that as it is`() async throws
  {
    try await withAnchorAway { site, server, client, address in
      try server.write("UPDATE item SET text = 'of the server'")
      for _ in 0..<2 {
        let report = try await client.library.sqlOnline(
          "UPDATE item SET text = 'mine'", timeout: .seconds(1)
        ) { _ in }
        #expect(report.verdict == "pending")
      }
      let report = try await answer(to: "UPDATE item SET text = 'mine'", at: client) {
        _ = try await site.run(server, listen: address)
      }
      #expect(report.verdict == "rejected")
      #expect(report.rows.first?.server?.values == [.text("1"), .text("of the server")])
    }
  }

  @Test func `is found for keys that are not UTF-8`() async throws {
    let rows = "INSERT INTO item VALUES (CAST(x'ff80' AS TEXT), 'a'), (CAST(x'ff81' AS TEXT), 'b')"
    try await withAnchorAway(rows: rows) { site, server, client, address in
      try server.write("UPDATE item SET text = 'of the server'")
      let report = try await client.library.sqlOnline(
        "UPDATE item SET text = CAST(x'fe' AS TEXT)", timeout: .seconds(1)
      ) { _ in }
      #expect(report.rows.map(\.verdict.verdict) == ["pending", "pending"])
      #expect(
        report.rows.map(\.local.key["id"])
          == [[0xFF, 0x80], [0xFF, 0x81]].map {
            .malformedText($0)
          })
      let node = try await site.run(server, listen: address)
      #expect(try await eventually { try await node.isInSync })
      let lost = try await client.library.conflicts().conflicts
      #expect(lost.map(\.loser?.row?["text"]) == [.malformedText([0xFE]), .malformedText([0xFE])])
      for conflict in lost { _ = try await client.library.restoreConflict(conflict.id) }
      #expect(
        try client.rows("SELECT hex(id), hex(text) FROM item ORDER BY 1")
          == ["FF80|FE", "FF81|FE"])
    }
  }

  @Test func `is a rejection where another row has the unique value`() async throws {
    try await withAnchorAway { site, server, client, address in
      for replica in [server, client] {
        try replica.write("CREATE UNIQUE INDEX one ON item(text)")
      }
      try server.write("INSERT INTO item VALUES ('s', 'same')")
      let report = try await answer(to: "INSERT INTO item VALUES ('c', 'same')", at: client) {
        _ = try await site.run(server, listen: address)
      }
      #expect(report.verdict == "rejected")
      #expect(report.rows.map(\.verdict.reason) == ["parked"])
      // The row is gone here.
      let standing = report.rows.compactMap(\.server)
      #expect(standing.map { $0.values == nil } == [true])
      #expect(try await eventually { try await client.library.status(all: true).in_sync })
      for replica in [server, client] {
        #expect(try replica.rows("SELECT id FROM item ORDER BY id") == ["1", "s"])
        #expect(try await replica.library.conflicts().conflicts.map(\.reason) == ["parked"])
        #expect(try await replica.library.status(all: true).parked == 0)
      }
    }
  }

  @Test func `is unknown where it is not kept, never accepted for that`() async throws {
    try await TestSite.with { site in
      let server = try await site.replica("server")
      let client = try await site.replica("client")
      let anchor = try await site.run(server)
      var options = RunOptions()
      options.listen = "127.0.0.1:0"
      options.peers = [try await anchor.address]
      options.discovery = false
      let open = try await Replica.open(client.path, options: options)
      #expect(try await eventually { try await client.library.status(all: true).in_sync })
      let early = try await open.save(["id": .text("early")], in: "item")
      _ = try await server.library.appoint(.here, rule: "client-wins")
      #expect(try await eventually { try await client.library.anchor().state == "connected" })
      #expect(try await early.verdict().verdict == "unknown")

      let edit = try await open.save(["id": .text("1"), "text": .text("x")], in: "item")
      #expect(try await edit.verdict().verdict == "accepted")
      // What changed nothing has nothing to be judged.
      let same = try await open.update("item", key: ["id": .text("1")], set: ["text": .text("x")])
      #expect(try await same.verdict() == RowVerdict(verdict: "accepted"))
      let plain = try await open.replica.sql("CREATE TABLE plain(a)")
      #expect(plain.touched.isEmpty)
      let error = await #expect(throws: FlotillaError.self) {
        try await open.save(["a": .integer(1)], in: "plain").verdict()
      }
      #expect(error?.code == .table)

      try client.write(
        """
        INSERT OR REPLACE INTO _flotilla_meta SELECT 'verdictsMissing', max(seq)
        FROM _flotilla_verdict; DELETE FROM _flotilla_verdict
        """)
      #expect(try await edit.verdict().verdict == "unknown")
      await open.close()
    }
  }

  @Test func `is told once for a key that changes in case alone`() async throws {
    try await TestSite.with { site in
      let schema = "CREATE TABLE word(id TEXT PRIMARY KEY NOT NULL COLLATE NOCASE, text TEXT)"
      let server = try await site.replica("server", schema: schema)
      try server.write("INSERT INTO word VALUES ('abc', 'x')")
      _ = try await site.run(server)
      _ = try await server.library.appoint(.here)
      let report = try await server.library.sqlOnline(
        "UPDATE word SET id = 'ABC'", timeout: .seconds(5))
      #expect(report.rows.map { $0.local.key } == [["id": .text("ABC")]])
    }
  }

  @Test func `reaches a reader that takes its time, each one`() async throws {
    try await withAnchorAway { site, server, client, address in
      var options = RunOptions()
      options.discovery = false
      let open = try await Replica.open(client.path, options: options)
      let verdicts = open.verdicts()
      try await Task.sleep(for: .milliseconds(300))
      try client.write(Self.many)
      _ = try await site.run(server, listen: address)
      #expect(
        try await eventually(within: .seconds(30)) {
          try await client.library.status(all: true).in_sync
        })
      try await Task.sleep(for: .seconds(1))
      var keys: Set<SQLValue> = []
      for try await judgement in verdicts {
        keys.insert(try #require(judgement.key["id"]))
        if keys.count == 3000 { break }
      }
      #expect(keys.count == 3000)
      await open.close()
    }
  }

  @Test func `reaches a reader for each edit, also for one that was written over`() async throws {
    try await withAnchorAway { site, server, client, address in
      try server.write("UPDATE item SET text = 'of the server'")
      var options = RunOptions()
      options.discovery = false
      let open = try await Replica.open(client.path, options: options)
      let verdicts = open.verdicts()
      try await Task.sleep(for: .milliseconds(300))
      for text in ["mine", "mine again"] {
        let key = ["id": SQLValue.text("1")]
        _ = try await open.update("item", key: key, set: ["text": .text(text)])
      }
      _ = try await open.save(["id": .text("new")], in: "item")
      _ = try await site.run(server, listen: address)
      var told: [OpenReplica.Judgement] = []
      for try await judgement in verdicts {
        told.append(judgement)
        if judgement.key["id"] == .text("new") { break }
      }
      #expect(told.map(\.key["id"]) == [.text("1"), .text("1"), .text("new")])
      #expect(told.map(\.verdict.verdict) == ["superseded", "rejected", "accepted"])
      #expect(told.map(\.verdict.reason) == [nil, "unseen", nil])
      // The word on both edits comes in one: by then the row is as the server has it.
      #expect(
        told.map(\.standing?.values) == [
          [.text("1"), .text("of the server")], [.text("1"), .text("of the server")],
          [.text("new"), .null],
        ])
      await open.close()
    }
  }

  @Test func `reaches a reader that comes when its edit waits already`() async throws {
    try await withAnchorAway { site, server, client, address in
      var options = RunOptions()
      options.discovery = false
      try client.write("UPDATE item SET text = 'mine'")
      #expect(try await eventually { try await client.library.status(all: true).unjudged == 1 })
      let open = try await Replica.open(client.path, options: options)
      let verdicts = open.verdicts()
      try await Task.sleep(for: .milliseconds(300))
      _ = try await site.run(server, listen: address)
      let first = Task {
        for try await judgement in verdicts { return judgement.verdict.verdict }
        return "none"
      }
      #expect(
        try await eventually(within: .seconds(30)) {
          try await client.library.status(all: true).in_sync
        })
      try await Task.sleep(for: .seconds(1))
      await open.close()
      #expect(try await first.value == "accepted")
    }
  }
}
