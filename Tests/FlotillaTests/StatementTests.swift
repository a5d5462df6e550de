import Testing

@testable import Flotilla

extension NodeTests {
  /// What `sql` runs, and what makes no sense by itself.
  @Suite struct `A single statement` {
    @Test(arguments: [
      "BEGIN", "begin immediate", "COMMIT", "END TRANSACTION", "ROLLBACK", "SAVEPOINT s",
      "RELEASE s", " ;\n-- a remark\n/* and * another */ BEGIN", "ATTACH 'new.db' AS new",
      "DETACH main",
    ])
    func `that only means something with others is refused`(_ statement: String) async throws {
      try await TestSite.with { site in
        let a = try await site.replica("a")
        try a.write("INSERT INTO item VALUES ('1', 'x')")
        let error = await #expect(throws: FlotillaError.self) {
          try await a.library.sql(statement)
        }
        #expect(error?.code == .sql)
        #expect(error?.message.contains("has no effect here") == true, "\(error as Any)")
        #expect(error?.message.contains("nothing was run") == true)
        #expect(try a.rows("SELECT * FROM item") == ["1|x"])
      }
    }

    @Test(arguments: [
      ("/* why */ UPDATE item SET text = 'y'", 1), ("-- one\n--two\nDELETE FROM item", 1),
      ("WITH new(id) AS (VALUES ('2')) INSERT INTO item(id) SELECT id FROM new", 1),
    ])
    func `behind a comment shows the rows that it touched`(
      _ statement: String, _ touched: Int
    ) async throws {
      try await TestSite.with { site in
        let a = try await site.replica("a")
        try a.write("INSERT INTO item VALUES ('1', 'x')")
        #expect(try await a.library.sql(statement).touched.count == touched)
      }
    }

    @Test(arguments: ["", " ", ";", "--", "/* BEGIN", "/**/", "/*/ BEGIN", "(SELECT 1)", "1"])
    func `without a first word has no kind`(_ statement: String) {
      #expect(StatementKind(statement).keyword == "")
    }
  }
}
