import SQLite
import Store

/// Edits that this node may not make: what a program writes so is put back, seconds later.
extension Replica {
  /// Why what was written since would be put back; nil if it would not.
  func putBack(
    after last: Int64, on connection: Connection
  ) throws(SQLiteError) -> FlotillaError? {
    let tables = try connection.rows(
      """
      SELECT DISTINCT l.name FROM _flotilla_journal j JOIN _flotilla_local l ON l.id = j.tbl
      WHERE j.id > ?
      """, [.integer(last)]
    ).compactMap { $0[0].string }
    // It reads the file as it was before.
    guard !tables.isEmpty, let store = try? Store(path: sidecar.database, inspects: false),
      let table = store.refused(tables.map(store.tables.nameHere)).first
    else { return nil }
    let node = store.nodeName
    return FlotillaError(
      .notAllowed, "this node, \(node), may not write \(table); nothing was changed",
      remedy: "Let an admin allow it: flotilla grant DB \(shellWord(node)) \(shellWord(table)) "
        + "write")
  }
}
