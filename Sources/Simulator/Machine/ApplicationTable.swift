import Replication

/// One shape of table that applications write to.
struct ApplicationTable {
  let name: String
  let sql: String
  /// The key columns with the SQL literals that they may hold.
  let key: [(column: String, values: [String])]
  let collations: [KeyCollation]
  /// The other columns that can be written.
  let columns: [String]
  /// Columns that follow from others.
  var generated: [String] = []
  /// True if each replica inserts keys of its own, added to this many times its number.
  var hasRanges = false

  static let all: [ApplicationTable] = [
    ApplicationTable(
      name: "note", sql: "(id TEXT PRIMARY KEY NOT NULL, body TEXT, n INTEGER DEFAULT 5)",
      key: [("id", ["'a'", "'b'", "'c'", "'d'", "'é'", "''", "'1'"])], collations: [.binary],
      columns: ["body", "n"]),
    ApplicationTable(
      name: "item", sql: "(id INTEGER PRIMARY KEY, name TEXT, x REAL, b BLOB)",
      key: [("id", ["1", "2", "3", "4"])], collations: [.binary], columns: ["name", "x", "b"],
      hasRanges: true),
    ApplicationTable(
      name: "line",
      sql: "(note TEXT COLLATE RTRIM, a TEXT, p INTEGER, PRIMARY KEY(p, a))",
      key: [("p", ["1", "2", "-3"]), ("a", ["'x'", "'y'", "'Y'"])],
      collations: [.binary, .binary], columns: ["note"]),
    ApplicationTable(
      name: "pair", sql: "(k BLOB, v INTEGER, w NUMERIC, PRIMARY KEY(k, v)) WITHOUT ROWID",
      key: [("k", ["x'00'", "x''", "'t'", "1.5"]), ("v", ["1", "2"])],
      collations: [.binary, .binary], columns: ["w"]),
    ApplicationTable(
      name: "word", sql: "(w TEXT COLLATE NOCASE PRIMARY KEY NOT NULL, meaning)",
      key: [("w", ["'a'", "'A'", "'Bc'", "'bC'", "'ä'", "'Ä'"])], collations: [.nocase],
      columns: ["meaning"]),
    ApplicationTable(
      name: "trimmed",
      sql: "(w TEXT COLLATE RTRIM PRIMARY KEY NOT NULL, meaning TEXT DEFAULT 'x') WITHOUT ROWID",
      key: [("w", ["'a'", "'a '", "'a  '", "' a'", "'b'"])], collations: [.rtrim],
      columns: ["meaning"]),
    ApplicationTable(
      name: "tag", sql: "(t TEXT NOT NULL, u ANY NOT NULL, PRIMARY KEY(t, u)) WITHOUT ROWID",
      key: [("t", ["'r'", "'s'"]), ("u", ["1", "1.5", "'z'"])], collations: [.binary, .binary],
      columns: []),
    ApplicationTable(
      name: "calc",
      sql: """
        (id TEXT PRIMARY KEY NOT NULL, a INTEGER, b INTEGER DEFAULT 2,
        s AS (a + b) STORED, v TEXT AS (id || a))
        """,
      key: [("id", ["'k'", "'l'", "'m'", "'n'"])], collations: [.binary], columns: ["a", "b"],
      generated: ["s", "v"]),
    ApplicationTable(
      name: "measure", sql: "(x REAL PRIMARY KEY NOT NULL, y REAL, z BLOB)",
      key: [("x", ["0.0", "-0.0", "1", "2.5", "9e999", "1e-320"])], collations: [.binary],
      columns: ["y", "z"]),
  ]

  /// Which tables a schedule has: always the ledger, and a few others.
  static let groups: [[ApplicationTable]] = [
    named("note"), named("item"), named("line"), named("pair"), named("word"), named("trimmed"),
    named("tag"), named("calc"), named("measure"), named("note", "item"),
    named("line", "word", "calc"), named("pair", "tag"), named("trimmed", "measure", "item"),
  ]

  private static func named(_ names: String...) -> [ApplicationTable] {
    all.filter { names.contains($0.name) } + [ledger]
  }

  /// One group of rows per node, which only that node writes.
  private static let ledger = ApplicationTable(
    name: Ledger.name, sql: Ledger.columns, key: [("node", []), ("slot", [])],
    collations: [.binary, .binary], columns: ["value"])

  /// Columns that migrations add, at different times on different replicas.
  static let additions = [
    "extra_a TEXT", "extra_b INTEGER DEFAULT 7", "extra_c TEXT NOT NULL DEFAULT 'c'",
  ]

  static let values = [
    "NULL", "0", "1", "2", "7", "5", "'c'", "9223372036854775807", "-9223372036854775808", "-0.0",
    "0.5", "1e-320", "-9e999", "'text'", "'x'", "''", "x''", "x'00ff'", "'12'",
    "CAST(x'610062' AS TEXT)", "CAST(x'ff6180' AS TEXT)", "zeroblob(300)",
  ]
}
