import Foundation
import Network
import Replication
import SQLite
import Testing

@testable import Flotilla
@testable import Store

extension NodeTests {
  /// First copies by pages between nodes.
  @Suite struct PageJoinTests {
    private func inviter(in site: TestSite, rows: Int = 3_000) async throws -> (TestReplica, Node) {
      let a = try await site.replica("a")
      try a.write(
        """
        CREATE TABLE secret(word TEXT); INSERT INTO secret VALUES('SESAME');
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(rows))
        INSERT INTO item SELECT 'item ' || i, hex(randomblob(200)) FROM n;
        """)
      let node = try await site.run(a)
      return (a, node)
    }

    private func code(_ node: Node) async throws -> String {
      try await node.invite(timeToLive: .seconds(60), role: "writer").code
    }

    private func join(
      _ name: String, _ code: String, at address: String, in site: TestSite
    ) async throws -> (TestReplica, JoinReport) {
      let replica = TestReplica(name: name, path: "\(site.folder)/\(name).db")
      let report = try await replica.library.join(
        code: code, node: name, at: address, progress: { _ in })
      return (replica, report)
    }

    private func expectEqual(_ a: TestReplica, _ b: TestReplica) throws {
      let all = "SELECT * FROM item ORDER BY id"
      #expect(try a.rows(all) == b.rows(all))
      #expect(try b.rows("PRAGMA integrity_check") == ["ok"])
      #expect(try b.rows("SELECT count(*) FROM secret") == ["0"])
    }

    /// What stands in the folder of a replica besides its keys.
    private func leftovers(_ replica: TestReplica) throws -> [String] {
      try FileManager.default.contentsOfDirectory(atPath: replica.path + "-flotilla")
        .filter { $0.hasPrefix("pages") || $0.hasPrefix("copy") }
    }

    @Test func `a joiner gets pages, and edits flow both ways`() async throws {
      try await TestSite.with { site in
        let (a, node) = try await inviter(in: site)
        let (b, report) = try await join("b", code(node), at: node.address, in: site)
        #expect(report.rows == 3_000)
        #expect(report.replaced == 0 && report.warnings.isEmpty)
        try expectEqual(a, b)
        // What comes by pages nobody has merged: each row would have been received.
        #expect(await node.sentRows == 0)
        #expect(try leftovers(a) == [] && leftovers(b) == [])
        let second = try await site.run(b, to: [node])
        #expect(try await eventually { try await second.isInSync })
        try b.write("UPDATE item SET text = 'from b' WHERE id = 'item 7'")
        try a.write("UPDATE item SET text = 'from a' WHERE id = 'item 8'")
        #expect(
          try await eventually {
            let look = "SELECT text FROM item WHERE id IN ('item 7', 'item 8')"
            return try a.rows(look) == ["from b", "from a"] && b.rows(look) == a.rows(look)
          })
        #expect(try await eventually { try await second.isInSync })
        #expect(await second.lifeRemarkIsEmpty)
      }
    }

    /// In the first chunk and in later ones; all of them, packed as over a slow link, are 1 MB.
    @Test(arguments: [1, 100_000, 300_000, 600_000, 850_000])
    func `a copy that is cut goes on where it stopped`(_ after: Int) async throws {
      try await TestSite.with { site in
        let (a, node) = try await inviter(in: site)
        // The pairing goes before; the cut is in the pages.
        let pairing = try await TestProxy(to: node.address)
        let proxy = try await TestProxy(to: node.address, stopAfter: 20_000 + after)
        await pairing.start()
        await proxy.start()
        let joining = Task { try await join("b", code(node), at: proxy.address, in: site) }
        #expect(try await eventually { await proxy.bytesBack >= 20_000 + after })
        // Writers go on meanwhile, and the inviter folds.
        try a.write("INSERT INTO item VALUES('late', 'x'); DELETE FROM item WHERE id = 'item 1'")
        await proxy.cut()
        let (b, _) = try await joining.value
        try expectEqual(a, b)
        #expect(try b.count() == 3_000)
        #expect(try leftovers(b) == [])
        let bytes = await proxy.bytesBack
        #expect(bytes < 2_400_000 + CopyMessage.chunkBytes, "\(bytes)")
        await proxy.stop()
        await pairing.stop()
      }
    }

