import Foundation
import Replication
import Testing

@testable import Flotilla

extension NodeTests {
  /// Rights between running nodes.
  @Suite struct `A node with rights` {
    @Test func `that only reads has its edits put back, and keeps them in its log`() async throws {
      try await TestSite.with { site in
        let a = try await site.replica("a")
        let reader = try await site.replica("r", role: .reader)
        try a.write("INSERT INTO item VALUES ('1', 'x')")
        let first = try await site.run(a)
        let second = try await site.run(reader, to: [first])
        #expect(try await eventually { try reader.count() == 1 })
        try reader.write("UPDATE item SET text = 'hack'; INSERT INTO item VALUES ('2', 'new')")
        #expect(
          try await eventually {
            try reader.rows("SELECT * FROM item") == ["1|x"]
              && reader.rows("SELECT count(*) FROM _flotilla_conflict") == ["2"]
          })
        #expect(try a.rows("SELECT * FROM item") == ["1|x"])
        try a.write("INSERT INTO item VALUES ('3', 'z')")
        #expect(try await eventually { try reader.count() == 2 })
        #expect(try await eventually { try await second.isInSync })
        #expect(try await eventually { try await first.isInSync })
        #expect(try await reader.library.status(all: false).role == "reader")
        await #expect(throws: FlotillaError.self) {
          try await reader.library.track(.named(["line"]), rule: nil)
        }
      }
    }

    @Test func `gets no table that it may not see, and all of it when it may`() async throws {
      try await TestSite.with { site in
        let ((a, _), (b, second)) = try await site.two()
        let report = try await a.library.grant("b", table: "LINE", right: "none")
        #expect(report == GrantReport(node: "b", table: "line", right: "none", is_leaf: true))
        #expect(try await eventually { await !second.rights.isWhole })
        try a.write(
          "INSERT INTO line VALUES ('1', 1, 'secret'); INSERT INTO item VALUES ('1', 'open')")
        #expect(try await eventually { try b.count() == 1 })
        #expect(try b.count("line") == 0)
        try b.write("INSERT INTO item VALUES ('2', 'from b')")
        #expect(try await eventually { try a.count() == 2 })
        _ = try await a.library.grant("b", table: "line", right: "read")
        #expect(try await eventually { try b.count("line") == 1 })
        _ = try await a.library.grant("b", table: "line", right: "write")
        #expect(try await eventually { await second.rights.isWhole })
        try b.write("UPDATE line SET text = 'seen'")
        #expect(try await eventually { try a.rows("SELECT text FROM line") == ["seen"] })
      }
    }

    @Test func `cannot make itself more than it is`() async throws {
      try await TestSite.with { site in
        let a = try await site.replica("a")
        let reader = try await site.replica("r", role: .reader)
        let first = try await site.run(a)
        let second = try await site.run(reader, to: [first])
        #expect(try await eventually { try await second.isInSync })
        for attempt in [
          { _ = try await reader.library.grant("r", table: "item", right: "write") },
          { _ = try await reader.library.revoke("a") },
          { _ = try await reader.library.invite(timeToLive: .seconds(9), role: "reader") },
          { _ = try await a.library.grant("a", table: "item", right: "read") },
          { _ = try await a.library.grant("r", table: "nothing", right: "read") },
          { _ = try await a.library.grant("nobody", table: "item", right: "read") },
        ] as [() async throws -> Void] {
          await #expect(throws: FlotillaError.self) { try await attempt() }
        }
        #expect(await second.rights == Rights(general: .read))
      }
    }

    @Test func `keeps no session in which it had other rights`() async throws {
      try await TestSite.with { site in
        let a = try await site.replica("a")
        let first = try await site.run(a)
        let keys = NodeKeys()
        await site.admit(keys, "b")
        // Known to the node before the grant, with its Hello held back.
        let known = try await site.talk(to: first, as: keys, "b")
        #expect(try await eventually { await first.connectedCount == 1 })
        let held = MessageLink(channel: try await site.channel(to: first, as: keys))
        #expect(try await eventually { await first.sessions.count == 2 })
        _ = try await a.library.grant(
          keys.identity.description, table: "item", right: "none")
        try await held.send(.hello(await site.hello(of: keys, "b", to: first)))
        #expect(try await eventually { await first.sessions.isEmpty })
        #expect(await first.connectedCount == 0)
        known.close()
        held.close()
      }
    }

    @Test func `may tell where members are, but not who is one`() async throws {
      try await TestSite.with { site in
        let first = try await site.run(try await site.replica("a"))
        let link = try await site.talk(to: first, "b")
        #expect(try await eventually { await first.connectedCount == 1 })
        let ghosts = (1...50 as ClosedRange<UInt64>).map {
          Member(
            node: Identity(high: $0, low: 0), name: "ghost", addresses: ["127.0.0.1:\(9 + $0)"])
        }
        try await link.send(.members(ghosts))
        try await link.send(.ping(sent: 0, ClockView(wall: 0)))
        while true { if case .pong(0, _) = try await link.receive() { break } }
        #expect(await first.peers.count == 1)
        #expect(await first.mesh.deadline == nil)
        link.close()
      }
    }

    @Test func `that asks without end and reads nothing is given up`() async throws {
      try await TestSite.with { site in
        let first = try await site.run(try await site.replica("a"))
        let link = try await site.talk(to: first, "b")
        #expect(try await eventually { await first.connectedCount == 1 })
        let session = try #require(await first.sessions.values.first)
        let statement = try #require(await first.roster.membership.all.first)
        let many = Array(repeating: statement, count: 4_000)
        // Some MiB go into the buffers of the system.
        let times = 2 * Outbox.most / (many.count * statement.bytes.count)
        for _ in 0..<times { await session.feed(.tell(many)) }
        #expect(try await eventually { await first.connectedCount == 0 })
        link.close()
      }
    }

    @Test func `has eight lives as a leaf, and no ninth`() async throws {
      try await TestSite.with { site in
        let a = try await site.replica("a")
        let first = try await site.run(a)
        let keys = NodeKeys()
        await site.admit(keys, "b", .reader)
        for life in 0..<10 as Range<UInt64> {
          let link = MessageLink(channel: try await site.channel(to: first, as: keys))
          var hello = await site.hello(of: keys, "b", to: first)
          hello.life = life
          try await link.send(.hello(hello))
          var bye: Bye?
          // A session that is let in tells what its node holds.
          while bye == nil {
            switch try await link.receive() {
            case .bye(let said): bye = said
            case .have: bye = Bye(.stopping, "")
            default: break
            }
          }
          #expect((bye?.code == .notAllowed) == (life >= 8), "life \(life)")
          link.close()
          #expect(try await eventually { await first.sessions.isEmpty })
        }
      }
    }

    @Test func `that was shut out can neither invite nor grant, and is not waited for`()
      async throws
    {
      try await TestSite.with { site in
        let (a, b) = (try await site.replica("a"), try await site.replica("b", role: .admin))
        let first = try await site.run(a)
        let second = try await site.run(b, to: [first])
        #expect(try await eventually { try await second.isInSync })
        await #expect(throws: FlotillaError.self) { try await a.library.revoke("a") }
        _ = try await a.library.revoke("b")
        #expect(try await eventually { await second.ownEntry?.isMember == false })
        for attempt in [
          { _ = try await b.library.invite(timeToLive: .seconds(9), role: "reader") },
          { _ = try await b.library.grant("a", table: "item", right: "read") },
          { _ = try await b.library.revoke("a") },
        ] as [() async throws -> Void] {
          await #expect(throws: FlotillaError.self) { try await attempt() }
        }
        try a.write("INSERT INTO item VALUES ('1', 'x')")
        let wait = try await a.library.wait(for: .all, timeout: .seconds(1))
        #expect(wait.missing.isEmpty)
        #expect(try await a.library.sync(with: nil, timeout: .seconds(1)).peers.isEmpty)
        #expect(try await a.library.status(all: true).in_sync)
      }
    }

    @Test func `that was revoked is cut off, says so and is let in no more`() async throws {
      try await TestSite.with { site in
        let ((a, first), (b, second)) = try await site.two()
        let report = try await a.library.revoke("b")
        #expect(report.node == "b")
        #expect(try await eventually { await first.connectedCount == 0 })
        #expect(try await eventually { await second.connectedCount == 0 })
        try b.write("INSERT INTO item VALUES ('late', 'x')")
        let sync = try await b.library.sync(with: nil, timeout: .milliseconds(500))
        #expect(sync.peers.allSatisfy { $0.error != nil })
        #expect(try a.count() == 0)
        // What it has stays with it.
        #expect(try b.count() == 1)
        let status = try await b.library.status(all: false)
        #expect(status.remarks.contains { $0.contains("was shut out of the site by a") })
        #expect(try await a.library.status(all: false).peers.map(\.state) == [.revoked])
        #expect(try await a.library.members().members.map(\.state) == ["member", "revoked"])
      }
    }
  }
}
