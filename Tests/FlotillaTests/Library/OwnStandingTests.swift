import Testing

@testable import Flotilla

/// Tokens of a version before, whose tables are named as they were called when they were made.
@Suite struct `A token of a version before` {
  @Test func `is translated only where all its tables are known`() async throws {
    try await TestSite.with { site in
      let a = try await site.replica("a")
      _ = try await site.run(a)
      try a.write("ALTER TABLE item RENAME TO person")
      #expect(try await eventually { try await a.library.ownStanding().first(of: "person") != nil })
      let standing = try await a.library.ownStanding()
      var old = AccessToken(
        name: "old", hash: "", tables: ["*": .write, "person": .none, "payroll": .none], created: 0)
      // The table that it bars may yet come, under another first name.
      #expect(standing.renamed(old) == old)
      #expect(standing.unknownTables(of: old) == ["payroll"])
      old.tables["payroll"] = nil
      let new = standing.renamed(old)
      #expect(new.tables == ["*": .write, "item": .none] && new.namesFirst == true)
      #expect(standing.renamed(new) == new && standing.unknownTables(of: old).isEmpty)
      let schema = try a.rows("PRAGMA schema_version")
      #expect(schema == ["\(try await a.library.ownStanding().schema)"])
    }
  }
}
