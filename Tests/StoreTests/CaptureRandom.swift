import Foundation
import SQLite
import Testing

@testable import Store

/// Random tables and random statements; whatever a statement changes must be noted.
@Suite struct `Capture of random statements` {
  /// A failing seed is repeated by itself: FLOTILLA_SEED=n; more of them: FLOTILLA_SEEDS=n.
  static let seeds: [UInt64] = {
    let environment = ProcessInfo.processInfo.environment
    if let seed = environment["FLOTILLA_SEED"].flatMap(UInt64.init) { return [seed] }
    return Array(1...(environment["FLOTILLA_SEEDS"].flatMap(UInt64.init) ?? 40))
  }()

  @Test(arguments: seeds)
  func `no change goes unnoted`(seed: UInt64) throws {
    var grammar = RandomSQL(seed: seed)
    let setup = grammar.schema()
    let database: CapturedDatabase
    do {
      database = try CapturedDatabase(setup, tables: ["t", "c"])
    } catch {
      Issue.record("seed \(seed): \(error)\n\(setup)")
      return
    }
    var effective = 0
    var history: [String] = []
    for _ in 0..<300 {
      let sql = grammar.statement()
      history.append(sql)
      let story = history.suffix(12).joined(separator: ";\n")
      let comment: Comment = "seed \(seed)\n\(setup)\n\(story)"
      let changed = try database.check(comment) {
        do {
          try database.connection.execute(sql)
        } catch let error as SQLiteError {
          // 20: SQLITE_MISMATCH, a text as INTEGER PRIMARY KEY. Any other would be ours.
          #expect(error.isConstraint || error.primary == 20, "\(error) \(comment)")
        }
        database.connection.rollBack()
      }
      effective += changed.isEmpty ? 0 : 1
      if grammar.chance(10) { try Journal.deleteFrom(0, on: database.connection) }
    }
    #expect(
      effective >= 30, "seed \(seed): only \(effective) statements changed anything\n\(setup)")
  }
}

/// A small grammar of tables and statements, in a seeded order.
///
/// The values are few and look alike (1, 1.0, '1', 'a', 'A', 'a '), so that rows meet.
struct RandomSQL {
  private var state: UInt64
  private var columns: [String] = []
  private var key: [String] = []
  private var hasRowID = true
  private var targets: [String] = []

  init(seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 }

