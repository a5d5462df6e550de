import Glibc
import Replication
import SQLite
import Store

/// One trial of a scenario: what runs, and what applications were told is committed.
final class Errand {
  let desk: Desk
  private(set) var victim: Program?
  private var deed: Deed?
  private var first: Program?
  private var second: Program?
  private static let ports = (first: 7_171, second: 7_172)
  /// The rows of t that must stand in the end.
  private var ledger: [String: Int] = [:]
  private var edits = 0
  var told = Told()
  private var migrations = 0

  init(_ desk: Desk) {
    self.desk = desk
    for index in 0..<20 { ledger["k\(index)"] = index }
  }

  static let schema = """
    CREATE TABLE t(id TEXT PRIMARY KEY NOT NULL, v INTEGER UNIQUE);
    CREATE TABLE u(a INTEGER, b TEXT, w BLOB, PRIMARY KEY(a, b));
    CREATE INDEX u_w ON u(w);
    WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 19)
    INSERT INTO t SELECT 'k' || i, i FROM n;
    INSERT INTO u SELECT v, id, zeroblob(v) FROM t;
    """

  var firstAddress: String { "\(desk.host):\(Self.ports.first)" }
  var firstWords: [String] { desk.node("a.db", port: Self.ports.first) }
  var secondWords: [String] { desk.node("b.db", port: Self.ports.second, peer: Self.ports.first) }

  /// Runs the victim and what happens beside it; gives how it ended.
  func cut(
    _ scenario: Scenario, at call: Int, _ deed: Deed?, _ record: String
  ) throws -> Child.Ending {
    let words = try scenario.prepare(self)
    let victim = try desk.startVictim(words, by: scenario.program, at: call, deed, record)
    self.victim = victim
    self.deed = deed
    try scenario.during(self)
    // A lasting node is asked to end; that, too, is cut.
    if scenario.isLasting { return victim.stop() }
    return victim.wait()
  }

  func stopAll() throws {
    try Self.stop(first)
    first = nil
    try stopSecond()
  }

  func stopSecond() throws {
    try Self.stop(second)
    second = nil
  }

  private static func stop(_ node: Program?) throws {
    guard let node else { return }
    let ending = node.stop()
    guard ending == .ended(0) else {
      throw CrashFailure("a node ended with \(ending): \(node.text.suffix(300))")
    }
  }

  // MARK: Nodes

  func startFirst() throws {
    if first == nil { first = try desk.startNode("a.db", port: Self.ports.first) }
  }

  func startSecond() throws {
    if second?.hasEnded() != false {
      second = try desk.startNode("b.db", port: Self.ports.second, peer: Self.ports.first)
    }
  }

  func startBoth() throws {
    try startFirst()
    try startSecond()
  }

  func invite() throws -> String {
    let words = try desk.flotilla("invite", "a.db")
    guard let code = words.split(separator: "\n").first(where: { $0.contains("-") }) else {
      throw CrashFailure("no code: \(words)")
    }
    return String(code)
  }

  /// Makes b.db a replica of a.db, unless it is one.
  func joinSecond() throws {
    try startFirst()
    if try !desk.isReplica("b.db") {
      try desk.flotilla("join", "b.db", invite(), "--at", firstAddress, "--name", "b")
    }
    try startSecond()
    try editBoth()
    try awaitEqual()
    let (one, two) = (try desk.content("a.db"), try desk.content("b.db"))
    if let difference = one.difference(from: two) {
      throw CrashFailure("after a join: \(difference)")
    }
  }

  // MARK: Applications

  /// A few edits of an application at each file, all of which commit.
  func editBoth() throws {
    for name in ["a.db", "b.db"] { try edit(name) }
  }

  private func edit(_ name: String) throws {
    edits += 1
    let (key, number) = ("\(name.prefix(1))\(edits)", 1_000 + edits)
    var sql = "INSERT INTO t VALUES ('\(key)', \(number));"
    var after = ledger
    after[key] = number
    let older = "\(name.prefix(1))\(edits - 2)"
    if let value = ledger[older] {
      if edits % 3 == 0 {
        sql += "DELETE FROM t WHERE id = '\(older)';"
        after[older] = nil
      } else {
        sql += "UPDATE t SET id = 'n' || id, v = v + 5000 WHERE id = '\(older)';"
        after[older] = nil
        after["n\(older)"] = value + 5_000
      }
    }
    sql += "REPLACE INTO u(a, b, w) VALUES (\(edits % 5), 'x', 'edit \(edits)');"
    try desk.write(name, sql)
    ledger = after
  }

