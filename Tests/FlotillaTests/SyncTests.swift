import Foundation
import Network
import Replication
import Testing

@testable import Flotilla

extension NodeTests {
  /// `sync` and `wait`, with and without running nodes.
  @Suite struct `A sync` {
    @Test func `of two files whose nodes both run goes both ways`() async throws {
      try await TestSite.with { site in
        let ((a, _), (b, _)) = try await site.two()
        try a.write("INSERT INTO item VALUES ('a', '1'), ('b', '2')")
        let report = try await a.library.sync(with: nil, timeout: .seconds(10))
        #expect(report.peers.map(\.node) == ["b"])
        #expect(report.peers.map(\.error) == [nil])
        // Done means arrived.
        #expect(try b.count() == 2)
        try b.write("INSERT INTO item VALUES ('c', '3')")
        let back = try await b.library.sync(with: "a", timeout: .seconds(10))
        #expect(back.peers.map(\.error) == [nil])
        #expect(try a.count() == 3)
      }
    }

    @Test func `counts the rows that it sends and receives`() async throws {
      try await TestSite.with { site in
        let ((a, first), (b, second)) = try await site.two()
        await second.stop()
        #expect(try await eventually { await first.connectedCount == 0 })
        try a.write("INSERT INTO item VALUES ('a', '1'), ('b', '2')")
        try b.write("INSERT INTO item VALUES ('c', '3')")
        let report = try await b.library.sync(with: nil, timeout: .seconds(10))
        #expect(report.peers.map(\.error) == [nil])
        #expect(report.peers.map(\.sent_rows) == [1])
        #expect(report.peers.map(\.received_rows) == [2])
        #expect(try a.count() == 3)
        #expect(try b.count() == 3)
      }
    }

    @Test func `with a node that is away says so`() async throws {
      try await TestSite.with { site in
        let ((a, first), (_, second)) = try await site.two()
        await second.stop()
        #expect(try await eventually { await first.connectedCount == 0 })
        let report = try await a.library.sync(with: nil, timeout: .seconds(5))
        #expect(report.peers.map(\.error) == ["not in reach"])
      }
    }

    @Test func `is not kept from those in reach by one that is away`() async throws {
      try await TestSite.with { site in
        let ((a, _), (_, second), (c, third)) = try await site.three()
        await second.stop()
        await third.stop()
        try c.write("INSERT INTO item VALUES ('c', '1')")
        let report = try await c.library.sync(with: nil, timeout: .seconds(2))
        #expect(report.peers.map(\.node) == ["a", "b"])
        #expect(report.peers.map(\.error) == [nil, "not in reach"])
        #expect(report.peers[0].sent_rows == 1 && report.peers[0].seconds < 1.5)
        #expect(try a.count() == 1)
      }
    }

    @Test func `with an address where nobody answers is a report, not a failure`() async throws {
      try await TestSite.with { site in
        let a = try await site.replica("a")
        _ = try await site.run(a)
        let report = try await a.library.sync(with: "127.0.0.1:9", timeout: .milliseconds(300))
        #expect(report.peers.map(\.node) == ["127.0.0.1:9"])
        #expect(report.peers.first?.error != nil)
        await #expect(throws: FlotillaError.self) {
          try await a.library.sync(with: "nobody", timeout: .milliseconds(300))
        }
      }
    }

    @Test func `with a port at which nobody listens does not wait for the time to be over`()
      async throws
    {
      try await TestSite.with { site in
        let a = try await site.replica("a")
        _ = try await site.run(a)
        let listener = try await Listener(host: "127.0.0.1", port: 0, tryNext: 0)
        let address = "127.0.0.1:\(listener.port)"
        listener.close()
        // Also when the address has failed before, and its next try is not due.
        for _ in 0..<2 {
          let report = try await a.library.sync(with: address, timeout: .seconds(86_400))
          #expect(report.peers.map(\.node) == [address])
          #expect(report.peers.first?.error == ConnectionEnds.refused)
        }
      }
    }

