import Foundation
import Network
import Replication
import Testing

@testable import Flotilla

extension NodeTests {
  /// `verify` between nodes of this process.
  @Suite struct `A verify` {
    /// Two nodes that are equal, with some rows.
    private func pair(
      _ body: (TestSite, (TestReplica, Node), (TestReplica, Node)) async throws -> Void
    ) async throws {
      try await TestSite.with { site in
        let (a, b) = (try await site.replica("a"), try await site.replica("b"))
        try a.write(
          """
          WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 900)
          INSERT INTO item SELECT 'i' || i, hex(i) FROM n;
          INSERT INTO line SELECT id, length(text), text FROM item;
          """)
        let first = try await site.run(a)
        let second = try await site.run(b, to: [first])
        #expect(try await eventually { try await second.isInSync })
        try await body(site, (a, first), (b, second))
      }
    }

    @Test func `of equal nodes says that they are identical`() async throws {
      try await pair { _, a, b in
        let report = try await a.0.library.verify(timeout: .seconds(20))
        #expect(report.identical)
        #expect(report.local.isEmpty && report.local_findings == 0)
        #expect(report.rows == 1_800)
        #expect(report.peers.map(\.node) == ["b"])
        #expect(report.peers.map(\.state) == [.identical])
        #expect(report.peers.map(\.rows) == [1_800])
        #expect(report.peers.map(\.digest) == [report.digest])
        #expect(try await b.0.library.verify(with: "a").digest == report.digest)
        #expect(await a.1.questions.isEmpty)
      }
    }

    @Test func `takes in what was written a moment ago on either side`() async throws {
      try await pair { _, a, b in
        try a.0.write("UPDATE item SET text = 'a' WHERE id < 'i5'")
        try b.0.write("DELETE FROM line WHERE item > 'i5'")
        let report = try await a.0.library.verify()
        #expect(report.identical)
        #expect(report.peers.first?.on_the_way == 0)
      }
    }

    @Test func `finds a row that was written past the triggers, here and there`() async throws {
      try await pair { _, a, b in
        try a.0.writePastTriggers(
          "UPDATE item SET text = 'x' WHERE id = 'i7'; DELETE FROM line WHERE item = 'i8'")
        let here = try await a.0.library.verify(with: "b")
        #expect(!here.identical)
        #expect(Set(here.local.map(\.finding)) == ["changed", "removed"])
        #expect(here.local.first { $0.table == "item" }?.key == ["id": .text("i7")])
        let peer = try #require(here.peers.first)
        #expect(peer.state == .differing && peer.differing_rows == 2 && peer.uncaptured == 0)
        #expect(peer.differing.map(\.why) == ["other-content", "other-content"])
        #expect(peer.differing.map { $0.here?.state } == ["changed", "missing"])
        #expect(peer.differing.map { $0.there?.state } == ["live", "live"])
        #expect(peer.differing.map { $0.there?.edited_by } == ["a", "a"])

        // The other one sees it from afar, and cannot mend it.
        let there = try await b.0.library.verify(repairs: true, timeout: .seconds(10))
        #expect(there.local_findings == 0)
        #expect(there.peers.map(\.differing_rows) == [2])
        #expect(there.peers.map(\.uncaptured) == [2])
        #expect(there.peers.map(\.repaired) == [0])

        let repaired = try await a.0.library.verify(repairs: true)
        #expect(repaired.identical && repaired.repaired == 2)
        #expect(try b.0.rows("SELECT text FROM item WHERE id = 'i7'") == ["x"])
        #expect(try b.0.count("line") == 899)
        #expect(try await b.0.library.verify().identical)
      }
    }

