import Foundation
import Testing

/// Inviting, granting, shutting out, the clock and the doctor over HTTP.
@Suite(.timeLimit(.minutes(5))) struct `What the page does for people` {
  private func withClient(
    _ body: (Workplace, Served, RawClient) async throws -> Void
  ) async throws {
    try await Workplace.with { place in
      try await place.found("a.db", "CREATE TABLE t(id TEXT PRIMARY KEY NOT NULL, v)")
      let node = try await place.serve("a.db", "--http", "127.0.0.1:0")
      try await body(place, node, RawClient(port: node.port, token: try await place.token("a.db")))
      try await node.stop()
    }
  }

  private func member(_ name: String, of client: RawClient) async throws -> [String: Any] {
    let members = try await client.ask("GET", "/v1/a/members").object["members"]
    let all = members as? [[String: Any]] ?? []
    return try #require(all.first { $0["node"] as? String == name })
  }

  @Test func `a machine is invited, bound and shut out`() async throws {
    try await withClient { place, node, client in
      let made = try await client.ask("POST", "/v1/a/invitations", body: #"{"role":"writer"}"#)
      #expect(made.status == 201 && made.object["role"] as? String == "writer")
      let code = try #require(made.object["code"] as? String)
      #expect(code.wholeMatch(of: /[0-9A-Z]{4}(-[0-9A-Z]{2,4}){5}/) != nil)
      try await place.flotilla(
        "join", "b.db", code, "--at", "127.0.0.1:\(node.nodePort)", "--name", "ward 2")
      let other = try await place.serve("b.db")
      let id = try #require(try await member("ward 2", of: client)["id"] as? String)

      let grant = "/v1/a/members/\(id)/grant"
      let granted = try await client.ask("POST", grant, body: #"{"table":"t","right":"read"}"#)
      #expect(granted.status == 200 && granted.object["right"] as? String == "read")
      #expect(
        try await member("ward 2", of: client)["rights"] as? [String: String] == ["t": "read"])
      for body in [
        #"{"table":"none","right":"read"}"#, #"{"table":"t","right":"all"}"#, #"{"table":"t"}"#,
        #"{"table":"t","right":"read","x":1}"#, "[]", #"{"table":[],"right":"read"}"#,
      ] {
        let answer = try await client.ask("POST", grant, body: body)
        #expect((400..<500).contains(answer.status), "\(body) \(answer.body)")
      }

      let revoked = try await client.ask("POST", "/v1/a/members/ward%202/revoke")
      #expect(revoked.status == 200 && revoked.object["id"] as? String == id)
      #expect(try await member("ward 2", of: client)["state"] as? String == "revoked")
      for nobody in ["nobody/revoke", "nobody/forget", "%00/revoke", "first/revoke"] {
        let answer = try await client.ask("POST", "/v1/a/members/" + nobody)
        #expect((400..<500).contains(answer.status), "\(nobody) \(answer.body)")
      }
      #expect(try await client.ask("POST", "/v1/a/members/first/praise").status == 404)
      #expect(try await client.ask("GET", "/v1/a/members/first/revoke").status == 405)
      #expect(node.text.contains("the token me has invited a machine"))
      #expect(node.text.contains("the token me has changed a member: revoke ward 2"))
      #expect(!node.text.contains(code))
      try await other.stop()
    }
  }

  @Test func `a code is good for a role and a time that there are`() async throws {
    try await withClient { _, _, client in
      for body in [
        #"{"role":"king"}"#, #"{"seconds":5}"#, #"{"seconds":1e9}"#, #"{"seconds":-60}"#,
        #"{"ttl":60}"#, #"{"role":null}"#, "5", #"{"seconds":99999999999999999999}"#,
      ] {
        let answer = try await client.ask("POST", "/v1/a/invitations", body: body)
        #expect(answer.status == 400, "\(body) \(answer.body)")
      }
      #expect(try await client.ask("POST", "/v1/a/invitations").status == 201)
      #expect(try await client.ask("GET", "/v1/a/invitations").status == 405)
    }
  }

  @Test func `doctor and clock say what the commands say`() async throws {
    try await withClient { place, _, client in
      for report in ["doctor", "clock"] {
        let answer = try await client.ask("GET", "/v1/a/\(report)")
        let said = try await place.run("flotilla", report, "a.db", "--json")
        let line = said.text.split(separator: "\n").first { $0.hasPrefix("{") } ?? ""
        let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
        #expect(answer.status == 200 && Set(answer.object.keys) == Set((object ?? [:]).keys))
        #expect(!answer.object.isEmpty)
      }
      let good = try await client.ask("POST", "/v1/a/clock", body: #"{"good":true}"#)
      let clock = good.object["clock"] as? [String: Any]
      #expect(good.status == 200 && clock?["good"] as? Bool == true)
      for body in ["{}", #"{"good":1}"#, #"{"good":true,"set":1}"#, "[]"] {
        #expect(try await client.ask("POST", "/v1/a/clock", body: body).status == 400, "\(body)")
      }
    }
  }

  @Test func `are for tokens that may read, or write, everything`() async throws {
    try await withClient { place, node, _ in
      let all = RawClient(
        port: node.port, token: try await place.token("a.db", "reader", tables: "*=read"))
      let one = RawClient(
        port: node.port, token: try await place.token("a.db", "one", tables: "t=write"))
      for report in ["doctor", "clock"] {
        #expect(try await all.ask("GET", "/v1/a/\(report)").status == 200)
        #expect(try await one.ask("GET", "/v1/a/\(report)").status == 403)
      }
      for client in [all, one] {
        for path in ["invitations", "clock", "members/first/revoke", "members/first/grant"] {
          let answer = try await client.ask("POST", "/v1/a/" + path, body: "{}")
          #expect(answer.status == 403 && answer.kind == "not-allowed", "\(path)")
        }
      }
      let stranger = RawClient(port: node.port)
      #expect(try await stranger.ask("POST", "/v1/a/invitations").status == 401)
    }
  }
}