  /// SplitMix64.
  private mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }

  mutating func chance(_ percent: UInt64) -> Bool { next() % 100 < percent }
  private mutating func pick<T>(_ items: [T]) -> T { items[Int(next() % UInt64(items.count))] }

  private mutating func collation() -> String {
    pick(["", "", "", " COLLATE NOCASE", " COLLATE RTRIM", " COLLATE BINARY"])
  }

  mutating func value() -> String {
    pick([
      "NULL", "0", "1", "2", "3", "4", "-1", "1.0", "1.5", "'1'", "'1.0'", "'a'", "'A'", "'a '",
      "'b'", "''", "x'61'", "x''", "'B '", "5", "6", "7",
    ])
  }

  private mutating func column(_ name: String) -> String {
    var text = name + pick(["", " INT", " TEXT", " REAL", " NUMERIC", " BLOB", " TEXT"])
    text += collation()
    if chance(35) {
      text += " NOT NULL"
      if chance(20) { text += " ON CONFLICT REPLACE" }
      if chance(85) {
        text +=
          " DEFAULT " + pick(["'a'", "1", "5", "'1'", "2.0", "(abs(-1))", "x'61'", "(1 + 1)"])
      }
    }
    if chance(25) { text += " UNIQUE" + (chance(25) ? " ON CONFLICT REPLACE" : "") }
    return text
  }

  private mutating func expression(_ names: [String]) -> String {
    let (a, b) = (pick(names), pick(names))
    return pick([
      "lower(\(a))", "\(a) || \(b)", "\(a) < '1'", "\(a) = \(b)", "abs(\(a))",
      "typeof(\(a)) || \(b)",
      "coalesce(\(a), 'z')", "\(a) % 3", "\(a) = 'A'", "length(\(a)) + 1",
      "\(a) > 1 COLLATE NOCASE",
      "CASE WHEN \(a) = 'a' THEN \(b) END",
    ])
  }

  mutating func schema() -> String {
    let keyKind = pick(["integer", "text", "nocase", "any", "composite", "real", "default"])
    var definitions: [String] = []
    switch keyKind {
    case "integer": definitions = ["id INTEGER PRIMARY KEY"]
    case "text": definitions = ["id TEXT PRIMARY KEY"]
    case "nocase": definitions = ["id TEXT COLLATE NOCASE PRIMARY KEY"]
    case "any": definitions = ["id PRIMARY KEY"]
    case "real": definitions = ["id REAL PRIMARY KEY"]
    case "default": definitions = ["id TEXT NOT NULL DEFAULT 'd' PRIMARY KEY"]
    default: definitions = ["id TEXT", "id2 INT" + collation()]
    }
    key = keyKind == "composite" ? ["id2", "id"] : ["id"]
    columns = keyKind == "composite" ? ["id", "id2"] : ["id"]
    for index in 0..<Int(2 + next() % 4) {
      definitions.append(column("c\(index)"))
      columns.append("c\(index)")
    }
    var names = columns
    if chance(50) {
      definitions.append("g\(collation()) AS (\(expression(names)))\(chance(50) ? " STORED" : "")")
      names.append("g")
      if chance(40) { definitions.append("h TEXT AS (\(expression(names)))") }
      if chance(40) { definitions.append("UNIQUE (g, \(pick(columns)))") }
    }
    if keyKind == "composite" { definitions.append("PRIMARY KEY (id2, id\(collation()))") }
    if chance(30) { definitions.append("UNIQUE (\(pick(columns)), \(pick(columns)))") }
    hasRowID = !chance(30)
    var sql = "CREATE TABLE t(\(definitions.joined(separator: ", ")))"
    sql += hasRowID ? ";\n" : " WITHOUT ROWID;\n"
    for index in 0..<Int(next() % 4) {
      let first = chance(50) ? pick(names) : "(\(expression(names)))"
      let rest = chance(30) ? ", " + pick(names) : ""
      let condition = chance(40) ? " WHERE " + expression(names) : ""
      let term = first + collation() + (chance(20) ? " DESC" : "")
      sql += "CREATE UNIQUE INDEX i\(index) ON t(\(term)\(rest))\(condition);\n"
    }
    if chance(30) {
      let (a, b) = (pick(columns), pick(columns))
      let condition = pick(["json_valid(\(a))", "json_valid(\(a)) AND \(b) <> 'b'"])
      sql += "CREATE UNIQUE INDEX j ON t(json(\(a)), \(b)) WHERE \(condition);\n"
    }
    return sql + child(keyKind)
  }

  private mutating func child(_ keyKind: String) -> String {
    let actions = ["CASCADE", "SET NULL", "NO ACTION", "SET DEFAULT"]
    let reference =
      keyKind == "composite"
      ? "" : " REFERENCES t ON DELETE \(pick(actions)) ON UPDATE \(pick(actions))"
    let collation = keyKind == "nocase" ? " COLLATE NOCASE" : ""
    return """
      CREATE TABLE c(k INTEGER PRIMARY KEY, p\(collation)\(reference));
      CREATE TRIGGER x AFTER UPDATE ON t WHEN NEW.\(pick(columns)) = 'b' BEGIN
        INSERT OR IGNORE INTO c(p) VALUES (NEW.id); DELETE FROM t WHERE id = 'B'; END;
      """
  }

  private mutating func row(_ names: [String]) -> String {
    "(" + names.map { _ in value() }.joined(separator: ", ") + ")"
  }

  mutating func statement() -> String {
    let or = pick(["", "", " OR REPLACE", " OR REPLACE", " OR IGNORE", " OR FAIL", " OR ROLLBACK"])
    var names = columns.filter { _ in chance(80) }
    if names.isEmpty { names = columns }
    let (a, b) = (pick(columns), pick(columns))
    switch next() % 20 {
    case 0...6:
      if hasRowID, chance(15) { names.append("rowid") }
      let rows = (0..<Int(1 + next() % 3)).map { _ in row(names) }.joined(separator: ", ")
      return "INSERT\(or) INTO t(\(names.joined(separator: ", "))) VALUES \(rows)"
    case 7: return "REPLACE INTO t(\(columns.joined(separator: ", "))) VALUES \(row(columns))"
    case 8:
      return "INSERT INTO t(\(names.joined(separator: ", "))) VALUES \(row(names)) "
        + "ON CONFLICT (\(key.joined(separator: ", "))) DO UPDATE SET \(a) = \(value())"
    case 9: return "INSERT\(or) INTO t(\(a)) SELECT \(b) FROM t LIMIT 3"
    case 10...12: return "UPDATE\(or) t SET \(a) = \(value()) WHERE \(b) = \(value())"
    case 13: return "UPDATE\(or) t SET \(a) = \(b), \(pick(columns)) = \(value())"
    case 14:
      let target = hasRowID && chance(40) ? "rowid" : key[0]
      return "UPDATE\(or) t SET \(target) = \(value()) WHERE \(a) = \(value())"
    case 15: return "DELETE FROM t WHERE \(a) = \(value())"
    case 16: return chance(20) ? "DELETE FROM t" : "DELETE FROM t WHERE \(a) IS NULL"
    case 17:
      return "INSERT\(or) INTO c(p) SELECT id FROM t LIMIT 2; UPDATE c SET p = \(value())"
    case 18:
      let flag = pick(["recursive_triggers", "foreign_keys"])
      return "PRAGMA \(flag) = \(pick(["ON", "OFF"]))"
    default:
      return "BEGIN; \(statementInside()); SAVEPOINT s; \(statementInside()); "
        + pick(["ROLLBACK TO s; COMMIT", "RELEASE s; COMMIT", "ROLLBACK"])
    }
  }

  private mutating func statementInside() -> String {
    "INSERT OR REPLACE INTO t(\(columns.joined(separator: ", "))) VALUES \(row(columns))"
  }
}