    @Test func `finds what one replica has lost, and brings it back`() async throws {
      try await TestSite.with { site in
        let (a, b) = (try await site.replica("a"), try await site.replica("b"))
        try a.write("INSERT INTO item VALUES ('1', 'old'), ('2', 'two'), ('3', 'three')")
        var first = try await site.run(a)
        var second = try await site.run(b, to: [first])
        #expect(try await eventually { try await second.isInSync })
        let saved = try b.rows("SELECT hex(key), seq, stamp, hash FROM _flotilla_version")
        try a.write("UPDATE item SET text = 'new' WHERE id = '1'")
        #expect(try await eventually { try b.rows("SELECT text FROM item")[0] == "new" })
        await second.stop()
        await first.stop()
        // Row 1 as it was before, row 2 as if it had never come.
        try b.writePastTriggers(
          """
          UPDATE item SET text = 'old' WHERE id = '1'; DELETE FROM item WHERE id = '2';
          DELETE FROM _flotilla_version WHERE key = x'303200';
          """)
        let old = try #require(saved.first { $0.hasPrefix("303100|") }).split(separator: "|")
        try b.write(
          "UPDATE _flotilla_version SET seq = \(old[1]), stamp = \(old[2]), hash = \(old[3]) "
            + "WHERE key = x'303100'")
        first = try await site.run(a)
        second = try await site.run(b, to: [first])
        #expect(try await eventually { await second.connectedCount == 1 })

        let report = try await b.library.verify()
        #expect(report.local.map(\.finding) == ["sums"])
        let peer = try #require(report.peers.first)
        #expect(peer.differing.map(\.why) == ["newer-there", "only-there"])
        #expect(
          try await a.library.verify().peers.first?.differing.map(\.why) == [
            "newer-here", "only-here",
          ])
        let repaired = try await a.library.verify(repairs: true)
        #expect(repaired.identical)
        #expect(repaired.peers.map(\.repaired) == [2])
        #expect(try b.rows("SELECT text FROM item ORDER BY id") == ["new", "two", "three"])
        let end = try await b.library.verify(repairs: true)
        #expect(end.identical && end.repaired == 1)
        #expect(try await a.library.verify().identical)
      }
    }

    @Test func `of three nodes has one answer for each`() async throws {
      try await pair { site, a, b in
        let c = try await site.replica("c")
        let third = try await site.run(c, to: [a.1, b.1])
        #expect(try await eventually { try await third.isInSync })
        #expect(try await eventually { await third.connectedCount == 2 })
        let report = try await c.library.verify()
        #expect(report.identical && report.peers.map(\.node) == ["a", "b"])
        try b.0.writePastTriggers("UPDATE item SET text = 'x' WHERE id = 'i7'")
        let after = try await c.library.verify()
        #expect(!after.identical)
        #expect(after.peers.map(\.state) == [.identical, .differing])
        await b.1.stop()
        #expect(try await eventually { await third.connectedCount == 1 })
        let away = try await c.library.verify()
        #expect(away.peers.map(\.state) == [.identical, .away])
        #expect(!away.identical)
        #expect(try await c.library.verify(with: "a").identical)
      }
    }

    @Test func `under steady writing tells what is on its way`() async throws {
      try await pair { _, a, b in
        let writer = Task.detached {
          var number = 0
          while !Task.isCancelled {
            number += 1
            try b.0.write("UPDATE item SET text = '\(number)' WHERE id = 'i\(number % 900)'")
          }
        }
        for _ in 0..<2 {
          let report = try await a.0.library.verify(timeout: .seconds(8))
          let peer = try #require(report.peers.first)
          #expect([.identical, .moving].contains(peer.state), "\(peer.error ?? "")")
          #expect(peer.differing_rows == 0)
          #expect(peer.on_the_way == 0 || peer.state == .moving)
        }
        writer.cancel()
        _ = await writer.result
        #expect(try await a.0.library.verify().identical)
      }
    }

