import Foundation
import Testing

@testable import Gateway

/// Who gets in, and to what.
@Suite(.timeLimit(.minutes(5))) struct `Access over HTTP` {
  private func withNode(_ body: (Workplace, Served) async throws -> Void) async throws {
    try await Workplace.with { place in
      try await place.found(
        "clinic.db",
        """
        CREATE TABLE open(id INTEGER PRIMARY KEY, v);
        CREATE TABLE closed(id INTEGER PRIMARY KEY, v);
        INSERT INTO open VALUES (1, 'a'); INSERT INTO closed VALUES (1, 'b');
        """)
      let node = try await place.serve("clinic.db", "--http", "127.0.0.1:0")
      try await body(place, node)
      try await node.stop()
    }
  }

  @Test func `takes a token, of which only a hash is kept`() async throws {
    try await withNode { place, node in
      let token = try await place.token("clinic.db", "tablet")
      #expect(token.hasPrefix("flotilla_") && token.utf8.count == 52)
      let file = place.path("clinic.db-flotilla/tokens.json")
      #expect(!(try String(contentsOfFile: file, encoding: .utf8).contains(token)))
      let attributes = try FileManager.default.attributesOfItem(atPath: file)
      #expect(attributes[.posixPermissions] as? Int == 0o600)
      let client = RawClient(port: node.port, token: token)
      #expect(try await client.ask("GET", "/v1/clinic/rows/open").status == 200)
      #expect(try await client.ask("HEAD", "/v1/clinic/rows/open").status == 200)

      let stranger = RawClient(port: node.port)
      let refused = try await stranger.ask("GET", "/v1/clinic/rows/open")
      #expect(refused.status == 401 && refused.header("www-authenticate") != nil)
      let guess = RawClient(port: node.port, token: token + "x")
      #expect(try await guess.ask("GET", "/v1/clinic/rows/open").status == 401)
      #expect(try await guess.ask("GET", "/metrics").status == 401)
      #expect(try await client.ask("GET", "/v1/other/rows/open").status == 401)
      for wrong in ["Basic \(token)", token, "Bearer", "Bearer \(token) x"] {
        let answer = try await stranger.ask(
          "GET", "/v1/clinic/rows/open", ["Authorization": wrong])
        #expect(answer.status == 401, "\(wrong.prefix(7))")
      }
      #expect(node.text.contains("refused a request") && !node.text.contains(token))

      let again = try await place.run("flotilla", "token", "clinic.db", "add", "tablet")
      #expect(again.status == 1 || again.status == 2)
      try await place.flotilla("token", "clinic.db", "remove", "tablet")
      #expect(try await client.ask("GET", "/v1/clinic/rows/open").status == 401)
    }
  }

  @Test func `ends when the token's time is over`() async throws {
    try await withNode { place, node in
      let output = try await place.run(
        "flotilla", "token", "clinic.db", "add", "short", "--ttl", "1s")
      let token = try #require(output.text.split(separator: "\n").first.map(String.init))
      let client = RawClient(port: node.port, token: token)
      let isOver = try await eventually {
        try await client.ask("GET", "/v1/clinic/rows/open").status == 401
      }
      #expect(isOver)
      let list = try await place.flotilla("token", "clinic.db", "list", "--json")
      #expect(list.contains("\"expired\":true"))
    }
  }

  @Test func `is no more than the token says`() async throws {
    try await withNode { place, node in
      let token = try await place.token("clinic.db", "some", tables: "open=read")
      let client = RawClient(port: node.port, token: token)
      #expect(try await client.ask("GET", "/v1/clinic/rows/open/1").status == 200)
      let write = try await client.ask("PATCH", "/v1/clinic/rows/open/1", body: #"{"v":1}"#)
      #expect(write.status == 403 && write.kind == "not-allowed")
      // A table that it may not read is as if it was not there.
      let (hidden, missing) = (
        try await client.ask("GET", "/v1/clinic/rows/closed"),
        try await client.ask("GET", "/v1/clinic/rows/absent")
      )
      #expect(hidden.status == 404)
      #expect(hidden.body.replacing("closed", with: "absent") == missing.body)
      #expect(try await client.ask("DELETE", "/v1/clinic/rows/closed/1").status == 404)
      for report in ["status", "members", "conflicts", "verify"] {
        #expect(try await client.ask("GET", "/v1/clinic/\(report)").status == 403)
      }
      let all = RawClient(
        port: node.port, token: try await place.token("clinic.db", "all", tables: "*=read"))
      #expect(try await all.ask("GET", "/v1/clinic/rows/closed").status == 200)
      #expect(try await all.ask("GET", "/v1/clinic/status").status == 200)
      #expect(try await all.ask("DELETE", "/v1/clinic/rows/closed/1").status == 403)
    }
  }

  @Test func `is no more than the node itself may do`() async throws {
    try await withNode { place, node in
      let code = try await place.run("flotilla", "invite", "clinic.db")
      let word = try #require(code.text.split(separator: "\n").first.map(String.init))
      try await place.flotilla(
        "join", "leaf.db", word, "--at", "127.0.0.1:\(node.nodePort)", "--name", "leaf")
      let leaf = try await place.serve("leaf.db", "--http", "127.0.0.1:0")
      let client = RawClient(port: leaf.port, token: try await place.token("leaf.db"))
      #expect(
        try await client.ask("PATCH", "/v1/leaf/rows/open/1", body: #"{"v":1}"#).status == 204)
      try await place.flotilla("grant", "clinic.db", "leaf", "open", "read")
      let isBound = try await eventually {
        try await client.ask("PATCH", "/v1/leaf/rows/open/1", body: #"{"v":2}"#).status == 403
      }
      #expect(isBound)
      #expect(try await client.ask("GET", "/v1/leaf/rows/open/1").status == 200)
      try await place.flotilla("grant", "clinic.db", "leaf", "open", "none")
      let isHidden = try await eventually {
        try await client.ask("GET", "/v1/leaf/rows/open/1").status == 404
      }
      #expect(isHidden)
      try await leaf.stop()
    }
  }

  @Test func `is no more than the node may do with a table that has another name by now`()
    async throws
  {
    try await withNode { place, node in
      let code = try await place.run("flotilla", "invite", "clinic.db")
      let word = try #require(code.text.split(separator: "\n").first.map(String.init))
      try await place.flotilla(
        "join", "leaf.db", word, "--at", "127.0.0.1:\(node.nodePort)", "--name", "leaf")
      let leaf = try await place.serve("leaf.db", "--http", "127.0.0.1:0")
      let client = RawClient(port: leaf.port, token: try await place.token("leaf.db"))
      try await place.sql("leaf.db", "ALTER TABLE open RENAME TO task")
      let row = "/v1/leaf/rows/task/1"
      let isKnown = try await eventually {
        try await client.ask("PATCH", row, body: #"{"v":1}"#).status == 204
      }
      #expect(isKnown)
      try await place.flotilla("grant", "clinic.db", "leaf", "open", "read")
      let isBound = try await eventually {
        try await client.ask("PATCH", row, body: #"{"v":2}"#).status == 403
      }
      #expect(isBound)
      #expect(try await client.ask("GET", row).status == 200)
      #expect(
        try await client.ask("PATCH", "/v1/leaf/rows/closed/1", body: #"{"v":2}"#).status == 204)
      try await place.flotilla("grant", "clinic.db", "leaf", "open", "none")
      let isHidden = try await eventually { try await client.ask("GET", row).status == 404 }
      #expect(isHidden)
      let asked = try await client.ask(
        "POST", "/v1/leaf/query", body: #"{"sql":"SELECT * FROM task"}"#)
      #expect(asked.status == 400 && asked.body.contains("no such table: task"), "\(asked.body)")
      #expect(!(try await client.ask("GET", "/v1/leaf/tables").body.contains("task")))
      #expect(try await client.ask("GET", "/v1/leaf/rows/closed/1").status == 200)
      try await leaf.stop()
    }
  }

  @Test func `stays what the token says when a table is renamed`() async throws {
    try await withNode { place, node in
      let all = RawClient(port: node.port, token: try await place.token("clinic.db", "all"))
      let most = RawClient(
        port: node.port,
        token: try await place.token("clinic.db", "most", tables: "*=write,closed=none"))
      let one = RawClient(
        port: node.port, token: try await place.token("clinic.db", "one", tables: "closed=read"))
      let begun = try await most.ask("GET", "/v1/clinic/changes").object["cursor"] as? String
      let cursor = try #require(begun)
      try await place.sql(
        "clinic.db",
        "ALTER TABLE closed RENAME TO payroll")
      let row = "/v1/clinic/rows/payroll/1"
      var wasShown = false
      let isKnown = try await eventually {
        if try await most.ask("GET", row).status != 404 { wasShown = true }
        return try await one.ask("GET", row).status == 200
      }
      #expect(isKnown && !wasShown)
      #expect(try await all.ask("GET", row).status == 200)
      #expect(try await most.ask("GET", row).status == 404)
      #expect(try await most.ask("DELETE", row).status == 404)
      #expect(try await one.ask("GET", "/v1/clinic/rows/open/1").status == 404)
      let changes = "/v1/clinic/changes?wait=5&since="
      for (client, isShown) in [(most, false), (one, true)] {
        let again = try await client.ask("GET", changes + cursor)
        let place = again.object["cursor"] as? String
        let start = try #require(again.status == 410 ? place : cursor)
        for target in [row, "/v1/clinic/rows/open/1"] {
          _ = try await all.ask("PATCH", target, body: #"{"v":"\#(isShown)"}"#)
        }
        let told = try await client.ask("GET", changes + start)
        #expect(told.body.contains("\"payroll\"") == isShown, "\(told.body)")
        #expect(told.body.contains("\"open\"") != isShown, "\(told.body)")
      }
      let list = try await place.flotilla("token", "clinic.db", "list")
      #expect(list.contains("payroll=none") && list.contains("payroll=read"), "\(list)")
      // The table is named as it is called now, or as the site called it first.
      for (name, tables) in [("now", "payroll=read"), ("first", "CLOSED=read")] {
        let later = RawClient(
          port: node.port, token: try await place.token("clinic.db", name, tables: tables))
        #expect(try await later.ask("GET", row).status == 200, "\(name)")
      }
    }
  }

  /// Tokens of a version before name tables as they were called here at that time.
  @Test func `stays what a token of a version before says when its table is renamed`()
    async throws
  {
    try await withNode { place, node in
      try await place.sql("clinic.db", "ALTER TABLE closed RENAME TO payroll")
      let all = RawClient(port: node.port, token: try await place.token("clinic.db", "all"))
      let row = "/v1/clinic/rows/payroll/1"
      #expect(try await eventually { try await all.ask("GET", row).status == 200 })
      let file = URL(filePath: place.path("clinic.db-flotilla/tokens.json"))
      let most = try await place.token("clinic.db", "most", tables: "*=write,payroll=none")
      let one = try await place.token("clinic.db", "one", tables: "payroll=read")
      let old = try String(contentsOf: file, encoding: .utf8)
        .replacing(#","namesFirst":true"#, with: "").replacing(#""namesFirst":true,"#, with: "")
        .replacing(#""closed""#, with: #""payroll""#)
      #expect(!old.contains("namesFirst") && old.contains("payroll"))
      // While the tokens cannot be written they allow no more.
      let lock = URL(filePath: file.path + ".lock")
      try FileManager.default.removeItem(at: lock)
      try FileManager.default.createDirectory(at: lock, withIntermediateDirectories: false)
      for isWritten in [false, true] {
        if isWritten { try FileManager.default.removeItem(at: lock) }
        try Data(old.utf8).write(to: file)
        let client = RawClient(port: node.port, token: most)
        #expect(try await client.ask("GET", row).status == 404)
        #expect(try await client.ask("GET", "/v1/clinic/rows/open/1").status == 200)
        let other = RawClient(port: node.port, token: one)
        #expect(try await other.ask("GET", row).status == (isWritten ? 200 : 404))
      }
      // It is translated once, so that it stays so under another name.
      try await place.sql("clinic.db", "ALTER TABLE payroll RENAME TO salary")
      let moved = "/v1/clinic/rows/salary/1"
      let client = RawClient(port: node.port, token: one)
      #expect(try await eventually { try await client.ask("GET", moved).status == 200 })
      #expect(try await RawClient(port: node.port, token: most).ask("GET", moved).status == 404)
    }
  }

  @Test func `says of a token of a version before that it names a table which is not here`()
    async throws
  {
    try await withNode { place, node in
      let file = URL(filePath: place.path("clinic.db-flotilla/tokens.json"))
      let token = try await place.token("clinic.db", "some", tables: "open=read,closed=read")
      let old = try String(contentsOf: file, encoding: .utf8)
        .replacing(#","namesFirst":true"#, with: "").replacing(#""namesFirst":true,"#, with: "")
        .replacing(#""closed""#, with: #""payroll""#)
      try Data(old.utf8).write(to: file)
      let client = RawClient(port: node.port, token: token)
      let answer = try await client.ask("GET", "/v1/clinic/rows/closed/1")
      #expect(answer.status == 404)
      let remedy = answer.object["remedy"] as? String
      #expect(remedy?.contains("is of an earlier version") == true, "\(answer.body)")
      #expect(remedy?.contains("payroll") == false)
      let list = try await place.flotilla("token", "clinic.db", "list")
      #expect(list.contains("tables that are not here: payroll"), "\(list)")
    }
  }

  /// What is known of names is kept for a second.
  @Test func `is that to the table which has the name while it is read or written`() async throws {
    try await withNode { place, node in
      let token = try await place.token("clinic.db", "most", tables: "*=write,closed=none")
      let client = RawClient(port: node.port, token: token)
      for round in 0..<4 {
        let (shown, hidden) = round % 2 == 0 ? ("open", "closed") : ("closed", "open")
        let row = "/v1/clinic/rows/\(shown)/1"
        let isShown = try await eventually { try await client.ask("GET", row).status == 200 }
        #expect(isShown)
        try await place.sql(
          "clinic.db",
          """
          BEGIN IMMEDIATE; ALTER TABLE \(shown) RENAME TO aside;
          ALTER TABLE \(hidden) RENAME TO \(shown); ALTER TABLE aside RENAME TO \(hidden); COMMIT
          """)
        let (method, target, body, status) =
          switch round {
          case 0: ("GET", row, String?.none, 404)
          case 1: ("GET", "/v1/clinic/rows/\(shown)", nil, 404)
          case 2: ("PATCH", row, #"{"v":"x"}"#, 404)
          default: ("POST", "/v1/clinic/query", #"{"sql":"SELECT * FROM \#(shown)"}"#, 400)
          }
        let answer = try await client.ask(method, target, body: body)
        #expect(answer.status == status, "\(method) \(target) \(answer.body)")
        let page = try await client.ask("GET", "/v1/clinic/rows/\(shown)")
        #expect(page.status == 404, "\(page.body)")
      }
    }
  }

  @Test func `is to the database that the path names, though another has its name in code`()
    async throws
  {
    try await Workplace.with { place in
      for name in ["my data.db", "my%20data.db"] {
        try await place.found(name, "CREATE TABLE t(v TEXT PRIMARY KEY NOT NULL)")
        try await place.sql(name, "INSERT INTO t VALUES ('\(name)')")
      }
      let node = try await place.serve("my data.db", "my%20data.db", "--http", "127.0.0.1:0")
      let isUp = try await eventually {
        try await RawClient(port: node.port).ask("GET", "/ready").status == 200
      }
      #expect(isUp)
      for (name, path) in [("my data.db", "my%20data"), ("my%20data.db", "my%2520data")] {
        let client = RawClient(port: node.port, token: try await place.token(name))
        for target in ["rows/t", "rows/t/\(path).db"] {
          let answer = try await client.ask("GET", "/v1/\(path)/\(target)")
          #expect(answer.status == 200 && answer.body.contains("\"\(name)\""), "\(answer.body)")
        }
      }
      try await node.stop()
    }
  }

  @Test func `tells nobody where a file is that is damaged, and the log does`() async throws {
    try await withNode { place, node in
      let file = place.path("clinic.db-flotilla/tokens.json")
      try Data("[{".utf8).write(to: URL(filePath: file))
      let stranger = RawClient(port: node.port, token: "flotilla_x")
      for target in ["/v1/clinic/rows/open", "/metrics"] {
        let answer = try await stranger.ask("GET", target)
        #expect(answer.status == 500 && !answer.body.contains("tokens.json"), "\(answer.body)")
      }
      #expect(node.text.contains("tokens.json is damaged"), "\(node.text)")
    }
  }

  @Test func `also tells how the site is, as the commands do`() async throws {
    try await withNode { place, node in
      #expect(try await RawClient(port: node.port).ask("GET", "/health").status == 200)
      #expect(try await RawClient(port: node.port).ask("GET", "/ready").status == 200)
      let client = RawClient(port: node.port, token: try await place.token("clinic.db"))
      for report in ["status", "members", "conflicts", "verify"] {
        let answer = try await client.ask("GET", "/v1/clinic/\(report)")
        let said = try await place.flotilla(report, "clinic.db", "--json")
        let line = said.split(separator: "\n").first { $0.hasPrefix("{") } ?? ""
        let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
        #expect(Set(answer.object.keys) == Set(object?.keys.map { $0 } ?? []), "\(report)")
        #expect(!answer.object.isEmpty)
        #expect(try await client.ask("GET", "/v1/clinic/\(report)?nope").status == 400)
        #expect(try await client.ask("POST", "/v1/clinic/\(report)", body: "{}").status == 405)
      }
      let metrics = try await client.ask("GET", "/metrics")
      #expect(metrics.body.hasSuffix("# EOF\n"))
      #expect(metrics.body.contains("flotilla_rows{database=\"clinic\",table=\"open\"} 1.0\n"))
      #expect(!metrics.body.contains("127.0.0.1"))
    }
  }

  @Test func `no name ends the label that it stands in`() {
    let label = GatewayMetrics.label("a\"\u{301}} 1\\\u{301}\n\u{301}b")
    #expect(Array(label.utf8) == Array(#""a\"\#u{301}} 1\\\#u{301}\n\#u{301}b""#.utf8))
  }

  @Test func `through curl, also by the socket for this machine`() async throws {
    try await withNode { place, node in
      let token = try await place.token("clinic.db")
      let said = node.text.firstMatch(of: /by the socket (\S+)/)
      let socket = try #require(said.map { String($0.1) })
      #expect(socket.hasPrefix(place.path("run/flotilla/")))
      let attributes = try FileManager.default.attributesOfItem(atPath: socket)
      #expect(attributes[.posixPermissions] as? Int == 0o600)
      let local = try await place.run(
        "curl", "-s", "--unix-socket", socket, "-H", "Authorization: Bearer \(token)",
        "http://localhost/v1/clinic/rows/open/1")
      #expect(local.text == "{\"id\":1,\"v\":\"a\"}")
      let written = try await place.run(
        "curl", "-s", "-w", "%{http_code}", "--json", "{\"v\":{\"base64\":\"AP8=\"}}", "-H",
        "Authorization: Bearer \(token)", "http://127.0.0.1:\(node.port)/v1/clinic/rows/open")
      #expect(written.text == "201")
      let nobody = try await place.run(
        "curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "--unix-socket", socket,
        "http://localhost/v1/clinic/rows/open/1")
      #expect(nobody.text == "401")
    }
  }

  @Test func `is at an address of this machine, and for one name each`() async throws {
    try await Workplace.with { place in
      try await place.found("a.db", "CREATE TABLE t(id INTEGER PRIMARY KEY)")
      let far = try await place.run(
        "flotilla", "run", "a.db", "--no-discovery", "--http", "far.example:0")
      #expect(far.status == 2 && far.text.contains("no address on which"))
      // It is an address, and of nobody here (RFC 5737).
      let strange = try await place.run(
        "flotilla", "run", "a.db", "--no-discovery", "--http", "192.0.2.1:0")
      #expect(strange.status == 1, "\(strange.text)")
      let words = "192.0.2.1 is no address of this machine\n  Take one of this machine"
      #expect(strange.text.contains(words), "\(strange.text)")
      let node = try await place.serve("a.db", "--http=127.0.0.1:0")
      let second = try await place.run(
        "flotilla", "run", "a.db", "--no-discovery", "--http", "127.0.0.1:\(node.port)")
      #expect(second.status == 1 && second.text.contains("runs already"), "\(second.text)")
      try await place.found("b.db", "CREATE TABLE t(id INTEGER PRIMARY KEY)")
      let taken = try await place.run(
        "flotilla", "run", "b.db", "--no-discovery", "--http", "127.0.0.1:\(node.port)")
      #expect(taken.status == 1 && taken.text.contains("--http 127.0.0.1:0"), "\(taken.text)")
      try await node.stop()
      let left = try FileManager.default.contentsOfDirectory(atPath: place.path("run/flotilla"))
      #expect(!left.contains { $0.hasSuffix(".http.sock") })
      let twice = try await place.run(
        "flotilla", "run", "a.db", place.folder + "/../" + "a.sqlite", "--http", "127.0.0.1:0")
      #expect(twice.status != 0)
    }
  }
}
