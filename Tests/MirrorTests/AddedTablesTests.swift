import Foundation
import Testing

/// Tables that come to a mirror which is set up, go, or get other names.
@Suite(.enabled(if: Office.isPossible, Office.why), .timeLimit(.minutes(10)))
struct `The tables of a mirror` {
  private static let schema = """
    CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT); CREATE TABLE u(id INTEGER PRIMARY KEY, v TEXT);
    INSERT INTO t VALUES (1, 'one'), (2, 'two'), (3, 'three');
    INSERT INTO u VALUES (1, 'eins'), (2, 'zwei'), (3, 'drei');
    """

  private static let notes = """
    SELECT (SELECT count(*) FROM information_schema.triggers
        WHERE trigger_name LIKE 'flotilla%' AND event_object_table = 'u'),
      (SELECT count(*) FROM information_schema.tables
        WHERE table_schema = 'shop' AND table_name LIKE 'flotilla%journal%'),
      (SELECT group_concat(site_table ORDER BY 1) FROM flotilla_table)
    """

  private func must(_ office: Office, _ words: String...) async throws -> String {
    let said = try await office.run(["flotilla", "mirror", "shop.db"] + words)
    try #require(said.status == 0, "\(words): \(said.text)")
    return said.text
  }

  private func refuses(_ office: Office, _ words: String...) async throws -> String {
    let said = try await office.run(["flotilla", "mirror", "shop.db"] + words)
    #expect(said.status != 0, "\(words): \(said.text)")
    return said.text
  }

  @Test func `come one by one, and the others are not compared anew`() async throws {
    try await Office.with { office in
      _ = try await office.open(Self.schema, "--create", "--tables", "t")
      let compared = try await office.status()["compared"] as? String
      // What only a comparison of all of t would find, and put right.
      try await office.quietly(1, "UPDATE t SET v = 'quiet' WHERE id = 3")
      let again = try await refuses(office, "add", office.url, "--yes")
      #expect(again.contains("add --tables TABLE,…"), "\(again)")
      let lacking = try await refuses(office, "add", "--tables", "u", "--yes")
      #expect(lacking.contains("--create makes those"), "\(lacking)")
      let unknown = try await refuses(office, "add", "--tables", "nothing", "--yes")
      #expect(unknown.contains("no replicated table"), "\(unknown)")
      let unsaid = try await refuses(office, "add", "--tables", "u", "--create")
      #expect(unsaid.contains("nothing was touched"), "\(unsaid)")
      #expect(try await office.server("SHOW TABLES LIKE 'u'") == "")
      let rival = try await refuses(office, "add", "--tables", "u", "--map", "u=t", "--yes")
      #expect(rival.contains("shop.t is kept equal with t"), "\(rival)")

      _ = try await must(office, "add", "--tables", "u", "--create", "--yes")
      try await office.serverComesTo("1\teins\n2\tzwei\n3\tdrei", "SELECT id, v FROM u ORDER BY id")
      try await office.follows()
      try await office.server("UPDATE u SET v = 'office' WHERE id = 1; DELETE FROM t WHERE id = 1")
      try await office.site("UPDATE u SET v = 'site' WHERE id = 2; DELETE FROM t WHERE id = 2")
      try await office.siteComesTo(
        "1\toffice\n2\tsite\n3\tdrei", "SELECT id, v FROM u ORDER BY id")
      try await office.serverComesTo(
        "1\toffice\n2\tsite\n3\tdrei", "SELECT id, v FROM u ORDER BY id")
      try await office.siteComesTo("3\tthree", "SELECT id, v FROM t ORDER BY id")
      try await office.serverComesTo("3\tquiet", "SELECT id, v FROM t ORDER BY id")
      let status = try await office.status()
      #expect(status["compared"] as? String == compared, "\(status)")
      #expect(status["tables"] as? [String] == ["t", "u"], "\(status)")
      // Whoever repeats a command that was cut short is told that it is done.
      let repeated = try await must(office, "add", "--tables", "u", "--create", "--yes")
      #expect(repeated.contains("u is kept equal with shop.u already"), "\(repeated)")
      // A fill is no difference; what was written quietly is one.
      let verify = try await office.flotilla(
        "mirror", "shop.db", "verify", "--timeout", "60s", "--json")
      #expect(verify.text.contains(#""differences":1"#), "\(verify.text)")
    }
  }