    @Test func `with a leaf says why it cannot be compared`() async throws {
      try await pair { _, a, b in
        _ = try await a.0.library.grant("b", table: "line", right: "none")
        #expect(try await eventually { await !b.1.rights.isWhole })
        #expect(try await eventually { await a.1.connectedCount == 1 })
        let report = try await a.0.library.verify(with: "b")
        #expect(report.peers.map(\.state) == [.incomparable])
        #expect(report.peers.first?.error?.contains("may not read every table") == true)
        #expect(!report.identical)
        #expect(report.peers.map(\.digest) == [nil])
        let leaf = try await b.0.library.verify()
        #expect(leaf.peers.map(\.state) == [.incomparable])
        #expect(leaf.identical)
        #expect(leaf.peers.first?.error?.hasPrefix("b may not read") == true)
        _ = try await a.0.library.grant("b", table: "line", right: "read")
        #expect(try await eventually { await b.1.rights.readsAll })
        #expect(try await eventually { try await b.1.isInSync })
        #expect(try await eventually { try await b.0.library.verify().identical })
        #expect(try await a.0.library.verify().identical)
      }
    }

    @Test func `of a reader tells rows that wait to be put back`() async throws {
      try await TestSite.with { site in
        let a = try await site.replica("a")
        let reader = try await site.replica("r", role: .reader)
        try a.write("INSERT INTO item VALUES ('1', 'x')")
        let first = try await site.run(a)
        let second = try await site.run(reader, to: [first])
        #expect(try await eventually { try reader.count() == 1 })
        #expect(try await reader.library.verify().identical)
        await first.stop()
        #expect(try await eventually { await second.connectedCount == 0 })
        try reader.write("UPDATE item SET text = 'mine'")
        let report = try await reader.library.verify(repairs: true, timeout: .seconds(3))
        #expect(report.local.map(\.finding) == ["waiting"])
        #expect(!report.identical && report.repaired == 0)
      }
    }

