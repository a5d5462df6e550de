import Replication
import SQLite

/// A rule that changes while edits are on their way.
extension Verdicts {
  /// Who hears that the rule of a table is another one cannot always tell by which of the two an
  /// edit was judged whose verdict is not here yet. If the anchor rejects it its word says so.
  func whileRulesMayChange(_ body: () throws -> Void) throws {
    let before = try rulesByTable()
    try body()
    for (name, rule) in try rulesByTable() where before[name].map({ $0 != rule }) ?? false {
      try connection.run(
        "UPDATE _flotilla_verdict SET rule = ? WHERE verdict IS NULL AND name = ?",
        [.string(Self.unknownRule), .string(name)])
    }
  }

  /// In the place of a rule: it changed before the verdict was here.
  static let unknownRule = ""

  /// Whether the rule that acts now was there when an edit was accepted: the anchor counts what it
  /// certifies.
  func isJudgedByActingRule(
    _ edit: Dot, _ table: ReplicaTable, _ key: Key
  ) throws(SQLiteError) -> Bool {
    guard let settings = tables.table(Tables.settings),
      let name = settings.key([.text(Array(table.name.utf8))]),
      let setting = try versions.version(table: settings.id, key: name),
      let standing = try versions.version(table: table.id, key: key)
    else { return false }
    return standing.edit == edit && !standing.isTentative
      && setting.dot.origin == standing.dot.origin && setting.dot < standing.dot
  }

  private func rulesByTable() throws(SQLiteError) -> [String: String] {
    // There may be any number of others.
    let rows = try connection.rows(
      """
      SELECT s.name, s.rule FROM _flotilla_local AS l
      CROSS JOIN _flotilla_table AS s ON s.name = l.name
      """)
    return Dictionary(
      rows.map { ($0[0].string ?? "", Store.ruleName($0[1].string)) }, uniquingKeysWith: { $1 })
  }
}
