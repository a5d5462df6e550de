import SQLite

/// Which comparisons are due, as the file says.
extension Tables {
  /// The tables that are here and yet to be compared, also those that are set aside as damaged.
  func uncompared() throws(SQLiteError) -> Set<Int64> {
    let ids = try connection.integers("SELECT id FROM _flotilla_local WHERE comparing IS NOT NULL")
    return Set(ids.filter { byID[$0]?.isHere == true })
  }

  /// The comparison that is due next, or nil: a damaged table is set aside for some minutes.
  func comparing() throws(SQLiteError) -> Store.Comparison? {
    let text = "SELECT id, comparing FROM _flotilla_local WHERE comparing IS NOT NULL ORDER BY id"
    return try connection.with(text) { (statement) throws(SQLiteError) in
      while try statement.step() {
        let row = statement.row
        guard let id = row[0].integer, let bytes = row[1].blob, byID[id]?.isHere == true,
          damaged[id] == nil
        else { continue }
        return Store.Comparison(table: id, bytes)
      }
      return nil
    }
  }

  /// That of one table, or nil.
  func comparison(of table: Int64) throws(SQLiteError) -> Store.Comparison? {
    try connection.scalar(
      "SELECT comparing FROM _flotilla_local WHERE id = ?", [.integer(table)]
    ).blob.flatMap { Store.Comparison(table: table, $0) }
  }
}
