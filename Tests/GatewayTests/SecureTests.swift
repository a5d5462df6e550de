import Foundation
import Glibc
import Testing

@testable import Flotilla
@testable import Gateway
@testable import Network

/// Clients of other machines, through TLS; by curl, which knows how to look at a certificate.
@Suite(.timeLimit(.minutes(5))) struct `Over TLS` {
  private func withNode(
    _ body: (Workplace, Served, _ url: String, _ curl: (String...) async throws -> String)
      async throws -> Void
  ) async throws {
    try await Workplace.with { place in
      try await place.found("a.db", "CREATE TABLE t(id INTEGER PRIMARY KEY, v)")
      let node = try await place.serve("a.db", "--http", "0.0.0.0:0")
      let port = try #require(node.text.firstMatch(of: /https:\/\/[^:]+:(\d+)\//)?.1)
      try await body(place, node, "https://127.0.0.1:\(port)") { words in
        let all = ["curl", "-sS", "--cacert", place.path("a.db-flotilla/http.pem")] + words
        return try await place.run(words: all).text
      }
      try await node.stop()
    }
  }

  @Test func `rows are read and written, and plain HTTP is no way in`() async throws {
    try await withNode { place, node, url, curl in
      let token = "Authorization: Bearer " + (try await place.token("a.db"))
      let made = try await curl(
        "-w", "%{http_code}", "--json", #"{"v":"a"}"#, "-H", token, url + "/v1/a/rows/t")
      #expect(made.hasSuffix("201"))
      #expect(try await curl("-H", token, url + "/v1/a/rows/t/1") == #"{"id":1,"v":"a"}"#)
      let local = url.replacing("127.0.0.1", with: "localhost")
      #expect(try await curl(local + "/health") == #"{"status":"alive"}"#)
      let plain = try await curl(url.replacing("https", with: "http") + "/health")
      #expect(plain.contains("curl: ("))
      let old = try await curl("--tls-max", "1.1", url + "/health")
      #expect(old.contains("curl: ("))
      let page = try await curl("-o", "/dev/null", "-w", "%{http_code} %{size_download}", url + "/")
      #expect(page.hasPrefix("200 ") && page != "200 0")
      let far = try await curl("-w", "%{http_code}", "-H", "Host: evil.example", url + "/health")
      #expect(far.hasSuffix("421"))
      let origin = "Origin: " + url.replacing("https", with: "http")
      #expect(try await curl("-w", "%{http_code}", "-H", origin, url + "/health").hasSuffix("403"))
    }
  }

  @Test func `who signs in gets a cookie for TLS alone`() async throws {
    try await withNode { place, node, url, curl in
      let token = try await place.token("a.db")
      let answer = try await curl(
        "-i", "--json", "{\"token\":\"\(token)\"}", "-H", "Origin: " + url, url + "/v1/session")
      #expect(answer.contains("; Secure") && answer.contains("HttpOnly; SameSite=Strict"))
    }
  }

  @Test func `the certificate stays the same, and its words are told`() async throws {
    try await withNode { place, node, url, _ in
      let words = try #require(node.text.firstMatch(of: /has the words: ([a-z ]+)/)?.1)
      #expect(words.split(separator: " ").count == 8)
      let shown = try #require(node.text.firstMatch(of: /SHA-256 as ([0-9A-F:]{95})/)?.1)
      let file = place.path("a.db-flotilla/http.pem")
      let before = try String(contentsOfFile: file, encoding: .utf8)
      let digest = try await place.run(
        "openssl", "x509", "-in", file, "-noout", "-fingerprint", "-sha256")
      #expect(digest.text.hasSuffix("=" + shown))
      try await node.stop()
      let again = try await place.serve("a.db", "--http", "0.0.0.0:0")
      #expect(again.text.contains(words) && again.text.contains(shown))
      #expect(try String(contentsOfFile: file, encoding: .utf8) == before)
      try await again.stop()
      // What is no certificate of this key is replaced; the words stay.
      try "nonsense".write(toFile: file, atomically: false, encoding: .utf8)
      let third = try await place.serve("a.db", "--http", "0.0.0.0:0")
      #expect(third.text.contains(words) && !third.text.contains(shown))
      try await third.stop()
    }
  }

  @Test func `many who begin a handshake and say nothing keep nobody out`() async throws {
    try await withNode { _, node, url, curl in
      let port = UInt16(url.split(separator: ":").last ?? "") ?? 0
      let idle = try (0..<80).map { _ in try RawClient.connect(port) }
      defer { for descriptor in idle { close(descriptor) } }
      for (index, descriptor) in idle.enumerated() {
        let bytes: [UInt8] = index % 2 == 0 ? [0x16, 3, 1, 0xFF, 0xFF, 1] : Array("GET / HT".utf8)
        _ = bytes.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, 0x4000) }
      }
      #expect(try await curl(url + "/health") == #"{"status":"alive"}"#)
    }
  }
}

@Suite struct `A certificate for browsers` {
  @Test func `is of a key that follows from the node's`() throws {
    let (one, other) = (SigningKey(), SigningKey())
    func made(_ key: SigningKey, keeping pem: String? = nil) throws -> WebCertificate {
      try WebCertificate(
        of: key, names: ["ward-1", "localhost"], addresses: ["10.0.0.7", "::1"], keeping: pem)
    }
    let first = try made(one)
    #expect(try made(one).keyDigest == first.keyDigest)
    #expect(try made(one).privateKey == first.privateKey)
    #expect(try made(other).keyDigest != first.keyDigest)
    #expect(try made(one, keeping: first.pem).bytes == first.bytes)
    for pem in [try made(other).pem, "", "nonsense", String(first.pem.dropLast(200))] {
      let new = try made(one, keeping: pem)
      #expect(new.bytes != first.bytes && new.keyDigest == first.keyDigest)
    }
    let moved = try WebCertificate(
      of: one, names: ["ward-1"], addresses: ["10.0.0.8"], keeping: first.pem)
    #expect(moved.bytes != first.bytes)
    for name in ["a,DNS:evil", "", "a b", "a\nb"] {
      #expect(throws: NetworkError.self) {
        try WebCertificate(of: one, names: [name], addresses: [], keeping: nil)
      }
    }
  }
}
