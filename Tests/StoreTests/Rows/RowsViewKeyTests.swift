import SQLite
import Testing

@testable import Store

/// The view of a table's rows, and what the table itself says.
@Suite struct `The view of the rows has the keys` {
  struct Shape: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var definition: String
    /// Key values as SQL, several columns joined by commas.
    var values: [String]
    var keys = ["k"]
    /// What the view shows instead, where it is not what the table holds.
    var shown: [String]?
  }

  static let integers = [
    "0", "1", "-1", "255", "256", "-255", "-256", "-257", "65535", "65536", "-65536", "-65537",
    "9223372036854775807", "-9223372036854775808", "-9223372036854775807", "-72057594037927936",
    "-72057594037927937", "72057594037927936", "4294967296", "-4294967297", "123456789012",
  ]
  static let texts = [
    "''", "'a'", "'it''s'", "'\"x\"'", "'ü漢😀'", "char(0)", "'a' || char(0) || 'b' || char(0)",
    "char(0, 0, 0)", "'ÿ' || char(0) || 'ÿ'", "CAST(x'FF' AS TEXT)", "'a b'",
  ]
  static let blobs = [
    "x''", "x'00'", "x'00FF'", "x'0000'", "x'00FF00FF'", "x'FF00'", "x'3000'", "x'400014'",
    "x'0102030405060708090A0B0C0D0E0F10'", "x'30'",
  ]
  static let fractions = [
    "0.5", "-0.5", "1.5e300", "-1.7976931348623157e308", "5e-324", "-2.2250738585072009e-308",
    "2.2250738585072014e-308", "0.1", "-123456.789", "9e999", "-9e999", "9.3e18", "-1.9e19",
    "3.141592653589793", "1e-320",
  ]

  static let shapes: [Shape] = [
    Shape(
      testDescription: "INTEGER PRIMARY KEY", definition: "k INTEGER PRIMARY KEY, v",
      values: integers),
    Shape(testDescription: "INT", definition: "k INT PRIMARY KEY, v", values: integers + fractions),
    Shape(
      testDescription: "INT with a text", definition: "k INT PRIMARY KEY, v", values: ["1", "'x'"],
      shown: ["1"]),
    Shape(testDescription: "TEXT", definition: "k TEXT PRIMARY KEY, v", values: texts),
    Shape(
      testDescription: "TEXT with a blob", definition: "k TEXT PRIMARY KEY, v",
      values: ["'a'", "x'00FF'"], shown: ["'a'", "CAST(x'00FF' AS TEXT)"]),
    Shape(testDescription: "BLOB", definition: "k BLOB PRIMARY KEY, v", values: blobs),
    Shape(testDescription: "REAL", definition: "k REAL PRIMARY KEY, v", values: fractions + ["2"]),
    Shape(
      testDescription: "UUID", definition: "k UUID PRIMARY KEY, v",
      values: texts + blobs + integers + fractions + ["'8a3c'"]),
    Shape(
      testDescription: "no type", definition: "k PRIMARY KEY, v",
      values: texts + blobs + integers + fractions),
    Shape(
      testDescription: "NOCASE", definition: "k TEXT COLLATE NOCASE PRIMARY KEY, v",
      values: ["'abc'", "'ABD'", "'Ü'", "''"], shown: ["'abc'", "'abd'", "'Ü'", "''"]),
    Shape(
      testDescription: "RTRIM", definition: "k TEXT COLLATE RTRIM PRIMARY KEY, v",
      values: ["'a  '", "' b'"], shown: ["'a'", "' b'"]),
    Shape(
      testDescription: "several columns",
      definition: "a TEXT, k INTEGER, c BLOB, v, PRIMARY KEY(k, c, a)",
      values: zip(integers, zip(blobs, texts)).map { "\($0), \($1.0), \($1.1)" },
      keys: ["k", "c", "a"]),
    Shape(
      testDescription: "several columns of any kind", definition: "a UUID, b, v, PRIMARY KEY(a, b)",
      values: zip(fractions + integers + texts, texts + blobs + fractions).map { "\($0), \($1)" },
      keys: ["a", "b"]),
  ]

  /// A byte that is no UTF-8, and no character of UTF-16 either.
  private static let half = "CAST(x'FF' AS TEXT)"

  @Test(arguments: shapes, ["", "WITHOUT ROWID", "UTF-16le", "UTF-16be"])
  func `as they are in the table`(_ shape: Shape, _ options: String) throws {
    let isWide = options.hasPrefix("UTF")
    var shape = shape
    if isWide { shape.values.removeAll { $0.contains(Self.half) } }
    let replica = try TestReplica(
      1,
      schema: isWide
        ? "PRAGMA encoding = '\(options)'; CREATE TABLE t(\(shape.definition))"
        : "CREATE TABLE t(\(shape.definition)) \(options)", tracking: ["t"])
    #expect(try replica.value("PRAGMA encoding") == .string(isWide ? options : "UTF-8"))
    let columns = shape.keys.joined(separator: ", ")
    try replica.write("BEGIN")
    for value in shape.values { try replica.write("INSERT INTO t(\(columns)) VALUES (\(value))") }
    try replica.write("COMMIT")
    try replica.foldAll()
    // Whoever reads it may be careful.
    try replica.application.set(.trustedSchema, to: false)
    let terms = shape.keys.map { "typeof(\($0)) || ' ' || hex(\($0)) || ' ' || quote(\($0))" }
      .joined(separator: " || ', ' || ")
    let here = try replica.application.prepareRows("SELECT \(terms) FROM _flotilla_rows_t")
    var expected = try replica.application.prepareRows("SELECT \(terms) FROM t")
    if let shown = shape.shown {
      expected = try shown.flatMap {
        try replica.application.prepareRows("SELECT \(terms) FROM (SELECT \($0) AS k)")
      }
    }
    #expect(here.sorted() == expected.sorted())
    guard shape.shown == nil || shape.testDescription == "NOCASE" else { return }
    for join in ["JOIN", "LEFT JOIN"] {
      let both = try replica.value(
        "SELECT count(updated_at) FROM t \(join) _flotilla_rows_t USING(\(columns))")
      #expect(both.integer == Int64(shape.values.count))
    }
  }

  @Test(arguments: [
    "k INTEGER PRIMARY KEY", "k TEXT PRIMARY KEY", "k BLOB PRIMARY KEY", "k DATE PRIMARY KEY",
    "k REAL PRIMARY KEY", "k TEXT COLLATE NOCASE PRIMARY KEY", "k INT, b TEXT, PRIMARY KEY(k, b)",
    "k, b, c, d, e, f, g, h, PRIMARY KEY(k, b, c, d, e, f, g, h)",
  ])
  func `and SQLite finds a row by them without a scan for each`(_ definition: String) throws {
    let replica = try TestReplica(1, schema: "CREATE TABLE t(\(definition))", tracking: ["t"])
    let keys = try replica.application.prepareRows("SELECT name FROM pragma_table_info('t')")
      .joined(separator: ", ")
    for join in ["LEFT JOIN", "JOIN"] {
      let plan = try replica.application.rows(
        "EXPLAIN QUERY PLAN SELECT * FROM t \(join) _flotilla_rows_t USING(\(keys))"
      ).compactMap { $0[3].string }
      let isFast = plan.contains {
        $0.contains("SEARCH t ") || $0.contains("_flotilla_rows_t USING AUTOMATIC")
      }
      #expect(isFast, "\(plan)")
    }
  }

  @Test func `of a STRICT table, whatever it allows`() throws {
    let replica = try TestReplica(
      1,
      schema: """
        CREATE TABLE t(i INT, t TEXT, b BLOB, r REAL, a ANY, PRIMARY KEY(i, t, b, r, a)) STRICT;
        INSERT INTO t VALUES
          (-1, 'x', x'00', 0.5, '1'), (2, '', x'', 3, x'31'), (3, 'y', x'01', 1e9, 1);
        """, tracking: ["t"])
    let terms = ["i", "t", "b", "r", "a"].map { "quote(\($0))" }.joined(separator: " || ', ' || ")
    #expect(
      try replica.application.prepareRows("SELECT \(terms) FROM _flotilla_rows_t ORDER BY i")
        == replica.application.prepareRows("SELECT \(terms) FROM t ORDER BY i"))
  }
}
