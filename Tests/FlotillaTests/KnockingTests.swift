import Foundation
import Network
import Replication
import Testing

@testable import Flotilla

extension NodeTests {
  /// Whether a node's port is reached, as members tell each other.
  @Suite struct `A port` {
    private func report(_ node: Node, within timeout: Duration = .seconds(6)) async throws
      -> PortReport.Peer
    {
      #expect(try await eventually { await node.connectedCount == 1 })
      let report = try await node.portReport(within: timeout)
      #expect(report.port == Int(try #require(await node.port)))
      return try #require(report.peers.first)
    }

    @Test func `that was dialled is reached, and the other one is dialled back`() async throws {
      try await TestSite.with { site in
        let (a, b) = (try await site.replica("a"), try await site.replica("b"))
        let lines = Locked<[String]>([])
        let first = try await site.run(a)
        let second = try await site.run(b, to: [first.address]) { line in
          lines.withLock { $0.append(line) }
        }
        // Somebody came in, so nobody has to be asked.
        let here = try await report(first)
        #expect(here.outcome == .reached && here.at == nil)
        #expect(here.isHere && here.host == "127.0.0.1")
        #expect(
          try await eventually {
            await first.peers.values.allSatisfy { $0.program == ProgramVersion.current }
          })
        let there = try await report(second)
        #expect(there.outcome == .reached && there.node == "a" && there.isHere)
        #expect(await second.connectedCount == 1)
        #expect(await first.work.dialsBack == 0)
        // Once a minute, and the answer of the first time stands meanwhile.
        let asked = await second.peers.values.first?.knockedAt
        #expect(try await report(second).outcome == .reached)
        #expect(await second.peers.values.first?.knockedAt == asked)
        // The dial that was asked for is no stranger's, and nobody is lost by it.
        #expect(try await eventually { await second.strangers.isEmpty })
        #expect(lines.withLock { $0 }.allSatisfy { !$0.contains("connection from") })
        #expect(await second.sessions.count == 1)
      }
    }

    @Test func `that lets nobody in is found closed`() async throws {
      try await TestSite.with { site in
        let (a, b) = (try await site.replica("a"), try await site.replica("b"))
        let first = try await site.run(a)
        // It dials from 127.0.0.1, where it does not listen.
        let second = try await site.run(b, to: [first], listen: "127.0.0.2:0")
        #expect(try await report(second).outcome == .refused)
        #expect(try await second.portReport(within: .seconds(1)).listen == "127.0.0.2")
      }
    }

    @Test func `of another program is no port of the node`() async throws {
      try await TestSite.with { site in
        let (a, b) = (try await site.replica("a"), try await site.replica("b"))
        let first = try await site.run(a)
        let second = try await site.run(b, to: [first], listen: "127.0.0.2:0")
        let port = try #require(await second.port)
        let other = try await Listener(host: "127.0.0.1", port: port, tryNext: 0)
        defer { other.close() }
        let door = Task {
          while let channel = try? await other.accept() {
            try? await channel.write([UInt8]("220 mail.example ESMTP\r\n".utf8))
            channel.close()
          }
        }
        defer { door.cancel() }
        #expect(try await report(second).outcome == .another)
      }
    }

    @Test func `is reached by who has come in, whatever that one runs`() async throws {
      try await TestSite.with { site in
        let a = try await site.replica("a")
        let node = try await site.run(a)
        let keys = NodeKeys()
        await site.admit(keys, "silent")
        let channel = try await site.channel(to: node, as: keys)
        let link = MessageLink(channel: channel)
        try await link.send(.hello(await site.hello(of: keys, "silent", to: node)))
        #expect(try await eventually { await node.connectedCount == 1 })
        let peer = try await report(node)
        #expect(peer.outcome == .reached)
        let status = try await node.status(all: true)
        #expect(status.peers.map(\.protocol) == [Int(Session.versions.upperBound)])
        #expect(status.peers.map(\.program) == [nil] && status.program == ProgramVersion.current)
        link.close()
      }
    }

    @Test func `is dialled once a minute, and a peer that does not listen never`() async throws {
      try await TestSite.with { site in
        let a = try await site.replica("a")
        let node = try await site.run(a)
        let link = try await site.talk(to: node)
        for _ in 0..<3 { try await link.send(.knock) }
        var answers: [Knocked] = []
        while answers.count < 3 {
          if case .knocked(let answer) = try await link.receive() { answers.append(answer) }
        }
        // Its Hello tells no port.
        #expect(answers == [.untried, .untried, .untried])
        #expect(await node.work.dialsBack == 0)
        try await link.send(.program("9.9"))
        #expect(try await eventually { await node.peers.values.first?.program == "9.9" })
        let members = await node.members().members
        #expect(members.compactMap(\.program).sorted() == [ProgramVersion.current, "9.9"].sorted())
        link.close()
      }
    }
  }
}
