import Foundation
import Testing

extension BadInputTests {
  /// Conflicts that are settled after the table was migrated.
  @Suite struct LaterConflictTests {
    private static let migration = """
      BEGIN; CREATE TABLE n(id INTEGER PRIMARY KEY, v TEXT, e INTEGER NOT NULL);
      INSERT INTO n SELECT id, v, 0 FROM t; DROP TABLE t; ALTER TABLE n RENAME TO t; COMMIT
      """
    private static let all = "SELECT group_concat(id || v || e, ' ') FROM t"

    @Test func `of two edits of one row that lost the later one stands after all are restored`()
      async throws
    {
      try await Desk.with { desk in
        let node = try await desk.pair("a.db", "b.db")
        let key = String(repeating: "k", count: 500)
        try await desk.sql("a.db", "INSERT INTO t VALUES ('\(key)', '')")
        try await desk.succeed("sync", "b.db", node.address)
        for value in ["one", "two"] {
          try await desk.sql("b.db", "UPDATE t SET v = '\(value)' WHERE id = '\(key)'")
          try await Task.sleep(for: .seconds(1))
          try await desk.sql("a.db", "UPDATE t SET v = 'other \(value)' WHERE id = '\(key)'")
          try await desk.succeed("sync", "b.db", node.address)
        }
        let list = try await desk.succeed("conflicts", "b.db")
        let width = list.split(separator: "\n").map(\.count).max() ?? 0
        #expect(width < 200, "a key does not push all else out of the terminal")
        try await desk.succeed("conflicts", "b.db", "restore", "all")
        #expect(try await desk.sql("b.db", "SELECT v FROM t WHERE id = '\(key)'") == "two")
      }
    }

    @Test func `what lost is written over what stands, by restore and as SQL`() async throws {
      try await Desk.with { desk in
        try await desk.sql(
          "a.db",
          """
          CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT);
          INSERT INTO t VALUES (1, ''), (2, ''), (3, '')
          """
        )
        try await desk.succeed("init", "a.db", "--all", "--name", "first")
        let node = try await desk.start("a.db", "--listen", "127.0.0.1:0")
        let code = try await desk.succeed("invite", "a.db")
        try await desk.succeed("join", "b.db", code, "--at", node.address, "--name", "second")
        try await desk.sql(
          "b.db", "UPDATE t SET v = 'mine' WHERE id < 3; DELETE FROM t WHERE id = 3")
        try await Task.sleep(for: .seconds(1))
        try await desk.sql("a.db", "UPDATE t SET v = 'theirs'")
        try await desk.succeed("sync", "b.db", node.address)
        for database in ["a.db", "b.db"] { try await desk.sql(database, Self.migration) }
        try await desk.succeed("sync", "b.db", node.address)
        #expect(try await desk.sql("b.db", Self.all) == "1theirs0 2theirs0 3theirs0")

        let restored = try await desk.succeed("conflicts", "b.db", "restore", "1")
        #expect(restored.contains("was written again"), "\(restored)")
        var statements: [String] = []
        for number in ["1", "2", "3"] {
          statements.append(
            try await desk.succeed("conflicts", "b.db", "show", number, "--sql"))
        }
        #expect(statements.filter { $0.hasPrefix("DELETE FROM \"t\" WHERE") }.count == 1)
        // What a migration has added since an INSERT of a row that stands does not say.
        try await desk.sql("b.db", "ALTER TABLE t DROP COLUMN e")
        for statement in statements { try await desk.sql("b.db", statement) }
        let rows = "SELECT group_concat(id || v, ' ') FROM t"
        #expect(try await desk.sql("b.db", rows) == "1mine 2mine")
        let told = try await desk.flotilla("conflicts", "b.db", "dismiss", "all")
        #expect(told.output.hasPrefix("2 conflicts were dismissed;"), "\(told)")
        let again = try await desk.flotilla("conflicts", "b.db", "dismiss", "all")
        #expect(again.output == "nothing to dismiss", "\(again)")
      }
    }
  }
}
