import Foundation
import Replication
import Store
import Testing

@testable import Flotilla

/// Who sets merge rules, and how a choice that lost is made again.
@Suite(.serialized) struct `A merge rule` {
  private func rule(_ replica: TestReplica) async throws -> String? {
    try await replica.library.rule(table: "item", rule: nil).rules.first?.rule
  }

  @Test func `that lost is restored as its command would, for the whole site`() async throws {
    try await TestSite.with { site in
      let a = try await site.replica("a")
      let b = try await site.replica("b", role: .admin)
      let first = try await site.run(a)
      let second = try await site.run(b, to: [first])
      #expect(try await eventually { try await second.isInSync })
      await second.stop()
      _ = try await b.library.rule(table: "item", rule: "client-wins")
      try await Task.sleep(for: .seconds(1))
      _ = try await a.library.rule(table: "item", rule: "server-wins")
      let again = try await site.run(b, to: [first])
      #expect(try await eventually { try await rule(b) == "server-wins" })
      #expect(try await eventually { try await again.isInSync })

      let lost = try #require(try await b.library.conflicts().conflicts.first)
      #expect(lost.isOfSettings && lost.loser?.row?["rule"] == .text("client-wins"))
      #expect(try await b.library.restoreConflict(lost.id).state == "restored")
      #expect(try await eventually { try await rule(a) == "client-wins" })
      #expect(try await rule(b) == "client-wins")
      #expect(try await b.library.conflicts().conflicts.isEmpty)
    }
  }

  @Test func `for numbers that lost is restored for the whole site, too`() async throws {
    try await TestSite.with { site in
      let a = try await site.replica("a")
      let b = try await site.replica("b", role: .admin)
      func choice(_ replica: TestReplica) throws -> [String] {
        try replica.rows("SELECT on_collision FROM _flotilla_number")
      }
      for one in [a, b] {
        try one.write("CREATE TABLE bill(id INTEGER PRIMARY KEY, text TEXT)")
      }
      let first = try await site.run(a)
      _ = try await a.library.track(.named(["bill"]), rule: nil)
      let second = try await site.run(b, to: [first])
      #expect(try await eventually { try await second.isInSync })
      await second.stop()
      _ = try await b.library.track(.named(["bill"]), rule: nil, onCollision: "log")
      try await Task.sleep(for: .seconds(1))
      _ = try await a.library.track(.named(["bill"]), rule: nil, onCollision: "rekey")
      let again = try await site.run(b, to: [first])
      #expect(try await eventually { try choice(b) == ["rekey"] })
      #expect(try await eventually { try await again.isInSync })

      let conflicts = try await b.library.conflicts().conflicts
      let lost = try #require(conflicts.first { $0.table == "_flotilla_number" })
      #expect(try await b.library.restoreConflict(lost.id).state == "restored")
      #expect(try await eventually { try choice(a) == ["log"] })
      #expect(try choice(b) == ["log"])
    }
  }

