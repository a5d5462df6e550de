import Foundation
import SQLite
import Testing

@testable import Flotilla

extension NodeTests {
  /// How edits travel between nodes.
  @Suite struct `Edits` {
    @Test func `pass through a node between two that are not connected`() async throws {
      try await TestSite.with { site in
        let (a, b, c) = (
          try await site.replica("a"), try await site.replica("b"), try await site.replica("c")
        )
        let middle = try await site.run(b)
        // They dial from 127.0.0.1, where neither listens: what they hear of each other is no use.
        let left = try await site.run(a, to: [middle], listen: "127.0.0.2:0")
        let right = try await site.run(c, to: [middle], listen: "127.0.0.3:0")
        try a.write("INSERT INTO item VALUES ('1', 'from a')")
        #expect(try await eventually { try c.rows("SELECT text FROM item") == ["from a"] })
        try c.write("UPDATE item SET text = 'from c'")
        #expect(try await eventually { try a.rows("SELECT text FROM item") == ["from c"] })
        try a.write("DELETE FROM item")
        #expect(try await eventually { try c.count() == 0 })
        #expect(await left.connectedCount == 1)
        #expect(await right.connectedCount == 1)
      }
    }

    @Test func `are sent about once per node in a full mesh`() async throws {
      try await TestSite.with { site in
        var replicas: [TestReplica] = []
        var nodes: [Node] = []
        for name in ["a", "b", "c", "d"] {
          let replica = try await site.replica(name)
          nodes.append(try await site.run(replica, to: nodes))
          replicas.append(replica)
        }
        #expect(
          try await eventually {
            for node in nodes where await node.connectedCount < 3 { return false }
            for node in nodes where try await !node.isInSync { return false }
            return true
          })
        var before = 0
        for node in nodes { before += await node.sentRows }
        for number in 0..<20 {
          let writer = replicas[number % 4]
          try writer.write("INSERT INTO item VALUES ('\(number)', 'x')")
          #expect(
            try await eventually { try replicas.allSatisfy { try $0.count() == number + 1 } })
        }
        var after = 0
        for node in nodes { after += await node.sentRows }
        // Each of 20 edits goes to three nodes; a few may go twice when a Have was late.
        #expect(60...90 ~= after - before, "\(after - before) rows were sent")
      }
    }

    @Test func `made in bulk arrive whole`() async throws {
      try await TestSite.with { site in
        let (a, b) = (try await site.replica("a"), try await site.replica("b"))
        let first = try await site.run(a)
        let second = try await site.run(b, to: [first])
        #expect(try await eventually { await second.connectedCount == 1 })
        try a.write(
          """
          WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
          INSERT INTO item SELECT 'k' || i, 'text ' || i FROM n
          """)
        #expect(try await eventually(within: .seconds(60)) { try b.count() == 20_000 })
        let sum = "SELECT sum(length(id)), sum(length(text)) FROM item"
        #expect(try a.rows(sum) == b.rows(sum))
        #expect(try await eventually { try await first.isInSync })
        #expect(try await eventually { try await second.isInSync })
      }
    }

    @Test func `of one small transaction are never seen in part`() async throws {
      try await TestSite.with { site in
        let (a, b) = (try await site.replica("a"), try await site.replica("b"))
        let first = try await site.run(a)
        _ = try await site.run(b, to: [first])
        try a.write("INSERT INTO item VALUES ('x', '0'), ('y', '0')")
        #expect(try await eventually { try b.count() == 2 })
        let reader = Task.detached {
          let connection = try Connection(path: b.path)
          var torn = 0
          var seen: Set<String> = []
          while !Task.isCancelled {
            let row = try connection.rows("SELECT min(text), max(text) FROM item")[0]
            if row[0] != row[1] { torn += 1 }
            seen.insert("\(row[0])")
          }
          return (torn, seen.count)
        }
        for number in 1...150 {
          try a.write("UPDATE item SET text = '\(number)'")
          if number % 10 == 0 { try await Task.sleep(for: .milliseconds(7)) }
        }
        #expect(
          try await eventually { try b.rows("SELECT DISTINCT text FROM item") == ["150"] })
        reader.cancel()
        let (torn, states) = try await reader.value
        #expect(torn == 0)
        #expect(states > 3)
      }
    }

    @Test func `are noticed by the watch, however long ago the last one was`() async throws {
      try await TestSite.with { site in
        let ((a, first), (b, _)) = try await site.two()
        for (number, pause) in [300, 450, 950].enumerated() {
          try await Task.sleep(for: .milliseconds(pause))
          let signs = await first.notice.signs
          try a.write("INSERT INTO item VALUES ('\(number)', 'x')")
          // The patrol, which looks every 2 s, gives no sign.
          #expect(try await eventually { await first.notice.signs > signs })
          #expect(try await eventually { try b.count() == number + 1 })
        }
      }
    }

    @Test func `of a catch-up that was interrupted are not sent again`() async throws {
      try await TestSite.with { site in
        let (a, b) = (try await site.replica("a"), try await site.replica("b"))
        try a.write(
          """
          WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000)
          INSERT INTO item SELECT 'k' || i, hex(randomblob(100)) FROM n
          """)
        let first = try await site.run(a)
        let proxy = try await TestProxy(to: first.address, stopAfter: 1_200_000)
        await proxy.start()
        let second = try await site.run(b, to: [proxy.address])
        // What has come is merged by portions: one that is cut in the middle comes again.
        var (merged, before) = (0, -1)
        for _ in 1...120 where merged <= 3_000 || merged != before {
          try await Task.sleep(for: .milliseconds(500))
          (merged, before) = (try b.count(), merged)
        }
        #expect(merged > 3_000)
        await proxy.cut()
        #expect(try await eventually(within: .seconds(60)) { try b.count() == 10_000 })
        #expect(try await eventually { try await second.isInSync })
        let rows = await second.peers.values.first?.traffic.receivedRows ?? 0
        // The exchange that was completed had only the rest.
        #expect(1..<7_000 ~= rows, "\(rows) rows came after the cut")
        let bytes = await proxy.bytesBack
        #expect(bytes < 3_200_000, "\(bytes) bytes for about 2.3 million")
        await proxy.stop()
      }
    }
  }
}
