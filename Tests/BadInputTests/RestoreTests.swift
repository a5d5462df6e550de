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
  }
}
