import SQLite

/// What `PRAGMA quick_check` finds: pages that are damaged, or rows that break a CHECK.
///
/// The pragma tells of both alike. A row that breaks one was written while checks were off, or
/// before somebody changed the CHECK: its file is whole, and nothing has to be recovered.
package struct QuickCheck {
  package private(set) var damage: String?
  package private(set) var breach: String?

  package init(_ connection: Connection) throws(SQLiteError) {
    do {
      try look(connection)
    } catch {
      guard error.isOfProgram else { throw error }
      // One table that only its program can read must not hide the others.
      for name in try connection.rows(
        "SELECT name FROM main.sqlite_schema WHERE type = 'table' AND rootpage > 0"
      ).compactMap({ $0[0].string }) where damage == nil {
        do {
          try look(connection, at: name)
        } catch {
          guard error.isOfProgram else { throw error }
        }
      }
    }
  }

  private mutating func look(
    _ connection: Connection, at table: String? = nil
  ) throws(SQLiteError) {
    damage = try Self.finding(connection, table)
    guard let damage, damage.hasPrefix("CHECK constraint failed in ") else { return }
    breach = damage
    // The first finding hides those after it.
    try connection.execute("PRAGMA ignore_check_constraints = ON")
    defer { try? connection.execute("PRAGMA ignore_check_constraints = OFF") }
    self.damage = try Self.finding(connection, table)
  }

  /// The first finding in the file, or in one table; nil if all is well.
  private static func finding(
    _ connection: Connection, _ table: String?
  ) throws(SQLiteError) -> String? {
    let what = table.map(literal) ?? "1"
    let said = try connection.scalar("PRAGMA quick_check(\(what))").string ?? "no answer"
    return said == "ok" ? nil : said
  }
}
