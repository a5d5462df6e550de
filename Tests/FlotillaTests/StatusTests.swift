import Foundation
import Network
import Replication
import Testing

@testable import Flotilla

extension NodeTests {
  /// What `status` claims.
  @Suite struct `The status` {
    @Test func `of a site of one node is in sync`() async throws {
      try await TestSite.with { site in
        let a = try await site.replica("a")
        try a.write("INSERT INTO item VALUES ('x', '1')")
        let offline = try await a.library.status(all: false)
        #expect(!offline.running)
        // The edit waits for a node to take it in.
        #expect(!offline.in_sync)
        _ = try await site.run(a)
        #expect(try await eventually { try await a.library.status(all: false).in_sync })
        let status = try await a.library.status(all: true)
        #expect(status.running)
        #expect(status.peers == [])
        #expect(status.anchor == nil)
        #expect(status.tables.map(\.name) == ["item", "line"])
        #expect(status.tables.map(\.rows) == [1, 0])
      }
    }

    @Test func `says what waits for an anchor that is gone, and what ends that`() async throws {
      try await TestSite.with { site in
        let ((a, _), (_, second), (c, _)) = try await site.three()
        _ = try await a.library.appoint(.node("b"), rule: "client-wins")
        #expect(
          try await eventually { try await c.library.anchor().state == "connected" })
        #expect(try await c.library.rule(table: nil, rule: nil).remark == nil)
        // The rule is an edit, too.
        #expect(try await eventually { try await a.library.status(all: false).in_sync })
        await second.stop()
        try c.write("INSERT INTO item VALUES ('x', '1')")
        #expect(try await eventually { try await c.library.status(all: false).unjudged == 1 })
        _ = try await a.library.revoke("b")
        let gone =
          "b, the anchor, is no member any more: 1 edit of this node waits for a verdict "
          + "that nobody gives. Appoint another on an admin (a): flotilla anchor DB --here; or "
          + "let newest win, with --none"
        #expect(try await eventually { try await c.library.status(all: false).remarks == [gone] })
        #expect(try await c.library.rule(table: nil, rule: nil).remark == gone)
        _ = try await a.library.appoint(.none)
        #expect(
          try await eventually {
            try await c.library.rule(table: nil, rule: nil).remark?
              .hasPrefix("1 edit of this node has no verdict") == true
          })
        #expect(try await eventually { try await c.library.status(all: false).in_sync })
        _ = try await a.library.appoint(.here)
        #expect(
          try await eventually { try await c.library.rule(table: nil, rule: nil).remark == nil })
        #expect(try await eventually { try await c.library.status(all: false).unjudged == 0 })
      }
    }

    @Test func `counts what others wrote, too, until the anchor has judged it`() async throws {
      try await TestSite.with { site in
        let (a, b, c) = (
          try await site.replica("a"), try await site.replica("b"), try await site.replica("c")
        )
        let first = try await site.run(a)
        let address = try await first.address
        let second = try await site.run(b, to: [first])
        let third = try await site.run(c, to: [first, second])
        _ = try await a.library.appoint(.here, rule: "client-wins")
        try b.write("INSERT INTO item VALUES ('x', '1')")
        #expect(try await eventually { try c.count() == 1 })
        for node in [first, second, third] {
          #expect(try await eventually { try await node.isInSync })
        }
        await first.stop()
        try b.write("UPDATE item SET text = '2'; INSERT INTO item VALUES ('y', '1')")
        #expect(try await eventually { try c.count() == 2 })
        for node in [second, third] {
          #expect(try await eventually { try await node.status(all: false).unjudged == 2 })
          #expect(try await !node.status(all: false).in_sync)
        }
        _ = try await site.run(a, listen: address)
        for node in [second, third] {
          #expect(try await eventually { try await node.isInSync })
          #expect(try await node.status(all: false).unjudged == 0)
        }
      }
    }

    @Test func `of an anchor that gets its office back tells of no file that was restored`()
      async throws
    {
      try await TestSite.with { site in
        let ((a, first), (_, second)) = try await site.two()
        _ = try await a.library.appoint(.here)
        for _ in 0..<3 {
          for (choice, name) in [(AnchorChoice.node("b"), "b"), (.here, "a")] {
            let state = try await a.library.appoint(choice).state
            #expect(state != "stood-down", "\(name)")
            for node in [first, second] {
              let status = try await node.status(all: false)
              #expect(status.anchor == name || node === second)
              #expect(status.anchor_state != "stood-down")
              #expect(status.remarks.isEmpty, "\(status.remarks)")
            }
            let judge = name == "a" ? first : second
            #expect(try await eventually { try await judge.office().state == "judging" })
          }
        }
      }
    }

    @Test func `is not in sync while every other member is away`() async throws {
      try await TestSite.with { site in
        let ((a, first), (_, second)) = try await site.two()
        await second.stop()
        #expect(try await eventually { await first.connectedCount == 0 })
        let status = try await a.library.status(all: false)
        #expect(!status.in_sync)
        #expect(status.peers.map(\.node) == ["b"])
        let peer = try #require(status.peers.first)
        #expect([.away, .connecting].contains(peer.state))
        #expect(peer.last_seen != nil)
        #expect(peer.address == "127.0.0.1:\(try #require(await second.port))")
      }
    }

    @Test func `counts members that are away only with all`() async throws {
      try await TestSite.with { site in
        let ((a, first), _, (_, third)) = try await site.three()
        await third.stop()
        #expect(try await eventually { await first.connectedCount == 1 })
        #expect(try await a.library.status(all: false).in_sync)
        #expect(try await !a.library.status(all: true).in_sync)
      }
    }

    @Test func `does not take a peer for equal before it has spoken`() async throws {
      try await TestSite.with { site in
        let ((_, first), (b, second)) = try await site.two()
        await second.stop()
        #expect(try await eventually { await first.connectedCount == 0 })
        // Somebody who says Hello as b, and nothing else.
        let peer = try #require(await first.peers.values.first)
        let keys = try KeyFolder(Sidecar(database: b.path)).keys()
        #expect(keys.identity == peer.node)
        let link = try await site.talk(to: first, as: keys, "b")
        #expect(try await eventually { await first.connectedCount == 1 })
        let status = try await first.status(all: false)
        #expect(status.peers.map(\.state) == [.catchingUp])
        #expect(!status.in_sync)
        link.close()
      }
    }

    @Test func `shows rules that wait for an anchor beside the one that acts`() async throws {
      try await TestSite.with { site in
        let (a, b) = (try await site.replica("a"), try await site.replica("b"))
        let first = try await site.run(a)
        let second = try await site.run(b, to: [first])
        let set = try await a.library.rule(table: "ITEM", rule: "server-wins")
        let entry = RuleReport.Entry(
          table: "item", rule: "server-wins", acting_rule: "newest-wins")
        #expect(set.rules == [entry])
        #expect(
          try await eventually {
            try await b.library.rule(table: nil, rule: nil).rules.contains(entry)
          })
        let table = try #require(await second.status(all: false).tables.first)
        #expect(table.rule == "server-wins")
        #expect(table.acting_rule == "newest-wins")
        await #expect(throws: FlotillaError.self) {
          try await a.library.rule(table: "item", rule: "loudest-wins")
        }
        await #expect(throws: FlotillaError.self) {
          try await a.library.rule(table: "nothing", rule: "server-wins")
        }
      }
    }

    @Test func `tells of a table that was renamed by its name here, and is in sync`() async throws {
      try await TestSite.with { site in
        let (a, b) = (try await site.replica("a"), try await site.replica("b"))
        try a.write("INSERT INTO item VALUES ('1', 'x'), ('2', 'y')")
        let first = try await site.run(a)
        let second = try await site.run(b, to: [first])
        #expect(try await eventually { try b.count() == 2 })
        #expect(try await eventually { try await second.isInSync })
        await second.stop()
        try b.write("ALTER TABLE item RENAME TO goods")
        let again = try await site.run(b, to: [first])
        try a.write("INSERT INTO item VALUES ('3', 'z')")
        #expect(try await eventually { try b.count("goods") == 3 })
        #expect(try await eventually { try await again.isInSync })
        let status = try await again.status(all: false)
        #expect(status.tables.map(\.name) == ["goods", "line"] && status.remarks.isEmpty)
        #expect(try await first.status(all: false).tables.map(\.name) == ["item", "line"])
        // A table that has another name there is not missing.
        for replica in [a, b] {
          let findings = try await replica.library.doctor(repair: false).findings
          #expect(!findings.contains { $0.text.contains("is missing at") }, "\(findings)")
        }
      }
    }

    @Test func `tells what helps a table that cannot be replicated as it is`() async throws {
      try await TestSite.with { site in
        let (a, b) = (try await site.replica("a"), try await site.replica("b"))
        let first = try await site.run(a)
        let second = try await site.run(b, to: [first])
        #expect(try await eventually { try await second.isInSync })
        await second.stop()
        func remark(after sql: String) async throws -> String {
          try b.write("DROP TABLE item; \(sql)")
          return try await b.library.status(all: true).remarks.first ?? ""
        }
        let keyless = try await remark(after: "CREATE TABLE item (id TEXT NOT NULL, text TEXT)")
        #expect(keyless.hasPrefix("table item is tracked, but cannot be replicated as it is here:"))
        #expect(keyless.contains("has no PRIMARY KEY"))
        #expect(keyless.contains(#"(make it anew with PRIMARY KEY("id"), as the site has it, "#))
        try b.write("CREATE TABLE kept (id TEXT PRIMARY KEY NOT NULL)")
        let view = try await remark(after: "CREATE VIEW item AS SELECT * FROM kept")
        #expect(view.contains("is a view; 0 rows wait for it (Track the tables"))
      }
    }

    @Test func `tells of a table that is gone, and is in sync once its rows wait`() async throws {
      try await TestSite.with { site in
        let (a, b) = (try await site.replica("a"), try await site.replica("b"))
        try a.write("INSERT INTO item VALUES ('1', 'x'), ('2', 'y')")
        let first = try await site.run(a)
        let second = try await site.run(b, to: [first])
        #expect(try await eventually { try b.count() == 2 })
        #expect(try await eventually { try await second.isInSync })
        await second.stop()
        try b.write("DROP TABLE item")
        let offline = try await b.library.status(all: true)
        let remark = try #require(offline.remarks.first)
        #expect(remark.hasPrefix(#"table item is tracked, but not here: there is no table "item""#))
        #expect(remark.contains("2 that went with it"))
        #expect(offline.parked == 0 && !offline.in_sync)
        let again = try await site.run(b, to: [first])
        #expect(try await eventually { try await again.status(all: false).parked == 2 })
        #expect(try await eventually { try await again.isInSync })
        let status = try await b.library.status(all: true)
        #expect(status.remarks.first?.contains("2 rows wait for it (create") == true)
        // Both are in sync, so only the doctor tells the other one of it.
        func told() async throws -> [DoctorReport.Finding] {
          try await a.library.doctor(repair: false).findings
            .filter { $0.text.contains("is missing at b") }
        }
        let findings = try await told()
        #expect(findings.map(\.level) == [.warning], "\(findings)")
        #expect(findings.first?.text.hasPrefix("the table item is missing at b: ") == true)
        try b.write("CREATE TABLE item (id TEXT PRIMARY KEY NOT NULL, text TEXT)")
        #expect(try await eventually { try await told().isEmpty })
      }
    }

    @Test func `follows when a table is tracked or not any more`() async throws {
      try await TestSite.with { site in
        let (a, b) = (try await site.replica("a"), try await site.replica("b"))
        let first = try await site.run(a)
        let second = try await site.run(b, to: [first])
        func names() async throws -> [String] {
          try await second.status(all: false).tables.map(\.name)
        }
        #expect(try await eventually { try await names() == ["item", "line"] })
        _ = try await a.library.untrack(["line"])
        #expect(try await eventually { try await names() == ["item"] })
        try a.write("INSERT INTO line VALUES ('x', 1, 'stays here')")
        let report = try await b.library.track(.named(["line"]), rule: nil)
        #expect(report.tables == ["line"])
        #expect(try await eventually { try b.count("line") == 1 })
        #expect(try await eventually { try await first.isInSync })
      }
    }
  }
}
