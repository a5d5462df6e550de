import Testing

@testable import Gateway

@Suite struct `The target of a request` {
  @Test func `is taken apart before it is decoded`() throws {
    let target = try RequestTarget("/v1/a%2Fb/rows/t/%C3%BC,x?a=eq.1+2&b=%26&c")
    #expect(target.path == ["v1", "a%2Fb", "rows", "t", "%C3%BC,x"])
    #expect(
      target.parameters.map { [$0.name, $0.value] } == [["a", "eq.1 2"], ["b", "&"], ["c", ""]])
  }

  @Test(arguments: [
    "", "v1", "http://h/v1", "*", "/a#b", "/a?%", "/a?%zz=1", "/a?b=%ff", "/a?b=%c3",
    "/a?" + String(repeating: "a&", count: 101), "/" + String(repeating: "a", count: 16 << 10),
  ])
  func `that is none is refused`(_ target: String) {
    #expect(throws: Problem.self) { try RequestTarget(target) }
  }

  @Test func `is written so that it is read as the same`() throws {
    let text = (0...255).map { String(Unicode.Scalar(UInt8($0))) }.joined()
    #expect(try RequestTarget.decoded(RequestTarget.encoded(text), plusIsBlank: true) == text)
  }
}

@Suite struct `A request` {
  private func problem(
    _ headers: [(name: String, value: String)], body: [UInt8] = [], method: String = "POST"
  ) -> Problem? {
    do throws(Problem) {
      try RequestCheck(hosts: RequestCheck.local).check(
        HTTPRequest(method, "/", headers: headers, body: body))
      return nil
    } catch {
      return error
    }
  }

  private let host = (name: "host", value: "localhost")

  @Test(arguments: [
    "localhost", "LOCALHOST:80", "127.0.0.1:7392", "[::1]", "[::1]:5",
  ])
  func `under a name of this machine is taken`(_ name: String) {
    #expect(problem([("host", name)]) == nil)
  }

  @Test(arguments: [
    "evil.example", "evil.example:7392", "localhost.evil.example", "localhost:80:80", "127.0.0.1.",
    "localhost:x", "[::1]x", "10.0.0.1", "user@localhost",
  ])
  func `under another name is refused`(_ name: String) {
    #expect(problem([("host", name)])?.status == 421)
  }

  @Test func `of another machine names this one by any address, and by no foreign name`() throws {
    let check = RequestCheck(hosts: ["localhost", "ward-1"], takesAddresses: true)
    func status(_ host: String, origin: String? = nil) -> Int? {
      var request = HTTPRequest("POST", "/", headers: [("host", host)])
      if let origin { request.headers.append(("origin", origin)) }
      request.isSecure = true
      do throws(Problem) {
        try check.check(request)
        return nil
      } catch {
        return error.status
      }
    }
    for host in ["10.0.0.7:7392", "[fe80::1]:7392", "ward-1", "localhost:1"] {
      #expect(status(host) == nil && status(host, origin: "https://" + host) == nil)
      #expect(status(host, origin: "http://" + host) == 403)
    }
    for host in ["evil.example", "10.0.0.7.evil.example", "fe80::1", "10.0.0"] {
      #expect(status(host) == 421, "\(host)")
    }
  }

  @Test func `has one Host`() {
    #expect(problem([])?.status == 400)
    #expect(problem([host, host])?.status == 400)
    #expect(problem([("host", "")])?.status == 400)
  }

  @Test func `of a page of another site is refused`() {
    #expect(problem([host, ("origin", "http:" + "//evil.example")])?.status == 403)
    #expect(problem([host, ("origin", "null")])?.status == 403)
    #expect(problem([host, ("origin", "https://localhost")])?.status == 403)
    #expect(problem([host, ("sec-fetch-site", "cross-site")])?.status == 403)
    #expect(problem([host, ("sec-fetch-site", "same-site")])?.status == 403)
    #expect(problem([host, ("origin", "http://localhost")]) == nil)
    #expect(problem([host, ("sec-fetch-site", "same-origin")]) == nil)
  }

  @Test func `whose length is in doubt is refused, and its connection ends`() {
    let doubtful: [[(name: String, value: String)]] = [
      [("content-length", "1"), ("transfer-encoding", "chunked")],
      [("content-length", "1"), ("content-length", "1")],
      [("content-length", "2")], [("content-length", "+1")], [("content-length", " 1")],
      [("transfer-encoding", "gzip, chunked")], [("transfer-encoding", "identity")],
      [("transfer-encoding", "chunked"), ("transfer-encoding", "chunked")],
      [("content-length ", "1")],
    ]
    for headers in doubtful {
      let found = problem([host] + headers, body: [1])
      #expect(found?.status == 400 && found?.closes == true, "\(headers)")
    }
    #expect(problem([host, ("content-length", "1")], body: [1]) == nil)
  }

