import Foundation
import Testing

@testable import Gateway

/// The page for people: its files, and who is signed in.
@Suite(.timeLimit(.minutes(5))) struct `The page of a node` {
  private func withNode(_ body: (Workplace, Served) async throws -> Void) async throws {
    try await Workplace.with { place in
      try await place.found(
        "clinic.db",
        """
        CREATE TABLE open(id INTEGER PRIMARY KEY, v);
        CREATE TABLE closed(a TEXT, b INT, c TEXT AS (a || b), PRIMARY KEY (b, a)) WITHOUT ROWID;
        INSERT INTO open VALUES (1, 'a');
        """)
      let node = try await place.serve("clinic.db", "--http", "127.0.0.1:0")
      try await body(place, node)
      try await node.stop()
    }
  }

  /// Signs in and gives `NAME=VALUE` of the cookie.
  private func signIn(_ node: Served, _ token: String) async throws -> String {
    let answer = try await RawClient(port: node.port).ask(
      "POST", "/v1/session", body: "{\"token\":\"\(token)\"}")
    #expect(answer.status == 200)
    let line = try #require(answer.header("set-cookie"))
    for word in ["HttpOnly", "SameSite=Strict", "Path=/v1", "Max-Age="] {
      #expect(line.contains(word))
    }
    return String(line.prefix { $0 != ";" })
  }

  @Test func `is served whole, names no other host, and is small`() async throws {
    // What is named by `import(…)` is fetched when somebody needs it.
    var (first, open): (Set<String>, [String]) = ([], ["", "page/style.css", "page/icon.svg"])
    open.append("page/app.js")
    while let path = open.popLast() {
      guard first.insert(path).inserted, let file = PageFile.all[path] else { continue }
      let text = String(decoding: file.bytes, as: UTF8.self)
      open += text.matches(of: /from '\.\/(\w+\.js)'/).map { "page/" + $0.1 }
    }
    #expect(first.count >= 8 && !first.contains("page/qr.js"))
    let total = first.reduce(0) { $0 + (PageFile.all[$1]?.bytes.count ?? 0) }
    for (path, file) in PageFile.all {
      let text = try #require(String(validating: file.bytes, as: UTF8.self))
      // The name of a format is no address that anything is fetched from.
      let own = text.replacing("http://www.w3.org/2000/svg", with: "")
      for foreign in ["http:", "https:", "\"//", "'//", "`//", "(//", "@import", "ws:/"] {
        #expect(!own.contains(foreign), "\(path)")
      }
      #expect(!own.contains("innerHTML") && !own.contains("insertAdjacentHTML"), "\(path)")
      let named =
        text.split(separator: "/page/").dropFirst() + text.split(separator: "'./").dropFirst()
      for rest in named {
        let name = String(rest.prefix { $0.isLetter || $0 == "." })
        #expect(PageFile.all["page/" + name] != nil, "\(path) names \(name)")
      }
    }
    #expect(total <= 60 << 10)
    let folder =
      URL(filePath: #filePath).deletingLastPathComponent().path
      + "/../../Sources/Gateway/Page"
    let names = try FileManager.default.contentsOfDirectory(atPath: folder)
    #expect(Set(names.map { $0 == "index.html" ? "" : "page/" + $0 }) == Set(PageFile.all.keys))
  }

  @Test func `comes with headers that keep others out`() async throws {
    try await withNode { _, node in
      let client = RawClient(port: node.port)
      for (path, file) in PageFile.all {
        let answer = try await client.ask("GET", "/" + path)
        #expect(answer.status == 200 && Array(answer.body.utf8) == file.bytes, "\(path)")
        #expect(answer.header("content-type") == file.type)
        #expect(answer.header("x-content-type-options") == "nosniff")
        #expect(answer.header("referrer-policy") == "no-referrer")
        let policy = try #require(answer.header("content-security-policy"))
        for word in ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'"] {
          #expect(policy.contains(word))
        }
        #expect(!policy.contains("unsafe"))
        let tag = try #require(answer.header("etag"))
        #expect(try await client.ask("GET", "/" + path, ["If-None-Match": tag]).status == 304)
      }
      #expect(try await client.ask("POST", "/", body: "{}").status == 405)
      for nothing in ["/page/", "/page/nothing.js", "/page/..%2Findex.html", "/page"] {
        #expect(try await client.ask("GET", nothing).status == 404, "\(nothing)")
      }
      let api = try await client.ask("GET", "/v1/session")
      #expect(api.header("cache-control") == "no-store")
      #expect(api.header("content-security-policy")?.contains("frame-ancestors 'none'") == true)
      let link = ["Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"]
      let whole = link.merging(["Sec-Fetch-Dest": "document"]) { $1 }
      let framed = link.merging(["Sec-Fetch-Dest": "iframe"]) { $1 }
      #expect(try await client.ask("GET", "/", whole).status == 200)
      #expect(try await client.ask("GET", "/", framed).status == 403)
      #expect(try await client.ask("GET", "/v1/session", whole).status == 403)
    }
  }

  @Test func `trades a token for a cookie that ends with the token`() async throws {
    try await withNode { place, node in
      let client = RawClient(port: node.port)
      let token = try await place.token("clinic.db")
      let begun = ContinuousClock.now
      let wrong = try await client.ask("POST", "/v1/session", body: #"{"token":"flotilla_x"}"#)
      #expect(wrong.status == 401 && wrong.header("set-cookie") == nil)
      for bad in ["{}", #"{"token":5}"#, "[", #"{"token":"a","more":1}"#] {
        #expect(try await client.ask("POST", "/v1/session", body: bad).status == 400)
      }
      // Nobody has the node read millions of brackets who has shown no token.
      let long = try await client.ask(
        "POST", "/v1/session", body: String(repeating: "[", count: 4_097))
      #expect(long.status == 413 && long.kind == "too-large", "\(long)")
      #expect(ContinuousClock.now - begun > .milliseconds(500))
      let cookie = try await signIn(node, token)
      #expect(!cookie.contains(token) && cookie.hasPrefix("flotilla_\(node.port)="))
      let account = try await client.ask("GET", "/v1/session", ["Cookie": cookie]).object
      #expect(account["database"] as? String == "clinic" && account["token"] as? String == "me")
      #expect(account["file"] as? String == "clinic.db" && account["settles"] as? Bool == true)
      let among = "other=1; \(cookie); more=2"
      for path in ["status", "members", "conflicts", "tables", "rows/open"] {
        #expect(
          try await client.ask("GET", "/v1/clinic/\(path)", ["Cookie": among]).status == 200)
      }
      #expect(try await client.ask("GET", "/v1/other/status", ["Cookie": cookie]).status == 401)
      #expect(
        try await client.ask("GET", "/v1/clinic/status", ["Cookie": cookie + "x"]).status == 401)
      try await place.flotilla("token", "clinic.db", "remove", "me")
      #expect(try await client.ask("GET", "/v1/clinic/status", ["Cookie": cookie]).status == 401)
      let gone = try await client.ask("GET", "/v1/session", ["Cookie": cookie])
      #expect(gone.status == 200 && gone.object["database"] is NSNull)
      #expect(!node.text.contains(token) && !node.text.contains(cookie))
    }
  }

  @Test func `writes with the cookie only for pages of its own`() async throws {
    try await withNode { place, node in
      let client = RawClient(port: node.port)
      let cookie = try await signIn(node, try await place.token("clinic.db"))
      let row = #"{"id":2,"v":"b"}"#
      func post(_ headers: [String: String]) async throws -> Answer {
        try await client.ask(
          "POST", "/v1/clinic/rows/open", ["Cookie": cookie].merging(headers) { $1 }, body: row)
      }
      // RawClient calls the gateway `localhost`.
      for foreign in [
        [:], ["Origin": "http://evil"], ["Origin": "null"],
        ["Origin": "http://localhost:1"], ["Sec-Fetch-Site": "cross-site"],
        ["Sec-Fetch-Site": "same-site"], ["Sec-Fetch-Site": "none"],
        ["Origin": "http://evil", "Sec-Fetch-Site": "same-origin"],
      ] {
        let answer = try await post(foreign)
        #expect(answer.status == 403 && answer.kind == "origin", "\(foreign)")
      }
      #expect(
        try await client.ask("DELETE", "/v1/session", ["Cookie": cookie]).status == 403)
      #expect(
        try await client.ask(
          "POST", "/v1/clinic/conflicts/1/dismiss", ["Cookie": cookie]
        ).status == 403)
      #expect(try await place.sql("clinic.db", "SELECT count(*) FROM open") == "1")
      #expect(try await post(["Origin": "http://localhost"]).status == 201)
      #expect(
        try await client.ask(
          "DELETE", "/v1/clinic/rows/open/2",
          ["Cookie": cookie, "Sec-Fetch-Site": "same-origin"]
        ).status == 204)
      let out = try await client.ask(
        "DELETE", "/v1/session", ["Cookie": cookie, "Origin": "http://localhost"])
      #expect(out.status == 204 && out.header("set-cookie")?.contains("Max-Age=0") == true)
      #expect(try await client.ask("GET", "/v1/clinic/status", ["Cookie": cookie]).status == 401)
    }
  }

  @Test func `is told of the tables that its token may read`() async throws {
    try await withNode { place, node in
      let token = try await place.token("clinic.db", "some", tables: "closed=read")
      let client = RawClient(port: node.port, token: token)
      let answer = try await client.ask("GET", "/v1/clinic/tables")
      let columns =
        #"{"computed":false,"name":"a","typed":true},{"computed":false,"name":"b","typed":true},"#
        + #"{"computed":true,"name":"c","typed":true}"#
      #expect(
        answer.body == "{\"tables\":[{\"columns\":[\(columns)],\"key\":[\"b\",\"a\"],"
          + "\"name\":\"closed\",\"right\":\"read\"}]}\n")
      #expect(try await client.ask("GET", "/v1/clinic/tables?x").status == 400)
      let cookie = try await signIn(node, token)
      let page = RawClient(port: node.port)
      #expect(try await page.ask("GET", "/v1/clinic/status", ["Cookie": cookie]).status == 403)
      #expect(
        try await page.ask(
          "POST", "/v1/clinic/conflicts/1/restore",
          ["Cookie": cookie, "Origin": "http://localhost"]
        ).status == 403)
    }
  }

  @Test func `restores and dismisses what has lost`() async throws {
    try await withNode { place, node in
      let code = try await place.run("flotilla", "invite", "clinic.db")
      let word = try #require(code.text.split(separator: "\n").first.map(String.init))
      let address = "127.0.0.1:\(node.nodePort)"
      try await place.flotilla("join", "b.db", word, "--at", address, "--name", "b")
      try await place.sql("clinic.db", "UPDATE open SET v = 'mine'")
      // Later, by more than nodes on a busy machine differ about the time of the site.
      try await Task.sleep(for: .seconds(1))
      try await place.sql("b.db", "UPDATE open SET v = 'theirs'")
      try await place.flotilla("sync", "b.db", address)
      let client = RawClient(port: node.port, token: try await place.token("clinic.db"))
      var conflict: [String: Any]?
      let isThere = try await eventually {
        let list = try await client.ask("GET", "/v1/clinic/conflicts").object["conflicts"]
        conflict = (list as? [[String: Any]])?.first
        return conflict != nil
      }
      #expect(isThere)
      let id = try #require(conflict?["id"] as? Int)
      for nothing in ["x/restore", "\(id)/forget", "p000000/restore"] {
        #expect(
          try await client.ask("POST", "/v1/clinic/conflicts/\(nothing)").status == 404)
      }
      #expect(try await client.ask("GET", "/v1/clinic/conflicts/\(id)/restore").status == 405)
      let restored = try await client.ask("POST", "/v1/clinic/conflicts/\(id)/restore")
      #expect(restored.status == 200 && restored.object["state"] as? String == "restored")
      #expect(try await place.sql("clinic.db", "SELECT v FROM open") == "mine")
      let again = try await client.ask("POST", "/v1/clinic/conflicts/\(id)/restore")
      #expect((400...499).contains(again.status))
    }
  }
}