  @Test func `flow on while another one is filled`() async throws {
    try await Office.with { office in
      _ = try await office.open(Self.schema, "--create", "--tables", "t")
      let rows = 60_000
      try await office.site(
        """
        WITH RECURSIVE n(i) AS (SELECT 10 UNION ALL SELECT i + 1 FROM n WHERE i < \(rows + 9))
        INSERT INTO u SELECT i, 'row ' || i FROM n
        """)
      _ = try await must(office, "add", "--tables", "u", "--create", "--yes")
      func filled() async throws -> Int {
        Int(try await office.trial("SELECT count(*) FROM u", in: "shop").text) ?? 0
      }
      // Written when u had some of its rows, and there before it has all of them.
      var hasFlowed = false
      for number in 1...200 where !hasFlowed {
        let before = try await filled()
        try await office.site("UPDATE t SET v = 'turn \(number)' WHERE id = 1")
        try await office.serverComesTo("turn \(number)", "SELECT v FROM t WHERE id = 1")
        let after = try await filled()
        hasFlowed = before > 0 && after < rows
        if after >= rows { break }
      }
      #expect(hasFlowed, "nothing of t arrived while u was filled")
      try await office.serverComesTo("\(rows + 3)", "SELECT count(*) FROM u")
    }
  }

  @Test func `go one by one, and leave nothing on the server`() async throws {
    try await Office.with { office in
      let node = try await office.open(Self.schema, "--create")
      let last = try await refuses(office, "remove", "--tables", "t,u")
      #expect(last.contains("no table of the mirror would be left"), "\(last)")
      let unknown = try await refuses(office, "remove", "--tables", "w")
      #expect(unknown.contains("w is not mirrored"), "\(unknown)")
      _ = try await must(office, "remove", "--tables", "u")
      #expect(try await office.server(Self.notes) == "0\t1\tt")
      try await office.server("UPDATE t SET v = 'flows' WHERE id = 1; DELETE FROM u WHERE id = 1")
      try await office.site("DELETE FROM u WHERE id = 2")
      try await office.siteComesTo("flows", "SELECT v FROM t WHERE id = 1")
      try await office.isInSync()
      #expect(try await office.site("SELECT id FROM u ORDER BY id") == "1\n3")
      #expect(try await office.server("SELECT id FROM u ORDER BY id") == "2\n3")

      // It comes back while the mirror rests, as a table that nobody knows; and it goes again.
      _ = try await must(office, "pause")
      let said = try await must(office, "add", "--tables", "u", "--yes")
      #expect(said.contains("resume"), "\(said)")
      #expect(try await office.server(Self.notes) == "0\t1\tt")
      _ = try await must(office, "resume")
      try await office.serverComesTo("1\n2\n3", "SELECT id FROM u ORDER BY id")
      try await office.serverComesTo("3\t2\tt,u", Self.notes)
      node.die()
      _ = try await must(office, "remove", "--tables", "u")
      #expect(try await office.server(Self.notes) == "0\t1\tt")
    }
  }

