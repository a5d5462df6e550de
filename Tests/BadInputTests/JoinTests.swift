import Foundation
import Glibc
import Testing

extension BadInputTests {
  /// Codes that do not fit, and files that have something in them already.
  @Suite struct JoinTests {
    @Test func `what is wrong with a code is told, and nothing is left behind`() async throws {
      try await Desk.with { desk in
        let node = try await desk.pair("a.db", "b.db")
        let good = try await desk.succeed("invite", "a.db")
        let short = try await desk.succeed("invite", "a.db", "--ttl", "1s")
        try await Task.sleep(for: .seconds(1.1))
        let reachable = ["--at", node.address]
        for (code, place, why) in [
          ("K7QF", reachable, "it has 4 characters, not 22"),
          ("K7QF-M2XD-9TRA-PZ4C-HJ3V-9U", reachable, "\"U\" does not occur in codes"),
          ("K7QF-M2XD-9TRA-PZ4C-HJ3V-9S", reachable, "its last group does not fit"),
          ("K7QF-M2XD-9TRA-PZ4C-HJ3V-9R", reachable, "knows no such code"),
          (short, reachable, "the code has expired"),
          (good, ["--at", "127.0.0.1:9"], "no node answers at 127.0.0.1:9"),
          (good, ["--at", "nowhere.invalid:7391"], "no node answers at nowhere.invalid"),
          (good, [], "no inviting node was found"),
        ] {
          let outcome = try await desk.run(["flotilla", "join", "j.db", code] + place, within: 30)
          #expect(outcome.status == 1, "\(why)")
          #expect(outcome.error.contains(why), "\(why): \(outcome)")
          #expect(try desk.names("j.db").isEmpty, "\(why)")
        }
        #expect(try await desk.flotilla("join", "j.db", good, "--at", "").status == 2)
      }
    }

    @Test func `who may not write is told so, and where the page is`() async throws {
      try await Desk.with { desk in
        let node = try await desk.pair("a.db", "b.db")
        let code = try await desk.succeed("invite", "a.db", "--role", "reader")
        let joined = try await desk.flotilla("join", "c.db", code, "--at", node.address)
        #expect(joined.error.contains(", which may read alone; next: flotilla run"), "\(joined)")
        let run = ["flotilla", "run", "b.db", "--background", "--no-discovery"]
        let started = try await desk.run(
          run + ["--listen", "127.0.0.1:0", "--http", "127.0.0.1:0"])
        #expect(started.error.contains(/a page for people: http:\/\/127.0.0.1:\d+\//), "\(started)")
        try await desk.succeed("stop", "b.db")
      }
    }

    /// Nobody can tell whether these rows mean the site's row. Their owner is to look.
    @Test func `rows that come under another row's number are told of`() async throws {
      try await Desk.with { desk in
        let schema = """
          CREATE TABLE patient(id INTEGER PRIMARY KEY, name TEXT);
          CREATE TABLE lab(id TEXT PRIMARY KEY, patient INTEGER REFERENCES patient, value TEXT);
          INSERT INTO patient VALUES (1, 'Same'), (2, '#');
          INSERT INTO lab VALUES ('of 1', 1, 'equal'), ('of #', 2, 'own'), ('# 1', 1, 'own');
          """
        for (name, person) in [("a.db", "Ann"), ("b.db", "Bob")] {
          try await desk.sql(name, schema.replacing("#", with: person))
        }
        try await desk.succeed("init", "a.db", "--all", "--name", "first")
        let node = try await desk.start("a.db", "--listen", "127.0.0.1:0")
        let code = try await desk.succeed("invite", "a.db")
        let joined = try await desk.flotilla("join", "b.db", code, "--at", node.address)
        #expect(joined.error.contains("1 row of this file gave way"), "\(joined)")
        let told = "1 row of lab in this file refers by number to a row that gave way"
        #expect(joined.error.contains(told), "\(joined)")
      }
    }

    @Test func `of two joiners with one code one gets in, the other keeps nothing`() async throws {
      try await Desk.with { desk in
        let node = try await desk.pair("a.db", "b.db")
        let code = try await desk.succeed("invite", "a.db")
        async let one = desk.flotilla("join", "one.db", code, "--at", node.address)
        async let two = desk.flotilla("join", "two.db", code, "--at", node.address)
        let outcomes = try await [one, two]
        #expect(outcomes.map(\.status).sorted() == [0, 1])
        let loser = outcomes[0].status == 1 ? 0 : 1
        #expect(outcomes[loser].error.contains("the code was used already"))
        #expect(try desk.names(["one.db", "two.db"][loser]).isEmpty)
        let late = try await desk.flotilla("join", "three.db", code, "--at", node.address)
        #expect(late.error.contains("the code was used already"))
      }
    }

