import Foundation
import Glibc
import Synchronization
import Testing

@testable import Gateway

/// A server of this process with small limits, and clients that mean no good.
@Suite(.timeLimit(.minutes(5))) struct `A hostile client` {
  private func withServer(
    _ change: (inout ServerLimits) -> Void = { _ in },
    handle: @escaping @Sendable (HTTPRequest) async -> HTTPResponse = { request in
      HTTPResponse(200, body: Array("\(request.method) \(request.body.count)".utf8))
    },
    _ body: (UInt16) async throws -> Void
  ) async throws {
    var limits = ServerLimits()
    change(&limits)
    let (socket, port) = try GatewayListener.open(.init(host: "127.0.0.1", port: 0))
    let server = HTTPServer()
    server.start([socket], limits: limits, busy: { HTTPResponse(503) }) { request in
      HTTPWork { await handle(request) }
    }
    do {
      try await body(port)
    } catch {
      await server.stop()
      throw error
    }
    await server.stop()
  }

  private func bytes(_ lines: String..., body: String = "") -> [UInt8] {
    Array((lines.joined(separator: "\r\n") + "\r\n\r\n" + body).utf8)
  }

  private func send(_ bytes: [UInt8], _ port: UInt16) async throws -> [Answer] {
    try await RawClient(port: port).send(bytes)
  }

  @Test func `is told what is wrong, and its connection ends`() async throws {
    try await withServer { port in
      let tables: [([UInt8], Int)] = [
        (bytes("NONSENSE"), 400), (bytes("GET / HTTP/9.9", "Host: a"), 400),
        (bytes("GET / HTTP/1.1", "Host a"), 400),
        (bytes("POST / HTTP/1.1", "Content-Length: -1"), 400),
        (bytes("POST / HTTP/1.1", "Content-Length: 99999999999999999999"), 400),
        (bytes("BREW / HTTP/1.1", "Host: a", "Connection: close"), 501),
        (bytes("GET / HTTP/1.1", "X: " + String(repeating: "x", count: 80_000)), 400),
      ]
      for (request, status) in tables {
        let answers = try await send(request, port)
        let said = String(decoding: request.prefix(40), as: UTF8.self)
        #expect(answers.count <= 1 && (answers.isEmpty || answers[0].status >= 400), "\(said)")
        if let one = answers.first, status != 0 { #expect(one.status >= 400, "\(said)") }
      }
      let fine = try await send(bytes("GET / HTTP/1.1", "Host: a", "Connection: close"), port)
      #expect(fine.map(\.status) == [200])
    }
  }

  @Test func `sends no body that is too large`() async throws {
    try await withServer { limits in
      limits.bodyBytes = 1_000
    } _: { port in
      for body in [1_001, 1 << 30] {
        let answers = try await send(
          bytes("POST / HTTP/1.1", "Host: a", "Content-Length: \(body)")
            + [UInt8](repeating: 1, count: 1_001) + bytes("GET /x HTTP/1.1", "Host: a"), port)
        #expect(answers.count <= 1 && answers.allSatisfy { $0.status == 413 })
      }
      let chunk = "400\r\n" + String(repeating: "x", count: 1_024) + "\r\n0\r\n\r\n"
      let chunked = try await send(
        bytes("POST / HTTP/1.1", "Host: a", "Transfer-Encoding: chunked", body: chunk), port)
      #expect(chunked.count <= 1 && chunked.allSatisfy { $0.status >= 400 })
    }
  }

  @Test func `that sends slowly is sent away`() async throws {
    try await withServer { limits in
      limits.requestTime = .milliseconds(400)
    } _: { port in
      for start in ["GET / HT", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 500\r\n\r\nabc"] {
        let descriptor = try RawClient.connect(port)
        defer { close(descriptor) }
        // A byte now and then does not help.
        let hasEnded = try await eventually {
          _ = Array(start.utf8).withUnsafeBytes {
            Glibc.send(descriptor, $0.baseAddress, 1, 0x4000)
          }
          var byte: UInt8 = 0
          return recv(descriptor, &byte, 1, Int32(MSG_DONTWAIT)) == 0
            || errno == ECONNRESET
        }
        #expect(hasEnded)
      }
    }
  }

  @Test func `that says nothing makes room for others`() async throws {
    try await withServer { limits in
      limits.connections = 20
    } _: { port in
      let idle = try (0..<100).map { _ in try RawClient.connect(port) }
      defer { for descriptor in idle { close(descriptor) } }
      for _ in 0..<3 {
        let answers = try await send(bytes("GET / HTTP/1.1", "Host: a", "Connection: close"), port)
        #expect(answers.map(\.status) == [200])
      }
    }
  }

  private final class Work: Sendable {
    private let flag = Atomic(false)
    var hasEnded: Bool { flag.load(ordering: .acquiring) }
    func end() { flag.store(true, ordering: .releasing) }
  }

  @Test func `that leaves an answer which goes on ends the work on it`() async throws {
    let work = Work()
    try await withServer(handle: { _ in
      var response = HTTPResponse(200)
      response.stream = { stream in
        _ = await stream.write("begun")
        try? await Task.sleep(for: .seconds(600))
        work.end()
      }
      return response
    }) { port in
      let descriptor = try RawClient.connect(port)
      let request = bytes("GET / HTTP/1.1", "Host: a")
      _ = request.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, 0x4000) }
      var byte: UInt8 = 0
      #expect(recv(descriptor, &byte, 1, 0) == 1)
      #expect(!work.hasEnded)
      close(descriptor)
      #expect(try await eventually { work.hasEnded })
    }
  }

  @Test func `does not fill the memory with halves of requests`() async throws {
    try await withServer { limits in
      limits.unfinishedBytes = 2 << 20
    } _: { port in
      let half =
        bytes("POST / HTTP/1.1", "Host: a", "Content-Length: 4000000")
        + [UInt8](repeating: 1, count: 1_000_000)
      let open = try (0..<6).map { _ in
        let descriptor = try RawClient.connect(port)
        _ = half.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, 0x4000) }
        return descriptor
      }
      defer { for descriptor in open { close(descriptor) } }
      let hasEnded = try await eventually {
        var byte: UInt8 = 0
        return open.count {
          recv($0, &byte, 1, Int32(MSG_DONTWAIT)) == 0 || errno == ECONNRESET
        } >= 3
      }
      #expect(hasEnded)
    }
  }

  @Test func `that does not read its answers is sent away`() async throws {
    try await withServer { limits in
      limits.sendTime = .milliseconds(400)
    } handle: { _ in
      HTTPResponse(200, body: [UInt8](repeating: 7, count: 8 << 20))
    } _: { port in
      let descriptor = try RawClient.connect(port)
      defer { close(descriptor) }
      let request = bytes("GET / HTTP/1.1", "Host: a")
      _ = request.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, 0x4000) }
      let hasEnded = try await eventually {
        _ = request.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, 1, 0x4000) }
        return errno == EPIPE || errno == ECONNRESET
      }
      #expect(hasEnded)
      #expect(RawClient.read(descriptor).count < 8 << 20)
    }
  }

  @Test func `waits in line where others are worked on`() async throws {
    try await withServer { limits in
      limits.requests = 2
    } handle: { _ in
      try? await Task.sleep(for: .milliseconds(50))
      return HTTPResponse(200)
    } _: { port in
      let request = bytes("GET / HTTP/1.1", "Host: a", "Connection: close")
      let statuses = try await withThrowingTaskGroup(of: [Int].self) { group in
        for _ in 0..<20 { group.addTask { try await send(request, port).map(\.status) } }
        return try await group.reduce(into: []) { $0 += $1 }
      }
      #expect(statuses == Array(repeating: 200, count: 20))
    }
  }

  @Test func `is told to come again if its turn comes late, and may have left`() async throws {
    try await withServer { limits in
      (limits.requests, limits.turnTime) = (2, .milliseconds(300))
    } handle: { _ in
      try? await Task.sleep(for: .milliseconds(700))
      return HTTPResponse(200)
    } _: { port in
      let request = bytes("GET / HTTP/1.1", "Host: a", "Connection: close")
      // Somebody who asks and leaves at once.
      let gone = try RawClient.connect(port)
      _ = request.withUnsafeBytes { Glibc.send(gone, $0.baseAddress, $0.count, 0x4000) }
      close(gone)
      let statuses = try await withThrowingTaskGroup(of: [Int].self) { group in
        for _ in 0..<6 { group.addTask { try await send(request, port).map(\.status) } }
        return try await group.reduce(into: []) { $0 += $1 }
      }
      #expect(statuses.count == 6 && statuses.contains(503) && statuses.contains(200))
    }
  }

  @Test func `may send several requests at once, which are answered in turn`() async throws {
    try await withServer { port in
      let one = bytes("POST / HTTP/1.1", "Host: a", "Content-Length: 3", body: "abc")
      let last = bytes("GET / HTTP/1.1", "Host: a", "Connection: close")
      let answers = try await send(one + one + last, port)
      #expect(answers.map(\.body) == ["POST 3", "POST 3", "GET 0"])
    }
  }
}

