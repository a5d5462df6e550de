import Flotilla
import Foundation
import Glibc
import Testing

@testable import Gateway

@Suite struct `Changes over HTTP` {
  private static let schema = """
    PRAGMA journal_mode = WAL; CREATE TABLE t(id INTEGER PRIMARY KEY, v);
    CREATE TABLE hidden(id INTEGER PRIMARY KEY, v)
    """

  private func cursor(_ answer: Answer) throws -> String {
    try #require(answer.object["cursor"] as? String, "\(answer.body)")
  }

  private func changes(_ answer: Answer) -> [[String: Any]] {
    answer.object["changes"] as? [[String: Any]] ?? []
  }

  @Test func `are told once they come, and again to who asks again`() async throws {
    try await Workplace.with { place in
      try await place.found("a.db", Self.schema)
      let node = try await place.serve("a.db", "--http", "127.0.0.1:0")
      let client = RawClient(port: node.port, token: try await place.token("a.db"))
      let start = try cursor(try await client.ask("GET", "/v1/a/changes"))
      async let waiting = client.ask("GET", "/v1/a/changes?wait=30&since=\(start)")
      try await place.sql("a.db", "INSERT INTO t VALUES (1, x'00FF'), (2, 9007199254740993)")
      let first = try await waiting
      #expect(first.status == 200 && changes(first).count == 2, "\(first.body)")
      let row = changes(first).first?["row"] as? [String: Any]
      #expect((row?["v"] as? [String: String]) == ["base64": "AP8="])
      #expect(
        (changes(first).last?["row"] as? [String: Any])?["v"] as? String == "9007199254740993")
      #expect(changes(first).first?["author"] as? String == "first")
      let again = try await client.ask("GET", "/v1/a/changes?since=\(start)")
      #expect(again.body == first.body)
      // What the command prints is the same.
      let said = try await place.flotilla("changes", "a.db", "--since", start)
      for change in changes(first) {
        #expect(said.contains(try #require(change["cursor"] as? String)))
      }
      let last = try cursor(first)
      try await place.sql("a.db", "DELETE FROM t WHERE id = 1")
      let gone = try await client.ask("GET", "/v1/a/changes?wait=30&since=\(last)")
      #expect(changes(gone).first?["deleted"] as? Bool == true && changes(gone).count == 1)
      #expect(changes(gone).first?["row"] is NSNull)
      try await node.stop()
    }
  }

  @Test func `are those of tables that the token may read`() async throws {
    try await Workplace.with { place in
      try await place.found("a.db", Self.schema)
      let node = try await place.serve("a.db", "--http", "127.0.0.1:0")
      let all = RawClient(port: node.port, token: try await place.token("a.db"))
      let text = try await place.token("a.db", "some", tables: "t=read")
      let some = RawClient(port: node.port, token: text)
      let start = try cursor(try await all.ask("GET", "/v1/a/changes"))
      let stream = try EventStream(node.port, "/v1/a/changes?since=\(start)", token: text)
      try await place.sql(
        "a.db", "INSERT INTO hidden VALUES (1, 'secret'); INSERT INTO t VALUES (1, 'open')")
      let told = try await some.ask("GET", "/v1/a/changes?wait=30&since=\(start)")
      #expect(told.body.contains("open") && !told.body.contains("secret"))
      // Nobody is kept waiting by what is hidden, nor told of it again.
      #expect(
        try await all.ask("GET", "/v1/a/changes?since=\(try cursor(told))").body
          .hasPrefix("{\"changes\":[],"))
      #expect(try await eventually { stream.text.contains("open") })
      #expect(!stream.text.contains("secret"))
      #expect(try await some.ask("GET", "/v1/a/changes?tables=hidden").status == 404)
      #expect(try await all.ask("GET", "/v1/a/changes?tables=absent").status == 404)
      let only = try await all.ask("GET", "/v1/a/changes?tables=hidden&since=\(start)")
      #expect(changes(only).count == 1 && only.body.contains("secret"))
      try await node.stop()
    }
  }

  @Test func `a follower goes on where it was, and is told what it missed`() async throws {
    try await Workplace.with { place in
      try await place.found("a.db", Self.schema)
      let node = try await place.serve("a.db", "--http", "127.0.0.1:0")
      let token = try await place.token("a.db")
      let stream = try EventStream(node.port, "/v1/a/changes", token: token)
      #expect(try await eventually { stream.data(of: "begin").count == 1 })
      #expect(stream.text.lowercased().contains("content-type: text/event-stream"))
      for number in 1...20 { try await place.sql("a.db", "INSERT INTO t(v) VALUES (\(number))") }
      #expect(try await eventually { stream.data(of: "change").count == 20 })
      stream.hangUp()
      let seen = try #require(stream.data(of: "change")[9]["cursor"] as? String)
      try await place.sql("a.db", "DELETE FROM t WHERE id < 5")
      let next = try EventStream(
        node.port, "/v1/a/changes", token: token, headers: ["Last-Event-ID": seen])
      #expect(try await eventually { next.data(of: "change").count == 14 })
      let deleted = next.data(of: "change").filter { $0["deleted"] as? Bool == true }
      #expect(deleted.count == 4 && next.data(of: "reset").isEmpty)
      // Another table from now on: what came before does not tell of its rows.
      try await place.sql("a.db", "ALTER TABLE t ADD COLUMN more")
      #expect(try await eventually { next.data(of: "reset").count == 1 })
      #expect(
        next.data(of: "reset").first?["snapshot"] as? [String]
          == ["/v1/a/rows/hidden", "/v1/a/rows/t"])
      let client = RawClient(port: node.port, token: token)
      let gone = try await client.ask("GET", "/v1/a/changes?tables=t&since=\(seen)")
      #expect(gone.status == 410 && gone.kind == "gone")
      #expect(gone.object["snapshot"] as? [String] == ["/v1/a/rows/t"])
      let more = try await client.ask("GET", "/v1/a/changes?since=\(try cursor(gone))")
      #expect(more.status == 200)
      try await node.stop()
      #expect(try await eventually { next.hasEnded })
    }
  }

  @Test func `lines are objects, and a token that is taken back ends them`() async throws {
    try await Workplace.with { place in
      try await place.found("a.db", Self.schema)
      let node = try await place.serve("a.db", "--http", "127.0.0.1:0")
      let token = try await place.token("a.db")
      let stream = try EventStream(
        node.port, "/v1/a/changes", token: token, accept: "application/x-ndjson")
      #expect(try await eventually { stream.text.contains("{\"cursor\":") })
      try await place.sql("a.db", "INSERT INTO t VALUES (7, 'seen')")
      #expect(try await eventually { stream.text.contains("\"v\":\"seen\"},") })
      try await place.flotilla("token", "a.db", "remove", "me")
      try await place.sql("a.db", "INSERT INTO t VALUES (8, 'unseen')")
      #expect(try await eventually { stream.hasEnded })
      #expect(!stream.text.contains("unseen"))
      try await node.stop()
    }
  }

  @Test func `end for who is let in no longer, also while nothing changes`() async throws {
    try await Workplace.with { place in
      try await place.found("a.db", Self.schema)
      let node = try await place.serve("a.db", "--http", "127.0.0.1:0")
      let token = try await place.token("a.db")
      let other = try EventStream(
        node.port, "/v1/a/changes", token: try await place.token("a.db", "other"),
        accept: "application/x-ndjson")
      let places = { other.text.components(separatedBy: "{\"cursor\":").count - 1 }
      #expect(try await eventually { places() == 1 })
      let stream = try EventStream(node.port, "/v1/a/changes", token: token)
      #expect(try await eventually { stream.data(of: "begin").count == 1 })
      try await place.flotilla("token", "a.db", "remove", "me")
      #expect(try await eventually { stream.hasEnded })
      // Long before somebody hears again that nothing has changed.
      #expect(places() == 1 && !other.hasEnded)
      try await node.stop()
    }
  }

  @Test func `who was let in no longer is told nothing that comes later`() async throws {
    try await Workplace.with { place in
      try await place.found("a.db", Self.schema)
      let node = try await place.serve("a.db", "--http", "127.0.0.1:0")
      let token = try await place.token("a.db")
      let client = RawClient(port: node.port, token: token)
      let start = try cursor(try await client.ask("GET", "/v1/a/changes"))
      async let waiting = client.ask("GET", "/v1/a/changes?wait=30&since=\(start)")

      let person = RawClient(port: node.port)
      let body = "{\"token\":\"\(try await place.token("a.db", "page"))\"}"
      let signedIn = try await person.ask("POST", "/v1/session", body: body)
      let line = try #require(signedIn.header("set-cookie"))
      let cookie = ["Cookie": String(line.prefix { $0 != ";" })]
      let stream = try EventStream(node.port, "/v1/a/changes", token: nil, headers: cookie)
      #expect(try await eventually { stream.data(of: "begin").count == 1 })

      let own = cookie.merging(["Sec-Fetch-Site": "same-origin"]) { $1 }
      #expect(try await person.ask("DELETE", "/v1/session", own).status < 300)
      try await place.flotilla("token", "a.db", "remove", "me")
      try await place.sql("a.db", "INSERT INTO t VALUES (1, 'unseen')")
      let answer = try await waiting
      #expect(answer.status == 401 && !answer.body.contains("unseen"))
      #expect(try await eventually { stream.hasEnded })
      #expect(!stream.text.contains("unseen"))
      try await node.stop()
    }
  }

  @Test func `a client that does not read holds up nobody, and misses nothing`() async throws {
    try await Workplace.with { place in
      try await place.found("a.db", Self.schema)
      let node = try await place.serve("a.db", "--http", "127.0.0.1:0")
      let token = try await place.token("a.db")
      let idle = try EventStream(node.port, "/v1/a/changes", token: token, reads: false)
      let busy = try EventStream(
        node.port, "/v1/a/changes", token: token, keeping: 4 << 20)
      #expect(try await eventually { busy.data(of: "begin").count == 1 })
      for number in 1...40 {
        try await place.sql("a.db", "INSERT INTO t VALUES (\(number), hex(randomblob(300000)))")
      }
      // Of what waits to be taken in the newest comes first.
      #expect(try await eventually { busy.received > 24_000_000 })
      try await place.sql("a.db", "INSERT INTO t VALUES (99, 'end')")
      #expect(try await eventually { busy.end.contains("\"v\":\"end\"") })
      #expect(!idle.hasEnded && !busy.hasEnded)
      idle.readOn()
      #expect(try await eventually { idle.end.contains("\"v\":\"end\"") })
      #expect(idle.received > 24_000_000)
      try await node.stop()
    }
  }

  @Test(
    arguments: [
      "since=x", "since=1.1&since=1.1", "wait=61", "wait=-1", "wait=x", "more=1", "since=0.1",
      "since=99999999999999999999.7f", "since=%00", "wait=1&wait=2",
    ])
  func `what is asked wrongly is told so`(query: String) async throws {
    try await Workplace.with { place in
      try await place.found("a.db", Self.schema)
      let node = try await place.serve("a.db", "--http", "127.0.0.1:0")
      let client = RawClient(port: node.port, token: try await place.token("a.db"))
      #expect(try await client.ask("GET", "/v1/a/changes?\(query)").status == 400)
      #expect(try await client.ask("POST", "/v1/a/changes", body: "{}").status == 405)
      try await node.stop()
    }
  }

  @Test func `that a client may not hear of are passed over for a while, and then again`()
    async throws
  {
    try await Workplace.with { place in
      try await place.found("a.db", Self.schema)
      let node = try await place.serve("a.db", "--http", "127.0.0.1:0")
      let client = RawClient(port: node.port, token: try await place.token("a.db"))
      let start = try cursor(try await client.ask("GET", "/v1/a/changes"))
      let many = "WITH n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 12000)"
      try await place.sql(
        "a.db",
        "INSERT INTO hidden \(many) SELECT i, i FROM n; INSERT INTO t VALUES (1, 'shown')")
      let isThere = try await eventually {
        try await client.ask("GET", "/v1/a/changes?tables=t&since=\(start)").body.contains("shown")
      }
      #expect(isThere)
      let words = #"{"name":"some","hash":"x","tables":{"t":"read"},"created":0,"namesFirst":true}"#
      let token = try JSONDecoder().decode(AccessToken.self, from: Data(words.utf8))
      let database = GatewayDatabase(Replica(path: place.path("a.db")))
      var (next, answers) = (start, [String]())
      while answers.last?.contains("shown") != true, answers.count < 50 {
        let target = "/v1/a/changes?since=\(next)"
        var call = try await ChangeCall(
          HTTPRequest("GET", target), try RequestTarget(target), database, token,
          mayStill: { true })
        call.patience = .zero
        let body = try await call.answer().body
        answers.append(String(decoding: body, as: UTF8.self))
        let object = try JSONSerialization.jsonObject(with: Data(body)) as? [String: Any]
        next = try #require(object?["cursor"] as? String)
      }
      #expect(answers.count > 2 && answers.dropLast().allSatisfy { $0.contains("[]") })
      #expect(answers.last?.contains("shown") == true)
      await database.changes.stop()
      try await node.stop()
    }
  }

  @Test func `node and followers are killed at random, and nothing is missed`() async throws {
    try await Workplace.with { place in
      try await place.found("a.db", Self.schema)
      let token = try await place.token("a.db")
      var (rows, cursor) = ([String: String](), String?.none)
      var port: UInt16 = 0
      for round in 0..<5 {
        let node = try await place.serve("a.db", "--http", "127.0.0.1:\(port)")
        port = node.port
        let client = RawClient(port: port, token: token)
        if cursor == nil {
          cursor = try self.cursor(try await client.ask("GET", "/v1/a/changes"))
        }
        let stream = try EventStream(
          port, "/v1/a/changes", token: token, headers: ["Last-Event-ID": cursor ?? ""])
        for number in 0..<40 {
          let id = Int.random(in: 0..<15)
          try await place.sql(
            "a.db",
            number % 3 == 0
              ? "DELETE FROM t WHERE id = \(id)"
              : "INSERT OR REPLACE INTO t VALUES (\(id), '\(round)-\(number)')")
          if number == 10 { stream.hangUp() }
        }
        if round < 4 {
          kill(node.process.processIdentifier, SIGKILL)
          node.process.waitUntilExit()
        } else {
          let last = try EventStream(
            port, "/v1/a/changes", token: token, headers: ["Last-Event-ID": cursor ?? ""])
          try await place.sql("a.db", "INSERT OR REPLACE INTO t VALUES (99, 'end')")
          #expect(try await eventually { last.text.contains("\"v\":\"end\"") })
          take(last, into: &rows, &cursor)
          try await node.stop()
        }
        take(stream, into: &rows, &cursor)
      }
      let shown = try await place.sql("a.db", "SELECT id || '=' || v FROM t ORDER BY id")
      let told = rows.sorted { Int($0.key) ?? 0 < Int($1.key) ?? 0 }.map { "\($0.key)=\($0.value)" }
      #expect(told.joined(separator: "\n") == shown)
    }
  }

  /// Does what a stream has told; a later one has told the same and more.
  private func take(
    _ stream: EventStream, into rows: inout [String: String], _ cursor: inout String?
  ) {
    #expect(stream.data(of: "reset").isEmpty)
    for change in stream.data(of: "change") {
      guard let place = change["cursor"] as? String, number(place) > number(cursor) else {
        continue
      }
      let key = (change["key"] as? [String: Any])?["id"].map { "\($0)" } ?? ""
      rows[key] = (change["row"] as? [String: Any])?["v"] as? String
      cursor = place
    }
  }

  private func number(_ cursor: String?) -> Int {
    cursor?.split(separator: ".").first.flatMap { Int($0) } ?? 0
  }
}
