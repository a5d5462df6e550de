import Foundation
import Testing

@Suite struct `A receipt` {
  @Test func `tells what became of a write, also after the node was started anew`() async throws {
    try await Workplace.with { place in
      try await place.found(
        "a.db",
        "PRAGMA journal_mode = WAL; CREATE TABLE t(id INTEGER PRIMARY KEY, v);"
          + "INSERT INTO t VALUES (1, 'first')")
      var node = try await place.serve("a.db", "--http", "127.0.0.1:0")
      let token = try await place.token("a.db")
      var client = RawClient(port: node.port, token: token)
      try await place.awaitAnchor("office", beside: node, client)

      let wait = ["Prefer": "wait=0", "Idempotency-Key": "one"]
      let written = try await client.ask("PATCH", "/v1/a/rows/t/1", wait, body: #"{"v":"mine"}"#)
      #expect(written.status == 202, "\(written.body)")
      let address = try #require(written.header("Flotilla-Receipt"))
      #expect(written.object["receipt"] as? String == address)
      let pending = try await client.ask("GET", address)
      #expect(pending.status == 200 && pending.object["verdict"] as? String == "pending")
      #expect(try await client.ask("GET", address + "0").status == 404)
      #expect(try await client.ask("DELETE", address).status == 405)
      #expect(try await client.ask("GET", address + "?x=1").status == 400)
      let other = RawClient(port: node.port, token: try await place.token("a.db", "other"))
      #expect(try await other.ask("GET", address).status == 404)
      // Who has lost the answer gets the same one, whatever he prefers now.
      let again = try await client.ask(
        "PATCH", "/v1/a/rows/t/1", ["Prefer": "wait=1", "Idempotency-Key": "one"],
        body: #"{"v":"mine"}"#)
      #expect(again.status == 202 && again.header("Flotilla-Receipt") == address)
      #expect(again.header("Idempotency-Replayed") == "true")

      try await node.stop()
      node = try await place.serve("a.db", "--http", "127.0.0.1:0")
      client = RawClient(port: node.port, token: token)
      let office = try await place.serve("b.db", "--peer", "127.0.0.1:\(node.nodePort)")
      var last = pending
      let isJudged = try await eventually {
        last = try await client.ask("GET", address, ["Prefer": "wait=5"])
        return last.object["verdict"] as? String == "rejected"
      }
      #expect(isJudged, "\(last.body)")
      // It was made while the anchor was away, and that is what the rule is about.
      #expect(last.status == 200 && last.header("Flotilla-Verdict") == "rejected")
      let row = (last.object["rows"] as? [[String: Any]])?.first
      #expect(row?["reason"] as? String == "offline")
      #expect((row?["server"] as? [String: Any])?["v"] as? String == "first")
      let number = try #require(row?["conflict"] as? Int, "\(last.body)")
      try await checkConflict(number, client, place, node)
      let replayed = try await client.ask(
        "PATCH", "/v1/a/rows/t/1", wait, body: #"{"v":"mine"}"#)
      #expect(replayed.status == 409 && replayed.object["verdict"] as? String == "rejected")
      #expect(replayed.header("Idempotency-Replayed") == "true")
      let told = (replayed.object["rows"] as? [[String: Any]])?.first
      #expect(told?["conflict"] as? Int == number, "\(replayed.body)")
      let restored = try await client.ask("POST", "/v1/a/conflicts/\(number)/restore")
      #expect(restored.status == 200, "\(restored.body)")
      #expect(try await place.sql("a.db", "SELECT v FROM t") == "mine")
      try await office.stop()
      try await node.stop()
    }
  }

  /// What lost is found by its number.
  private func checkConflict(
    _ number: Int, _ client: RawClient, _ place: Workplace, _ node: Served
  ) async throws {
    let kept = try await client.ask("GET", "/v1/a/conflicts/\(number)")
    let loser = (kept.object["loser"] as? [String: Any])?["row"] as? [String: Any]
    #expect(kept.status == 200 && loser?["v"] as? String == "mine", "\(kept.body)")
    #expect(kept.object["id"] as? Int == number)
    #expect(try await client.ask("GET", "/v1/a/conflicts/\(number + 1)").status == 404)
    #expect(try await client.ask("GET", "/v1/a/conflicts/x").status == 404)
    let narrow = RawClient(
      port: node.port, token: try await place.token("a.db", "narrow", tables: "t=write"))
    #expect(try await narrow.ask("GET", "/v1/a/conflicts/\(number)").status == 403)
  }
}
