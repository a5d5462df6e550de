import Testing

extension BadInputTests {
  /// What lost is brought back under another key.
  @Suite struct RestoreTests {
    @Test func `of two rows with one key both can be kept`() async throws {
      try await Desk.with { desk in
        try await desk.sql(
          "a.db", "CREATE TABLE ticket(id INTEGER PRIMARY KEY, seat TEXT NOT NULL)")
        try await desk.succeed("init", "a.db", "--all", "--name", "first")
        let node = try await desk.start("a.db", "--listen", "127.0.0.1:0")
        let code = try await desk.succeed("invite", "a.db")
        try await desk.succeed("join", "b.db", code, "--at", node.address, "--name", "second")
        try await desk.sql("b.db", "INSERT INTO ticket VALUES (1, 'theirs'), (2, 'free')")
        try await Task.sleep(for: .seconds(1))
        try await desk.sql("a.db", "INSERT INTO ticket VALUES (1, 'ours')")
        try await desk.succeed("sync", "b.db", node.address)
        let all = "SELECT id, seat FROM ticket ORDER BY id"
        #expect(try await desk.sql("b.db", all) == "1|ours\n2|free")
        let shown = try await desk.flotilla("conflicts", "b.db", "show", "1")
        #expect(shown.error.contains("restore 1 --set id=VALUE"), "\(shown)")

        for (setting, status, why) in [
          ("id=2", 1, "another row has that key"), ("nothing=2", 1, "has no column nothing"),
          ("id=word", 1, "cannot be restored: datatype mismatch"),
          ("seat=NULL", 1, "NOT NULL constraint failed"), ("id", 2, "takes COLUMN=VALUE"),
        ] {
          let told = try await desk.flotilla("conflicts", "b.db", "restore", "1", "--set", setting)
          #expect(told.status == status && told.error.contains(why), "\(setting): \(told)")
        }
        let mixed = try await desk.flotilla("conflicts", "b.db", "restore", "1", "word")
        #expect(mixed.status == 2 && mixed.error.contains("word is none"), "\(mixed)")
        #expect(try await desk.sql("b.db", all) == "1|ours\n2|free")

        try await desk.succeed("conflicts", "b.db", "restore", "1", "--set", "id=9")
        try await desk.succeed("sync", "b.db", node.address)
        for name in ["a.db", "b.db"] {
          #expect(try await desk.sql(name, all) == "1|ours\n2|free\n9|theirs", "\(name)")
        }
        #expect(try await desk.succeed("conflicts", "b.db") == "no conflicts")
      }
    }

    /// A row that was refused is in no other file: who gets its number later is another row, which
    /// nobody is to lose.
    @Test func `a refused row takes no number that another one has by now`() async throws {
      try await Desk.with { desk in
        try await desk.sql(
          "a.db",
          """
          CREATE TABLE cust(id INTEGER PRIMARY KEY, n TEXT);
          CREATE TABLE ord(id INTEGER PRIMARY KEY, cust INTEGER REFERENCES cust(id))
          """)
        try await desk.succeed("init", "a.db", "--all", "--name", "first")
        let node = try await desk.start("a.db", "--listen", "127.0.0.1:0")
        let code = try await desk.succeed("invite", "a.db")
        try await desk.succeed("join", "b.db", code, "--at", node.address, "--name", "second")
        try await desk.succeed("grant", "a.db", "second", "cust", "read")
        _ = try await desk.start("b.db", "--listen", "127.0.0.1:0", "--peer", node.address)
        func wait(for rows: String, _ database: String, _ sql: String) async throws {
          let isThere = try await eventually(within: .seconds(30)) {
            try await desk.sql(database, sql) == rows
          }
          #expect(isThere, "\(database) has not \(rows)")
        }
        func wait(forRight right: String) async throws {
          let isKnown = try await eventually(within: .seconds(30)) {
            try await desk.succeed("members", "b.db").contains("cust: \(right)")
          }
          #expect(isKnown, "b.db has not heard of its rights")
        }
        try await wait(forRight: "read")
        try await desk.sql(
          "b.db", "INSERT INTO cust VALUES (1, 'Bob'); INSERT INTO ord VALUES (1, 1)")
        try await wait(for: "1", "a.db", "SELECT count(*) FROM _flotilla_shelf")
        try await desk.sql("a.db", "INSERT INTO cust VALUES (1, 'Alice')")
        try await desk.succeed("grant", "a.db", "second", "cust", "write")
        try await wait(for: "Alice", "b.db", "SELECT n FROM cust")
        try await wait(forRight: "write")
        let told = try await desk.flotilla("conflicts", "b.db", "restore", "1")
        #expect(
          told.status == 1 && told.error.contains("another row of cust has got its number since")
            && told.error.contains("restore 1 --set id=NUMBER"), "\(told)")
        try await desk.succeed("conflicts", "b.db", "restore", "1", "--set", "id=2")
        let parked = try await desk.succeed("conflicts", "b.db", "--parked", "--json")
        #expect(parked.contains("\"reference\""), "\(parked)")
        let id = try #require(parked.firstMatch(of: /"id":"(p[0-9a-f]{6})"/)).1
        try await desk.succeed("conflicts", "b.db", "restore", String(id), "--set", "cust=2")
        for name in ["a.db", "b.db"] {
          let rows = "SELECT n || coalesce(ord.id, '-') FROM cust LEFT JOIN ord ON cust = cust.id"
          try await wait(for: "Alice-\nBob1", name, rows + " ORDER BY 1")
        }
      }
    }
  }
}