    @Test func `rows that were there rank below the site's, and none is lost`() async throws {
      try await Desk.with { desk in
        let node = try await desk.pair("a.db", "b.db", rows: 20)
        try await desk.make("c.db", rows: 25)
        try await desk.sql(
          "c.db",
          """
          UPDATE t SET v = 'mine' WHERE id IN ('k1', 'k2');
          CREATE TABLE other(x TEXT PRIMARY KEY); INSERT INTO other VALUES('o');
          """)
        let code = try await desk.succeed("invite", "a.db")
        let joined = try await desk.flotilla(
          "join", "c.db", code, "--at", node.address, "--name", "late")
        #expect(joined.status == 0)
        #expect(joined.error.contains("2 rows of this file gave way"), "\(joined)")
        _ = try await desk.start("c.db", "--peer", node.address)
        let equal = try await eventually(within: .seconds(20)) {
          try await desk.sql("a.db", "SELECT count(*) FROM t") == "25"
        }
        #expect(equal)
        for name in ["a.db", "c.db"] {
          #expect(try await desk.sql(name, "SELECT count(*) FROM t WHERE v = 'mine'") == "0")
          #expect(try await desk.sql(name, "SELECT count(*) FROM t") == "25")
        }
        #expect(try await desk.sql("c.db", "SELECT x FROM other") == "o")
        // The two rows that differed are kept whole; the eighteen that were equal are not.
        #expect(try await desk.sql("c.db", "SELECT count(*) FROM _flotilla_conflict") == "2")
        let kept = try await desk.sql("c.db", "SELECT hex(loser) FROM _flotilla_conflict")
        #expect(kept.matches(of: /6D696E65/).count == 2)
        // It tells whose row lost, and whose stands.
        let shown = try await desk.succeed("conflicts", "c.db", "show", "1")
        #expect(shown.contains("lost: late\nwon:  first at "), "\(shown)")
      }
    }

    @Test func `other columns are no obstacle`() async throws {
      try await Desk.with { desk in
        let node = try await desk.pair("a.db", "b.db", rows: 5)
        try await desk.sql(
          "c.db",
          "CREATE TABLE t(id TEXT PRIMARY KEY NOT NULL, w); INSERT INTO t VALUES('k1',1),('z',2)")
        let code = try await desk.succeed("invite", "a.db")
        try await desk.succeed("join", "c.db", code, "--at", node.address)
        // The row k1 is the site's now; what it was here is kept.
        #expect(try await desk.sql("c.db", "SELECT count(*), sum(w) FROM t") == "6|2")
        #expect(try await desk.sql("c.db", "SELECT count(*) FROM _flotilla_conflict") == "1")

      }
    }

    @Test(arguments: [
      ("id INTEGER PRIMARY KEY, v", "PRIMARY KEY(id INTEGER)"),
      ("id INTEGER, v TEXT PRIMARY KEY", "PRIMARY KEY(v TEXT)"),
    ])
    func `another key is refused, and the same code is good once the table is put aside`(
      _ columns: String, _ key: String
    ) async throws {
      try await Desk.with { desk in
        let node = try await desk.pair("a.db", "b.db", rows: 5)
        try await desk.sql("d.db", "CREATE TABLE t(\(columns)); INSERT INTO t VALUES(7, 'mine')")
        let before = try desk.bytes("d.db")
        let code = try await desk.succeed("invite", "a.db")
        for _ in 0..<2 {
          let outcome = try await desk.flotilla(
            "join", "d.db", code, "--at", node.address, "--name", "third")
          #expect(outcome.status == 1)
          #expect(
            outcome.error.contains("table t has \(key) here and PRIMARY KEY(id TEXT) at the site"),
            "\(outcome)")
          #expect(outcome.error.contains(#"ALTER TABLE "t" RENAME TO "t_here""#))
          #expect(try desk.bytes("d.db") == before)
          #expect(try desk.names("d.db") == ["d.db"])
        }
        #expect(try await desk.flotilla("status", "d.db").error.contains("is not a replica yet"))
        #expect(try await !desk.succeed("peers", "a.db").contains("third"))
        try await desk.sql("d.db", #"ALTER TABLE "t" RENAME TO "t_here""#)
        try await desk.succeed("join", "d.db", code, "--at", node.address, "--name", "third")
        #expect(try await desk.succeed("peers", "a.db").contains("third"))
        #expect(try await desk.sql("d.db", "SELECT count(*) FROM t") == "5")
        #expect(try await desk.sql("d.db", "SELECT v FROM t_here") == "mine")
        let late = try await desk.flotilla("join", "e.db", code, "--at", node.address)
        #expect(late.error.contains("the code was used already"))
      }
    }

