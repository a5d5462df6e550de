import Foundation
import Glibc
import Testing

@testable import Gateway

/// A gateway whose node is killed, whose file is locked, and which shares it with other work.
@Suite(.timeLimit(.minutes(5))) struct `A gateway in trouble` {
  private static let schema = "CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT UNIQUE)"

  @Test func `loses no acknowledged write to a kill, and makes none twice`() async throws {
    try await Workplace.with { place in
      try await place.found("a.db", Self.schema)
      let token = try await place.token("a.db")
      var (acknowledged, sent): ([String: String], [String]) = ([:], [])
      for round in 0..<3 {
        let node = try await place.serve("a.db", "--http", "127.0.0.1:0")
        let client = RawClient(port: node.port, token: token)
        // What had no answer is sent again, and more is sent, until the node is killed.
        let again = sent.filter { acknowledged[$0] == nil }
        let killer = Task {
          try await Task.sleep(for: .milliseconds(.random(in: 100...500)))
          kill(node.process.processIdentifier, SIGKILL)
        }
        for value in again + (0..<2_000).map({ "\(round)-\($0)" }) {
          if !sent.contains(value) { sent.append(value) }
          guard
            let answer = try? await client.ask(
              "POST", "/v1/a/rows/t", ["Idempotency-Key": value], body: "{\"v\":\"\(value)\"}")
          else { break }
          #expect([201, 503].contains(answer.status), "\(answer.body)")
          if answer.status == 201 { acknowledged[value] = answer.header("location") }
        }
        try await killer.value
        node.process.waitUntilExit()
      }
      let node = try await place.serve("a.db", "--http", "127.0.0.1:0")
      let client = RawClient(port: node.port, token: token)
      for value in sent {
        let answer = try await client.ask(
          "POST", "/v1/a/rows/t", ["Idempotency-Key": value], body: "{\"v\":\"\(value)\"}")
        #expect(answer.status == 201)
        if let place = acknowledged[value] { #expect(answer.header("location") == place) }
      }
      #expect(!acknowledged.isEmpty)
      let count = try await place.sql("a.db", "SELECT count(*) || '/' || count(DISTINCT v) FROM t")
      #expect(count == "\(sent.count)/\(sent.count)")
      #expect(try await place.sql("a.db", "PRAGMA integrity_check") == "ok")
      try await node.stop()
    }
  }

  @Test func `says that the file is locked, and reads on`() async throws {
    try await Workplace.with { place in
      try await place.found("a.db", Self.schema)
      let node = try await place.serve("a.db", "--http", "127.0.0.1:0")
      let client = RawClient(port: node.port, token: try await place.token("a.db"))
      // It lets go when it is told to, or after a minute.
      let told = place.path("told")
      async let holder = place.run(
        "sqlite3", place.path("a.db"), ".timeout 5000",
        "BEGIN IMMEDIATE; INSERT INTO t(v) VALUES ('held')",
        ".shell for i in $(seq 600); do [ -e '\(told)' ] && break; sleep 0.1; done", "COMMIT")
      let isHeld = try await eventually {
        let answer = try await client.ask("POST", "/v1/a/rows/t", body: "{}")
        return answer.status == 503 && answer.kind == "locked"
          && answer.header("retry-after") == "1"
      }
      #expect(isHeld)
      #expect(try await client.ask("GET", "/v1/a/rows/t?v=eq.held").body == "[]\n")
      #expect(FileManager.default.createFile(atPath: told, contents: nil))
      #expect(try await holder.status == 0)
      #expect(try await client.ask("POST", "/v1/a/rows/t", body: "{}").status == 201)
      try await node.stop()
    }
  }

  /// The node has nothing to write: a client and the room on the disk alone tell of it.
  @Test(.enabled(if: getuid() == 0, "only root can mount"))
  func `tells of a disk that only clients find full`() async throws {
    try await Workplace.with { place in
      // The file system is seen by what runs inside alone.
      let script = """
        mkdir small; mount -t tmpfs -o size=64M tmpfs small || exit 77
        sqlite3 small/a.db 'CREATE TABLE t(id INTEGER PRIMARY KEY, v)'
        flotilla init small/a.db --all >said 2>&1
        flotilla token small/a.db add me 2>/dev/null >token
        flotilla run small/a.db --no-discovery --listen 127.0.0.1:0 --http 127.0.0.1:0 2>log &
        node=$!
        look() { for i in $(seq 150); do eval "$1" && return; sleep 0.2; done; echo "not: $1"; }
        look 'grep -q http://127.0.0.1 log'
        url=$(grep -o 'http://127.0.0.1:[0-9]*' log | head -1)
        get() { curl -s -H "Authorization: Bearer $(cat token)" "$@"; }
        trouble() { get $url/metrics | grep '^flotilla_trouble' | cut -d' ' -f2; }
        ready() { [ $(curl -s -o said -w '%{http_code}' $url/ready) = $1 ]; }
        look 'ready 200'; trouble; flotilla status small/a.db >said; echo "status $?"
        dd if=/dev/zero of=small/fill bs=1k 2>/dev/null
        printf '{"v":"%s"}' $(head -c 1000000 /dev/zero | tr '\\0' x) >row
        get -o answer -w '%{http_code}\\n' --json @row $url/v1/a/rows/t
        grep -o 'problem:disk-full' answer; grep -o '"remedy":"Make room' answer
        look 'flotilla status small/a.db | grep -q "^! the disk .* small/a.db"'
        flotilla status small/a.db --json | grep -o '"kind":"disk'
        flotilla status small/a.db >said; echo "status $?"
        flotilla doctor small/a.db | grep -o 'error    disk'
        look 'ready 503'; trouble
        rm small/fill; look 'ready 200'; trouble; flotilla status small/a.db >said; echo "status $?"
        get -o answer -w '%{http_code}\\n' --json @row $url/v1/a/rows/t
        kill $node; wait $node
        """
      let (status, text) = try await place.run("unshare", "-m", "sh", "-c", script)
      guard status != 77 else { return }
      #expect(
        text == """
          0.0
          status 0
          507
          problem:disk-full
          "remedy":"Make room
          "kind":"disk
          status 3
          error    disk
          1.0
          0.0
          status 0
          201
          """, "\(text)")
    }
  }

  /// Clients are told what is wrong; which socket and which process that is about the log says.
  @Test func `names no file and no process to a client`() async throws {
    try await Workplace.with { place in
      try await place.found("a.db", Self.schema)
      let node = try await place.serve("a.db", "--http", "127.0.0.1:0")
      let client = RawClient(port: node.port, token: try await place.token("a.db"))
      #expect(try await client.ask("GET", "/v1/a/status").status == 200)
      let folder = place.path("run/flotilla")
      for name in try FileManager.default.contentsOfDirectory(atPath: folder)
      where !name.contains("http") {
        try FileManager.default.removeItem(atPath: folder + "/" + name)
      }
      for path in ["/v1/a/status", "/v1/a/members", "/metrics"] {
        let answer = try await client.ask("GET", path)
        #expect(answer.status == 503 && answer.kind == "node", "\(answer.body)")
        #expect(answer.object["detail"] as? String != nil)
        for secret in [place.folder, "a.db", "\(node.process.processIdentifier)", "kill"] {
          #expect(!answer.body.contains(secret), "\(answer.body)")
        }
      }
      let lines = node.text.matches(of: /the gateway could not do .*nobody answers/)
      #expect(lines.count == 1 && node.text.contains(folder), "\(node.text)")
      try await node.stop()
    }
  }

  @Test func `tells a cause once in a while, however often a client asks`() {
    let (causes, start) = (UntoldCauses(), ContinuousClock.now)
    #expect(causes.line("a", at: start)?.hasSuffix(": a") == true)
    #expect(causes.line("a", at: start + .seconds(59)) == nil)
    #expect(causes.line("b", at: start + .seconds(59)) != nil)
    #expect(causes.line("a", at: start + .seconds(61)) != nil)
    let told = (0..<100).compactMap { causes.line("cause \($0)", at: start + .seconds(61)) }
    #expect(told.count == UntoldCauses.most - 2)
  }

  @Test func `serves a file that was put back`() async throws {
    try await Workplace.with { place in
      try await place.found("a.db", Self.schema + "; INSERT INTO t VALUES (1, 'old')")
      let copy = try await place.run(
        "sqlite3", place.path("a.db"), ".backup '\(place.path("copy.db"))'")
      #expect(copy.status == 0)
      let node = try await place.serve("a.db", "--http", "127.0.0.1:0")
      let client = RawClient(port: node.port, token: try await place.token("a.db"))
      let row = "/v1/a/rows/t/1"
      #expect(try await client.ask("PATCH", row, body: #"{"v":"new"}"#).status == 204)
      _ = try await place.run(
        "sh", "-c", "rm -f a.db a.db-wal a.db-shm && mv copy.db a.db")
      let isOld = try await eventually {
        try await client.ask("GET", row).body == "{\"id\":1,\"v\":\"old\"}\n"
      }
      #expect(isOld)
      let isWritten = try await eventually {
        try await client.ask("PATCH", row, body: #"{"v":"newer"}"#).status == 204
      }
      #expect(isWritten)
      #expect(try await place.sql("a.db", "SELECT v FROM t") == "newer")
      try await node.stop()
    }
  }

  @Test func `answers while a query of another client takes long`() async throws {
    try await Workplace.with { place in
      try await place.found(
        "a.db",
        """
        CREATE TABLE big(id INTEGER PRIMARY KEY, v TEXT);
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
        INSERT INTO big SELECT i, hex(randomblob(500)) FROM n;
        """)
      let node = try await place.serve("a.db", "--http", "127.0.0.1:0")
      let client = RawClient(port: node.port, token: try await place.token("a.db"))
      let pattern = String(repeating: "%25a", count: 45)
      async let slow = client.ask("GET", "/v1/a/rows/big?v=like.\(pattern)zz&select=id")
      #expect(try await client.ask("GET", "/v1/a/rows/big/1").status == 200)
      #expect(try await client.ask("PATCH", "/v1/a/rows/big/1", body: #"{"v":1}"#).status == 204)
      let answer = try await slow
      #expect(answer.status == 200 || answer.kind == "too-slow", "\(answer.status)")
      try await node.stop()
    }
  }
}
