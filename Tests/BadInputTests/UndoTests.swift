import Foundation
import Testing

extension BadInputTests {
  /// What a member wrote that was shut out, and what stood before.
  @Suite struct UndoTests {
    private static let rows =
      "SELECT group_concat(id || '=' || v, ' ') FROM (SELECT * FROM t ORDER BY id)"

    private struct Report: Decodable {
      struct Row: Decodable {
        var table: String
        var key: [String: String]
        var way: String
        var done: Bool
        var why: String?

        var text: String { "\(table) \(key["id"] ?? "") \(way)\(done ? " done" : "")" }
      }
      struct Undo: Decodable {
        var rows: [Row]
        var put_back: Int
        var left: Int
      }
      var undo: Undo
    }

    /// Makes the site: `first` and `second` run, and have both tables.
    private func site(_ desk: Desk) async throws -> RunningNode {
      try await desk.sql(
        "a.db",
        """
        CREATE TABLE t(id TEXT PRIMARY KEY NOT NULL, v TEXT);
        CREATE TABLE part(id TEXT PRIMARY KEY NOT NULL, t TEXT REFERENCES t(id) ON DELETE CASCADE);
        INSERT INTO t VALUES ('k1', 'one'), ('k2', 'two'), ('k3', 'three'), ('k4', 'four');
        """)
      try await desk.succeed("init", "a.db", "--all", "--name", "first")
      let first = try await desk.start("a.db", "--listen", "127.0.0.1:0")
      try await join(desk, "b.db", "second", first)
      return first
    }

    @discardableResult
    private func join(
      _ desk: Desk, _ database: String, _ name: String, _ first: RunningNode,
      role: String = "writer"
    ) async throws -> RunningNode {
      let code = try await desk.succeed("invite", "a.db", "--role", role)
      try await desk.succeed("join", database, code, "--at", first.address, "--name", name)
      let node = try await desk.start(
        database, "--listen", "127.0.0.1:0", "--peer", first.address)
      try await desk.succeed("wait", database, "--for", "all")
      return node
    }

    /// The same with an admin, `third`, that lets somebody in, `fourth`.
    private func siteWithGuest(_ desk: Desk) async throws {
      let first = try await site(desk)
      let third = try await join(desk, "c.db", "third", first, role: "admin")
      let code = try await desk.succeed("invite", "c.db")
      try await desk.succeed("join", "d.db", code, "--at", third.address, "--name", "fourth")
      let isKnown = try await eventually(within: .seconds(20)) {
        try await desk.succeed("members", "a.db", "--all").contains("fourth")
      }
      #expect(isKnown)
    }

    /// A moment after all that was written until now, and before what follows.
    private func now(_ desk: Desk) async throws -> String {
      try await desk.run("sh", "-c", "sleep 2.1; date -u '+%Y-%m-%d %H:%M:%SZ'").output
    }

    private func undo(_ desk: Desk, since: String, _ options: String...) async throws -> Report.Undo
    {
      let words =
        ["flotilla", "revoke", "a.db", "second", "--undo-since", since, "--json"] + options
      let outcome = try await desk.run(words)
      guard outcome.status == 0 else { throw ProgramFailure(words: words, outcome: outcome) }
      return try JSONDecoder().decode(Report.self, from: Data(outcome.output.utf8)).undo
    }

    private func shows(_ desk: Desk, _ database: String, _ wanted: String) async throws -> Bool {
      try await eventually(within: .seconds(30)) {
        try await desk.sql(database, Self.rows) == wanted
      }
    }

    @Test func `what a member wrote that is shut out is put back, where what stood is known`()
      async throws
    {
      try await Desk.with { desk in
        let first = try await site(desk)
        try await join(desk, "c.db", "third", first)
        try await desk.sql("b.db", "UPDATE t SET v = 'honest' WHERE id = 'k4'")
        try await desk.succeed("wait", "b.db", "--for", "all")
        // It is written down each ten minutes, and when a node has started.
        try await desk.succeed("stop", "a.db")
        #expect(try await first.ends())
        _ = try await desk.start("a.db", "--listen", first.address)
        let isNoted = try await eventually(within: .seconds(30)) {
          let text = """
            SELECT count(*) FROM _flotilla_version AS v
            JOIN _flotilla_origin AS o ON o.id = v.origin
            JOIN _flotilla_reached AS r ON r.origin = o.origin AND r.seq >= v.seq
            WHERE instr(v.key, CAST('k4' AS BLOB)) > 0
            """
          let outcome = try await desk.run("sqlite3", "-readonly", "a.db", text)
          return (Int(outcome.output) ?? 0) > 0
        }
        #expect(isNoted)
        // What a member writes over its own rows of the last minutes nobody keeps.
        let since = try await now(desk)
        try await desk.sql(
          "b.db",
          """
          UPDATE t SET v = 'spoilt' WHERE id IN ('k1', 'k3', 'k4'); DELETE FROM t WHERE id = 'k2';
          INSERT INTO t VALUES ('x', 'invented');
          """)
        try await desk.succeed("wait", "b.db", "--for", "all")
        try await desk.sql("a.db", "UPDATE t SET v = v || ', seen' WHERE id = 'k3'")
        let spoilt = "k1=spoilt k3=spoilt, seen k4=spoilt x=invented"
        #expect(try await shows(desk, "c.db", spoilt))

        let seen = try await undo(desk, since: since)
        let ways = seen.rows.map(\.text).sorted()
        #expect(
          ways == [
            "t k1 put-back", "t k2 put-back", "t k3 edited-since", "t k4 older", "t x remove",
          ])
        #expect(try await desk.sql("a.db", Self.rows) == spoilt)
        #expect(try await desk.succeed("members", "a.db", "--all").contains("revoked"))

        let done = try await undo(desk, since: since, "--yes")
        #expect(done.put_back == 3 && done.left == 2, "\(done)")
        let healed = "k1=one k2=two k3=spoilt, seen k4=spoilt"
        #expect(try await desk.sql("a.db", Self.rows) == healed)
        #expect(try await shows(desk, "c.db", healed))
        let rest = try await undo(desk, since: since, "--yes")
        #expect(rest.rows.map(\.text).sorted() == ["t k3 edited-since", "t k4 older"])
        #expect(rest.put_back == 0)
      }
    }

