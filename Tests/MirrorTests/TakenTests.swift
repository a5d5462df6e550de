import Foundation
import Testing

/// A mirror that moves to another node with the anchor.
@Suite(.enabled(if: Office.isPossible, Office.why), .timeLimit(.minutes(10)))
struct `The mirror of an anchor that changes` {
  private static let schema = """
    CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT);
    INSERT INTO t VALUES (1, 'one'), (2, 'two'), (3, 'three');
    """
  private static let all = "SELECT id, v FROM t ORDER BY id"

  private func has(_ office: Office, _ wanted: String, _ sql: String) async throws {
    for database in ["shop.db", "two.db"] {
      let does = try await eventually { try await office.site(sql, database) == wanted }
      let now = try await office.site(sql, database)
      #expect(does, "\(database): \(now)")
    }
    try await office.serverComesTo(wanted, sql)
  }

  private func must(_ office: Office, _ words: String...) async throws {
    let said = try await office.run(["flotilla"] + words)
    try #require(said.status == 0, "\(words): \(said.text)")
  }

  /// Under server-wins: what programs of the server write is the anchor's own where that mirrors,
  /// and is judged where another node does.
  @Test func `is taken by the new one, whose edits those of the server are then`() async throws {
    try await Office.with { office in
      _ = try await office.open(Self.schema, "--create")
      try await must(office, "anchor", "shop.db", "--here", "--rule", "server-wins")
      let code = try await office.flotilla("invite", "shop.db")
      let word = try #require(code.text.split(separator: "\n").first.map(String.init))
      let port = try office.port()
      try await must(office, "join", "two.db", word, "--at", "127.0.0.1:\(port)", "--name", "two")
      let two = try await office.serve("two.db", "--peer", "127.0.0.1:\(port)")
      try await office.server("UPDATE t SET v = 'first' WHERE id = 1")
      try await has(office, "first", "SELECT v FROM t WHERE id = 1")

      // The office changes, and the mirror stays where it is for a while.
      try await must(office, "anchor", "shop.db", "two")
      let judges = try await eventually {
        try await office.run(["flotilla", "anchor", "two.db", "--json"]).text
          .contains(#""state":"judging""#)
      }
      let said = try await office.run(["flotilla", "anchor", "two.db", "--json"]).text
      #expect(judges, "\(said)")
      try await office.server("UPDATE t SET v = 'second' WHERE id = 2")
      try await has(office, "second", "SELECT v FROM t WHERE id = 2")

      try await must(office, "mirror", "shop.db", "pause")
      try await must(
        office, "mirror", "two.db", "take", office.url, "--password-file", "password", "--yes")
      let follows = try await eventually {
        try await office.status("two.db")["state"] as? String == "following"
      }
      let status = try await office.status("two.db")
      #expect(follows, "\(status)")
      // Two is alone: what is written on the server stands at once, and an edit made apart loses.
      two.terminate()
      two.waitUntilExit()
      try await office.server("UPDATE t SET v = 'office' WHERE id = 3")
      try await office.site("UPDATE t SET v = 'apart' WHERE id = 3")
      _ = try await office.serve("two.db", "--peer", "127.0.0.1:\(port)")
      try await has(office, "1\tfirst\n2\tsecond\n3\toffice", Self.all)
      let log = try await office.flotilla("conflicts", "two.db", "--json").text
      #expect(log.contains(#""v":"apart""#), "\(log)")
    }
  }
}
