import Replication

/// One shape of table that tests write to.
struct TestTable {
  let name: String
  let sql: String
  /// The key columns with the SQL literals that they may hold.
  let key: [(column: String, values: [String])]
  let collations: [KeyCollation]
  /// The other columns that can be written.
  let columns: [String]

  /// Keys that differ in case are one.
  static let word = TestTable(
    name: "word", sql: "(w TEXT COLLATE NOCASE PRIMARY KEY NOT NULL, meaning)",
    key: [("w", ["'a'", "'A'", "'Bc'", "'bC'", "'ä'", "'Ä'"])], collations: [.nocase],
    columns: ["meaning"])
}
