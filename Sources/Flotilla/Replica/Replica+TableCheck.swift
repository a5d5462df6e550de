import Replication
import SQLite
import Store

/// What a file must fulfil before it becomes a member.
extension Replica {
  /// So many tables are shown with their keys.
  private static let shownTables = 4

  /// Refuses a file with a table whose rows have another identity than the site's: neither side's
  /// rows could stand in the other's table.
  func refuseOtherKeys(_ objects: [SchemaObject]) throws(FlotillaError) {
    let different = try reporting(path) { () throws(StoreError) in
      try Store.keyDifferences(in: sidecar.database, from: objects)
    }
    guard let first = different.first else { return }
    let shown = different.prefix(Self.shownTables).map { difference in
      "table \(difference.table) has \(Self.short(difference.here)) here and "
        + "\(Self.short(difference.there)) at the site"
    }
    let rest = different.count - shown.count
    let more = rest > 0 ? "; and \(rest) more tables" : ""
    let rename =
      "ALTER TABLE \(quoted(first.table)) RENAME TO \(quoted(first.table + "_here"))"
    throw FlotillaError(
      .table,
      "the primary keys do not fit: \(shown.joined(separator: "; "))\(more); nothing was changed",
      remedy: "Make the key here like the site's, or put the table aside: sqlite3 "
        + "\(shellWord(path)) \(shellWord(rename)). Then join again; the same code can be used.")
  }

  private static func short(_ key: KeyDefinition) -> String {
    let text = key.description
    return text.count > 200 ? text.prefix(200) + "…" : text
  }
}
