import Foundation
import Testing

extension BadInputTests {
  /// What cannot be done about anchors, verdicts and conflicts, with exit status and reason.
  @Suite struct AnchorInputTests {
    /// Expects an exit status and some words in what is said.
    private func expect(
      _ status: Int32, _ said: String, _ desk: Desk, _ words: [String],
      _ location: SourceLocation = #_sourceLocation
    ) async throws {
      let outcome = try await desk.run(["flotilla"] + words)
      #expect(outcome.status == status, "\(words): \(outcome)", sourceLocation: location)
      guard !said.isEmpty else { return }
      #expect(
        (outcome.error + outcome.output).contains(said), "\(words): \(outcome)",
        sourceLocation: location)
    }

    @Test func `a rule that is none, or is for no table of the site, is refused`() async throws {
      try await Desk.with { desk in
        try await desk.make("x.db")
        try await desk.succeed("init", "x.db", "--all")
        try await expect(
          2, "\"silly\" is none of newest-wins", desk, ["rule", "x.db", "t", "silly"])
        try await expect(1, "nokey is not tracked", desk, ["rule", "x.db", "nokey", "client-wins"])
        try await expect(
          2, "\"silly\" is none of newest-wins", desk,
          ["anchor", "x.db", "--here", "--rule", "silly"])
        try await expect(0, "there is no anchor", desk, ["anchor", "x.db"])
        try await expect(2, "", desk, ["anchor", "x.db", "--here", "--none"])
        // What is so already is no error, and no other appointment.
        try await expect(0, "there is no anchor", desk, ["anchor", "x.db", "--none"])
        // Without an anchor a rule is kept, and does not act yet.
        try await desk.succeed("rule", "x.db", "t", "client-wins")
        let rule = try await desk.succeed("rule", "x.db", "--json")
        #expect(rule.contains(#""acting_rule":"newest-wins""#) && rule.contains("client-wins"))
        #expect(rule.contains("acts as newest-wins until an anchor is appointed"))
        let first = try await desk.succeed("anchor", "x.db", "--here", "--json")
        // Somebody has set the rule of t, so it keeps that.
        #expect(first.contains(#""changed":[]"#), "\(first)")
        try await expect(0, "is the anchor", desk, ["anchor", "x.db", "--here"])
        #expect(try await desk.succeed("anchor", "x.db", "--json").contains(#""term":1"#))
        #expect(
          try await desk.succeed("rule", "x.db", "--json")
            .contains(#""acting_rule":"client-wins""#))
        // A rule comes with the first appointment alone.
        for (words, said, status) in [
          (["--here", "--force"], "--rule is for the first appointment", Int32(1)),
          // This never makes sense.
          (["--none"], "--none appoints nobody", 2),
        ] {
          try await expect(status, said, desk, ["anchor", "x.db", "--rule", "server-wins"] + words)
        }
        try await desk.succeed("anchor", "x.db", "--none")
        try await expect(0, "there is no anchor", desk, ["anchor", "x.db"])
        try await expect(
          1, "--rule is for the first appointment", desk,
          ["anchor", "x.db", "--here", "--rule", "server-wins"])
      }
    }

    @Test func `who may not set rules does not end one by giving its table up`() async throws {
      try await Desk.with { desk in
        let node = try await desk.pair("a.db", "b.db", rows: 1)
        try await desk.succeed("anchor", "a.db", "--here")
        try await desk.succeed("sync", "b.db", node.address)
        try await expect(
          1, "may not untrack t, which was given a rule", desk, ["untrack", "b.db", "t"])
        #expect(try await desk.succeed("rule", "b.db").contains("server-wins"))
        try await desk.succeed("untrack", "a.db", "t")
      }
    }

    @Test func `nobody becomes the anchor who cannot be, nor by a node that may not say so`()
      async throws
    {
      try await Desk.with { desk in
        let node = try await desk.pair("a.db", "b.db")
        for (name, role) in [("reader", "reader"), ("gone", "writer"), ("left", "writer")] {
          let code = try await desk.succeed("invite", "a.db", "--role", role)
          try await desk.succeed(
            "join", name + ".db", code, "--at", node.address, "--name", name)
        }
        try await desk.succeed("revoke", "a.db", "gone")
        _ = try await desk.start("left.db", "--listen", "127.0.0.1:0", "--peer", node.address)
        // Who leaves before it is connected tells nobody.
        try await desk.succeed("sync", "left.db", node.address)
        try await desk.succeed("leave", "left.db")
        for (name, said) in [
          ("nobody", "there is no member nobody"), ("gone", "is no member of the site any more"),
          ("left", "is no member of the site any more"),
        ] {
          try await expect(1, said, desk, ["anchor", "a.db", name])
          try await expect(1, said, desk, ["anchor", "a.db", name, "--force"])
        }
        try await expect(
          1, "may not read and write every table", desk, ["anchor", "a.db", "reader", "--force"])
        try await expect(1, "is not in reach", desk, ["anchor", "a.db", "second"])
        _ = try await desk.start("b.db", "--listen", "127.0.0.1:0", "--peer", node.address)
        for words in [["second"], ["--here"], ["first", "--force"]] {
          try await expect(1, "is no admin of this site", desk, ["anchor", "b.db"] + words)
        }
        try await expect(0, "there is no anchor", desk, ["anchor", "a.db"])
        try await desk.succeed("anchor", "a.db", "second")
        try await expect(0, "second is the anchor", desk, ["anchor", "b.db"])
        // Who judges goes on to see what it judges.
        try await expect(
          1, "second is the anchor, which must read and write", desk,
          ["grant", "a.db", "second", "t", "read"])
        try await desk.succeed("grant", "a.db", "second", "t", "write")
        try await expect(1, "is no admin of this site", desk, ["anchor", "b.db", "--none"])
        // A rule is for the anchor and for admins to set.
        try await desk.succeed("rule", "b.db", "t", "client-wins")
        try await desk.succeed("revoke", "a.db", "second")
        try await expect(0, "the anchor is no member any more", desk, ["anchor", "a.db"])
        try await expect(0, "is the anchor", desk, ["anchor", "a.db", "--here", "--force"])
      }
    }

    @Test func `an edit whose verdict is awaited says who is missing, and stays`() async throws {
      try await Desk.with { desk in
        let node = try await desk.pair("a.db", "b.db", rows: 3)
        _ = try await desk.start("b.db", "--listen", "127.0.0.1:0", "--peer", node.address)
        let edit = "UPDATE t SET v = 'online' WHERE id = 'k1'"
        try await expect(1, "there is no anchor", desk, ["sql", "b.db", edit, "--online"])
        try await expect(1, "nothing was run", desk, ["sql", "b.db", "SELECT 1", "--online"])
        #expect(try await desk.sql("b.db", "SELECT v FROM t WHERE id = 'k1'") != "online")

        try await desk.succeed("anchor", "a.db", "--here")
        try await expect(0, "accepted", desk, ["sql", "b.db", edit, "--online"])
        #expect(try await desk.sql("a.db", "SELECT v FROM t WHERE id = 'k1'") == "online")
        try await expect(1, "no such table", desk, ["sql", "b.db", "DELETE FROM zz", "--online"])

        // Out of reach: exit 3, and it is judged later.
        try await desk.succeed("stop", "a.db")
        let away = "UPDATE t SET v = 'away' WHERE id = 'k2'"
        let outcome = try await desk.flotilla(
          "sql", "b.db", away, "--online", "--timeout", "1s", "--json")
        #expect(outcome.status == 3, "\(outcome)")
        #expect(outcome.output.contains(#""verdict":"pending""#))
        #expect(outcome.output.contains(#""server":null"#))
        #expect(try await desk.sql("b.db", "SELECT v FROM t WHERE id = 'k2'") == "away")
        try await expect(
          3, "the anchor is not in reach", desk,
          ["sql", "b.db", "SELECT v FROM t", "--online", "--timeout", "1s"])
        let status = try await desk.flotilla("status", "b.db", "--json")
        #expect(status.output.contains(#""unjudged":1"#))
        _ = try await desk.start("a.db", "--listen", node.address)
        let isJudged = try await eventually(within: .seconds(20)) {
          try await desk.flotilla("status", "b.db", "--json").output.contains(#""unjudged":0"#)
        }
        #expect(isJudged)
        let conflicts = try await desk.succeed("conflicts", "b.db")
        #expect(conflicts.contains("offline"), "\(conflicts)")
        #expect(try await desk.sql("b.db", "SELECT v FROM t WHERE id = 'k2'") != "away")
      }
    }

    @Test func `an edit that nobody judges says what it did, as without waiting`() async throws {
      try await Desk.with { desk in
        try await desk.make("a.db", rows: 3)
        try await desk.succeed("init", "a.db", "--all")
        _ = try await desk.start("a.db", "--listen", "127.0.0.1:0")
        try await expect(2, "--force is for an appointment", desk, ["anchor", "a.db", "--force"])
        try await expect(
          2, "--rule is for an appointment", desk, ["anchor", "a.db", "--rule", "server-wins"])
        try await expect(0, "there is no anchor", desk, ["anchor", "a.db"])
        try await desk.succeed("anchor", "a.db", "--here")
        for (statement, said) in [
          ("CREATE TABLE plain(a)", "the schema is not replicated"),
          ("INSERT INTO plain VALUES (1)", "1 row changed"),
          ("UPDATE t SET v = 'x' WHERE id = 'none'", "0 rows changed"),
        ] {
          for words in [[statement], [statement, "--online"]] {
            try await expect(0, said, desk, ["sql", "a.db"] + words)
            if statement.hasPrefix("CREATE") { try await desk.sql("a.db", "DROP TABLE plain") }
          }
          if statement.hasPrefix("CREATE") { try await desk.sql("a.db", statement) }
        }
        let returning = "UPDATE t SET v = 'x' WHERE id = 'k1' RETURNING id"
        let shown = try await desk.succeed("sql", "a.db", returning, "--online")
        #expect(shown.components(separatedBy: "here:").count == 2, "\(shown)")
      }
    }

    @Test func `a rejected edit ends with exit status 4 and the row that stands`() async throws {
      try await Desk.with { desk in
        try await desk.make("a.db", rows: 3)
        try await desk.succeed("init", "a.db", "--all", "--name", "first")
        let node = try await desk.start("a.db", "--listen", "127.0.0.1:0")
        try await desk.succeed("anchor", "a.db", "--here")
        let code = try await desk.succeed("invite", "a.db", "--role", "reader")
        try await desk.succeed("join", "b.db", code, "--at", node.address, "--name", "second")
        let before = try await desk.sql("a.db", "SELECT * FROM t ORDER BY id")
        // Nothing is written that would be put back.
        for edit in ["UPDATE t SET v = 'no'", "DELETE FROM t WHERE id = 'k2'"] {
          let refused = try await desk.flotilla("sql", "b.db", edit)
          #expect(refused.status == 1 && refused.output == "", "\(edit): \(refused)")
          #expect(
            refused.error.contains("this node, second, may not write t; nothing was changed"),
            "\(refused)")
          #expect(refused.error.contains("flotilla grant DB second t write"), "\(refused)")
          #expect(try await desk.sql("b.db", "SELECT * FROM t ORDER BY id") == before)
        }
        try await desk.succeed("sql", "b.db", "INSERT INTO nokey VALUES (1)")
        #expect(try await desk.succeed("conflicts", "b.db") == "no conflicts")
        // With a node that runs, and with one for the moment.
        for runs in [true, false] {
          if runs {
            _ = try await desk.start("b.db", "--listen", "127.0.0.1:0", "--peer", node.address)
          }
          for edit in [
            "UPDATE t SET v = 'no' WHERE id = 'k1'", "DELETE FROM t WHERE id = 'k2'",
            "INSERT INTO t VALUES ('new', 'no')",
          ] {
            let outcome = try await desk.flotilla("sql", "b.db", edit, "--online", "--json")
            #expect(outcome.status == 4, "\(edit): \(outcome)")
            #expect(outcome.output.contains(#""reason":"not-allowed""#), "\(outcome)")
            #expect(outcome.output.contains(#""verdict":"rejected""#), "\(outcome)")
            let isNew = edit.hasPrefix("INSERT")
            #expect(outcome.output.contains(#""server":null"#) == isNew, "\(outcome)")
            #expect(try await desk.sql("b.db", "SELECT * FROM t ORDER BY id") == before)
          }
          if runs { try await desk.succeed("stop", "b.db") }
        }
        #expect(try await desk.sql("a.db", "SELECT * FROM t ORDER BY id") == before)
      }
    }

    /// Of conflicts that are none.
    private func refuseNumbers(at desk: Desk) async throws {
      for action in ["show", "restore", "dismiss"] {
        try await expect(1, "there is no conflict 99", desk, ["conflicts", "b.db", action, "99"])
        for text in ["word", "-1", "0", "1.5", "99999999999999999999"] {
          try await expect(
            2, "needs the number of a conflict", desk, ["conflicts", "b.db", action, "--", text])
        }
        try await expect(
          2, "needs the number of a conflict", desk, ["conflicts", "b.db", action])
      }
    }

    @Test func `a conflict is restored once, if there is one and its table is as it was`()
      async throws
    {
      try await Desk.with { desk in
        let node = try await desk.pair("a.db", "b.db", rows: 5)
        try await desk.succeed("anchor", "a.db", "--here")
        for key in 1...5 { try await desk.sql("b.db", "UPDATE t SET v = 'b' WHERE id = 'k\(key)'") }
        try await desk.succeed("sync", "b.db", node.address)
        let conflicts = try await desk.succeed("conflicts", "b.db", "--json")
        let ids = conflicts.matches(of: /"id":(\d+)/).compactMap { Int($0.1) }.sorted()
        #expect(ids.count == 5, "\(conflicts)")
        guard ids.count == 5 else { return }
        let word = { (index: Int) in "\(ids[index])" }
        try await refuseNumbers(at: desk)
        try await expect(2, "", desk, ["conflicts", "b.db", "forget", word(0)])
        try await expect(0, "offline", desk, ["conflicts", "b.db", "show", word(0)])

        try await expect(2, "list takes no number", desk, ["conflicts", "b.db", "list", word(0)])

        try await expect(
          0, "show \(word(0))", desk, ["conflicts", "b.db", "dismiss", word(0)])
        try await expect(
          1, "was dismissed already\n  What it holds: flotilla conflicts b.db show", desk,
          ["conflicts", "b.db", "dismiss", word(0)])
        let restored = try await desk.succeed("conflicts", "b.db", "restore", word(1))
        #expect(restored.hasSuffix("was written again; the anchor has yet to judge it"))
        for action in ["restore", "dismiss"] {
          try await expect(
            1, "was restored already", desk, ["conflicts", "b.db", action, word(1)])
        }
        #expect(try await desk.sql("b.db", "SELECT count(*) FROM t WHERE v = 'b'") == "1")
        // What was written since then is kept nowhere else.
        try await desk.sql("b.db", "UPDATE t SET v = 'newer' WHERE id = 'k5'")
        try await expect(
          0, "over what had been written since then: id = k5, v = newer", desk,
          ["conflicts", "b.db", "restore", word(4)])
        // Who has dismissed the wrong one brings it back, and then it is settled.
        try await expect(
          0, "was written again", desk, ["conflicts", "b.db", "restore", word(0)])
        try await expect(
          1, "was restored already", desk, ["conflicts", "b.db", "restore", word(0)])
        // A settled conflict can still be read.
        try await expect(0, "restored", desk, ["conflicts", "b.db", "show", word(1)])

        try await desk.sql("b.db", "ALTER TABLE t DROP COLUMN v")
        try await expect(
          1, "has changed since and has no column v", desk,
          ["conflicts", "b.db", "restore", word(2)])
        try await desk.sql("b.db", "ALTER TABLE t ADD COLUMN v CHECK (v <> 'b')")
        try await expect(
          1, "cannot be restored: CHECK constraint failed", desk,
          ["conflicts", "b.db", "restore", word(2)])
        try await desk.sql("b.db", "DROP TABLE t")
        try await expect(
          1, "t is not here any more", desk, ["conflicts", "b.db", "restore", word(3)])
        try await expect(0, "offline", desk, ["conflicts", "b.db", "show", word(3)])
        try await expect(0, "was dismissed", desk, ["conflicts", "b.db", "dismiss", word(3)])
        #expect(
          try await desk.succeed("conflicts", "b.db", "--json")
            .components(separatedBy: #""state":"open""#).count == 2)
        try await expect(
          0, "from now on this node keeps 0 conflicts for 400 days", desk,
          ["conflicts", "b.db", "--keep", "0"])
      }
    }

    @Test func `what broke a constraint is told with it, and not restored once it is untracked`()
      async throws
    {
      try await Desk.with { desk in
        let node = try await desk.pair("a.db", "b.db", rows: 1)
        try await desk.succeed("anchor", "a.db", "--here")
        for (database, more) in [("a.db", " CHECK (length(number) < 3)"), ("b.db", "")] {
          try await desk.sql(
            database,
            "CREATE TABLE bed(id TEXT PRIMARY KEY NOT NULL, number TEXT UNIQUE\(more))")
        }
        try await desk.succeed("track", "a.db", "bed")
        try await desk.succeed("sync", "b.db", node.address)
        try await desk.sql("a.db", "INSERT INTO bed VALUES ('q', '7')")
        try await desk.sql("b.db", "INSERT INTO bed VALUES ('p', '7')")
        try await desk.succeed("sync", "b.db", node.address)
        let isKept = try await eventually(within: .seconds(20)) {
          try await desk.succeed("conflicts", "b.db").contains("does not fit")
        }
        #expect(isKept)
        for words in [["conflicts", "b.db", "show", "1"], ["conflicts", "b.db", "--json"]] {
          try await expect(0, "UNIQUE number: taken by row q", desk, words)
        }
        let shown = try await desk.succeed("conflicts", "b.db", "show", "1")
        #expect(shown.contains("(no row)") && !shown.contains("(delete)"), "\(shown)")
        let ways = try await desk.flotilla("conflicts", "b.db", "show", "1").error
        #expect(ways.contains("restore 1 --set COLUMN=VALUE"), "\(ways)")
        // What only the anchor's table forbids.
        let before = try await desk.succeed("conflicts", "a.db")
        try await desk.sql("b.db", "INSERT INTO bed VALUES ('r', '1234')")
        try await desk.succeed("sync", "b.db", node.address)
        let isJudged = try await eventually(within: .seconds(20)) {
          try await desk.succeed("conflicts", "a.db") != before
        }
        #expect(isJudged)
        try await expect(0, "CHECK length(number) < 3", desk, ["conflicts", "a.db", "--json"])
        try await desk.succeed("untrack", "b.db", "bed")
        try await expect(
          1, "bed is not tracked any more", desk, ["conflicts", "b.db", "restore", "1"])
      }
    }

    @Test func `a file of an older format shows its conflicts once it was brought up to date`()
      async throws
    {
      try await Desk.with { desk in
        try await desk.make("x.db")
        try await desk.succeed("init", "x.db", "--all")
        try await desk.sql(
          "x.db",
          """
          DROP VIEW _flotilla_rows_t; DROP TABLE _flotilla_conflict;
          CREATE TABLE _flotilla_conflict(id INTEGER PRIMARY KEY, tbl INTEGER NOT NULL,
            key BLOB NOT NULL, at INTEGER NOT NULL, reason TEXT NOT NULL, row BLOB);
          INSERT INTO _flotilla_conflict
            SELECT 7, id, x'306B3100', 1700000000000, 'unseen', NULL FROM _flotilla_local
            WHERE name = 't';
          DROP TABLE _flotilla_pending; DROP TABLE _flotilla_ruling; DROP TABLE _flotilla_verdict;
          DROP TABLE _flotilla_term; DROP TABLE _flotilla_author; DROP TABLE _flotilla_run;
          DROP TABLE _flotilla_reach;
          UPDATE _flotilla_meta SET value = 1 WHERE name = 'format'
          """)
        for words in [["conflicts"], ["status"], ["conflicts", "show", "7"], ["anchor"]] {
          try await expect(0, "", desk, [words[0], "x.db"] + words.dropFirst())
        }
        try await expect(0, "unseen", desk, ["conflicts", "x.db"])
      }
    }
  }
}
