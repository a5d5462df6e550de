import Foundation
import Glibc
import Testing

extension BadInputTests {
  /// Real programs that knock at the door of a node, and are no members.
  @Suite struct StrangerTests {
    /// What openssl s_client is told, by the number of the alert (RFC 8446, 6.2).
    @Test func `another TLS client is refused with the alert that says why`() async throws {
      try await Desk.with { desk in
        let node = try await desk.pair("a.db", "b.db")
        for (kind, name) in [("ed25519", "self"), ("rsa", "rsa")] {
          let words = "openssl req -x509 -newkey \(kind) -nodes -subj /CN=x -keyout \(name).key"
          #expect(try await desk.run("sh", "-c", "\(words) -out \(name).pem").status == 0)
        }
        let member = ["-alpn", "flotilla/1"]
        let own = ["-cert", "self.pem", "-key", "self.key"]
        for (what, words, alert) in [
          ("no certificate", member, 116),
          ("a certificate without credential", member + own, 48),
          ("an RSA certificate", member + ["-cert", "rsa.pem", "-key", "rsa.key"], 116),
          ("TLS 1.2", member + own + ["-tls1_2"], 70),
          ("another purpose", own + ["-alpn", "h2"], 120),
          ("joining without a code", ["-alpn", "flotilla-join/1"], 116),
          (
            "joining with a made-up code",
            ["-alpn", "flotilla-join/1", "-psk_identity", "x", "-psk", "00112233"], 116
          ),
          ("other curves", member + own + ["-groups", "P-384"], 40),
          ("other signatures", member + own + ["-sigalgs", "RSA-PSS+SHA256"], 40),
          ("other suites", member + own + ["-ciphersuites", "TLS_AES_256_GCM_SHA384"], 40),
        ] {
          let outcome = try await desk.run(
            ["openssl", "s_client", "-connect", node.address, "-ign_eof"] + words, within: 20)
          #expect(outcome.error.hasSuffix("SSL alert number \(alert)"), "\(what): \(outcome)")
        }
        // Without a purpose nobody gets further, whoever it is.
        let outcome = try await desk.run(
          ["openssl", "s_client", "-connect", node.address, "-ign_eof"] + own, within: 20)
        #expect(outcome.status == 1)
        #expect(!outcome.output.contains("FLOT"))
        // The second one, when it joined.
        #expect(node.logText.matches(of: /connected with/).count == 1)
        #expect(try await desk.flotilla("sync", "b.db", node.address).status == 0)
      }
    }

    @Test func `plain text is answered with nothing readable`() async throws {
      try await Desk.with { desk in
        let node = try await desk.pair("a.db", "b.db")
        let script =
          "printf 'GET / HTTP/1.0\r\n\r\n' | nc.openbsd -w 20 127.0.0.1 \(node.port) | wc -c"
        let outcome = try await desk.run("sh", "-c", script, within: 40)
        // An alert at most: a header of five bytes, and two.
        #expect(["0", "7"].contains(outcome.output), "\(outcome)")
        #expect(node.logText.contains("what is at the other end is no Flotilla node"))
      }
    }

    /// How a handshake ends with the key and the credential of a database.
    private func knock(
      _ database: String, at node: RunningNode, on desk: Desk, _ options: String...
    ) async throws -> String {
      let words = ["python3", "\(Desk.fixtures)/member.py", "\(node.port)", database]
      return try await desk.run(words + options, within: 40).output
    }

    @Test func `only members get in, and none that was revoked or has left`() async throws {
      try await Desk.with { desk in
        let node = try await desk.pair("a.db", "b.db")
        try await desk.make("other.db")
        try await desk.succeed("init", "other.db", "--all")
        let unknown = "TLSV1_ALERT_UNKNOWN_CA"
        #expect(try await knock("b.db", at: node, on: desk) == "open")
        #expect(try await knock("other.db", at: node, on: desk) == unknown)
        let foreign = "other.db-flotilla/keys/node.key"
        #expect(try await knock("b.db", at: node, on: desk, "--key", foreign) == unknown)
        let strange = try await knock("b.db", at: node, on: desk, "--alpn", "h2")
        #expect(strange == "closed")
        #expect(try await knock("b.db", at: node, on: desk, "--alpn") == "closed")

        let code = try await desk.succeed("invite", "a.db")
        try await desk.succeed("join", "c.db", code, "--at", node.address, "--name", "third")
        _ = try await desk.run("sh", "-c", "cp c.db copy.db; cp -r c.db-flotilla copy.db-flotilla")
        #expect(try await knock("copy.db", at: node, on: desk) == "open")
        try await desk.succeed("leave", "c.db")
        #expect(try await knock("copy.db", at: node, on: desk) == unknown)

        try await desk.succeed("revoke", "a.db", "second")
        #expect(
          try await knock("b.db", at: node, on: desk) == "SSLV3_ALERT_CERTIFICATE_REVOKED")
        #expect(try await knock("b.db", at: node, on: desk, "--key", foreign) == unknown)
      }
    }

