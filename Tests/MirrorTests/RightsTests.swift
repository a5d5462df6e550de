import Testing

@testable import Mirror

/// What a user may do on a server.
@Suite struct `The rights of a user of the server` {
  @Test(arguments: [
    ("shop", "shop", true), ("shop", "shop2", false), ("s%", "shop", true), ("sho_", "shop", true),
    ("sho\\_", "shop", false), ("a\\_b", "a_b", true), ("%", "x", true), ("%p", "shop", true),
    ("s%o%", "shop", true), ("", "", true), ("_", "", false), ("%\\%", "ab%", true),
  ])
  func `are for the databases of a pattern`(_ pattern: String, _ name: String, _ fits: Bool) {
    #expect(ServerRights.fits(name, pattern) == fits)
  }

  @Test func `are read from what the server grants`() {
    let all = ServerRights(["GRANT ALL PRIVILEGES ON *.* TO `root`@`localhost` WITH GRANT OPTION"])
    #expect(all.missing(tables: [("shop", "t")], creating: ["other"], in: "shop") == [])
    let some = ServerRights([
      "GRANT USAGE ON *.* TO `flo`@`localhost` IDENTIFIED BY PASSWORD '*AB'",
      "GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, DROP ON `shop`.* TO `flo`@`localhost`",
      "GRANT TRIGGER ON `shop`.`a``b` TO `flo`@`localhost`",
      "GRANT SELECT (id), TRIGGER ON `goods`.`t` TO `flo`@`localhost`",
      "GRANT `clerks` TO `flo`@`localhost`",
    ])
    #expect(some.missing(tables: [("shop", "a`b")], creating: [], in: "shop") == [])
    #expect(
      some.missing(tables: [("shop", "t"), ("goods", "t")], creating: ["goods"], in: "shop") == [
        "the user lacks CREATE on goods", "the user lacks TRIGGER on shop.t",
        "the user lacks SELECT, INSERT, UPDATE, DELETE on goods.t",
      ])
  }

  @Test func `are unknown where nothing can be read`() {
    let none = ServerRights(["", "GRANT", "GRANT x ON `", "GRANT x ON `a`.`", "REVOKE a ON *.* x"])
    #expect(!none.isKnown)
    #expect(none.missing(tables: [("a", "b")], creating: [], in: "a") == [])
  }

  @Test func `include triggers in spite of a binary log`() {
    let lines = ["GRANT ALL PRIVILEGES ON `shop`.* TO `flo`@`localhost`"]
    let without = ServerRights(lines, wantsSuper: true)
    #expect(without.missing(tables: [], creating: [], in: "shop").count == 1)
    let root = ServerRights(["GRANT SUPER ON *.* TO `flo`@`%`"] + lines, wantsSuper: true)
    #expect(root.missing(tables: [], creating: [], in: "shop") == [])
  }

  @Test(.enabled(if: Office.isPossible, Office.why), .timeLimit(.minutes(10)))
  func `are looked at before anything is touched`() async throws {
    try await Office.with { office in
      try await office.site("CREATE TABLE t(id INTEGER PRIMARY KEY)")
      #expect(try await office.flotilla("init", "shop.db", "--all").status == 0)
      try await office.server("REVOKE TRIGGER, DELETE ON shop.* FROM flo@localhost")
      let words = [
        "flotilla", "mirror", "shop.db", "add", office.url, "--password-file", "password", "--yes",
        "--create",
      ]
      let refused = try await office.run(words)
      #expect(refused.status != 0)
      #expect(refused.text.contains("lacks DELETE on shop"), "\(refused.text)")
      #expect(refused.text.contains("nothing was touched"))
      #expect(try await office.server("SHOW TABLES") == "")
      try await office.server("GRANT TRIGGER, DELETE ON `sho_`.* TO flo@localhost")
      let added = try await office.run(words)
      #expect(added.status == 0, "\(added.text)")
    }
  }

  /// The rights of the node that mirrors: what its server's programs write is its edit.
  @Test(.enabled(if: Office.isPossible, Office.why), .timeLimit(.minutes(10)))
  func `are those of the node that mirrors, for whom the site has it`() async throws {
    try await Office.with { office in
      try await office.site(
        """
        CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT); INSERT INTO t VALUES (1, 'one'), (2, 'two');
        CREATE TABLE u(id INTEGER PRIMARY KEY, v TEXT); INSERT INTO u VALUES (1, 'one')
        """)
      let made = try await office.flotilla("init", "shop.db", "--all", "--name", "anchor")
      #expect(made.status == 0, "\(made.text)")
      _ = try await office.serve()
      let code = try await office.flotilla("invite", "shop.db")
      let word = try #require(code.text.split(separator: "\n").first.map(String.init))
      let port = try office.port()
      let joined = try await office.flotilla(
        "join", "two.db", word, "--at", "127.0.0.1:\(port)", "--name", "two")
      #expect(joined.status == 0, "\(joined.text)")
      let granted = try await office.flotilla("grant", "shop.db", "two", "t", "read")
      #expect(granted.status == 0, "\(granted.text)")
      _ = try await office.serve("two.db", "--peer", "127.0.0.1:\(port)")
      let added = try await office.flotilla(
        "mirror", "two.db", "add", office.url, "--password-file", "password", "--yes", "--create")
      try #require(added.status == 0, "\(added.text)")
      try await office.serverComesTo("one\ntwo", "SELECT v FROM t ORDER BY id")

      // What may only be read there is put right on the server, and kept in the log.
      try await office.server(
        """
        UPDATE t SET v = 'office' WHERE id = 1; DELETE FROM t WHERE id = 2;
        INSERT INTO t VALUES (3, 'office'); UPDATE u SET v = 'office'
        """)
      try await office.siteComesTo("office", "SELECT v FROM u")
      try await office.serverComesTo("1\tone\n2\ttwo", "SELECT id, v FROM t ORDER BY id")
      #expect(try await office.site("SELECT id, v FROM t ORDER BY id") == "1\tone\n2\ttwo")
      let isLogged = try await eventually {
        try await office.flotilla("conflicts", "two.db", "--json").text.contains(#""v":"office""#)
      }
      let log = try await office.flotilla("conflicts", "two.db", "--json")
      #expect(isLogged, "\(log.text)")
      try await office.site("UPDATE t SET v = 'site' WHERE id = 2")
      try await office.serverComesTo("site", "SELECT v FROM t WHERE id = 2")
      // What it may not even read any more is mirrored no more, and the rest is.
      let taken = try await office.flotilla("grant", "shop.db", "two", "t", "none")
      #expect(taken.status == 0, "\(taken.text)")
      let stops = try await eventually {
        let said = try await office.status("two.db")["stopped"] as? [[String: Any]]
        return (said?.first?["reason"] as? String)?.contains("no right to it") == true
      }
      let status = try await office.status("two.db")
      #expect(stops, "\(status)")
      try await office.site("UPDATE u SET v = 'flows'")
      try await office.serverComesTo("flows", "SELECT v FROM u")
      #expect(try await office.server("SELECT count(*) FROM t") == "2")
    }
  }
}
