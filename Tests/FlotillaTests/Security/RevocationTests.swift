import Foundation
import Network
import Replication
import SQLite
import Testing

@testable import Flotilla

extension NodeTests {
  /// What is said about members, and what must come of it.
  @Suite struct `A word about a member` {
    /// Holds the write lock of a file, as a program that keeps a transaction open.
    private func holder(of replica: TestReplica) throws -> Connection {
      let connection = try Connection(path: replica.path)
      connection.setBusyTimeout(milliseconds: 5_000)
      try connection.execute("BEGIN IMMEDIATE")
      return connection
    }

    @Test func `that the file does not take is not said, and the command fails`() async throws {
      try await TestSite.with { site in
        let ((a, first), (_, second)) = try await site.two()
        let before = await first.roster.hash
        let holder = try self.holder(of: a)
        let error = await #expect(throws: FlotillaError.self) { try await a.library.revoke("b") }
        #expect(error?.code == .locked)
        #expect(error?.message.contains("nothing was changed") == true)
        #expect(await first.roster.hash == before)
        #expect(await second.roster.hash == before)
        try holder.execute("ROLLBACK")
        #expect(try await a.library.members().members.map(\.state) == ["member", "member"])
        _ = try await a.library.revoke("b")
        await first.stop()
        #expect(try await a.library.members().members.map(\.state) == ["member", "revoked"])
      }
    }

    @Test func `that is heard while the file takes nothing is kept later`() async throws {
      try await TestSite.with { site in
        let ((a, _), (b, second), (_, _)) = try await site.three()
        let holder = try self.holder(of: b)
        _ = try await a.library.revoke("c")
        #expect(try await eventually { await second.roster.roll.members.count == 2 })
        #expect(try await eventually(within: .seconds(30)) { await !second.heard.unsaved.isEmpty })
        try holder.execute("ROLLBACK")
        let statements = "SELECT count(*) FROM _flotilla_statement"
        let all = try a.rows(statements)
        #expect(try await eventually(within: .seconds(30)) { try b.rows(statements) == all })
        await second.stop()
        let states = try await b.library.members().members.map(\.state)
        #expect(states == ["member", "member", "revoked"])
      }
    }

    @Test func `that two may bear is refused, with the ids of both`() async throws {
      try await TestSite.with { site in
        let a = try await site.replica("a")
        let node = try await site.run(a)
        let (old, new) = (NodeKeys(), NodeKeys())
        await site.admit(old, "p")
        _ = await node.roster.unite(site.membership.all)
        _ = try await a.library.revoke("p")
        await site.admit(new, "p")
        _ = await node.roster.unite(site.membership.all)
        for attempt in [
          { _ = try await a.library.revoke("p") },
          { _ = try await a.library.undo("p", since: 0, puttingBack: true) },
        ] as [() async throws -> Void] {
          let error = await #expect(throws: FlotillaError.self) { try await attempt() }
          let message = error?.message ?? ""
          #expect(message.contains("\(old.identity) (revoked, since "), "\(message)")
          #expect(message.contains("\(new.identity) (member, since "), "\(message)")
        }
        #expect(await node.roster.roll.member(new.identity) != nil)
        let report = try await a.library.revoke(new.identity.description)
        #expect(report.id == new.identity.description)
      }
    }

    @Test func `of a disowned admin opens nothing when it falls`() async throws {
      try await TestSite.with { site in
        let a = try await site.replica("a")
        let node = try await site.run(a)
        let (admin, out, bound) = (NodeKeys(), NodeKeys(), NodeKeys())
        await site.admit(admin, "p", .admin)
        await site.admit(out, "out")
        await site.admit(bound, "bound")
        await node.spread(node.roster.unite(site.membership.all), besides: nil)
        for kind: SiteStatement.Kind in [
          .revoke(node: out.identity, heads: []),
          .grant(node: bound.identity, table: "Item", right: .none),
        ] {
          await site.take([await site.signed(kind, by: admin.identity, with: admin.node)])
        }
        await node.spread(node.roster.unite(site.membership.all), besides: nil)
        #expect(await node.roster.roll.member(out.identity) == nil)
        let report = try await a.library.revoke("p", disowning: true)
        #expect(report.also == [] && report.stay_out == ["out"])
        #expect(report.stay_limited == ["bound"])
        #expect(await node.rights(of: bound.identity).right(to: "item") == Right.none)
        await node.stop()
        let members = try await a.library.members().members
        let revoked = members.filter { $0.state == "revoked" }.map(\.node).sorted()
        #expect(revoked == ["out", "p"])
        #expect(members.first { $0.node == "bound" }?.rights == ["item": "none"])
      }
    }

    @Test func `that counts no more leaves nobody shown as shut out`() async throws {
      try await TestSite.with { site in
        let node = try await site.run(try await site.replica("a"))
        let (admin, member) = (NodeKeys(), NodeKeys())
        await site.admit(admin, "p", .admin)
        await site.admit(member, "m")
        await node.spread(node.roster.unite(site.membership.all), besides: nil)
        let word = SiteStatement.Kind.revoke(node: member.identity, heads: [])
        await site.take([await site.signed(word, by: admin.identity, with: admin.node)])
        await node.spread(node.roster.unite(site.membership.all), besides: nil)
        func state() async throws -> PeerReport.State? {
          try await node.status(all: true).peers.first { $0.node == "m" }?.state
        }
        #expect(try await state() == .revoked)
        // As a version before says it.
        try await node.say(.revoke(node: admin.identity, heads: []))
        #expect(await node.roster.roll.member(member.identity) != nil)
        #expect(try await state() != .revoked)
      }
    }

    @Test func `of an admin that has left is put right by who has the site key`() async throws {
      try await TestSite.with { site in
        let node = try await site.run(try await site.replica("a"))
        let (admin, friend) = (NodeKeys(), NodeKeys())
        await site.admit(admin, "p", .admin)
        let admission = SiteStatement.Kind.admit(key: friend.node.publicKey, role: .writer)
        let lost = await site.signed(admission, by: admin.identity, with: admin.node)
        await site.take([await site.signed(.leave, by: admin.identity, with: admin.node)])
        await site.take([lost])
        await node.spread(node.roster.unite(site.membership.all), besides: nil)
        #expect(await node.roster.roll.member(friend.identity) == nil)
        let report = try await node.revoke("p", disowning: false)
        #expect(report.node == "p")
        #expect(await node.roster.roll.member(friend.identity) != nil)
      }
    }

    @Test func `that makes an admin gives it a name, also if it was cut off before`() async throws {
      try await TestSite.with { site in
        _ = try await site.replica("a")
        let keys = NodeKeys()
        let root = await site.membership.site
        let admission = SiteStatement.Kind.admit(key: keys.node.publicKey, role: .admin)
        await site.take([await site.signed(admission, by: root, with: site.root)])
        let replica = TestReplica(name: "b", path: "\(site.folder)/b.db")
        try Connection(path: replica.path, mode: .create).execute(TestSite.schema)
        try replica.library.create(await site.identities(keys, "b"), keys)
        let node = try await site.run(replica)
        #expect(await node.ownEntry?.name == "")
        _ = try await node.importSiteKey(seed: site.root.seed)
        #expect(await node.ownEntry?.name == "b")
        let before = await node.roster.hash
        _ = try await node.importSiteKey(seed: site.root.seed)
        #expect(await node.roster.hash == before)
      }
    }
  }
}
