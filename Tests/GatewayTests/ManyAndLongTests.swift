import Foundation
import SQLite
import Testing

@testable import Gateway

/// Rows and requests at the edge of what is taken, and clients that write without a pause.
@Suite(.timeLimit(.minutes(5))) struct `What is long or much` {
  private func withClient(
    _ schema: String, _ body: (Workplace, Served, RawClient) async throws -> Void
  ) async throws {
    try await Workplace.with { place in
      try await place.found("a.db", schema)
      let node = try await place.serve("a.db", "--http", "127.0.0.1:0")
      try await body(place, node, RawClient(port: node.port, token: try await place.token("a.db")))
      try await node.stop()
    }
  }

  @Test func `is refused in words where a target names too much`() async throws {
    try await withClient("CREATE TABLE t(id TEXT PRIMARY KEY NOT NULL, v)") { place, _, client in
      let long = String(repeating: "x", count: 20_000)
      let rows = "/v1/a/rows/t"
      for target in [rows + "/" + long, rows + "?next=" + long, rows + "?id=eq." + long] {
        let answer = try await client.ask("GET", target)
        #expect(answer.status == 414 && answer.kind == "target")
      }
      let next = String(repeating: "A", count: 15_000)
      #expect(try await client.ask("GET", rows + "?next=" + next).kind == "next")
      // The row itself may be as long as it likes; only no link leads there.
      let body = "{\"id\":\"\(long)\"}"
      let made = try await client.ask("POST", rows, body: body)
      #expect(made.status == 201 && made.header("location") == nil && made.header("etag") != nil)
      let short = try await client.ask("POST", rows, body: #"{"id":"y"}"#)
      #expect(short.header("location") == rows + "/y")
      let page = try await client.ask("GET", rows + "?limit=1")
      #expect(page.status == 422 && page.kind == "next")
      #expect(try await client.ask("GET", rows + "?limit=1&id=gt.x&order=id.desc").status == 200)
      #expect(try await client.ask("GET", rows + "?limit=2").status == 200)
      #expect(try await place.sql("a.db", "SELECT count(*) FROM t") == "2")
    }
  }

  @Test func `finds its column by the bytes of the name, whatever Swift calls one letter`() throws {
    let (composed, decomposed) = ("\u{E9}", "e\u{301}")
    let connection = try Connection(path: ":memory:", mode: .create)
    try connection.execute(
      """
      CREATE TABLE t(id INTEGER PRIMARY KEY, \(composed), \(decomposed));
      CREATE VIEW _flotilla_rows_t AS SELECT 1
      """)
    let table = try #require(try TableShape.read("t", on: connection))
    #expect(try table.column(decomposed) == 2 && table.column(composed) == 1)
    #expect(table.columns[1] != table.columns[2])
    let writer = RowWriter(table: table, connection: connection, terms: WriteTerms())
    func add(_ names: String...) throws -> WriteResult {
      let row = names.enumerated().map { index, name in
        JSONMember(name: name, value: .number(String(index + 1)))
      }
      return try writer.run(.add([row], isList: false))
    }
    let made = try add("ID", composed, decomposed)
    #expect(made.rows.first?.values == [.integer(1), .integer(2), .integer(3)])
    #expect(throws: Problem.self) { try add("id", "Id") }
    #expect(throws: Problem.self) { try add("id", "other") }
  }

  @Test func `of very many tables is read in one go, and of those that are wanted alone`() throws {
    let connection = try Connection(path: ":memory:", mode: .create)
    for number in 0..<300 {
      try connection.execute(
        """
        CREATE TABLE t\(number)(id INTEGER PRIMARY KEY, a TEXT, b)\(number == 7 ? "" : " STRICT");
        CREATE VIEW _flotilla_rows_T\(number) AS SELECT 1
        """.replacing(", b)", with: number == 7 ? ", b)" : ", b ANY)"))
    }
    try connection.execute(
      "CREATE TABLE alone(id); CREATE TRIGGER own AFTER INSERT ON t8 BEGIN SELECT 1; END")
    var hundreds = 0
    connection.setWatch(every: 100) {
      hundreds += 1
      return true
    }
    let all = try TableShape.all(on: connection) { _ in true }
    #expect(all.count == 300 && hundreds < 2_000, "\(hundreds)")
    #expect(all.filter(\.hasTriggers).map(\.name) == ["t8"])
    #expect(all.allSatisfy { $0.key == [0] && $0.columns.map(\.name) == ["id", "a", "b"] })
    let some = try TableShape.all(on: connection) { ["t7", "t8"].contains($0) }
    #expect(some == all.filter { ["t7", "t8"].contains($0.name) })
    #expect(some.allSatisfy { $0.columns.map(\.isUntyped) == [false, false, true] })
    #expect(try TableShape.read("t8", on: connection) == some.last)
    #expect(try TableShape.read("T8", on: connection) == nil)
    #expect(try TableShape.read("alone", on: connection) == nil)
  }

  @Test func `is measured as it would be sent`() async throws {
    let schema = """
      CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT);
      INSERT INTO t VALUES (1, replace(hex(zeroblob(1500000)), '00', char(1))),
        (2, replace(hex(zeroblob(3500000)), '00', char(1)));
      CREATE TABLE d(id INTEGER PRIMARY KEY, v TEXT DEFAULT (hex(zeroblob(1000000))));
      """
    try await withClient(schema) { place, _, client in
      let fits = try await client.ask("GET", "/v1/a/rows/t/1")
      #expect(fits.status == 200 && fits.body.utf8.count > 9_000_000)
      for target in ["/v1/a/rows/t/2", "/v1/a/rows/t?id=eq.2"] {
        let answer = try await client.ask("GET", target)
        #expect(answer.status == 422 && answer.kind == "row-too-large", "\(answer.status)")
      }
      #expect(try await client.ask("GET", "/v1/a/rows/t?select=id").status == 200)
      let many = "[" + Array(repeating: "{}", count: 12).joined(separator: ",") + "]"
      let wish = ["Prefer": "return=representation"]
      let refused = try await client.ask("POST", "/v1/a/rows/d", wish, body: many)
      #expect(refused.status == 422 && refused.kind == "row-too-large")
      #expect(try await place.sql("a.db", "SELECT count(*) FROM d") == "0")
      #expect(try await client.ask("POST", "/v1/a/rows/d", body: many).status == 201)
    }
  }

  @Test(arguments: [
    "", "plain", "\"quoted\" \\ \n", "\u{1}\u{1f}", "größer 🌊", "\u{7f}",
  ])
  func `takes no more bytes than was counted`(text: String) {
    for value in [Value.text(Array(text.utf8)), .blob(Array(text.utf8)), .integer(.min)] {
      var written = RowText()
      written.append(value, isUntyped: true)
      #expect(written.bytes.count <= RowText.size(of: value))
    }
    var broken = RowText()
    broken.append(.text([0xFF, 0xFE, 1]), isUntyped: false)
    #expect(broken.bytes.count <= RowText.size(of: .text([0xFF, 0xFE, 1])))
  }

  @Test func `a column that is computed is put back as it was, and not as another`() async throws {
    let schema = """
      CREATE TABLE t(id INTEGER PRIMARY KEY, a REAL, twice REAL AS (a * 2) STORED,
        text TEXT AS (a || '!'), big INTEGER AS (9007199254740993));
      INSERT INTO t(id, a) VALUES (1, 2.5);
      """
    try await withClient(schema) { place, _, client in
      let row = "/v1/a/rows/t/1"
      let seen = try await client.ask("GET", row)
      let tag = seen.header("etag") ?? ""
      #expect(try await client.ask("PUT", row, ["If-Match": tag], body: seen.body).status == 204)
      // The value from before the change, as a form sends it, and the one from after it.
      for (twice, status) in [("5", 204), ("14.0", 204), ("9", 400), ("null", 400), ("[]", 400)] {
        let body = #"{"a":7.0,"twice":\#(twice)}"#
        #expect(try await client.ask("PUT", row, body: body).status == status, "\(twice)")
        try await place.sql("a.db", "UPDATE t SET a = 2.5")
      }
      let other = try await client.ask("PUT", row, body: #"{"a":1,"TEXT":"other"}"#)
      #expect(other.kind == "column" && other.body.contains("text is computed"))
      let double = try await client.ask("PUT", row, body: #"{"a":1,"twice":5,"Twice":5}"#)
      #expect(double.status == 400)
      #expect(try await place.sql("a.db", "SELECT a FROM t") == "2.5")
      let new = "/v1/a/rows/t/2"
      #expect(try await client.ask("PUT", new, body: #"{"a":1,"twice":3}"#).status == 400)
      #expect(try await client.ask("PUT", new, body: #"{"a":1,"twice":2}"#).status == 201)
    }
  }

  @Test func `of rows nobody asks the anchor about more than 10,000`() async throws {
    let schema = """
      CREATE TABLE t(id INTEGER PRIMARY KEY, v);
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10001)
      INSERT INTO t SELECT i, 0 FROM n;
      """
    try await withClient(schema) { place, _, client in
      try await place.flotilla("anchor", "a.db", "--here")
      let wish = ["Prefer": "wait=30, max-affected=20000"]
      let all = try await client.ask("PATCH", "/v1/a/rows/t", wish, body: #"{"v":1}"#)
      #expect(all.status == 200 && all.object["changes"] as? Int == 10_001)
      #expect(all.header("flotilla-verdict") == "unknown")
      let fewer = try await client.ask(
        "PATCH", "/v1/a/rows/t?id=lte.10000", wish, body: #"{"v":2}"#)
      #expect(fewer.status == 200 && fewer.object["changes"] as? Int == 10_000)
      #expect(fewer.header("flotilla-verdict") == "accepted")
      #expect(try await place.sql("a.db", "SELECT sum(v) FROM t") == "20001")
    }
  }

  @Test func `asks whether the node is ready, and takes nobody's place`() async throws {
    try await withClient("CREATE TABLE t(id INTEGER PRIMARY KEY)") { _, _, client in
      let statuses = try await withThrowingTaskGroup(of: [Int].self) { group in
        for _ in 0..<24 {
          group.addTask {
            var statuses: [Int] = []
            for _ in 0..<10 {
              statuses.append(
                try await RawClient(port: client.port).ask("GET", "/ready").status)
            }
            return statuses
          }
        }
        return try await group.reduce(into: []) { $0 += $1 }
      }
      #expect(statuses == Array(repeating: 200, count: 240))
    }
  }

  @Test func `writes without a pause, and what others have written still comes`() async throws {
    let schema = "CREATE TABLE t(id TEXT PRIMARY KEY NOT NULL, v)"
    try await withClient(schema) { place, node, client in
      let code = try await place.run("flotilla", "invite", "a.db")
      let word = try #require(code.text.split(separator: "\n").first.map(String.init))
      try await place.flotilla(
        "join", "b.db", word, "--at", "127.0.0.1:\(node.nodePort)", "--name", "other")
      let other = try await place.serve("b.db")
      let isEqual = try await eventually {
        try await client.ask("GET", "/v1/a/status").object["in_sync"] as? Bool == true
      }
      #expect(isEqual)
      let writers = (0..<6).map { number in
        Task {
          var count = 0
          while !Task.isCancelled {
            let rows = (count..<count + 2_000).map { "{\"id\":\"w\(number)-\($0)\",\"v\":1}" }
            let body = "[" + rows.joined(separator: ",") + "]"
            let status = try await client.ask("POST", "/v1/a/rows/t", body: body).status
            if status == 201 { count += 2_000 }
          }
          return count
        }
      }
      var longest: Duration = .zero
      for round in 0..<5 {
        try await place.sql("b.db", "INSERT INTO t VALUES ('far-\(round)', 2)")
        let start = ContinuousClock.now
        let hasCome = try await eventually {
          try await client.ask("GET", "/v1/a/rows/t/far-\(round)").status == 200
        }
        #expect(hasCome)
        longest = max(longest, .now - start)
      }
      for writer in writers { writer.cancel() }
      var written = 0
      for writer in writers { written += try await writer.value }
      #expect(written > 4_000 && longest < .seconds(8), "\(written) \(longest)")
      try await other.stop()
    }
  }
}

@Suite struct `A pause between writes` {
  @Test func `comes after a series, and not where there was one anyway`() {
    var pause = WritePause()
    var now = ContinuousClock.now
    #expect(pause.rest(at: now) == .zero)
    var (written, rested, looks): (Duration, Duration, Int) = (.zero, .zero, 0)
    for _ in 0..<100 {
      now += .milliseconds(10)
      pause.wrote(for: .milliseconds(10), until: now)
      written += .milliseconds(10)
      looks += pause.looksAtFold() ? 1 : 0
      let rest = pause.rest(at: now)
      #expect(rest == .zero || rest >= WritePause.range.lowerBound)
      now += rest
      rested += rest
    }
    #expect(rested >= written / 5 && rested <= written / 2)
    #expect((5...8).contains(looks))
    // One long write is followed by a long pause; who writes now and then waits for nothing.
    now += .seconds(1)
    #expect(pause.rest(at: now) == .zero)
    now += .milliseconds(800)
    pause.wrote(for: .milliseconds(800), until: now)
    #expect(pause.looksAtFold() && !pause.looksAtFold())
    #expect(pause.rest(at: now) == WritePause.range.upperBound)
    for _ in 0..<20 {
      now += .milliseconds(200)
      #expect(pause.rest(at: now) == .zero)
      pause.wrote(for: .milliseconds(1), until: now)
    }
    // Who waited for the lock has left it to others.
    for _ in 0..<100 {
      now += .milliseconds(10)
      pause.wrote(for: .milliseconds(1), until: now)
      #expect(pause.rest(at: now) == .zero)
    }
  }
}
