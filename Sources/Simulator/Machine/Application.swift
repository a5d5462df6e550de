import Replication
import SQLite

/// The program that uses a replica with plain SQL and knows nothing of Flotilla.
final class Application {
  let connection: Connection
  // After the connection: it is let go in this order.
  private let process: DiskProcess
  let tables: [ApplicationTable]
  let number: Int
  let count: Int
  let names: RowNames
  /// Columns that migrations have added here, per table.
  var extra: [String: [String]] = [:]
  /// Tables that the application has dropped, or given another name.
  var dropped: Set<String> = []
  var renamed: Set<String> = []
  /// How often it writes into the table whose values all claim, in a thousand; 0 if each node has
  /// values of its own.
  var claims = 0
  /// How often it gives the value of a parked row to a row that it makes, in a thousand.
  var swaps = 0
  /// How often rows come and go at once in the tables that were made again, in a thousand.
  var passing = 0
  var madeAgain: Set<String> = []
  /// Its file was copied or put back: badges are not its own any more, for two of it may claim one.
  var sharesBadges = false
  /// The tables with triggers of Flotilla's, and the version of the schema that has them.
  var captured: (version: Int64, tables: Set<String>)?

  init(
    on disk: Disk, tables: [ApplicationTable], number: Int, of count: Int, names: RowNames,
    random: Seeded, going program: IdlePrograms.Program? = nil
  ) throws {
    program?.process.move(to: disk, random: random)
    self.process = program?.process ?? DiskProcess(on: disk, random: random)
    self.connection =
      try program?.connection ?? Connection(path: StoreReplica.path, vfs: process.name)
    self.tables = tables
    self.number = number
    self.count = count
    self.names = names
  }

  func setClock(_ wall: Int64) { process.wall = wall }

  /// The machine has lost power: the program starts anew.
  func restart(on disk: Disk, random: Seeded) throws -> Application {
    let next = try Application(
      on: disk, tables: tables, number: number, of: count, names: names, random: random)
    (next.extra, next.dropped, next.renamed) = (extra, dropped, renamed)
    (next.madeAgain, next.passing) = (madeAgain, passing)
    (next.sharesBadges, next.claims, next.swaps) = (sharesBadges, claims, swaps)
    return next
  }

  func die() { process.die() }

  var program: IdlePrograms.Program { .init(connection: connection, process: process) }

  /// The names of the columns that migrations have added to a table here.
  func added(to table: ApplicationTable) -> [String] {
    (extra[table.name] ?? []).map { String($0.prefix { $0 != " " }) }
  }

  /// A transaction of a few random statements on tracked tables; false if somebody else is
  /// writing, or there is nothing to write to.
  func write(_ random: inout Seeded, _ story: inout Story) throws -> Bool {
    let captured = try capturedTables()
    let tables = tables.filter { $0.isWrittenByAll && captured.contains($0.name) }
    guard !tables.isEmpty else { return false }
    var statements: [String] = []
    for _ in 0..<(random.chance(200) ? 5 : 1 + random.below(2)) {
      let table = random.pick(tables)
      statements.append(
        table.statement(replica: number, of: count, extra: added(to: table), &random))
    }
    let anew = tables.filter { madeAgain.contains($0.name) }
    if passing > 0, !anew.isEmpty, random.chance(passing) {
      for _ in 0...random.below(3) {
        statements += random.pick(anew).passing(replica: number, &random)
      }
    }
    if random.chance(300), captured.contains(Ledger.name) {
      statements += Ledger.statements(node: number, value: random.below(1_000))
    }
    if random.chance(claims > 0 ? claims : 200), !sharesBadges, captured.contains(Badges.name) {
      let parked = claims > 0 ? try parkedRows() : []
      for _ in 0...random.below(3) {
        statements +=
          claims > 0
          ? Badges.claim(node: number, of: count, beside: parked, &random)
          : [Badges.statement(node: number, &random)]
      }
      if swaps > 0, random.chance(swaps) {
        statements += Badges.swap(node: number, beside: parked, &random)
      }
    }
    return try commit(statements, &story)
  }

  /// Commits statements; what a constraint forbids has no effect.
  private func commit(_ statements: [String], _ story: inout Story) throws -> Bool {
    do {
      try connection.run("BEGIN IMMEDIATE")
    } catch {
      guard error.isBusy else { throw error }
      return false
    }
    for sql in statements {
      do {
        try connection.execute(sql)
      } catch {
        guard error.refusesRow else { throw error }
      }
    }
    try connection.run("COMMIT")
    story.tell("node-\(number) writes: \(statements.joined(separator: "; "))")
    return true
  }
}

/// A table with one group of rows per node, which only that node writes, all in one transaction.
/// STRICT, as one of the tables should be; and the view of its rows is shorter then.
enum Ledger {
  static let name = "ledger"
  static let slots = 3
  static let columns = "(node INTEGER, slot INTEGER, value INTEGER, PRIMARY KEY(node, slot)) STRICT"

  static func statements(node: Int, value: Int) -> [String] {
    let rows = (0..<slots).map { "(\(node), \($0), \(value))" }.joined(separator: ", ")
    return ["INSERT OR REPLACE INTO ledger VALUES \(rows)"]
  }
}