  /// A second file with rows of its own before it joins: those with the site's keys give way.
  func giveSecondRows() throws {
    try desk.write("b.db", Self.schema)
    try desk.write(
      "b.db",
      """
      UPDATE t SET v = v + 100; DELETE FROM t WHERE v > 110;
      INSERT INTO t VALUES ('own1', 501), ('own2', 502);
      """)
    (ledger["own1"], ledger["own2"]) = (501, 502)
  }

  /// Edits at both files while the victim works, until it is dead or they are done.
  func editBesideVictim(_ name: String) throws {
    guard let victim, desk.serves(victim) else { return }
    for _ in 0..<6 where !victim.hasEnded() {
      try editBoth()
      usleep(25_000)
    }
    try awaitEqualBeside(victim)
  }

  /// A column more and a table made anew, while the node of b.db works.
  func migrateBesideVictim() throws {
    guard let victim, desk.serves(victim) else { return }
    for step in 0..<4 where !victim.hasEnded() {
      try migrate(step)
      try editBoth()
      usleep(25_000)
    }
    try awaitEqualBeside(victim)
  }

  private func migrate(_ step: Int) throws {
    guard step == migrations else { return }
    switch step {
    case 0: try desk.write("b.db", "ALTER TABLE u ADD COLUMN extra TEXT DEFAULT 'e'")
    case 1: try desk.write("a.db", "ALTER TABLE u ADD COLUMN extra TEXT DEFAULT 'e'")
    case 2:
      try desk.write(
        "b.db",
        """
        CREATE TABLE fresh(id TEXT PRIMARY KEY NOT NULL, v INTEGER UNIQUE);
        INSERT INTO fresh SELECT id, v FROM t; DROP TABLE t; ALTER TABLE fresh RENAME TO t;
        INSERT INTO t VALUES ('in the migration', -1);
        """)
      ledger["in the migration"] = -1
    default: try desk.write("b.db", "UPDATE u SET extra = 'set' WHERE a < 3")
    }
    migrations += 1
  }

  func finishMigration() throws {
    while migrations < 4 { try migrate(migrations) }
  }

  // MARK: Judgement

  func isTracked(_ table: String, _ name: String) throws -> Bool {
    let connection = try Connection(path: desk.path(name))
    connection.setBusyTimeout(milliseconds: 5_000)
    return try connection.row(
      "SELECT 1 FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = ?", [.string(table)])
      != nil
  }

  private func isEqual() throws -> Bool {
    let (one, two) = (try desk.content("a.db"), try desk.content("b.db"))
    return try one.rows["t"] == two.rows["t"]
      && (one.rows["u"] == two.rows["u"] || !isTracked("u", "a.db"))
  }

  var isFaultLasting: Bool { deed == .errors || deed == .full }

  /// A fault that passes is got over without a restart; of others nothing is expected yet.
  private func awaitEqualBeside(_ victim: Program) throws {
    let isPassing = deed == .errorOnce || deed == .fullOnce
    let isDone = try eventually(within: isPassing ? 20_000 : 1_500) {
      try victim.hasEnded() || isEqual()
    }
    guard isDone || !isPassing else {
      throw CrashFailure("the node did not get over one fault: \(victim.text.suffix(400))")
    }
  }

  func awaitEqual() throws {
    guard try eventually(within: 30_000, { try isEqual() }) else {
      let (one, two) = (try desk.content("a.db"), try desk.content("b.db"))
      throw CrashFailure("they stay different: \(one.difference(from: two) ?? "")")
    }
  }

  /// Both files are sound and hold all that was committed; the nodes have ended.
  func judge() throws {
    for name in ["a.db", "b.db"] {
      let connection = try Connection(path: desk.path(name))
      for row in try connection.rows("PRAGMA integrity_check") where row[0].string != "ok" {
        throw CrashFailure("\(name): integrity_check: \(row[0].string ?? "")")
      }
      let wanted = ledger.map { "id='\($0.key)' v=\($0.value)" }.sorted()
      let rows = try desk.content(name).rows["t"] ?? []
      guard rows == wanted else {
        let (lost, made) = (Set(wanted).subtracting(rows), Set(rows).subtracting(wanted))
        throw CrashFailure("\(name): lost \(lost.sorted()), made up \(made.sorted())")
      }
      try Settlement.checkBooks(Store(path: desk.path(name)), name)
    }
  }
}