  @Test func `come and go only with a server, and as often as it is said`() async throws {
    try await Office.with { office in
      let server = try await office.startServerAgain()
      let schema = Self.schema + "CREATE TABLE w(id INTEGER PRIMARY KEY, v TEXT);"
      let node = try await office.open(schema, "--create", "--tables", "t,w")
      let settings = try String(
        contentsOfFile: office.path("shop.db-flotilla/mirror.json"), encoding: .utf8)
      server.die()
      for words in [["add", "--tables", "u", "--create", "--yes"], ["remove", "--tables", "w"]] {
        let said = try await office.run(["flotilla", "mirror", "shop.db"] + words)
        #expect(said.status == 1 && said.text.contains("is out of reach"), "\(said.text)")
      }
      #expect(
        try String(
          contentsOfFile: office.path("shop.db-flotilla/mirror.json"), encoding: .utf8) == settings)
      try await office.startServer()
      try await office.follows()

      // Cut off at any moment, a command can be said again.
      for turn in 0..<12 {
        let words = ["add", "--tables", "u", "--create", "--yes"]
        let command = try office.start(["flotilla", "mirror", "shop.db"] + words, "cut-\(turn)")
        try await Task.sleep(for: .milliseconds(turn * 25))
        command.die()
        if turn == 6 { node.die() }
        if turn == 8 { _ = try await office.serve() }
      }
      _ = try await must(office, "add", "--tables", "u", "--create", "--yes")
      try await office.serverComesTo("1\n2\n3", "SELECT id FROM u ORDER BY id")
      try await office.serverComesTo("3\t3\tt,u,w", Self.notes)
      for turn in 0..<12 {
        let words = ["flotilla", "mirror", "shop.db", "remove", "--tables", "u"]
        let command = try office.start(words, "gone-\(turn)")
        try await Task.sleep(for: .milliseconds(turn * 25))
        command.die()
      }
      let said = try await office.run(["flotilla", "mirror", "shop.db", "remove", "--tables", "u"])
      #expect(said.status == 0 || said.text.contains("u is not mirrored"), "\(said.text)")
      try await office.serverComesTo("0\t2\tt,w", Self.notes)
      try await office.site("UPDATE t SET v = 'flows' WHERE id = 1")
      try await office.serverComesTo("flows", "SELECT v FROM t WHERE id = 1")
    }
  }

  @Test func `keep what cascades have noted when one of them goes`() async throws {
    try await Office.with { office in
      try await office.server(
        """
        CREATE TABLE p(id BIGINT PRIMARY KEY);
        CREATE TABLE a(id BIGINT PRIMARY KEY, p BIGINT, FOREIGN KEY (p) REFERENCES p(id)
          ON DELETE CASCADE);
        CREATE TABLE b(id BIGINT PRIMARY KEY, p BIGINT, FOREIGN KEY (p) REFERENCES p(id)
          ON DELETE CASCADE);
        INSERT INTO p VALUES (1), (2), (3); INSERT INTO a VALUES (1, 1), (2, 2), (3, 3);
        INSERT INTO b SELECT * FROM a
        """)
      _ = try await office.open(
        """
        CREATE TABLE a(id INTEGER PRIMARY KEY, p INTEGER);
        CREATE TABLE b(id INTEGER PRIMARY KEY, p INTEGER);
        """, "--tables", "a")
      try await office.siteComesTo("1\n2\n3", "SELECT id FROM a ORDER BY id")
      try await office.quietly(1, "UPDATE a SET p = NULL WHERE id = 3")
      _ = try await must(office, "add", "--tables", "b", "--yes")
      try await office.siteComesTo("1\n2\n3", "SELECT id FROM b ORDER BY id")
      try await office.follows()
      try await office.server("DELETE FROM p WHERE id = 1")
      try await office.siteComesTo("2\n3", "SELECT id FROM b ORDER BY id")
      try await office.siteComesTo("2\n3", "SELECT id FROM a ORDER BY id")
      _ = try await must(office, "remove", "--tables", "a")
      try await office.server("DELETE FROM p WHERE id = 2")
      try await office.siteComesTo("3", "SELECT id FROM b ORDER BY id")
      // Nobody has compared a: what was written quietly was not put right.
      #expect(try await office.server("SELECT p FROM a WHERE id = 3") == "NULL")
      #expect(try await office.site("SELECT id, p FROM a ORDER BY id") == "2\t2\n3\t3")
    }
  }

  @Test func `are followed at the site, and found again on the server`() async throws {
    try await Office.with { office in
      _ = try await office.open(Self.schema, "--create")
      try await office.site("ALTER TABLE t RENAME TO item")
      try await office.site(
        "UPDATE item SET v = 'renamed' WHERE id = 1; DELETE FROM item WHERE id = 2")
      try await office.serverComesTo("1\trenamed\n3\tthree", "SELECT id, v FROM t ORDER BY id")
      try await office.server("INSERT INTO t VALUES (4, 'four')")
      try await office.siteComesTo("1\n3\n4", "SELECT id FROM item ORDER BY id")
      try await office.isInSync()
      #expect(try await office.status()["tables"] as? [String] == ["item", "u"])

      // On the server nobody follows by itself: a table of that name may be on its way.
      try await office.server("RENAME TABLE t TO goods")
      let says = try await eventually {
        let stopped = (try await office.status()["stopped"] as? [[String: Any]])?.first
        return (stopped?["reason"] as? String)?.contains(
          "mirror shop.db add --tables item --map item=shop.goods") == true
      }
      let status = try await office.status()
      #expect(says, "\(status)")
      try await office.site("DELETE FROM item WHERE id = 1; UPDATE u SET v = 'flows' WHERE id = 1")
      try await office.serverComesTo("flows", "SELECT v FROM u WHERE id = 1")
      try await office.server("DELETE FROM goods WHERE id = 3; INSERT INTO goods VALUES (5, 'new')")
      _ = try await must(office, "add", "--tables", "item", "--map", "item=shop.goods", "--yes")
      // What either side has deleted meanwhile stays deleted.
      try await office.siteComesTo("4\tfour\n5\tnew", "SELECT id, v FROM item ORDER BY id")
      try await office.serverComesTo("4\tfour\n5\tnew", "SELECT id, v FROM goods ORDER BY id")
      try await office.isInSync()
      #expect(
        try await office.server("SELECT group_concat(site_table ORDER BY 1) FROM flotilla_table")
          == "item,u")
    }
  }

  @Test func `are the other node's, too, when it takes the mirror`() async throws {
    try await Office.with { office in
      _ = try await office.open(Self.schema, "--create", "--tables", "t")
      let code = try await office.flotilla("invite", "shop.db")
      let word = try #require(code.text.split(separator: "\n").first.map(String.init))
      let port = try office.port()
      let joined = try await office.flotilla(
        "join", "two.db", word, "--at", "127.0.0.1:\(port)", "--name", "two")
      #expect(joined.status == 0, "\(joined.text)")
      _ = try await office.serve("two.db", "--peer", "127.0.0.1:\(port)")
      _ = try await must(office, "add", "--tables", "u", "--create", "--yes")
      try await office.serverComesTo("1\n2\n3", "SELECT id FROM u ORDER BY id")
      try await office.isInSync()
      _ = try await must(office, "pause")
      try await office.site("DELETE FROM u WHERE id = 2")
      let isGone = try await eventually {
        try await office.site("SELECT count(*) FROM u WHERE id = 2", "two.db") == "0"
      }
      #expect(isGone)
      let taken = try await office.run([
        "flotilla", "mirror", "two.db", "take", office.url, "--password-file", "password", "--yes",
      ])
      try #require(taken.status == 0, "\(taken.text)")
      try await office.serverComesTo("1\n3", "SELECT id FROM u ORDER BY id")
      // Who has lost the mirror adds nothing to it.
      let late = try await refuses(office, "add", "--tables", "u", "--yes")
      #expect(late.contains("two mirrors into shop by now"), "\(late)")
      let gone = try await refuses(office, "remove", "--tables", "u")
      #expect(gone.contains("take URL"), "\(gone)")
    }
  }
}