    @Test func `an admin that has left is disowned with what it wrote`() async throws {
      try await Desk.with { desk in
        try await siteWithGuest(desk)
        try await desk.succeed("leave", "c.db")
        let words = [
          "flotilla", "revoke", "a.db", "third", "--undo-since", "2026-01-01 00:00:00Z",
        ]
        let kept = try await desk.run(words)
        #expect(kept.status == 0 && !kept.output.contains("fourth"), "\(kept)")
        #expect(try await !desk.succeed("members", "a.db", "--all").contains("revoked"))
        let gone = try await desk.run(words + ["--disown"])
        #expect(gone.status == 0 && gone.output.contains("and with it fourth"), "\(gone)")
        // It may be said again.
        #expect(try await desk.run(words + ["--disown", "--yes"]).status == 0)
      }
    }

    @Test func `an admin that is shut out already is not disowned, and that is said`() async throws
    {
      try await Desk.with { desk in
        try await siteWithGuest(desk)
        try await desk.succeed("revoke", "a.db", "third")
        let words = [
          "flotilla", "revoke", "a.db", "third", "--undo-since", "2026-01-01 00:00:00Z",
        ]
        #expect(try await !desk.run(words).output.contains("--disown"))
        let late = try await desk.run(words + ["--disown"])
        #expect(late.status == 0 && late.output.contains("--disown changes nothing"), "\(late)")
        #expect(late.output.contains("flotilla revoke a.db NODE, for fourth"), "\(late)")
      }
    }

    @Test func `who joins under the name of one that was shut out stays, with its rows`()
      async throws
    {
      try await Desk.with { desk in
        let first = try await site(desk)
        let since = try await now(desk)
        try await desk.sql("b.db", "UPDATE t SET v = 'spoilt' WHERE id = 'k1'")
        try await desk.succeed("wait", "b.db", "--for", "all")
        #expect(try await undo(desk, since: since).rows.map(\.text) == ["t k1 put-back"])
        try await join(desk, "c.db", "second", first)
        try await desk.sql("c.db", "INSERT INTO t VALUES ('new', 'good')")
        try await desk.succeed("wait", "c.db", "--for", "all")
        let done = try await undo(desk, since: since, "--yes")
        #expect(done.rows.map(\.text) == ["t k1 put-back done"])
        #expect(try await desk.sql("a.db", Self.rows).contains("new=good"))
        try await desk.sql("c.db", "UPDATE t SET v = 'better' WHERE id = 'new'")
        #expect(
          try await shows(desk, "a.db", "k1=one k2=two k3=three k4=four new=better"))
      }
    }

    @Test func `a row to which others refer is not taken out under them`() async throws {
      try await Desk.with { desk in
        _ = try await site(desk)
        let since = try await now(desk)
        try await desk.sql(
          "b.db",
          """
          INSERT INTO t VALUES ('x', 'invented'), ('y', 'invented'), ('z', 'invented');
          INSERT INTO part VALUES ('of x', 'x');
          """)
        try await desk.succeed("wait", "b.db", "--for", "all")
        try await desk.sql("a.db", "INSERT INTO part VALUES ('of y', 'y')")
        // Nobody tracks this one, so no journal notes what goes with a row.
        try await desk.sql(
          "a.db",
          """
          CREATE TABLE own(id INTEGER PRIMARY KEY, t TEXT REFERENCES t ON DELETE CASCADE);
          INSERT INTO own(t) VALUES ('z'), ('k1')
          """)
        let done = try await undo(desk, since: since, "--yes")
        #expect(done.put_back == 2 && done.left == 2, "\(done)")
        let left = done.rows.filter { !$0.done }
        #expect(left.map { $0.key["id"] } == ["y", "z"], "\(left)")
        #expect(left.allSatisfy { $0.why == "other rows would change with it" }, "\(left)")
        #expect(try await desk.sql("a.db", "SELECT group_concat(t) FROM own") == "z,k1")
        let parts = "SELECT group_concat(id) FROM part"
        #expect(try await desk.sql("a.db", parts) == "of y")
        #expect(try await desk.sql("a.db", Self.rows).contains("y=invented"))
        #expect(try await !desk.sql("a.db", Self.rows).contains("x="))
      }
    }

    @Test func `a moment that is none, and options without it, change nothing`() async throws {
      try await Desk.with { desk in
        _ = try await desk.pair("a.db", "b.db", rows: 1)
        for words in [["--undo-since", "yesterday"], ["--yes"], ["--by-stamp"]] {
          let outcome = try await desk.run(["flotilla", "revoke", "a.db", "second"] + words)
          #expect(outcome.status == 2, "\(outcome)")
        }
        #expect(try await !desk.succeed("members", "a.db", "--all").contains("revoked"))
      }
    }
  }
}