    @Test func `a member that is revoked is cut off and gets nothing more`() async throws {
      try await Desk.with { desk in
        let node = try await desk.pair("a.db", "b.db")
        let second = try await desk.start("b.db", "--peer", node.address)
        try await desk.sql("a.db", "INSERT INTO t VALUES('before', 'x')")
        let look = "SELECT count(*) FROM t"
        #expect(
          try await eventually(within: .seconds(20)) { try await desk.sql("b.db", look) == "21" })
        try await desk.succeed("revoke", "a.db", "second")
        let isTold = try await eventually(within: .seconds(20)) {
          second.logText.contains("this node is no member of the site any more")
            || second.logText.contains("the peer says that this node is shut out")
        }
        #expect(isTold, "\(second.logText)")
        // The other side may hear of it first, and hang up.
        #expect(
          node.logText.contains("cutting the connection with second: it was revoked")
            || node.logText.contains("with second ended: second is no member any more"),
          "\(node.logText)")
        try await desk.sql("a.db", "INSERT INTO t VALUES('after', 'x')")
        try await desk.sql("b.db", "INSERT INTO t VALUES('theirs', 'x')")
        // It tries again, and is refused by what a handshake says.
        let isRefused = try await eventually(within: .seconds(30)) {
          second.logText.contains("the peer says that this node is shut out")
        }
        #expect(isRefused, "\(second.logText)")
        let wait = try await desk.flotilla("wait", "b.db", "--timeout", "60s")
        #expect(wait.status == 3 && wait.output.contains("was shut out of the site"), "\(wait)")
        for (name, row) in [("a.db", "theirs"), ("b.db", "after")] {
          #expect(try await desk.sql(name, look + " WHERE id = '\(row)'") == "0")
        }
      }
    }

    @Test func `who begins with one byte a second is let go`() async throws {
      try await Desk.with { desk in
        let node = try await desk.pair("a.db", "b.db")
        let crowd = "\(Desk.fixtures)/crowd.py"
        let outcome = try await desk.run("python3", crowd, "slow", "\(node.port)", within: 120)
        #expect(outcome.output == "closed", "\(outcome)")
        #expect(node.logText.contains("the peer did not say in time who it is"))
      }
    }

    /// Inserts ten rows, five on each side, each of which must arrive at the other.
    private func replicate(_ desk: Desk, _ node: RunningNode) async throws {
      for number in 1...10 {
        let (from, to) = number.isMultiple(of: 2) ? ("a.db", "b.db") : ("b.db", "a.db")
        try await desk.sql(from, "INSERT INTO t VALUES('new \(number)', 'x')")
        let look = "SELECT count(*) FROM t WHERE id = 'new \(number)'"
        let isHere = try await eventually(within: .seconds(30), every: .milliseconds(20)) {
          try await desk.sql(to, look) == "1"
        }
        #expect(isHere, "\(number): \(node.logText)")
      }
    }

    @Test func `a thousand half-open connections keep no member from its work`() async throws {
      try await Desk.with { desk in
        let node = try await desk.pair("a.db", "b.db")
        let second = try await desk.start("b.db", "--peer", node.address)
        let isThere = try await eventually(within: .seconds(20)) {
          second.logText.contains("connected with first")
        }
        #expect(isThere, "\(second.logText)")
        let files = node.openFiles
        _ = try await desk.begin("crowd.py", "many", "\(node.port)", "1000")
        try await replicate(desk, node)
        // 16 places, and some on their way in or out.
        #expect(node.openFiles <= files + 32)
        let lines = node.logText.matches(of: /a connection from/)
        #expect(1...120 ~= lines.count, "\(lines.count)")
      }
    }

    @Test(arguments: ["silent", "drip"])
    func `three hundred connections that say little hold few threads`(_ manner: String) async throws
    {
      try await Desk.with { desk in
        let node = try await desk.pair("a.db", "b.db")
        let threads = node.threads
        _ = try await desk.begin("crowd.py", manner, "\(node.port)", "300")
        var most = 0
        for _ in 0..<150 {
          most = max(most, node.threads)
          try await Task.sleep(for: .milliseconds(100))
        }
        // One for each of 16 places, which blocks in `recv`, and some on their way in or out.
        #expect(threads + 1...threads + 40 ~= most, "\(threads), then \(most)")
        // One of many that knock at once may have to knock again.
        let isIn = try await eventually(within: .seconds(60)) {
          try await desk.flotilla("sync", "b.db", node.address).status == 0
        }
        #expect(isIn, "\(node.logText)")
      }
    }

    @Test func `a node without a free descriptor goes on when there is one`() async throws {
      try await Desk.with { desk in
        let address = try await desk.pair("a.db", "b.db").address
        try await desk.succeed("stop", "a.db")
        let limit = 28
        let node = try await desk.start("a.db", "--listen", address, files: limit)
        let crowd = try await desk.begin("crowd.py", "many", "\(node.port)", "60")
        #expect(try await eventually(within: .seconds(20)) { node.openFiles == limit })
        kill(crowd, SIGKILL)
        _ = try await desk.start("b.db", "--peer", node.address)
        try await replicate(desk, node)
        #expect(node.isRunning)
        #expect(!node.logText.contains("cannot accept a connection"), "\(node.logText)")
      }
    }
  }
}
