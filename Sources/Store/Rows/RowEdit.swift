import Replication
import SQLite

/// Who made the edit of a row that stands, and when: what the view of its table says of all rows.
package struct RowEdit: Sendable, Equatable {
  /// The name of the node; nil if nobody here knows it.
  package var author: String?
  /// In the time of the site; nil if the row was there before its table became the site's.
  package var at: Stamp?

  /// Nil if nothing is known of such a row: it is not there, or was not looked at yet.
  package static func read(
    _ table: String, _ key: [SQLite.Value], on connection: Connection
  ) throws(StoreError) -> RowEdit? {
    guard let schema = try TableSchema.read(table, on: connection),
      let id = try reporting({ () throws(SQLiteError) in
        try Journal.id(borneBy: schema.name, on: connection)
      }),
      let key = Key(key.map(Replication.Value.init), collations: schema.collations)
    else { return nil }
    let row = try reporting { () throws(SQLiteError) in
      try connection.row(sql, [.integer(id), .blob(key.bytes)])
    }
    guard let row else { return nil }
    let stamp = Stamp(clamping: row[1].integer ?? 0)
    let isDated = stamp.millisecondsSince1970 > Stamp.zero.millisecondsSince1970
    return RowEdit(author: row[0].string, at: isDated ? stamp : nil)
  }

  private static let sql = """
    SELECT a.name, v.stamp FROM main._flotilla_version AS v
    LEFT JOIN main._flotilla_origin AS o ON o.id = coalesce(v.author, v.origin)
    LEFT JOIN main._flotilla_author AS a ON a.origin = o.origin
    WHERE v.tbl = ? AND v.key = ? AND v.hash IS NOT NULL
    """
}
