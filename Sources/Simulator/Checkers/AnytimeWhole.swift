import SQLite

/// What one node has written in one transaction is seen whole by all, or not at all.
///
/// A node that wrote what it may not (`besides`) has its rows put back one by one.
enum AnytimeWhole {
  static func check(
    _ application: Application, besides own: UInt64?, _ history: inout History, at node: String
  ) throws {
    let torn = try application.texts(
      """
      SELECT node, count(*), group_concat(value) FROM \(Ledger.name)
      WHERE node IS NOT \(own.map { "\($0)" } ?? "NULL") GROUP BY node
      HAVING count(*) <> \(Ledger.slots) OR min(value) <> max(value)
      """)
    for group in torn where !history.isOfLiar(group) {
      history.blame("\(node) shows part of a transaction: \(group)")
    }
  }
}