/// Sessions by themselves: time is given.
@Suite struct `Sessions of the page` {
  @Test func `end by themselves, and when they are told to`() {
    let sessions = PageSessions()
    let start = ContinuousClock.now
    let cookie = sessions.begin("clinic", token: "hash", at: start)
    let found = sessions.find(cookie, at: start + PageSessions.lifetime - .seconds(1))
    #expect(found?.database == "clinic" && found?.token == "hash")
    #expect(sessions.find(cookie, at: start + PageSessions.lifetime) == nil)
    #expect(sessions.find("other", at: start) == nil)
    sessions.end(cookie)
    #expect(sessions.find(cookie, at: start) == nil)
  }

  @Test func `are bounded: the oldest makes room`() {
    let sessions = PageSessions()
    let start = ContinuousClock.now
    let cookies = (0...PageSessions.most).map { number in
      sessions.begin("a", token: "t", at: start + .seconds(number))
    }
    let later = start + .seconds(PageSessions.most)
    #expect(sessions.find(cookies[0], at: later) == nil)
    #expect(cookies.dropFirst().allSatisfy { sessions.find($0, at: later) != nil })
  }

  @Test func `are found among other cookies`() {
    let request = HTTPRequest(
      "GET", "/", headers: [("cookie", "a=1; flotilla_1 = x=y ;b"), ("cookie", "c=2")])
    #expect(request.cookie("flotilla_1") == "x=y" && request.cookie("c") == "2")
    #expect(request.cookie("b") == nil && request.cookie("flotilla_2") == nil)
  }
}