    @Test(arguments: [false, true])
    func `a join that was killed half-way says so and goes on`(_ joins: Bool) async throws {
      try await Desk.with { desk in
        let node = try await desk.pair("a.db", "b.db", rows: 20_000)
        let code = try await desk.succeed("invite", "a.db")
        let script = """
          flotilla join j.db \(code) --at \(node.address) & join=$!
          until [ "$(sqlite3 j.db 'SELECT count(*) > 500 FROM _flotilla_version')" = 1 ]
          do kill -0 $join || exit; done; kill -9 $join
          """
        _ = try await desk.run("sh", "-c", script)
        let status = try await desk.flotilla("status", "j.db")
        #expect(status.status == 3)
        #expect(status.output.contains("first copy not complete: "), "\(status)")
        #expect(status.error.contains("flotilla join j.db CODE"), "\(status)")
        let json = try await desk.flotilla("status", "j.db", "--json")
        #expect(json.output.contains(#""in_sync":false"#), "\(json)")
        if joins {
          let text = try await desk.succeed("join", "j.db", code)
          #expect(text.contains("goes on with the first copy of \"a\" from first"), "\(text)")
          #expect(text.contains("copied 20,000 rows"), "\(text)")
        } else {
          _ = try await desk.start("j.db")
          let isWhole = try await eventually(within: .seconds(40)) {
            try await desk.flotilla("status", "j.db").status == 0
          }
          #expect(isWhole)
        }
        #expect(try await desk.sql("j.db", "SELECT count(*) FROM t") == "20000")
        #expect(try await !desk.flotilla("status", "j.db").output.contains("first copy"))
        let again = try await desk.flotilla("join", "j.db", code)
        #expect(again.error.contains("j.db is a replica already"), "\(again)")
        #expect(try await desk.sql("j.db", "PRAGMA integrity_check") == "ok")
      }
    }

    @Test(.enabled(if: getuid() == 0, "only root can mount"))
    func `a full disk is told, and work goes on when there is room`() async throws {
      try await Desk.with { desk in
        let node = try await desk.pair("a.db", "b.db", rows: 20_000)
        let code = try await desk.succeed("invite", "a.db")
        mkdir(desk.path("small"), 0o755)
        let look = "SELECT count(*) FROM t WHERE v = 'new'"
        let script = """
          mount -t tmpfs -o size=700k tmpfs small || exit 77
          cd small; fill() { dd if=/dev/zero of=fill bs=1k 2>/dev/null; }
          until_is() { for i in $(seq 150); do
            [ "$(sqlite3 -cmd '.timeout 5000' j.db "$1")" = "$2" ] && return; sleep 0.2; done
            echo "no: $1"; }
          fill; flotilla init new.db 2>&1; ls; rm fill
          sqlite3 x.db "CREATE TABLE t(id TEXT PRIMARY KEY NOT NULL);
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 6000)
            INSERT INTO t SELECT 'a longer key than usual ' || i FROM n" || exit 78
          flotilla init x.db --all 2>&1; mount -o remount,size=9m .
          flotilla leave x.db --force >/dev/null; sqlite3 x.db 'SELECT count(*) FROM t'; rm x.db*
          mount -o remount,size=2m .; flotilla join j.db \(code) --at \(node.address) 2>&1
          mount -o remount,size=60m .; flotilla run j.db --background --no-discovery 2>/dev/null
          until_is 'SELECT count(*) FROM t' 20000
          fill; sqlite3 -cmd '.timeout 5000' ../a.db "UPDATE t SET v = 'new'"; sleep 4
          flotilla status j.db >/dev/null; echo status $?; rm fill
          until_is "\(look)" 20000; flotilla stop j.db 2>/dev/null
          sqlite3 j.db 'PRAGMA integrity_check'
          """
        let outcome = try await desk.run("unshare", "-m", "sh", "-c", script, within: 120)
        guard outcome.status != 77 else { return }
        let lines = outcome.output.split(separator: "\n").map(String.init)
        #expect(lines.first == "flotilla: the disk that holds new.db is full", "\(outcome)")
        #expect(lines.dropFirst(2).first == "fill", "\(outcome)")
        #expect(lines.contains { $0.contains("that holds x.db is full") }, "\(outcome)")
        #expect(lines.contains("6000"), "\(outcome)")
        #expect(lines.contains { $0.contains("the first copy stopped: the disk") }, "\(outcome)")
        #expect(lines.suffix(2) == ["status 3", "ok"], "\(outcome)")
      }
    }
  }
}