  @Test func `whose length others may read otherwise is refused, and its connection ends`() {
    let chunked = problem([host, ("transfer-encoding", "chunked")], body: [1])
    #expect(chunked?.status == 411 && chunked?.closes == true)
    for method in ["GET", "HEAD", "DELETE", "OPTIONS"] {
      let found = problem([host, ("content-length", "1")], body: [1], method: method)
      #expect(found?.status == 400 && found?.closes == true, "\(method)")
      #expect(problem([host, ("content-length", "0")], method: method) == nil)
    }
    #expect(problem([host, ("content-length", "1")], body: [1]) == nil)
  }

  @Test func `has preferences`() throws {
    let wishes = try Preferences("return=representation, wait=10; x, max-affected=\"5\"")
    #expect(wishes.returnsRows)
    #expect(wishes.mostRows == 5)
    #expect(try Preferences("wait=1000000").wait == Preferences.longestWait)
    #expect(try Preferences("respond-async").wait == nil)
    #expect(throws: Problem.self) { try Preferences("handling=strict, respond-async") }
    #expect(throws: Problem.self) { try Preferences("wait=-1") }
    #expect(throws: Problem.self) { try Preferences("max-affected=x") }
  }

  @Test func `has conditions`() throws {
    #expect(try TagCondition(nil) == nil)
    #expect(try TagCondition(" * ") == .any)
    #expect(
      try TagCondition("\"a\", W/\"b\" ,\"c,d\"")
        == .tags([
          .init(text: "\"a\""), .init(text: "\"b\"", isWeak: true), .init(text: "\"c,d\""),
        ]))
    for wrong in ["a", "\"a\",", "w/\"a\"", "\"a\" \"b\"", "W/a", "*, \"a\"", ",", "\"a"] {
      #expect(throws: Problem.self, "\(wrong)") { try TagCondition(wrong) }
    }
  }

  @Test func `is matched strongly by a strong tag alone`() throws {
    let tag = "\"a\""
    for comparison in [TagCondition.Comparison.strong, .weak] {
      #expect(TagCondition.any.matches(tag, by: comparison))
      #expect(!TagCondition.any.matches(nil, by: comparison))
      #expect(try TagCondition("\"b\", \"a\"")?.matches(tag, by: comparison) == true)
      #expect(try TagCondition("\"b\", \"a,\"")?.matches(tag, by: comparison) == false)
    }
    let weak = try TagCondition("W/\"a\"")
    #expect(weak?.matches(tag, by: .strong) == false)
    #expect(weak?.matches(tag, by: .weak) == true)
  }
}

@Suite struct `The gateway listens` {
  @Test func `at the usual port of this machine`() throws {
    let usual = try GatewayListener.address(nil)
    #expect(usual.host == "127.0.0.1" && usual.port == 7392 && usual.isFlexible)
    #expect(try GatewayListener.address(":80") == .init(host: "127.0.0.1", port: 80))
    #expect(try GatewayListener.address("localhost:0") == .init(host: "127.0.0.1", port: 0))
    #expect(try GatewayListener.address("127.1.2.3:9") == .init(host: "127.1.2.3", port: 9))
    #expect(try GatewayListener.address("[::1]:9") == .init(host: "::1", port: 9))
  }

  @Test(arguments: [
    "0.0.0.0:80", "10.0.0.1:80", "[::]:80", "[fe80::1]:80", "128.0.0.1:1",
    "[::ffff:127.0.0.1]:1",
  ])
  func `to others through TLS`(_ address: String) throws {
    #expect(try GatewayListener.address(address).isForOthers)
    for own in [nil, ":80", "localhost:0", "127.1.2.3:9", "[::1]:9"] as [String?] {
      #expect(try !GatewayListener.address(own).isForOthers)
    }
  }

  @Test(arguments: [
    "host.example:80", "127.0.0.1", "127.0.0.1:x", "127.0.0.1.evil:1", "127.1:80", "[::1:80",
    "127.0.0.1:70000",
  ])
  func `nowhere else`(_ address: String) {
    #expect(throws: (any Error).self) { try GatewayListener.address(address) }
  }

  @Test(arguments: [
    ("ward-1", ["ward-1", "ward-1.local", "localhost"]), ("localhost", ["localhost"]),
    ("Ward-1.example.org", ["ward-1", "ward-1.local", "localhost"]), ("", ["localhost"]),
    ("a,DNS:evil", ["localhost"]), (String(repeating: "x", count: 70), ["localhost"]),
  ])
  func `under the names of its machine`(host: String, names: [String]) {
    #expect(MachineNames.all(of: host) == names)
  }

  @Test func `and slows down who tries tokens`() {
    let delays = (1...20).map(FailedTries.delay)
    #expect(delays == delays.sorted())
    #expect(delays[0] < .milliseconds(100))
    #expect(delays.last == FailedTries.longest)
  }

  @Test(arguments: [
    ("/a/clinic.db", "clinic"), ("clinic.sqlite3", "clinic"), ("a.b.c", "a.b"), ("x", "x"),
    (".db", ".db"),
  ])
  func `with a name for each file`(path: String, name: String) {
    #expect(GatewayDatabase.name(of: path) == name)
  }
}
