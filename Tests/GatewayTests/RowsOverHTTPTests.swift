import Foundation
import Glibc
import Testing

/// Rows through the built program, as a client sees them.
@Suite(.timeLimit(.minutes(5))) struct `Rows over HTTP` {
  static let schema = """
    CREATE TABLE patient(id TEXT PRIMARY KEY NOT NULL, ward TEXT, age INTEGER, big INTEGER,
      weight REAL, data BLOB, any_value);
    CREATE TABLE visit(patient TEXT NOT NULL, n INTEGER NOT NULL, note TEXT,
      double AS (n * 2), PRIMARY KEY(patient, n));
    CREATE TABLE counter(id INTEGER PRIMARY KEY, n INTEGER CHECK(n < 1000));
    INSERT INTO counter VALUES (1, 0);
    INSERT INTO patient(id, ward, age) VALUES ('p-1', 'A', 40), ('p-2', 'B', 50), ('p-3', 'B', 60);
    INSERT INTO visit VALUES ('p-1', 1, 'a'), ('p-1', 2, NULL);
    """

  /// A node at work whose client may do everything.
  private func withClient(_ body: (Workplace, RawClient) async throws -> Void) async throws {
    try await Workplace.with { place in
      try await place.found("clinic.db", Self.schema)
      let node = try await place.serve("clinic.db", "--http", "127.0.0.1:0")
      let token = try await place.token("clinic.db")
      try await body(place, RawClient(port: node.port, token: token))
      try await node.stop()
    }
  }

  private func ids(_ answer: Answer) -> [String] {
    (answer.json as? [[String: Any]] ?? []).compactMap { $0["id"] as? String }
  }

  /// What every client takes out of a path names no row.
  @Test func `are not taken for others where their keys are dots`() async throws {
    try await withClient { _, client in
      let rows = "/v1/clinic/rows/patient"
      for key in ["", ".", ".."] {
        let made = try await client.ask("POST", rows, body: "{\"id\":\"\(key)\",\"ward\":\"old\"}")
        let address = try #require(made.header("location"))
        #expect(!address.hasSuffix("."), "\(address)")
        let patched = try await client.ask("PATCH", address, body: "{\"ward\":\"new \(key)\"}")
        #expect(patched.status == 204)
      }
      let all = try await client.ask("GET", rows + "?select=ward&order=id")
      #expect(all.body.contains("new .") && all.body.contains("new .."), "\(all.body)")
    }
  }

  @Test func `tell who has edited them last, where somebody asks`() async throws {
    try await withClient { place, client in
      try await place.sql("clinic.db", "UPDATE patient SET ward = 'Z' WHERE id = 'p-1'")
      let facts = "SELECT edited_by, edited_at FROM _flotilla_rows_patient WHERE id = 'p-1'"
      #expect(try await eventually { try await !place.sql("clinic.db", facts).hasSuffix("|") })
      let known = try await place.sql("clinic.db", facts).split(separator: "|").map(String.init)
      let row = "/v1/clinic/rows/patient/p-1"
      let answer = try await client.ask("GET", row, ["Prefer": "last-edit"])
      #expect(answer.status == 200 && answer.header("preference-applied") == "last-edit")
      #expect(answer.header("flotilla-edited-by") == known[0])
      let written = known[1].replacingOccurrences(of: " ", with: "T") + "Z"
      #expect(answer.header("flotilla-edited-at") == written)
      #expect(try await client.ask("GET", row).header("flotilla-edited-by") == nil)
      let nobody = try await client.ask("GET", row + "9", ["Prefer": "last-edit"])
      #expect(nobody.status == 404)
      try await place.sql("clinic.db", "ALTER TABLE patient RENAME TO person")
      let renamed = row.replacingOccurrences(of: "patient", with: "person")
      var later = try await client.ask("GET", renamed, ["Prefer": "last-edit"])
      // The gateway may have to hear of the name first.
      for _ in 0..<100 where later.header("flotilla-edited-by") == nil {
        try await Task.sleep(for: .milliseconds(100))
        later = try await client.ask("GET", renamed, ["Prefer": "last-edit"])
      }
      #expect(later.header("flotilla-edited-by") == known[0])
      #expect(later.header("flotilla-edited-at") == written)
    }
  }

  @Test func `are found by filters, in an order, page by page`() async throws {
    try await withClient { _, client in
      let rows = "/v1/clinic/rows/patient"
      let all = try await client.ask("GET", rows)
      #expect(all.status == 200 && ids(all) == ["p-1", "p-2", "p-3"])
      #expect(all.header("content-type") == "application/json")
      #expect(all.header("link") == nil)
      let some = try await client.ask("GET", rows + "?ward=eq.B&age=gte.60&select=id,age")
      #expect(some.body == "[{\"id\":\"p-3\",\"age\":60}]\n")
      let either = try await client.ask("GET", rows + "?or=(age.lt.45,id.eq.p-3)&order=id.desc")
      #expect(ids(either) == ["p-3", "p-1"])
      #expect(ids(try await client.ask("GET", rows + "?id=like.P-_")) == ["p-1", "p-2", "p-3"])
      #expect(ids(try await client.ask("GET", rows + "?id=like.p-%5C_")) == [])
      #expect(ids(try await client.ask("GET", rows + "?id=like.%25%5C-3")) == ["p-3"])
      var (seen, next): ([String], String?) = ([], rows + "?limit=1&order=ward.desc")
      while let target = next {
        let page = try await client.ask("GET", target)
        #expect(page.status == 200)
        seen += ids(page)
        next = page.header("link")?.firstMatch(of: /<(.*)>; rel="next"/).map { String($0.1) }
      }
      #expect(seen == ["p-2", "p-3", "p-1"])
      for wrong in ["?nope=eq.1", "?age=5", "?limit=0", "?offset=1", "?select=nope", "?next=x"] {
        let answer = try await client.ask("GET", rows + wrong)
        #expect(answer.status == 400, "\(wrong)")
        #expect(answer.header("content-type") == "application/problem+json")
      }
      #expect(try await client.ask("GET", "/v1/clinic/rows/nope").status == 404)
      #expect(try await client.ask("GET", "/v1/clinic/rows/sqlite_schema").status == 404)
      #expect(try await client.ask("GET", "/v1/clinic/rows/_flotilla_meta").status == 404)
    }
  }

  @Test func `are made, put, changed and removed one by one`() async throws {
    try await withClient { place, client in
      let rows = "/v1/clinic/rows/visit"
      let made = try await client.ask(
        "POST", rows, ["Prefer": "return=representation"],
        body: #"{"patient":"a,b/ü","n":5,"note":"x"}"#)
      #expect(made.status == 201)
      #expect(made.body == "{\"patient\":\"a,b/ü\",\"n\":5,\"note\":\"x\",\"double\":10}\n")
      let place1 = try #require(made.header("location"))
      #expect(place1 == rows + "/a%2Cb%2F%C3%BC,5")
      let got = try await client.ask("GET", place1)
      #expect(got.body == made.body)
      #expect(got.header("etag") == made.header("etag"))
      let again = try await client.ask(
        "POST", rows, body: #"{"patient":"a,b/ü","n":5,"note":"x"}"#)
      #expect(again.status == 409 && again.kind == "constraint")
      #expect(try await client.ask("PUT", place1, body: #"{"note":"y"}"#).status == 204)
      #expect(try await client.ask("PUT", place1, body: #"{}"#).kind == "column")
      #expect(try await client.ask("PUT", place1, body: #"{"n":6,"note":"y"}"#).kind == "key")
      #expect(
        try await client.ask("PUT", place1, body: #"{"note":"y","double":1}"#).kind == "column")
      let created = try await client.ask("PUT", rows + "/new,1", body: #"{"note":"z"}"#)
      #expect(created.status == 201 && created.header("location") == rows + "/new,1")
      #expect(try await client.ask("PATCH", place1, body: #"{"note":null}"#).status == 204)
      #expect(try await client.ask("PATCH", rows + "/no,1", body: #"{"note":"z"}"#).status == 404)
      #expect(try await client.ask("PATCH", place1, body: "[]").status == 400)
      #expect(try await client.ask("DELETE", place1).status == 204)
      #expect(try await client.ask("DELETE", place1).status == 404)
      #expect(try await client.ask("GET", place1).status == 404)
      #expect(try await client.ask("GET", rows + "/a").kind == "key")
      let left = try await place.sql("clinic.db", "SELECT patient, n, note FROM visit ORDER BY 1")
      #expect(left == "new|1|z\np-1|1|a\np-1|2|")
    }
  }

  @Test func `of one request are written together or not at all`() async throws {
    try await withClient { place, client in
      let rows = "/v1/clinic/rows/counter"
      let bad = try await client.ask("POST", rows, body: #"[{"id":2,"n":1},{"id":3,"n":5000}]"#)
      #expect(bad.status == 409)
      #expect(try await place.sql("clinic.db", "SELECT count(*) FROM counter") == "1")
      let good = try await client.ask(
        "POST", rows, ["Prefer": "return=representation"], body: #"[{"n":1},{"id":7,"n":2},{}]"#)
      #expect(good.status == 201)
      #expect(
        good.body == "[{\"id\":2,\"n\":1},\n{\"id\":7,\"n\":2},\n{\"id\":8,\"n\":null}]\n")
      #expect(try await client.ask("POST", rows, body: "[]").status == 201)
      for body in ["[1]", "5", #"{"id":9,"ID":9}"#, #"{"n":1,"n":2}"#, "{", #"{"nope":1}"#] {
        #expect(try await client.ask("POST", rows, body: body).status == 400, "\(body)")
      }
      let text = try await client.ask("POST", rows, body: #"{"id":"x"}"#)
      #expect(text.status == 400 && text.kind == "value")
    }
  }

  @Test func `are not lost to a filter that was forgotten`() async throws {
    try await withClient { place, client in
      let rows = "/v1/clinic/rows/patient"
      for method in ["PATCH", "DELETE"] {
        let body = method == "PATCH" ? #"{"ward":"X"}"# : nil
        #expect(try await client.ask(method, rows, body: body).kind == "no-filter")
        let few = try await client.ask(method, rows, ["Prefer": "max-affected=2"], body: body)
        #expect(few.status == 400 && few.kind == "max-affected")
        let some = try await client.ask(method, rows + "?ward=eq.B&select=id", body: body)
        #expect(some.status == 400)
      }
      let state = "SELECT count(*) || group_concat(ward, '') FROM patient"
      #expect(try await place.sql("clinic.db", state) == "3ABB")
      let changed = try await client.ask("PATCH", rows + "?ward=eq.B", body: #"{"ward":"C"}"#)
      #expect(changed.body == "{\"changes\":2}\n")
      let all = try await client.ask("DELETE", rows, ["Prefer": "max-affected=3"])
      #expect(all.body == "{\"changes\":3}\n")
      #expect(try await place.sql("clinic.db", "SELECT count(*) FROM patient") == "0")
    }
  }

  @Test func `are not written over by who has not seen them`() async throws {
    try await withClient { place, client in
      let row = "/v1/clinic/rows/counter/1"
      let writers = 12
      // Each counts up once, by the tag that it has seen, however often it must look again.
      let tries = try await withThrowingTaskGroup(of: Int.self) { group in
        for _ in 0..<writers {
          group.addTask {
            for attempt in 1...500 {
              let seen = try await client.ask("GET", row)
              let n = try #require(seen.object["n"] as? Int)
              let answer = try await client.ask(
                "PATCH", row, ["If-Match": seen.header("etag") ?? ""], body: "{\"n\":\(n + 1)}")
              if answer.status == 204 { return attempt }
              #expect([412, 503].contains(answer.status), "\(answer.body)")
            }
            return 0
          }
        }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      #expect(!tries.contains(0))
      #expect(try await place.sql("clinic.db", "SELECT n FROM counter") == "\(writers)")
      let seen = try await client.ask("GET", row)
      let tag = try #require(seen.header("etag"))
      #expect(try await client.ask("GET", row, ["If-None-Match": tag]).status == 304)
      #expect(try await client.ask("GET", row, ["If-Match": "\"x\""]).status == 412)
      #expect(try await client.ask("DELETE", row, ["If-Match": "\"x\""]).status == 412)
      let put = try await client.ask("PUT", row, ["If-None-Match": "*"], body: #"{"n":1}"#)
      #expect(put.status == 412)
      let new = "/v1/clinic/rows/counter/2"
      #expect(try await client.ask("PUT", new, ["If-Match": "*"], body: #"{"n":1}"#).status == 412)
      let first = try await client.ask("PUT", new, ["If-None-Match": "*"], body: #"{"n":1}"#)
      #expect(first.status == 201)
      // Plain SQL of another program counts as well.
      try await place.sql("clinic.db", "UPDATE counter SET n = 5 WHERE id = 2")
      let stale = ["If-Match": first.header("etag") ?? ""]
      #expect(try await client.ask("PATCH", new, stale, body: #"{"n":9}"#).status == 412)
    }
  }

  @Test func `are written once under one Idempotency-Key`() async throws {
    try await withClient { place, client in
      let rows = "/v1/clinic/rows/counter"
      let key = ["Idempotency-Key": "k-1", "Prefer": "return=representation"]
      let answers = try await withThrowingTaskGroup(of: Answer.self) { group in
        for _ in 0..<6 {
          group.addTask { try await client.ask("POST", rows, key, body: #"{"n":3}"#) }
        }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      #expect(answers.allSatisfy { $0.status == 201 && $0.body == "{\"id\":2,\"n\":3}\n" })
      #expect(answers.count { $0.header("idempotency-replayed") == "true" } == 5)
      #expect(answers.allSatisfy { $0.header("location") == rows + "/2" })
      #expect(try await place.sql("clinic.db", "SELECT count(*) FROM counter") == "2")
      let other = try await client.ask("POST", rows, key, body: #"{"n":4}"#)
      #expect(other.status == 422)
      // What was refused is not kept: it may succeed later.
      let refused = ["Idempotency-Key": "k-2"]
      #expect(try await client.ask("POST", rows, refused, body: #"{"id":2}"#).status == 409)
      _ = try await client.ask("DELETE", rows + "/2")
      #expect(try await client.ask("POST", rows, refused, body: #"{"id":2}"#).status == 201)
      let long = ["Idempotency-Key": String(repeating: "k", count: 256)]
      #expect(try await client.ask("POST", rows, long, body: #"{"n":4}"#).status == 400)
    }
  }

  @Test func `keep every bit on their way to a client and back`() async throws {
    try await withClient { place, client in
      try await place.sql(
        "clinic.db",
        """
        INSERT INTO patient VALUES
          ('a', 'x' || char(0) || 'y', 9007199254740993, -9223372036854775808, 0.1, x'00ff', 5.0),
          ('b', CAST(x'ff' AS TEXT), 1, 2, 1e300, x'', 9223372036854775807),
          ('c', '', 0, 0, -0.5, NULL, '9223372036854775807'),
          ('d', NULL, 0, 0, 9e999, x'01', x'02');
        """)
      let digest =
        "SELECT group_concat(typeof(ward) || hex(ward) || typeof(age) || age || big || "
        + "printf('%.17g', weight) || hex(data) || typeof(any_value) || quote(any_value), '|') "
        + "FROM (SELECT * FROM patient WHERE id IN ('a', 'b', 'c', 'd') ORDER BY id)"
      let before = try await place.sql("clinic.db", digest)
      for id in ["a", "b", "c", "d"] {
        let row = "/v1/clinic/rows/patient/\(id)"
        let got = try await client.ask("GET", row)
        #expect(got.status == 200)
        #expect(try await client.ask("DELETE", row).status == 204)
        let put = try await client.ask("PUT", row, body: got.body)
        #expect(put.status == 201, "\(put.body)")
        #expect(put.header("etag") == got.header("etag"))
      }
      #expect(try await place.sql("clinic.db", digest) == before)
    }
  }

  @Test func `reach another node, and come from it`() async throws {
    try await Workplace.with { place in
      try await place.found("clinic.db", Self.schema)
      let node = try await place.serve("clinic.db", "--http", "127.0.0.1:0")
      let code = try await place.run("flotilla", "invite", "clinic.db")
      let word = try #require(code.text.split(separator: "\n").first.map(String.init))
      try await place.flotilla(
        "join", "other.db", word, "--at", "127.0.0.1:\(node.nodePort)", "--name", "other")
      let other = try await place.serve("other.db")
      let client = RawClient(port: node.port, token: try await place.token("clinic.db"))
      let row = "/v1/clinic/rows/patient/p-1"
      #expect(try await client.ask("PATCH", row, body: #"{"ward":"Z"}"#).status == 204)
      let hasArrived = try await eventually {
        try await place.sql("other.db", "SELECT ward FROM patient WHERE id = 'p-1'") == "Z"
      }
      #expect(hasArrived)
      let seen = try await client.ask("GET", row)
      try await place.sql("other.db", "UPDATE patient SET ward = 'Y' WHERE id = 'p-1'")
      let isBack = try await eventually { try await client.ask("GET", row).body != seen.body }
      #expect(isBack)
      let stale = ["If-Match": seen.header("etag") ?? ""]
      #expect(try await client.ask("PATCH", row, stale, body: #"{"ward":"X"}"#).status == 412)
      try await judged(client, place)
      try await rejected(client, place, other)
      try await other.stop()
      try await node.stop()
    }
  }

  /// The anchor has a row of its own that the client has not seen; by `server-wins` that stands.
  private func rejected(
    _ client: RawClient, _ place: Workplace, _ anchor: Served
  ) async throws {
    let row = "/v1/clinic/rows/patient/p-3"
    kill(anchor.process.processIdentifier, SIGSTOP)
    try await place.sql("other.db", "UPDATE patient SET ward = 'anchor' WHERE id = 'p-3'")
    async let waiting = client.ask(
      "PATCH", row, ["Prefer": "wait=30"], body: #"{"ward":"client"}"#)
    let isWritten = try await eventually {
      try await place.sql("clinic.db", "SELECT ward FROM patient WHERE id = 'p-3'") == "client"
    }
    #expect(isWritten)
    kill(anchor.process.processIdentifier, SIGCONT)
    let answer = try await waiting
    #expect(answer.status == 409 && answer.kind == "rejected", "\(answer.body)")
    #expect(answer.header("flotilla-verdict") == "rejected")
    let judged = (answer.object["rows"] as? [[String: Any]])?.first
    #expect((judged?["local"] as? [String: Any])?["ward"] as? String == "client")
    #expect((judged?["server"] as? [String: Any])?["ward"] as? String == "anchor")
    #expect(judged?["rule"] as? String == "server-wins")
  }

  /// With an anchor somewhere a client can wait for its word.
  private func judged(_ client: RawClient, _ place: Workplace) async throws {
    let (row, wait) = ("/v1/clinic/rows/patient/p-2", ["Prefer": "wait=30"])
    let nobody = try await client.ask("PATCH", row, wait, body: #"{"age":1}"#)
    #expect(nobody.status == 204 && nobody.header("flotilla-verdict") == "none")
    try await place.flotilla("anchor", "clinic.db", "other")
    let isKnown = try await eventually {
      try await client.ask("GET", "/v1/clinic/status").object["anchor"] as? String == "other"
    }
    #expect(isKnown)
    let accepted = try await client.ask("PATCH", row, wait, body: #"{"age":2}"#)
    #expect(accepted.status == 204, "\(accepted.body)")
    #expect(accepted.header("flotilla-verdict") == "accepted")
  }
}