    @Test func `of a node alone proves that one, and of a wrong name nothing`() async throws {
      try await TestSite.with { site in
        let a = try await site.replica("a")
        try a.write("INSERT INTO item VALUES ('1', 'x')")
        let alone = try await a.library.verify()
        #expect(alone.identical && alone.peers.isEmpty && alone.rows == 1)
        for (name, words) in [("nobody", "there is no member nobody"), ("a", "itself")] {
          let error = await #expect(throws: FlotillaError.self) {
            try await a.library.verify(with: name)
          }
          #expect(error?.message.contains(words) == true)
        }
      }
    }

    /// A member that says only what the test says, and the node that it is connected with.
    private func withPeer(
      _ body: (MessageLink, TestReplica, Node) async throws -> Void
    ) async throws {
      try await TestSite.with { site in
        let a = try await site.replica("a")
        try a.write("INSERT INTO item VALUES ('1', 'x'), ('2', 'y')")
        let first = try await site.run(a)
        let link = try await site.talk(to: first, "p")
        await link.acceptLongFrames()
        #expect(try await eventually { await first.connectedCount == 1 })
        #expect(try await eventually { first.clock.now.site != nil })
        try await body(link, a, first)
        link.close()
      }
    }

    /// The next question or answer; what is said besides is passed over.
    private func next(_ link: MessageLink) async throws -> Message {
      while true {
        let message = try await link.receive()
        switch message {
        case .inspect, .account: return message
        default: break
        }
      }
    }

    @Test func `of a peer is answered in its order`() async throws {
      try await withPeer { link, a, node in
        try await link.send(.inspect(Inspect(number: 1, buckets: [1])))
        #expect(try await next(link) == .account(Account(number: 1, .nothing(.failed))))
        try await link.send(.inspect(Inspect(number: 2, buckets: [])))
        guard case .account(let told) = try await next(link), case .sums(let sums) = told.content
        else {
          Issue.record("no sums")
          return
        }
        #expect(sums.rows == 2 && sums.uncaptured == 0)
        #expect(sums.digest == (await node.position.digest))
        try await link.send(.inspect(Inspect(number: 3, buckets: Array(0...255))))
        guard case .account(let list) = try await next(link),
          case .rows(let rows, isLast: true) = list.content
        else {
          Issue.record("no rows")
          return
        }
        #expect(rows.filter { $0.table == "item" }.count == 2)
        // Whoever asks without end is answered the last of it, now and then one before.
        for number in 4...400 as ClosedRange<UInt64> {
          try await link.send(.inspect(Inspect(number: number, buckets: [])))
        }
        var answers: [UInt64] = []
        while answers.last != 400 {
          if case .account(let account) = try await next(link) { answers.append(account.number) }
        }
        #expect(answers == answers.sorted())
        try a.write("DELETE FROM item WHERE id = '1'")
        #expect(try await eventually { await node.position.lost == 0 })
      }
    }

    /// What a peer says to each question.
    enum Lie: CaseIterable {
      case silence, leaving, rowsForSums, otherRows, refusal, failure
    }

    @Test(arguments: Lie.allCases)
    func `with a peer that lies or is silent fails`(lie: Lie) async throws {
      try await withPeer { link, a, node in
        async let report = a.library.verify(timeout: .seconds(2))
        guard case .inspect(let question) = try await next(link) else { return }
        func tell(_ number: UInt64, _ content: Account.Content) async throws {
          try await link.send(.account(Account(number: number, content)))
        }
        switch lie {
        case .silence: break
        case .leaving: link.close()
        case .rowsForSums: try await tell(question.number, .rows([], isLast: true))
        case .refusal: try await tell(question.number, .nothing(.notAllowed))
        case .failure: try await tell(question.number, .nothing(.failed))
        case .otherRows:
          let sums = Account.Sums(
            frontier: Frontier(), rows: 0, uncaptured: 0, digest: Digest())
          try await tell(question.number, .sums(sums))
          guard case .inspect(let second) = try await next(link) else { return }
          let row = try #require(
            (0..<999 as Range<Int64>).lazy.map { number in
              AccountRow(
                table: "item", key: Key([.integer(number)], collations: [])!, state: .live,
                dot: Dot(Origin(rawValue: 1), 1), stamp: .zero, hash: 1)
            }.first { !second.buckets.contains(UInt8($0.bucket)) })
          try await tell(second.number, .rows([row], isLast: true))
        }
        let peer = try #require(try await report.peers.first)
        let states: [Lie: VerifyReport.Peer.State] = [.refusal: .incomparable, .silence: .late]
        #expect(peer.state == states[lie, default: .failed], "\(peer)")
        #expect(peer.error != nil && !peer.identical)
        let isCut = [.leaving, .rowsForSums, .otherRows].contains(lie)
        #expect(try await eventually { await node.connectedCount == (isCut ? 0 : 1) })
        #expect(await node.questions.isEmpty)
        #expect(await !node.questions.isVerifying)
      }
    }

    @Test func `that a leaf asks for tells it nothing`() async throws {
      try await pair { site, a, _ in
        let keys = NodeKeys()
        await site.admit(keys, "p")
        let link = try await site.talk(to: a.1, as: keys, "p")
        #expect(try await eventually { await a.1.connectedCount == 2 })
        _ = try await a.0.library.grant(
          keys.identity.description, table: "line", right: "none")
        #expect(try await eventually { await a.1.connectedCount == 1 })
        link.close()
        let leaf = try await site.talk(to: a.1, as: keys, "p")
        await leaf.acceptLongFrames()
        #expect(try await eventually { await a.1.connectedCount == 2 })
        try await leaf.send(.inspect(Inspect(number: 1, buckets: [])))
        try await leaf.send(.inspect(Inspect(number: 2, buckets: [1, 2])))
        var answers: [Account] = []
        while answers.count < 2 {
          if case .account(let account) = try await leaf.receive() { answers.append(account) }
        }
        #expect(answers.map(\.content) == [.nothing(.notAllowed), .nothing(.notAllowed)])
        leaf.close()
      }
    }
  }
}

extension TestReplica {
  /// Writes as a program would that takes the triggers away and puts them back.
  func writePastTriggers(_ sql: String) throws {
    let triggers = try rows(
      "SELECT name || '|' || sql FROM sqlite_schema WHERE type = 'trigger'"
    ).map { $0.split(separator: "|", maxSplits: 1).map(String.init) }
    let drops = triggers.map { "DROP TRIGGER \"\($0[0])\";" }.joined()
    let makes = triggers.map { $0[1] + ";" }.joined()
    try write("BEGIN IMMEDIATE;" + drops + sql + ";" + makes + "COMMIT")
  }
}