/// Hostile bytes against the built program, which then still works.
@Suite(.timeLimit(.minutes(5))) struct `A hostile request` {
  @Test func `changes nothing, and the node goes on`() async throws {
    try await Workplace.with { place in
      try await place.found(
        "a.db", "CREATE TABLE t(id TEXT PRIMARY KEY NOT NULL, v); INSERT INTO t VALUES ('k', 1)")
      let node = try await place.serve("a.db", "--http", "127.0.0.1:0")
      let token = try await place.token("a.db")
      let client = RawClient(port: node.port, token: token)
      let rows = "/v1/a/rows/t"
      let key = "Authorization: Bearer \(token)"
      func framed(_ lines: String...) -> [UInt8] {
        let start = ["POST \(rows) HTTP/1.1", "Host: localhost", key]
        let text = (start + ["Content-Type: application/json"] + lines).joined(separator: "\r\n")
        return Array((text + "\r\n\r\n").utf8)
      }
      let smuggled = Array(
        "0\r\n\r\nDELETE \(rows)/k HTTP/1.1\r\nHost: localhost\r\n\(key)\r\n\r\n".utf8)
      for lengths in [
        ["Content-Length: 5", "Transfer-Encoding: chunked"],
        ["Transfer-Encoding: chunked", "Content-Length: 5"],
        ["Content-Length: 5", "Content-Length: \(smuggled.count)"],
        ["Transfer-Encoding: xchunked"], ["Transfer-Encoding: chunked", "Transfer-Encoding: x"],
      ] {
        let answers = try await client.send(framed(lengths.joined(separator: "\r\n")) + smuggled)
        #expect(answers.count == 1 && answers[0].status == 400, "\(lengths): \(answers)")
      }
      let injections = [
        "/v1/a/rows/t?v=eq.1)%3B%20DROP%20TABLE%20t%3B--", "/v1/a/rows/t%22%3B%20DROP%20TABLE%20t",
        "/v1/a/rows/t?v%22%20OR%201%3D1%20--=eq.1", "/v1/a/rows/t?order=v%22%3BDROP%20TABLE%20t",
        "/v1/a/rows/t?select=v%22,(SELECT%201)", "/v1/a/rows/t/k'%20OR%201=1", "/v1/a/rows/t/%00",
        "/v1/a/rows/t/..%2F..", "/v1/a/rows/../rows/t", "/v1/a/rows/t?limit=1%3BDROP",
        "/v1/a/rows/t?v=in.(1)%3B", "/v1/a/rows/t?or=(v.eq.1)%3BDROP", "//v1/a/rows/t",
        "/v1/a/rows/t%00", "/v1/a/rows/t?v%00=eq.1", "/v1/a/rows/t/%ff", "/v1/%2e%2e/rows/t",
      ]
      for target in injections {
        let answer = try await client.ask("GET", target)
        #expect([200, 400, 401, 404].contains(answer.status), "\(target): \(answer.status)")
        #expect(answer.status != 200 || answer.body == "[]\n", "\(target): \(answer.body)")
      }
      let names = [
        #"{"id":"x","v\"":1}"#, #"{"id":"x","v) VALUES (1); --":1}"#, #"{"id":"x","":1}"#,
        #"{"id":"x","rowid":1}"#, #"{"id":"x","v":[[[[1]]]]}"#, #"{"id":"x","v":{"base64":"!"}}"#,
        String(repeating: "[", count: 100_000), "\u{feff}{}", "{\"id\":\"\\ud800\"}",
      ]
      for body in names {
        #expect(try await client.ask("POST", rows, body: body).status == 400, "\(body.prefix(40))")
      }
      let other = try await client.ask("POST", rows, ["Host": "evil.example"], body: "{}")
      #expect(other.status == 400)
      let foreign = try await client.ask("GET", rows, ["Origin": "http:" + "//evil.example"])
      #expect(foreign.status == 403)
      let plain = try await client.send(framed("Content-Length: 0", "Connection: close"))
      #expect(plain.isEmpty || plain[0].status >= 400)
      // Values with NUL and quotes are values.
      let strange = try await client.ask(
        "POST", rows, ["Prefer": "return=representation"],
        body: #"{"id":"\u0000'\";--","v":"'); DROP TABLE t; --"}"#)
      #expect(strange.status == 201)
      #expect(strange.header("location") == rows + "/%00%27%22%3B--")
      let again = try await client.ask("GET", rows + "/%00%27%22%3B--")
      #expect(again.body == strange.body)
      #expect(try await place.sql("a.db", "SELECT count(*) FROM t") == "2")
      #expect(try await place.sql("a.db", "SELECT v FROM t WHERE id = 'k'") == "1")
      #expect(try await client.ask("GET", "/v1/a/status").status == 200)
      try await node.stop()
    }
  }

  @Test func `with bytes that are lost on the way is refused`() async throws {
    try await Workplace.with { place in
      try await place.found("a.db", "CREATE TABLE t(id TEXT PRIMARY KEY NOT NULL, v)")
      let node = try await place.serve("a.db", "--http", "127.0.0.1:0")
      let token = try await place.token("a.db")
      let client = RawClient(port: node.port, token: token)
      let rows = "/v1/a/rows/t"
      let key = "Authorization: Bearer \(token)"
      // The library takes a line for text of C, which ends at a NUL.
      for head in [
        "POST \(rows) HTTP/1.1\r\nHost: localhost\0.evil.example\r\nContent-Length: 2",
        "POST \(rows) HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\01",
        "GET \(rows) HTTP/1.1\r\nHost: localhost\r\nX: a\0b",
      ] {
        let answers = try await client.send(Array((head + "\r\n\(key)\r\n\r\n{}").utf8))
        #expect(answers.count == 1 && answers[0].status == 400, "\(head)")
      }
      // Bytes that are no UTF-8 name no row, also where they are not encoded.
      let odd = Array("PUT \(rows)/".utf8) + [0xFF]
      let rest = " HTTP/1.1\r\nHost: localhost\r\n\(key)\r\nContent-Type: application/json"
      let body = "\r\nContent-Length: 7\r\nConnection: close\r\n\r\n{\"v\":1}"
      let named = try await client.send(odd + Array((rest + body).utf8))
      #expect(named.map(\.status) == [400] && named[0].kind == "encoding")
      #expect(try await place.sql("a.db", "SELECT count(*) FROM t") == "0")
      try await node.stop()
    }
  }

  @Test func `finds a table that is locked, gone or made anew`() async throws {
    try await Workplace.with { place in
      try await place.found(
        "a.db", "CREATE TABLE t(id INTEGER PRIMARY KEY, v, w); INSERT INTO t VALUES (1, 1, 1)")
      let node = try await place.serve("a.db", "--http", "127.0.0.1:0")
      let client = RawClient(port: node.port, token: try await place.token("a.db"))
      #expect(try await client.ask("GET", "/v1/a/rows/t?w=eq.1").status == 200)
      try await place.sql("a.db", "ALTER TABLE t DROP COLUMN w")
      #expect(try await client.ask("GET", "/v1/a/rows/t?w=eq.1").kind == "column")
      #expect(try await client.ask("GET", "/v1/a/rows/t").body == "[{\"id\":1,\"v\":1}]\n")
      #expect(try await client.ask("PUT", "/v1/a/rows/t/1", body: #"{"v":2}"#).status == 204)
      try await place.sql(
        "a.db", "CREATE TRIGGER no BEFORE DELETE ON t BEGIN SELECT RAISE(ABORT, 'not so'); END")
      let refused = try await client.ask("DELETE", "/v1/a/rows/t/1")
      #expect(refused.status == 409 && refused.body.contains("not so"))
      try await place.sql("a.db", "DROP TABLE t")
      let gone = try await eventually {
        try await client.ask("GET", "/v1/a/rows/t").status == 404
      }
      #expect(gone)
      try await node.stop()
    }
  }
}