  @Test func `of one's own decides between nodes as those of the house do`() async throws {
    try await TestSite.with { site in
      let replicas = [
        try await site.replica("server"), try await site.replica("a"), try await site.replica("b"),
      ]
      let now = Instant(uptime: Uptime.now, wall: Uptime.wall)
      try Store(path: replicas[0].path).track(["item"], rule: FirstWins.name, at: now)
      try replicas[0].write("INSERT INTO item VALUES ('r', 'base')")
      var server: [Node] = []
      /// Starts the node of a replica that knows the rule.
      func run(_ replica: TestReplica) async throws -> Node {
        let node = try await site.run(replica, to: server)
        await node.store.tell { $0.rules.append(FirstWins.self) }
        return node
      }
      server = [try await run(replicas[0])]
      _ = try await replicas[0].library.appoint(.here, rule: nil)
      for replica in replicas.dropFirst() {
        let node = try await run(replica)
        // With the server: the other one is away.
        #expect(
          try await eventually {
            let status = try await node.status(all: false)
            return status.in_sync && status.peers.contains { $0.state == .inSync }
          })
        await node.stop()
      }
      for (replica, text) in [(replicas[1], "early"), (replicas[2], "late")] {
        try replica.write("UPDATE item SET text = '\(text)'")
        // Later, by more than nodes on a busy machine differ about the time of the site.
        try await Task.sleep(for: .seconds(1))
      }
      // The later one comes first, and stands until the earlier one comes.
      for (replica, text) in [(replicas[2], "late"), (replicas[1], "early")] {
        _ = try await run(replica)
        #expect(try await eventually { try replicas[0].rows("SELECT text FROM item") == [text] })
      }
      #expect(try await eventually { try await server[0].isInSync })
      for replica in replicas {
        #expect(try replica.rows("SELECT text FROM item") == ["early"])
        let lost = try await replica.library.conflicts().conflicts
        #expect(lost.map(\.rule) == (replica.name == "a" ? [] : [FirstWins.name]))
        #expect(lost.compactMap { $0.loser?.row?["text"] }.allSatisfy { $0 == .text("late") })
      }
    }
  }

  @Test(arguments: [true, false])
  func `is not set by a mere writer, by no command`(hasAnchor: Bool) async throws {
    try await TestSite.with { site in
      let a = try await site.replica("a")
      let c = try await site.replica("c")
      let node = try await site.run(a)
      if hasAnchor { _ = try await a.library.appoint(.here, rule: "server-wins") }
      let other = try await site.run(c, to: [node])
      #expect(try await eventually { try await other.isInSync })
      let before = try await rule(c)
      for table in ["item", "more"] {
        try c.write("CREATE TABLE IF NOT EXISTS more(id TEXT PRIMARY KEY NOT NULL)")
        let error = await #expect(throws: FlotillaError.self) {
          try await c.library.track(.named([table]), rule: "client-wins")
        }
        #expect(error?.code == .notAllowed)
      }
      let error = await #expect(throws: FlotillaError.self) {
        try await c.library.rule(table: "item", rule: "client-wins")
      }
      #expect(error?.code == .notAllowed)
      #expect(try await rule(c) == before)
      // Which tables there are a writer may say.
      _ = try await c.library.track(.named(["more"]), rule: nil)
    }
  }

  @Test func `of a writer that sends it all the same does not stand beside the anchor's`()
    async throws
  {
    try await TestSite.with { site in
      let a = try await site.replica("a")
      let c = try await site.replica("c")
      let node = try await site.run(a)
      _ = try await a.library.appoint(.here, rule: "server-wins")
      let other = try await site.run(c, to: [node])
      #expect(try await eventually { try await other.isInSync })
      let now = other.clock.now
      try await other.store.run { (store) throws(StoreError) in
        try store.track(["item"], rule: "client-wins", at: now)
      }
      #expect(try await rule(c) == "client-wins")
      await other.announce()
      #expect(try await eventually { try await rule(c) == "server-wins" })
      #expect(try await rule(a) == "server-wins")
      let lost = try #require(try await c.library.conflicts().conflicts.first)
      #expect(lost.reason == "not-allowed" && lost.isOfSettings)
      let error = await #expect(throws: FlotillaError.self) {
        try await c.library.restoreConflict(lost.id)
      }
      #expect(error?.code == .notAllowed)
    }
  }

  @Test func `is not asked about an edit without the right, whose author is this node`()
    async throws
  {
    try await TestSite.with { site in
      let a = try await site.replica("a")
      let c = try await site.replica("c", role: .reader)
      try a.write("INSERT INTO item VALUES ('1', 'first')")
      let node = try await site.run(a)
      let other = try await site.run(c, to: [node])
      #expect(try await eventually { try await other.isInSync && c.count() == 1 })
      try c.write("UPDATE item SET text = 'mine'")
      #expect(try await eventually { try await !c.library.conflicts().conflicts.isEmpty })
      let lost = try #require(try await c.library.conflicts().conflicts.first)
      #expect(lost.reason == "not-allowed" && lost.loser?.node == "c")
      #expect(lost.loser?.stamp != nil && lost.loser?.row?["text"] == .text("mine"))
      #expect(lost.loser?.columns == ["id", "text"])
      #expect(lost.winner?.node == "a" && lost.winner?.stamp != nil)
      let error = await #expect(throws: FlotillaError.self) {
        try await c.library.restoreConflict(lost.id)
      }
      #expect(error?.code == .notAllowed)
      #expect(try await c.library.conflicts().conflicts.first?.state == "open")
    }
  }

  @Test func `and its anchor are heard of once in the log`() async throws {
    try await TestSite.with { site in
      let a = try await site.replica("a")
      let lines = Lines()
      let node = try await site.run(a, log: { lines.add($0) })
      _ = try await a.library.appoint(.here)
      #expect(lines.all.contains { $0.contains("was appointed the anchor") })
      await node.stop()
      let later = Lines()
      _ = try await site.run(a, log: { later.add($0) })
      #expect(!later.all.contains { $0.contains("was appointed the anchor") })
    }
  }
}
