import Foundation
import Testing

/// What a mirror asks people, and what it tells them.
@Suite(.enabled(if: Office.isPossible, Office.why), .timeLimit(.minutes(10)))
struct `The words of a mirror` {
  private static let schema = """
    CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT); INSERT INTO t VALUES (1, 'v'), (2, 'w');
    """

  /// At a terminal, which `script` makes (util-linux).
  @Test func `ask for a password that nobody sees, and before anything is touched`() async throws {
    try await Office.with { office in
      try await office.site(Self.schema)
      #expect(try await office.flotilla("init", "shop.db", "--all", "--name", "anchor").status == 0)
      func add(_ answer: String) async throws -> String {
        let command = "flotilla mirror shop.db add '\(office.url)' --create"
        return try await office.run([
          "sh", "-c",
          "{ sleep 1; echo secret; sleep 2; echo \(answer); sleep 1; } | "
            + "script -qec \"\(command)\" typescript",
        ]).text
      }
      let refused = try await add("no")
      #expect(refused.contains("password of the server:") && !refused.contains("secret"))
      #expect(refused.contains("CREATE TABLE") && refused.contains("do this?"), "\(refused)")
      #expect(refused.contains("nothing was touched"), "\(refused)")
      #expect(try await office.server("SHOW TABLES") == "")
      let done = try await add("yes")
      #expect(!done.contains("secret") && done.contains("is mirrored"), "\(done)")
      _ = try await office.serve()
      try await office.serverComesTo("2", "SELECT count(*) FROM t")
      let file = office.path("shop.db-flotilla/mirror-password")
      #expect(try String(contentsOfFile: file, encoding: .utf8) == "secret")
      let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int
      #expect(mode == 0o600)
      for name in ["mirror.json", "mirror-state.json"] {
        let text = try String(
          contentsOfFile: office.path("shop.db-flotilla/\(name)"), encoding: .utf8)
        #expect(!text.contains("secret"), "\(name)")
      }
    }
  }

  /// As on a disk that is full.
  @Test func `are not that all is well where what it says of itself cannot be written`()
    async throws
  {
    try await Office.with { office in
      _ = try await office.open(Self.schema, "--create")
      try await office.isInSync()
      try FileManager.default.createDirectory(
        atPath: office.path("shop.db-flotilla/mirror-state.json.new/in-the-way"),
        withIntermediateDirectories: true)
      let isSaid = try await eventually {
        let status = try await office.status()
        return status["in_sync"] as? Bool == false
          && (status["trouble"] as? String)?.contains("room") == true
      }
      #expect(isSaid)
      try FileManager.default.removeItem(
        atPath: office.path("shop.db-flotilla/mirror-state.json.new"))
      try await office.isInSync()
    }
  }

  @Test func `tell how far it is: in the status, in the log and as figures`() async throws {
    try await Office.with { office in
      try await office.site(Self.schema)
      #expect(try await office.flotilla("init", "shop.db", "--all", "--name", "anchor").status == 0)
      let token = try await office.flotilla("token", "shop.db", "add", "figures")
      let word = try #require(
        token.text.split(separator: "\n").first { !$0.contains(" ") }.map(String.init))
      _ = try await office.serve("shop.db", "--http", "127.0.0.1:0")
      let url = try #require(
        office.log().firstMatch(of: /serves (http[^ ]*)\/v1/).map { String($0.1) })
      func figures() async throws -> [String: Double] {
        let said = try await office.run(
          ["curl", "-sk", "-H", "Authorization: Bearer \(word)", url + "/metrics"]
        ).text
        var figures: [String: Double] = [:]
        for line in said.split(separator: "\n") where line.hasPrefix("flotilla_mirror_") {
          let parts = line.split(separator: " ")
          figures[line.prefix { $0 != "{" }.description] = Double(parts[1])
        }
        return figures
      }
      #expect(try await figures().isEmpty)
      try await office.add(["--create"])
      try await office.follows()
      try await office.server("UPDATE t SET v = 'office' WHERE id = 1; DELETE FROM t WHERE id = 2")
      try await office.siteComesTo("office", "SELECT v FROM t")
      let isTold = try await eventually {
        let now = try await figures()
        return now["flotilla_mirror_taken_rows_total"] == 2
          && now["flotilla_mirror_in_sync"] == 1
      }
      var now = try await figures()
      #expect(isTold && now["flotilla_mirror_sent_rows_total"] == 2, "\(now)")
      #expect(now["flotilla_mirror_trouble"] == 0 && now["flotilla_mirror_behind_rows"] == 0)
      // One row is held, and one waits for a clerk who has it.
      let clerk = try office.session(
        "START TRANSACTION; UPDATE t SET v = 'clerk' WHERE id = 1", "locked")
      try await clerk.isReady()
      try await office.site(
        "UPDATE t SET v = 'waits'; INSERT INTO t VALUES (7, CAST(x'ff' AS TEXT))")
      let waits = try await eventually {
        now = try await figures()
        return now["flotilla_mirror_behind_rows"] == 1 && now["flotilla_mirror_held_rows"] == 1
          && now["flotilla_mirror_behind_seconds"] ?? 0 >= 2
      }
      let status = try await office.status()
      #expect(waits, "\(now) \(status)")
      #expect(status["behind_rows"] as? Int == 1 && status["behind_seconds"] as? Int ?? 0 >= 2)
      clerk.end()
      try await office.serverComesTo("waits", "SELECT v FROM t WHERE id = 1")
      // The server's last words, in the status and once in the log.
      try await office.end(try #require(office.daemon))
      let fails = try await eventually {
        now = try await figures()
        return now["flotilla_mirror_trouble"] == 1
          && now["flotilla_mirror_retries_total"] ?? 0 >= 2
      }
      let later = try await office.status()
      #expect(fails, "\(now) \(later)")
      let trouble = try #require(later["trouble"] as? String)
      #expect(trouble.contains("socket"), "\(trouble)")
      #expect(try office.log().components(separatedBy: "the mirror waits: \(trouble)").count == 2)
    }
  }
}
