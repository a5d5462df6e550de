import SQLite

/// What one node has written in one transaction is seen whole by all, or not at all.
enum AnytimeWhole {
  static func check(
    _ application: Application, _ history: inout History, at node: String
  ) throws {
    let torn = try application.texts(
      """
      SELECT node, count(*), group_concat(value) FROM \(Ledger.name) GROUP BY node
      HAVING count(*) <> \(Ledger.slots) OR min(value) <> max(value)
      """)
    for group in torn { history.blame("\(node) shows part of a transaction: \(group)") }
  }
}