    @Test func `with an address where something else answers fails at once`() async throws {
      try await TestSite.with { site in
        try await TestSite.with { other in
          let (a, x) = (try await site.replica("a"), try await other.replica("x"))
          let (node, stranger) = (try await site.run(a), try await other.run(x))
          let listener = try await Listener(host: "127.0.0.1", port: 0, tryNext: 0)
          let web = Task {
            while let channel = try? await listener.accept() {
              try? await channel.write(Array("HTTP/1.0 400 Bad Request\r\n\r\n".utf8))
            }
          }
          // A day: whoever waits for the time to be over never ends.
          for (address, cause) in [
            (try await stranger.address, "the peer is no member of this site"),
            ("127.0.0.1:\(listener.port)", "what is at the other end is no Flotilla node"),
            (try await node.address, "that is this node itself"),
          ] {
            for _ in 0..<2 {
              let error = await #expect(throws: FlotillaError.self) {
                try await a.library.sync(with: address, timeout: .seconds(86_400))
              }
              #expect(error?.code == .peer)
              #expect(error?.message.contains("answers at \(address): \(cause)") == true)
            }
          }
          listener.close()
          await web.value
        }
      }
    }

    @Test func `with an address finds a node that was not known`() async throws {
      try await TestSite.with { site in
        let (a, b) = (try await site.replica("a"), try await site.replica("b"))
        try a.write("INSERT INTO item VALUES ('a', '1')")
        let first = try await site.run(a)
        let address = try await first.address
        let report = try await b.library.sync(with: address, timeout: .seconds(10))
        #expect(report.peers.map(\.node) == ["a"])
        #expect(report.peers.map(\.error) == [nil])
        #expect(try b.count() == 1)
      }
    }

    @Test func `beside another one ends for both`() async throws {
      try await TestSite.with { site in
        let ((a, _), _) = try await site.two()
        try await withThrowingTaskGroup(of: SyncReport.self) { group in
          for _ in 0..<4 {
            group.addTask { try await a.library.sync(with: nil, timeout: .seconds(10)) }
          }
          for try await report in group {
            #expect(report.peers.map(\.error) == [nil])
          }
        }
      }
    }
  }

  /// `wait`.
  @Suite struct `A wait` {
    @Test func `ends when the named node holds what was committed before`() async throws {
      try await TestSite.with { site in
        let ((a, _), (b, _)) = try await site.two()
        for number in 0..<20 {
          try a.write("INSERT INTO item VALUES ('\(number)', 'x')")
          let report = try await a.library.wait(for: .node("b"), timeout: .seconds(10))
          #expect(report == WaitReport(reached: ["b"], missing: []))
          #expect(try b.count() == number + 1)
        }
      }
    }

    @Test func `for all names those that lack it when the time is over`() async throws {
      try await TestSite.with { site in
        let (a, b, c) = (
          try await site.replica("a"), try await site.replica("b"), try await site.replica("c")
        )
        let first = try await site.run(a)
        let second = try await site.run(b, to: [first])
        let third = try await site.run(c, to: [first])
        #expect(try await eventually { try await first.status(all: true).peers.count == 2 })
        #expect(try await eventually { try await third.isInSync })
        #expect(try await eventually { try await second.isInSync })
        await third.stop()
        try a.write("INSERT INTO item VALUES ('x', '1')")
        _ = try await a.library.wait(for: .node("b"), timeout: .seconds(30))
        let report = try await a.library.wait(for: .all, timeout: .milliseconds(500))
        #expect(report == WaitReport(reached: ["b"], missing: ["c"]))
      }
    }

    @Test func `without a running node reaches the peers by itself`() async throws {
      try await TestSite.with { site in
        let ((a, _), (b, second)) = try await site.two()
        await second.stop()
        try b.write("INSERT INTO item VALUES ('x', '1')")
        let report = try await b.library.wait(for: .all, timeout: .seconds(10))
        #expect(report == WaitReport(reached: ["a"], missing: []))
        #expect(try a.count() == 1)
      }
    }

    @Test func `for the anchor ends with its verdict, whoever has brought that`() async throws {
      try await TestSite.with { site in
        let (a, b, c) = (
          try await site.replica("a"), try await site.replica("b"), try await site.replica("c")
        )
        let first = try await site.run(a)
        let address = try await first.address
        let second = try await site.run(b, to: [first])
        let third = try await site.run(c, to: [second])
        _ = try await a.library.appoint(.here, rule: "client-wins")
        for node in [first, second, third] {
          #expect(try await eventually { try await node.status(all: true).peers.count == 2 })
          #expect(try await eventually { try await node.isInSync })
        }
        let itself = try await a.library.wait(for: .anchor, timeout: .seconds(5))
        #expect(itself.remark?.contains("is the anchor itself") == true)
        #expect(itself.reached.isEmpty && itself.missing.isEmpty)

        // The edit goes to b alone, and the verdict comes from b alone.
        await first.stop()
        try c.write("INSERT INTO item VALUES ('c', '1')")
        #expect(try await eventually { try b.count() == 1 })
        let early = try await c.library.wait(for: .anchor, timeout: .milliseconds(300))
        #expect(early == WaitReport(reached: [], missing: ["a"]))
        await third.stop()
        let again = try await site.run(a, listen: address)
        for node in [again, second] {
          #expect(try await eventually { try a.count() == 1 })
          #expect(try await eventually { try await node.status(all: false).in_sync })
        }
        await again.stop()
        _ = try await site.run(c, to: [second])
        for target in [WaitTarget.anchor, .all] {
          let report = try await c.library.wait(for: target, timeout: .seconds(10))
          #expect(report.missing == [] && report.reached.contains("a"), "\(report)")
        }
      }
    }

    @Test func `for the anchor or a stranger fails at once`() async throws {
      try await TestSite.with { site in
        let a = try await site.replica("a")
        _ = try await site.run(a)
        await #expect(throws: FlotillaError.self) {
          try await a.library.wait(for: .anchor, timeout: .seconds(10))
        }
        await #expect(throws: FlotillaError.self) {
          try await a.library.wait(for: .node("stranger"), timeout: .seconds(10))
        }
        let alone = try await a.library.wait(for: .all, timeout: .seconds(10))
        #expect(alone == WaitReport(reached: [], missing: []))
      }
    }
  }
}