    /// From the midst of the first chunk on, or of a later one.
    @Test(arguments: [60_000, 200_000, 700_000])
    func `an inviter whose pages drip is asked for rows`(_ after: Int) async throws {
      var limits = PagePatience.Limits()
      // Before a connection is made again: its handshake would drip, too.
      limits.window = 1_500
      try await PageWatch.$limits.withValue(limits) {
        try await TestSite.with { site in
          let (a, node) = try await inviter(in: site)
          let proxy = try await TestProxy(to: node.address, dripAfter: after)
          await proxy.start()
          let b = TestReplica(name: "b", path: "\(site.folder)/b.db")
          let reasons = Locked<[String]>([])
          let report = try await b.library.join(
            code: code(node), node: "b", at: proxy.address,
            progress: { progress in
              guard case .goingByRows(let reason) = progress else { return }
              reasons.withLock { $0.append(reason) }
              Task { await proxy.open() }
            })
          #expect(
            reasons.withLock { $0 } == ["no pages from a: fewer than 1048576 bytes came in 1 s"])
          #expect(report.rows == 3_000)
          try expectEqual(a, b)
          #expect(await node.sentRows >= 3_000)
          #expect(try leftovers(b) == [])
          await proxy.stop()
        }
      }
    }

    @Test func `who may not read every table gets no pages`() async throws {
      try await TestSite.with { site in
        let (_, node) = try await inviter(in: site)
        let keys = NodeKeys()
        await site.admit(keys, "p")
        let link = try await talk(to: node, as: keys, in: site)
        try await link.send(.ask(CopyMessage.Ask(format: UInt64(Store.tableFormat))))
        _ = try await head(link)
        link.close()
        _ = await node.roster.unite(await site.membership.all)
        _ = try await node.grant("p", table: "item", right: "none")
        let again = try await talk(to: node, as: keys, in: site)
        try await again.send(.ask(CopyMessage.Ask(format: UInt64(Store.tableFormat))))
        #expect(try await again.receive() == .rows(reason: "not every table may be read"))
        again.close()
      }
    }

    @Test func `a revocation in the midst ends it`() async throws {
      try await TestSite.with { site in
        let (_, node) = try await inviter(in: site, rows: 40_000)
        let keys = NodeKeys()
        await site.admit(keys, "p")
        let link = try await talk(to: node, as: keys, in: site)
        try await link.send(.ask(CopyMessage.Ask(format: UInt64(Store.tableFormat))))
        let head = try await head(link)
        _ = await node.roster.unite(await site.membership.all)
        _ = try await node.revoke("p", disowning: false)
        var chunks: UInt64 = 0
        let error = await #expect(throws: FlotillaError.self) {
          while case .chunk = try await link.receive() { chunks += 1 }
        }
        #expect(error?.code == .peer)
        #expect(chunks * UInt64(CopyMessage.chunkBytes) < head.bytes)
      }
    }

    /// Asks for a copy, and reads nothing but its head.
    private func ask(
      _ node: Node, as keys: NodeKeys, in site: TestSite
    ) async throws -> CopyLink {
      let link = try await talk(to: node, as: keys, in: site)
      try await link.send(.ask(CopyMessage.Ask(format: UInt64(Store.tableFormat))))
      _ = try await head(link)
      return link
    }

    @Test func `a member has one place, and leaves the others to others`() async throws {
      try await TestSite.with { site in
        let (a, node) = try await inviter(in: site, rows: 40_000)
        let keys = NodeKeys()
        await site.admit(keys, "p", .reader)
        var links: [CopyLink] = []
        for _ in 0..<5 { links.append(try await ask(node, as: keys, in: site)) }
        let (b, _) = try await join("b", code(node), at: node.address, in: site)
        try expectEqual(a, b)
        #expect(await node.sentRows == 0)
        links.forEach { $0.close() }
      }
    }

    @Test func `who takes nothing loses its place, and the file goes`() async throws {
      try await TestSite.with { site in
        let (_, node) = try await inviter(in: site, rows: 60_000)
        let keys = NodeKeys()
        await site.admit(keys, "p", .reader)
        let link = try await ask(node, as: keys, in: site)
        #expect(await node.pages.joiners.count == 1)
        #expect(
          try await eventually(within: .seconds(60)) { await node.pages.joiners.isEmpty })
        #expect(await node.pages.users == 0)
        link.close()
      }
    }

    @Test func `a revocation cuts who has all and does not say so`() async throws {
      try await TestSite.with { site in
        let (_, node) = try await inviter(in: site, rows: 10)
        let keys = NodeKeys()
        await site.admit(keys, "p", .reader)
        let link = try await ask(node, as: keys, in: site)
        while case .chunk = try await link.receive() {}
        // The file is not held for who checks it.
        #expect(try await eventually { await node.pages.users == 0 })
        #expect(await node.pages.joiners.count == 1)
        _ = await node.roster.unite(await site.membership.all)
        _ = try await node.revoke("p", disowning: false)
        #expect(try await eventually(within: .seconds(60)) { await node.pages.joiners.isEmpty })
        link.close()
      }
    }

    @Test func `wrong words end the talk, and the next joiner is served`() async throws {
      try await TestSite.with { site in
        let (a, node) = try await inviter(in: site, rows: 10)
        let keys = NodeKeys()
        await site.admit(keys, "p")
        for wrong in [
          CopyMessage.done, .end(check: CopyMessage.noCheck), .making(bytes: 1),
          .chunk(number: 0, hash: CopyMessage.noCheck, bytes: [1]),
        ] {
          let link = try await talk(to: node, as: keys, in: site)
          try await link.send(wrong)
          await #expect(throws: FlotillaError.self) { try await link.receive() }
        }
        let odd = try await talk(to: node, as: keys, in: site)
        try await odd.send(
          .ask(
            CopyMessage.Ask(
              format: UInt64(Store.tableFormat), copy: Identity(high: 1, low: 1), chunks: 1 << 62,
              check: CopyMessage.noCheck)))
        #expect(try await head(odd).first == 0)
        odd.close()
        let old = try await talk(to: node, as: keys, in: site)
        try await old.send(.ask(CopyMessage.Ask(format: 2)))
        let answer = try await old.receive()
        #expect(answer == .rows(reason: "the two have different versions of Flotilla"))
        let (b, _) = try await join("b", code(node), at: node.address, in: site)
        try expectEqual(a, b)
      }
    }

    @Test func `who fetches it again and again is told to take rows, and others get pages`()
      async throws
    {
      try await TestSite.with { site in
        let (a, node) = try await inviter(in: site)
        let keys = NodeKeys()
        await site.admit(keys, "p", .reader)
        // One is made for it, and then it is sent so many.
        for _ in 0..<CopyRations.atOnce {
          let link = try await ask(node, as: keys, in: site)
          while case .chunk = try await link.receive() {}
          link.close()
        }
        let link = try await talk(to: node, as: keys, in: site)
        try await link.send(.ask(CopyMessage.Ask(format: UInt64(Store.tableFormat))))
        let answer = try await link.receive()
        #expect(answer == .rows(reason: "it has had several copies as pages a moment ago"))
        link.close()
        let (b, _) = try await join("b", code(node), at: node.address, in: site)
        try expectEqual(a, b)
        #expect(await node.sentRows == 0)
      }
    }

    /// What is said of the copy once it is made.
    private func head(_ link: CopyLink) async throws -> CopyMessage.Head {
      while true {
        switch try await link.receive() {
        case .making: continue
        case .head(let head): return head
        case let other: throw StoreError(.wire, "\(other)")
        }
      }
    }

    private func talk(
      to node: Node, as keys: NodeKeys, in site: TestSite
    ) async throws -> CopyLink {
      CopyLink(try await site.channel(to: node, as: keys, for: .copying), limit: Limits.frame)
    }

    @Test func `a file that is open in another program gets rows`() async throws {
      try await TestSite.with { site in
        let (a, node) = try await inviter(in: site)
        let proxy = try await TestProxy(to: node.address, stopAfter: 200_000)
        await proxy.start()
        let joining = Task { try await join("b", code(node), at: proxy.address, in: site) }
        #expect(try await eventually { await proxy.bytesBack >= 200_000 })
        let program = try Connection(path: "\(site.folder)/b.db")
        program.setBusyTimeout(milliseconds: 5_000)
        try program.execute("INSERT INTO secret VALUES('of b')")
        await proxy.cut()
        let (b, _) = try await joining.value
        #expect(try b.rows("SELECT * FROM secret") == ["of b"])
        #expect(try b.count() == 3_000)
        #expect(await node.sentRows > 3_000)
        #expect(try leftovers(b) == [])
        _ = (a, program)
        await proxy.stop()
      }
    }

    @Test func `a trigger that keeps an index makes it rows`() async throws {
      try await TestSite.with { site in
        let (a, node) = try await inviter(in: site)
        try a.write(
          """
          CREATE TABLE count(n INTEGER); INSERT INTO count VALUES(0);
          CREATE TRIGGER c AFTER INSERT ON item BEGIN UPDATE count SET n = n + 1; END
          """)
        let (b, _) = try await join("b", code(node), at: node.address, in: site)
        #expect(try b.count() == 3_000)
        #expect(await node.sentRows > 3_000)
      }
    }

    /// The rows would stand at the joiner alone.
    @Test func `a file goes to nobody once what is in it was let go of`() async throws {
      try await TestSite.with { site in
        let (_, node) = try await inviter(in: site)
        let keys = NodeKeys()
        await site.admit(keys, "p", .reader)
        func copy() async throws -> (CopyLink, Identity) {
          let link = try await talk(to: node, as: keys, in: site)
          try await link.send(.ask(CopyMessage.Ask(format: UInt64(Store.tableFormat))))
          return (link, try await head(link).copy)
        }
        let (first, one) = try await copy()
        let (second, same) = try await copy()
        #expect(one == same)
        try await node.store.run { (store) throws(StoreError) in
          try reporting { () throws(SQLiteError) in
            try store.deletions.beginRenewal(to: Mark(number: 1, id: 1))
            try store.deletions.endRenewal()
          }
        }
        let (third, other) = try await copy()
        #expect(one != other)
        for link in [first, second, third] { link.close() }
      }
    }

    @Test func `a node that has begun keeps nothing of a copy by pages`() async throws {
      try await TestSite.with { site in
        let (a, node) = try await inviter(in: site, rows: 5)
        await node.stop()
        let left = a.path + "-flotilla/pages-\(Identity(high: 1, low: 2))"
        try Data("left".utf8).write(to: URL(fileURLWithPath: left))
        try await a.library.withNode(mode: .offline) { _ in }
        #expect(try leftovers(a).count == 1)
        try await a.library.withNode(mode: .brief) { _ in }
        #expect(try leftovers(a) == [])
      }
    }

    @Test func `what a killed inviter has left is taken away`() async throws {
      try await TestSite.with { site in
        let (a, node) = try await inviter(in: site, rows: 5)
        await node.stop()
        let left = a.path + "-flotilla/copy.new"
        try Data("left".utf8).write(to: URL(fileURLWithPath: left))
        _ = try await site.run(TestReplica(name: "a", path: a.path))
        #expect(try leftovers(a) == [])
      }
    }
  }
}

extension Node {
  /// Whether nothing is told of a new life.
  fileprivate var lifeRemarkIsEmpty: Bool {
    get async { life.byWord.count == 0 }
  }
}
