import Foundation
import Testing

/// What is answered is what has happened, and nothing of what the client may not read.
@Suite(.timeLimit(.minutes(5))) struct `Answers of the gateway` {
  private static let schema = """
    CREATE TABLE open(id TEXT PRIMARY KEY, v UNIQUE ON CONFLICT IGNORE);
    CREATE TABLE once(id TEXT PRIMARY KEY ON CONFLICT REPLACE NOT NULL, v);
    CREATE TABLE Hidden(id INTEGER PRIMARY KEY, code TEXT UNIQUE, of TEXT
      REFERENCES open(id) ON UPDATE CASCADE);
    INSERT INTO open VALUES ('a', 1), ('keep', 2);
    INSERT INTO once VALUES ('x', 1);
    INSERT INTO Hidden VALUES (1, 'C1', 'a');
    CREATE TRIGGER shy BEFORE INSERT ON open WHEN NEW.v = 'no' BEGIN SELECT RAISE(IGNORE); END;
    CREATE TRIGGER gone AFTER INSERT ON open WHEN NEW.v = 'gone'
      BEGIN DELETE FROM open WHERE id = NEW.id; END;
    CREATE TRIGGER lost AFTER UPDATE OF v ON open WHEN NEW.v = 'lost'
      BEGIN UPDATE open SET id = NULL WHERE id = NEW.id; END;
    CREATE TRIGGER stay BEFORE DELETE ON open WHEN OLD.id = 'keep'
      BEGIN SELECT RAISE(IGNORE); END;
    CREATE TRIGGER meets BEFORE UPDATE OF v ON open WHEN NEW.v = 'meet'
      BEGIN INSERT INTO Hidden(code) VALUES ('C1'); END;
    """

  private func withClient(
    tables: String? = nil, _ body: (Workplace, Served, RawClient) async throws -> Void
  ) async throws {
    try await Workplace.with { place in
      try await place.found("a.db", Self.schema)
      let node = try await place.serve("a.db", "--http", "127.0.0.1:0")
      let token = try await place.token("a.db", tables: tables)
      try await body(place, node, RawClient(port: node.port, token: token))
      try await node.stop()
    }
  }

  @Test func `say that nothing was written where a trigger or a constraint has undone it`()
    async throws
  {
    try await withClient { place, _, client in
      let (open, once) = ("/v1/a/rows/open", "/v1/a/rows/once")
      for (method, target, body) in [
        ("POST", open, #"{"id":"b","v":"no"}"#), ("POST", open, #"[{"id":"b","v":"no"}]"#),
        ("POST", open, #"{"id":"b","v":"gone"}"#),
        ("POST", open, #"[{"id":"c","v":5},{"id":"b","v":"gone"}]"#),
        ("PUT", open + "/b", #"{"v":"no"}"#), ("POST", open, #"{"id":"b","v":1}"#),
        ("PATCH", open + "/a", #"{"v":2}"#), ("POST", once, #"{"id":"x","v":2}"#),
      ] {
        let answer = try await client.ask(method, target, body: body)
        #expect(answer.status == 409 && answer.kind == "constraint", "\(method) \(body)")
      }
      #expect(try await client.ask("DELETE", open + "/keep").status == 409)
      #expect(try await client.ask("DELETE", open + "/a").status == 409)
      #expect(try await place.sql("a.db", "SELECT * FROM open") == "a|1\nkeep|2")
      #expect(try await place.sql("a.db", "SELECT * FROM once") == "x|1")
    }
  }

  @Test func `leave triggers what they say of conflicts themselves`() async throws {
    try await Workplace.with { place in
      try await place.found(
        "a.db",
        """
        CREATE TABLE job(id INTEGER PRIMARY KEY, v);
        CREATE TABLE touched(id INTEGER PRIMARY KEY, v);
        CREATE TRIGGER made AFTER INSERT ON job
          BEGIN INSERT OR REPLACE INTO touched VALUES (0, NEW.id); END;
        CREATE TRIGGER changed AFTER UPDATE ON job
          BEGIN INSERT OR IGNORE INTO touched VALUES (NEW.id, NEW.v); END;
        """)
      let node = try await place.serve("a.db", "--http", "127.0.0.1:0")
      let client = RawClient(port: node.port, token: try await place.token("a.db"))
      let rows = "/v1/a/rows/job"
      for (method, target, body, status) in [
        ("POST", rows, #"{"id":1}"#, 201), ("POST", rows, #"{"id":2}"#, 201),
        ("POST", rows, #"[{"id":3},{"id":4}]"#, 201), ("PUT", rows + "/5", #"{"v":0}"#, 201),
        ("PATCH", rows + "/1", #"{"v":1}"#, 204), ("PATCH", rows + "/1", #"{"v":2}"#, 204),
        ("PATCH", rows + "?id=lt.3", #"{"v":3}"#, 200), ("PUT", rows + "/1", #"{"v":4}"#, 204),
      ] {
        let answer = try await client.ask(method, target, body: body)
        #expect(answer.status == status, "\(method) \(target) \(answer.body)")
      }
      #expect(try await place.sql("a.db", "SELECT * FROM touched") == "0|5\n1|1\n2|3")
      try await node.stop()
    }
  }

  @Test func `refuse a row without a key, which no other machine would get`() async throws {
    try await withClient { place, _, client in
      for body in [#"{"v":5}"#, #"[{"id":"b","v":6},{"v":7}]"#, #"{"id":null,"v":8}"#] {
        let answer = try await client.ask("POST", "/v1/a/rows/open", body: body)
        #expect(answer.status == 400 && answer.kind == "key", "\(body)")
      }
      for target in ["open/a", "open?id=eq.a", "open?v=gte.0", "once/x", "once?id=eq.x"] {
        let answer = try await client.ask("PATCH", "/v1/a/rows/" + target, body: #"{"ID":null}"#)
        #expect(answer.status == 400 && answer.kind == "key", "\(target)")
      }
      #expect(try await place.sql("a.db", "SELECT count(*) FROM open") == "2")
      let left = try await place.sql("a.db", "SELECT id FROM open UNION SELECT id FROM once")
      #expect(left == "a\nkeep\nx")
      try await place.sql("a.db", "INSERT INTO open VALUES (NULL, 9)")
      #expect((try await client.ask("GET", "/v1/a/rows/open").json as? [Any])?.count == 2)
    }
  }

  @Test func `refuse to take the key of a row away by a trigger`() async throws {
    try await withClient { place, _, client in
      let row = "/v1/a/rows/open/a"
      for (method, wish) in [("PATCH", nil), ("PUT", "return=representation")] {
        let answer = try await client.ask(
          method, row, wish.map { ["Prefer": $0] } ?? [:], body: #"{"v":"lost"}"#)
        #expect(answer.status == 409 && answer.kind == "constraint", "\(method) \(answer.body)")
        #expect(answer.body.contains("the key to NULL"), "\(answer.body)")
      }
      #expect(try await place.sql("a.db", "SELECT * FROM open") == "a|1\nkeep|2")
    }
  }

  @Test func `to HEAD have the length of a body, and none`() async throws {
    try await withClient { _, _, client in
      let token = client.token ?? ""
      let head = "HEAD /v1/a/rows/once HTTP/1.1\r\nHost: localhost\r\n"
      let get = "GET /v1/a/rows/once HTTP/1.1\r\nHost: localhost\r\n"
      let rest = "Authorization: Bearer \(token)\r\n"
      let text = head + rest + "\r\n" + get + rest + "Connection: close\r\n\r\n"
      let said = try RawClient.talk(Array(text.utf8), port: client.port)
      let parts = String(decoding: said, as: UTF8.self).components(separatedBy: "\r\n\r\n")
      #expect(parts.count == 3)
      #expect(parts[1].hasPrefix("HTTP/1.1 200 "))
      #expect(parts[0].contains("Content-Length: \(parts.last?.utf8.count ?? 0)"))
    }
  }

  @Test func `name no table that the client may not read`() async throws {
    try await withClient(tables: "OPEN=write") { place, _, client in
      #expect(try await client.ask("GET", "/v1/a/rows/open").status == 200)
      #expect(try await client.ask("GET", "/v1/a/rows/Hidden").status == 404)
      let met = try await client.ask("PATCH", "/v1/a/rows/open/a", body: #"{"v":"meet"}"#)
      #expect(met.status == 409 && !met.body.contains("idden") && !met.body.contains("code"))
      let own = try await client.ask("PATCH", "/v1/a/rows/open/a", body: #"{"v":2}"#)
      #expect(own.body.contains("open.v"))
      #expect(try await client.ask("GET", "/metrics").status == 403)
    }
  }

  @Test func `tell nothing of what a cascade has changed there, while the anchor is away`()
    async throws
  {
    try await withClient(tables: "open=write") { place, node, client in
      let full = RawClient(port: client.port, token: try await place.token("a.db", "full"))
      try await place.awaitAnchor("other", beside: node, full)
      let moved = try await client.ask(
        "PATCH", "/v1/a/rows/open/a", ["Prefer": "wait=1"], body: #"{"id":"b"}"#)
      #expect(moved.status == 202 && moved.object["verdict"] as? String == "pending")
      #expect(!moved.body.contains("C1") && !moved.body.contains("idden"))
      #expect(moved.object["others"] as? Int == 1 && moved.body.contains("open"))
    }
  }

  @Test func `are good for tables that there are, whatever capitals say`() async throws {
    try await withClient(tables: "*=read,hidden=none") { place, _, client in
      #expect(try await client.ask("GET", "/v1/a/rows/Hidden").status == 404)
      let wrong = try await place.run(
        "flotilla", "token", "a.db", "add", "typo", "--tables", "opne=read")
      #expect(wrong.status == 1 && wrong.text.contains("opne is no replicated table"))
    }
  }

  @Test func `are kept for each token by itself`() async throws {
    try await withClient { place, _, client in
      let key = ["Idempotency-Key": "one"]
      let first = try await client.ask("POST", "/v1/a/rows/once", key, body: #"{"id":"k","v":1}"#)
      #expect(first.status == 201)
      // As if another client had written very much since.
      try await place.sql(
        "a.db",
        """
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10001)
        INSERT INTO _flotilla_answer SELECT 'other', i, x'', 200, '{}', x'',
          (SELECT max(at) FROM _flotilla_answer) + i FROM n
        """)
      let other = RawClient(port: client.port, token: try await place.token("a.db", "second"))
      #expect(
        try await other.ask("POST", "/v1/a/rows/once", key, body: #"{"id":"l"}"#).status == 201)
      let again = try await client.ask("POST", "/v1/a/rows/once", key, body: #"{"id":"k","v":1}"#)
      #expect(again.status == 201 && again.header("idempotency-replayed") == "true")
    }
  }

  @Test func `are 413 for a question that gathers too much, and for that one alone`() async throws {
    try await withClient { _, _, client in
      let rows = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500000)"
      let sorted = "SELECT i, zeroblob(1000) AS x FROM n ORDER BY x, i"
      let large = try await client.ask(
        "POST", "/v1/a/query", body: #"{"sql":"\#(rows) SELECT count(*) FROM (\#(sorted))"}"#)
      #expect(large.status == 413 && large.kind == "too-large", "\(large)")
      // What others hold does not count for the next one.
      for _ in 0..<20 {
        let small = try await client.ask("POST", "/v1/a/query", body: #"{"sql":"SELECT 1"}"#)
        #expect(small.status == 200, "\(small)")
      }
    }
  }

  @Test func `are 503 for a write whose turn comes too late, which is not made`() async throws {
    try await withClient { place, _, client in
      try await place.sql("a.db", "SELECT 1")
      let lock = Process()
      lock.executableURL = URL(fileURLWithPath: "/usr/bin/env")
      lock.arguments = [
        "python3", "-c",
        "import sqlite3,sys;c=sqlite3.connect(sys.argv[1],isolation_level=None);"
          + "c.execute('BEGIN IMMEDIATE');print('x',flush=True);sys.stdin.read();"
          + "c.execute('COMMIT')",
        place.path("a.db"),
      ]
      // It lets go when it is told to.
      let (input, output) = (Pipe(), Pipe())
      (lock.standardInput, lock.standardOutput) = (input, output)
      try lock.run()
      _ = output.fileHandleForReading.readData(ofLength: 1)
      try await withThrowingTaskGroup(of: Int.self) { group in
        for number in 0..<4 {
          group.addTask {
            try await client.ask(
              "POST", "/v1/a/rows/once", body: #"{"id":"late\#(number)"}"#
            ).status
          }
        }
        for try await status in group { #expect(status == 503) }
      }
      try input.fileHandleForWriting.close()
      lock.waitUntilExit()
      #expect(try await client.ask("POST", "/v1/a/rows/once", body: #"{"id":"now"}"#).status == 201)
      let rows = try await place.sql("a.db", "SELECT count(*) FROM once WHERE id LIKE 'late%'")
      #expect(rows == "0")
    }
  }
}
