import Foundation
import Network
import Replication
import Testing

@testable import Flotilla

/// The requirements of the thesis that this library comes from (Melander 2018, table 2.1), a test
/// each: `client` is a program with an open replica, `server` the anchor.
@Suite(.serialized) struct `Requirement` {
  /// A site of an anchor that runs and a client that has opened its replica.
  private func withClient(
    rule: String = "client-wins",
    _ body: (_ server: TestReplica, _ client: TestReplica, OpenReplica) async throws -> Void
  ) async throws {
    try await TestSite.with { site in
      let server = try await site.replica("server")
      let client = try await site.replica("client")
      let node = try await site.run(server)
      _ = try await server.library.appoint(.here, rule: rule)
      var options = RunOptions()
      options.listen = "127.0.0.1:0"
      options.peers = [try await node.address]
      options.discovery = false
      let open = try await Replica.open(client.path, options: options)
      let result: Result<Void, any Error>
      do {
        #expect(
          try await eventually {
            let isInSync = try await client.library.status(all: true).in_sync
            let state = try await client.library.anchor().state
            return isInSync && state == "connected"
          })
        result = .success(try await body(server, client, open))
      } catch {
        result = .failure(error)
      }
      await open.close()
      try result.get()
    }
  }

  private static let row: [String: SQLValue] = ["id": "V", "text": "Växjö-Kalmar"]
  private static let key: [String: SQLValue] = ["id": "V"]

  @Test func `1: dependencies are free`() throws {
    // Nothing is fetched from elsewhere: the toolchain and C libraries of the system are all.
    let package = URL(filePath: #filePath).deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
      .appending(path: "Package.swift")
    let text = try String(contentsOf: package, encoding: .utf8)
    #expect(!text.contains(".package("))
    let license = package.deletingLastPathComponent().appending(path: "LICENSE")
    #expect(try String(contentsOf: license, encoding: .utf8).contains("MIT"))
  }

  @Test func `2: saves data offline`() async throws {
    try await withClient { server, client, open in
      await open.suspend()
      let receipt = try await open.save(Self.row, in: "item")
      #expect(receipt.local.first?.values == [.text("V"), .text("Växjö-Kalmar")])
      #expect(try server.count() == 0)
      try await open.resume()
      #expect(try await receipt.verdict().verdict == "accepted")
      #expect(try server.rows("SELECT text FROM item") == ["Växjö-Kalmar"])
    }
  }

  @Test func `3: queries data offline`() async throws {
    try await withClient { _, _, open in
      _ = try await open.save(Self.row, in: "item")
      await open.suspend()
      var answers: [QueryResponses.Element] = []
      for try await answer in try open.query("SELECT text FROM item") { answers.append(answer) }
      #expect(answers.map(\.source) == [.local])
      #expect(answers.first?.report.rows == [[.text("Växjö-Kalmar")]])
    }
  }

  @Test func `4: edits data offline`() async throws {
    try await withClient { server, _, open in
      _ = try await open.save(Self.row, in: "item").verdict()
      await open.suspend()
      let receipt = try await open.update("item", key: Self.key, set: ["text": .text("Alvesta")])
      #expect(receipt.local.first?.values == [.text("V"), .text("Alvesta")])
      try await open.resume()
      #expect(try await receipt.verdict() == RowVerdict(verdict: "accepted", rule: "client-wins"))
      #expect(try server.rows("SELECT text FROM item") == ["Alvesta"])
    }
  }

  @Test func `5: removes data offline`() async throws {
    try await withClient { server, client, open in
      _ = try await open.save(Self.row, in: "item").verdict()
      await open.suspend()
      let receipt = try await open.remove("item", key: Self.key)
      #expect(receipt.local.first?.values == nil)
      #expect(try client.count() == 0)
      try await open.resume()
      #expect(try await receipt.verdict().verdict == "accepted")
      #expect(try server.count() == 0)
    }
  }

  @Test func `6: saves data online`() async throws {
    try await withClient(rule: "server-wins") { server, _, open in
      let receipt = try await open.save(Self.row, in: "item")
      #expect(try await receipt.verdict().verdict == "accepted")
      #expect(try server.rows("SELECT text FROM item") == ["Växjö-Kalmar"])
    }
  }

  @Test func `7: queries data online`() async throws {
    try await withClient { server, _, open in
      try server.write("INSERT INTO item VALUES ('V', 'of the server')")
      var answers: [QueryResponses.Element] = []
      for try await answer in try open.query("SELECT text FROM item WHERE id = ?", [.text("V")]) {
        answers.append(answer)
      }
      #expect(answers.map(\.source) == [.local, .anchor])
      #expect(answers.last?.report.rows == [[.text("of the server")]])
    }
  }

  @Test func `8: edits data online`() async throws {
    try await withClient(rule: "server-wins") { server, _, open in
      _ = try await open.save(Self.row, in: "item").verdict()
      let receipt = try await open.update("item", key: Self.key, set: ["text": .text("Alvesta")])
      #expect(try await receipt.verdict() == RowVerdict(verdict: "accepted", rule: "server-wins"))
      #expect(try server.rows("SELECT text FROM item") == ["Alvesta"])
    }
  }

  @Test func `9: removes data online`() async throws {
    try await withClient(rule: "server-wins") { server, _, open in
      _ = try await open.save(Self.row, in: "item").verdict()
      let receipt = try await open.remove("item", key: Self.key)
      #expect(try await receipt.verdict().verdict == "accepted")
      #expect(try server.count() == 0)
    }
  }

  @Test func `10: a working implementation of merge rules`() async throws {
    // Every rule and every case end to end is in the conformance tests; here the one that says no.
    try await withClient(rule: "server-wins") { server, client, open in
      _ = try await open.save(Self.row, in: "item").verdict()
      await open.suspend()
      let receipt = try await open.update("item", key: Self.key, set: ["text": .text("offline")])
      #expect(receipt.local.first?.values == [.text("V"), .text("offline")])
      try await open.resume()
      let verdict = try await receipt.verdict()
      let conflicts = try await client.library.conflicts().conflicts
      #expect(
        verdict
          == RowVerdict(
            verdict: "rejected", reason: "offline", rule: "server-wins",
            conflict: try #require(conflicts.first).id))
      #expect(try await receipt.standing().first?.values == [.text("V"), .text("Växjö-Kalmar")])
      #expect(try server.rows("SELECT text FROM item") == ["Växjö-Kalmar"])
      #expect(conflicts.map(\.reason) == ["offline"])
      #expect(conflicts.first?.loser?.row?["text"] == .text("offline"))
    }
  }

  @Test func `11: synchronises data between local and online database`() async throws {
    try await withClient { server, client, open in
      _ = try await open.save(Self.row, in: "item")
      try server.write("INSERT INTO item VALUES ('S', 'of the server')")
      #expect(try await eventually { try server.count() == 2 && client.count() == 2 })
      #expect(
        try server.rows("SELECT * FROM item ORDER BY id")
          == client.rows("SELECT * FROM item ORDER BY id"))
    }
  }
}
