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
      try await Task.sleep(for: .milliseconds(50))
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
