import Replication
import SQLite

/// A table whose key migrations change, at different times on different replicas.
///
/// Each node writes rows of its own alone, so that it is known which must stand in the end,
/// whatever other nodes have made of the rows that they had.
struct Charts {
  static let name = "chart"
  static let slots = 5
  /// The table after each migration.
  static let levels = [
    "(code INTEGER PRIMARY KEY, part TEXT NOT NULL DEFAULT 'p', value INTEGER)",
    "(code TEXT PRIMARY KEY NOT NULL, part TEXT NOT NULL DEFAULT 'p', value INTEGER)",
    "(code TEXT, part TEXT DEFAULT 'p', value INTEGER, PRIMARY KEY(part, code)) WITHOUT ROWID",
    "(code INTEGER, part TEXT DEFAULT 'p', value INTEGER, PRIMARY KEY(code, part))",
  ]

  static let table = ApplicationTable(
    name: name, sql: levels[0], key: [("code", [])], collations: [.binary], columns: ["value"])

  /// Whether a schedule has it: where somebody judges, or may not write, what must stand is not
  /// known so simply.
  static func isWanted(_ faults: Faults, _ plan: OfficePlan?, seed: UInt64) -> Bool {
    var random = Seeded(seed ^ 0x6B_6579_73)
    let alone: [Faults.Kind] = [.rights, .restore, .clone, .collection, .death]
    return faults[.migration] > 0 && plan == nil && alone.allSatisfy { faults[$0] == 0 }
      && random.chance(800)
  }

  let number: Int
  private(set) var level = 0
  /// Whether the table was the site's here at some time: before that nobody is told of it.
  private(set) var hasBegun = false
  /// What this node has committed, by the code of the row.
  private(set) var own: [Int64: Int64] = [:]
  private var random: Seeded

  init(number: Int, random: Seeded) { (self.number, self.random) = (number, random) }

  mutating func begin(_ isCaptured: Bool) { hasBegun = hasBegun || isCaptured }

  /// Perhaps a transaction of its own; nothing if somebody else is writing.
  mutating func write(on connection: Connection, _ story: inout Story) throws {
    guard hasBegun, random.chance(500) else { return }
    var (next, statements): ([Int64: Int64], [String]) = (own, [])
    for _ in 0...random.below(3) {
      let code = Int64(number * 100 + random.below(Self.slots))
      let value = Int64(random.below(1_000_000))
      switch random.below(4) {
      case 0:
        statements.append("DELETE FROM chart WHERE code = \(code)")
        next[code] = nil
      case 1:
        statements.append("UPDATE chart SET value = \(value) WHERE code = \(code)")
        if next[code] != nil { next[code] = value }
      default:
        statements.append("INSERT OR REPLACE INTO chart(code, value) VALUES (\(code), \(value))")
        next[code] = value
      }
    }
    guard try commit(statements, on: connection) else { return }
    own = next
    story.tell("node-\(number) writes: \(statements.joined(separator: "; "))")
  }

  /// Makes the table anew with the next key, or with that of a level.
  mutating func migrate(
    to wanted: Int? = nil, on connection: Connection, _ story: inout Story
  ) throws {
    let next = wanted ?? level + 1
    guard hasBegun || wanted != nil, next > level, next < Self.levels.count else { return }
    let isDone = try commit(
      [
        "CREATE TABLE fresh\(Self.levels[next])",
        "INSERT INTO fresh(code, part, value) SELECT code, part, value FROM chart",
        "DROP TABLE chart", "ALTER TABLE fresh RENAME TO chart",
      ], on: connection)
    guard isDone else { return }
    level = next
    story.tell("node-\(number) gives the chart its key \(next)")
  }

  private func commit(_ statements: [String], on connection: Connection) throws -> Bool {
    do {
      try connection.run("BEGIN IMMEDIATE")
    } catch {
      guard error.isBusy else { throw error }
      return false
    }
    do {
      for sql in statements { try connection.execute(sql) }
      try connection.run("COMMIT")
    } catch {
      connection.rollBack()
      throw error
    }
    return true
  }

  /// The machine has lost power, and perhaps what was committed last.
  mutating func readAgain(on connection: Connection) throws {
    own = try rows(on: connection).filter { Int($0.key) / 100 == number }
    let sql = try connection.scalar("SELECT sql FROM sqlite_schema WHERE name = 'chart'").string
    level = Self.levels.firstIndex { sql?.hasSuffix($0) == true } ?? level
  }

  /// What is not as this node has left it.
  func faults(on connection: Connection) throws -> [String] {
    let shown = try rows(on: connection).filter { Int($0.key) / 100 == number }
    return Set(shown.keys).union(own.keys).sorted().filter { shown[$0] != own[$0] }.map { code in
      let words = [own[code], shown[code]].map { value in value.map { "\($0)" } ?? "nothing" }
      return "row \(code) of the chart is \(words[1]), and was left as \(words[0])"
    }
  }

  /// Every row, by its code.
  func rows(on connection: Connection) throws -> [Int64: Int64] {
    let rows = try connection.rows("SELECT CAST(code AS INTEGER), value FROM chart")
    return Dictionary(
      rows.map { ($0[0].integer ?? -1, $0[1].integer ?? -1) }, uniquingKeysWith: { _, _ in -2 })
  }
}
