import Replication
import SQLite

/// One shape of table that schedules write to, and the random SQL for it.
struct ScheduleTable {
  let name: String
  let sql: String
  /// The key columns with the SQL literals that they may hold.
  let key: [(column: String, values: [String])]
  let collations: [KeyCollation]
  /// The other columns that can be written.
  let columns: [String]
  /// True if each replica inserts keys of its own, added to this many times its number.
  var hasRanges = false

  static let all: [ScheduleTable] = [
    ScheduleTable(
      name: "note", sql: "(id TEXT PRIMARY KEY NOT NULL, body TEXT, n INTEGER DEFAULT 5)",
      key: [("id", ["'a'", "'b'", "'c'", "'d'", "'é'", "''", "'1'"])], collations: [.binary],
      columns: ["body", "n"]),
    ScheduleTable(
      name: "item", sql: "(id INTEGER PRIMARY KEY, name TEXT, x REAL, b BLOB)",
      key: [("id", ["1", "2", "3", "4"])], collations: [.binary], columns: ["name", "x", "b"],
      hasRanges: true),
    ScheduleTable(
      name: "line",
      sql: "(note TEXT COLLATE RTRIM, a TEXT, p INTEGER, PRIMARY KEY(p, a))",
      key: [("p", ["1", "2", "-3"]), ("a", ["'x'", "'y'", "'Y'"])],
      collations: [.binary, .binary], columns: ["note"]),
    ScheduleTable(
      name: "pair", sql: "(k BLOB, v INTEGER, w NUMERIC, PRIMARY KEY(k, v)) WITHOUT ROWID",
      key: [("k", ["x'00'", "x''", "'t'", "1.5"]), ("v", ["1", "2"])],
      collations: [.binary, .binary], columns: ["w"]),
    ScheduleTable(
      name: "word", sql: "(w TEXT COLLATE NOCASE PRIMARY KEY NOT NULL, meaning)",
      key: [("w", ["'a'", "'A'", "'Bc'", "'bC'", "'ä'", "'Ä'"])], collations: [.nocase],
      columns: ["meaning"]),
    ScheduleTable(
      name: "trimmed",
      sql: "(w TEXT COLLATE RTRIM PRIMARY KEY NOT NULL, meaning TEXT DEFAULT 'x') WITHOUT ROWID",
      key: [("w", ["'a'", "'a '", "'a  '", "' a'", "'b'"])], collations: [.rtrim],
      columns: ["meaning"]),
    ScheduleTable(
      name: "tag", sql: "(t TEXT NOT NULL, u ANY NOT NULL, PRIMARY KEY(t, u)) WITHOUT ROWID",
      key: [("t", ["'r'", "'s'"]), ("u", ["1", "1.5", "'z'"])], collations: [.binary, .binary],
      columns: []),
    ScheduleTable(
      name: "calc",
      sql: """
        (id TEXT PRIMARY KEY NOT NULL, a INTEGER, b INTEGER DEFAULT 2,
        s AS (a + b) STORED, v TEXT AS (id || a))
        """,
      key: [("id", ["'k'", "'l'", "'m'", "'n'"])], collations: [.binary], columns: ["a", "b"]),
    ScheduleTable(
      name: "measure", sql: "(x REAL PRIMARY KEY NOT NULL, y REAL, z BLOB)",
      key: [("x", ["0.0", "-0.0", "1", "2.5", "9e999", "1e-320"])], collations: [.binary],
      columns: ["y", "z"]),
  ]

  /// Columns that migrations add, at different times on different replicas.
  static let additions = [
    "extra_a TEXT", "extra_b INTEGER DEFAULT 7", "extra_c TEXT NOT NULL DEFAULT 'c'",
  ]

  static let values = [
    "NULL", "0", "1", "2", "7", "5", "'c'", "9223372036854775807", "-9223372036854775808", "-0.0",
    "0.5", "1e-320", "-9e999", "'text'", "'x'", "''", "x''", "x'00ff'", "'12'",
    "CAST(x'610062' AS TEXT)", "CAST(x'ff6180' AS TEXT)", "zeroblob(300)",
  ]

  private func keyLiteral(_ index: Int, _ replica: Int, _ random: inout Seeded) -> String {
    let value = random.pick(key[index].values)
    guard hasRanges else { return value }
    // Rows of others may be edited or deleted, never inserted.
    return "\(value) + \(replica * 100)"
  }

  private func keyValues(_ replica: Int, _ random: inout Seeded) -> [String] {
    key.indices.map { keyLiteral($0, replica, &random) }
  }

  private func condition(_ replicas: Int, _ random: inout Seeded) -> String {
    let replica = random.below(replicas)
    return zip(key, keyValues(replica, &random)).map { "\($0.column) = \($1)" }
      .joined(separator: " AND ")
  }

  /// One random statement of an application at a replica.
  func statement(
    replica: Int, of replicas: Int, extra: [String], _ random: inout Seeded
  ) -> String {
    let others = columns + extra
    let assignments = others.filter { _ in random.chance(60) }
      .map { "\($0) = \(random.pick(Self.values))" }.joined(separator: ", ")
    let update = assignments.isEmpty ? nil : assignments
    switch random.below(12) {
    case 0...3: return insert("OR REPLACE", replica, others, &random)
    case 4: return insert("OR IGNORE", replica, others, &random)
    case 5:
      guard let update else { return insert("OR REPLACE", replica, others, &random) }
      return insert("", replica, others, &random) + " ON CONFLICT DO UPDATE SET " + update
    case 6, 7:
      guard let update else { return "DELETE FROM \(name) WHERE \(condition(replicas, &random))" }
      return "UPDATE OR IGNORE \(name) SET \(update) WHERE \(condition(replicas, &random))"
    case 8:
      guard let update else { return insert("OR IGNORE", replica, others, &random) }
      return "UPDATE OR IGNORE \(name) SET \(update)"
    case 9:
      let index = random.below(key.count)
      let value = keyLiteral(index, replica, &random)
      let resolution = random.pick(["OR REPLACE", "OR IGNORE"])
      let assignment = "\(key[index].column) = \(value)"
      return "UPDATE \(resolution) \(name) SET \(assignment) WHERE \(condition(replicas, &random))"
    case 10: return "DELETE FROM \(name) WHERE \(condition(replicas, &random))"
    default: return "DELETE FROM \(name) WHERE \(key[0].column) > \(random.pick(key[0].values))"
    }
  }

  private func insert(
    _ resolution: String, _ replica: Int, _ others: [String], _ random: inout Seeded
  ) -> String {
    let chosen = others.filter { _ in random.chance(80) }
    let names = (key.map(\.column) + chosen).joined(separator: ", ")
    var rows: [String] = []
    for _ in 0..<(random.chance(20) ? 3 : 1) {
      let values = keyValues(replica, &random) + chosen.map { _ in random.pick(Self.values) }
      rows.append("(" + values.joined(separator: ", ") + ")")
    }
    let into = resolution.isEmpty ? "INSERT INTO" : "INSERT \(resolution) INTO"
    // "WHERE true" in SELECT, or ON CONFLICT would be read as a join's ON; VALUES needs none.
    return "\(into) \(name)(\(names)) VALUES \(rows.joined(separator: ", "))"
  }
}
