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
}
