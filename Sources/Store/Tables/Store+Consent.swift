import Replication
import SQLite

/// Which tables of this file may be replicated: a name alone is no consent.
///
/// A table with rows that was here before somebody else tracked one of its name is held back: no
/// row of it is sent, none is changed, and what others send for it waits on the shelf. So it is
/// until somebody at this machine says what it is.
extension Store {
  /// The word of this machine that a table of its is the site's.
  ///
  /// The site has had it for a while, so the rows that are here rank below what the site holds.
  func consent(to name: String) throws {
    let wasHeldBack = try tables.choices.withheld().contains(folded(name))
    // That it was tracked before is of use once it is.
    if try tables.choices[name] != .ended { try tables.choices.remove(name) }
    guard wasHeldBack, let table = tables.table(name), table.isTracked else { return }
    try tables.setBaseline(true, of: table.id)
    try renewSchema()
    if let table = tables.byID[table.id] { try removeDeleted(table) }
  }

  /// Rows that the site has deleted while the table was held back go, and are kept in the log: the
  /// comparison would take them for new ones.
  private func removeDeleted(_ table: ReplicaTable) throws {
    guard let statements = table.statements else { return }
    let keys = try connection.rows(
      "SELECT key FROM _flotilla_version WHERE tbl = ? AND hash IS NULL", [.integer(table.id)]
    ).compactMap { $0[0].blob.map(Key.init) }
    var gone: [Export.RowID] = []
    for key in keys {
      let values = (key.values ?? []).map(\.sqlite)
      guard let row = try connection.row(statements.selectByKey, values),
        let version = try versions.version(table: table.id, key: key)
      else { continue }
      try contents.logUnseen(
        row, statements, table, key, by: table.shaped(version, nil, key).entry,
        at: version.stamp.millisecondsSince1970)
      try settlement.noteReferred(table, key)
      _ = try contents.writing(table, key) { () throws(SQLiteError) in
        try connection.run(statements.deleteByKey, values)
      }
      gone.append(Export.RowID(table: table.id, key: key))
    }
    try settlement.parkChildren(of: gone)
  }

  /// The same for tables that the site tracks already: nothing changes for the others.
  package func admit(_ names: [String], at now: Instant) throws(StoreError) {
    _ = try foldWritten(at: now)
    try transaction {
      for name in names { try consent(to: tables.siteName(name)) }
    }
  }

  /// Says that a table of this file is not the one that the site tracks under its name.
  package func decline(_ names: [String]) throws(StoreError) {
    try transaction {
      for name in names { try tables.choices.set(.declined, for: tables.siteName(name)) }
      try tables.reload()
    }
  }
}
