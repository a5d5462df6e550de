import SQLite

/// What `PRAGMA quick_check` finds: pages that are damaged, or rows that break their table's rules.
///
/// The pragma tells of both alike. A row that breaks a CHECK was written while checks were off, or
/// before somebody changed the CHECK. A column that is computed is not looked at when the row is
/// written, and may have a value that is not of its type. The file of such a row is whole, and
/// nothing has to be recovered.
package struct QuickCheck {
  package private(set) var damage: String?
  /// A row that breaks a CHECK.
  package private(set) var breach: String?
  /// A value that its column cannot have.
  package private(set) var misfit: String?

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
    // Pages come first, so that no row hides them.
    for finding in try Self.findings(connection, table) {
      if finding.hasPrefix("CHECK constraint failed in ") {
        breach = breach ?? finding
      } else if Self.isOfValue(finding) {
        misfit = misfit ?? finding
      } else {
        damage = finding
        return
      }
    }
  }

  /// "NULL value in %s.%s", "non-%s value in %s.%s", "NUMERIC value in %s.%s", "TEXT value in
  /// %s.%s" (pragma.c).
  private static func isOfValue(_ finding: String) -> Bool {
    let name = finding.prefix { $0 != " " }
    guard finding.dropFirst(name.count).hasPrefix(" value in ") else { return false }
    return ["NULL", "NUMERIC", "TEXT"].contains(String(name)) || name.hasPrefix("non-")
  }

  /// The first hundred findings in the file, or in one table.
  private static func findings(
    _ connection: Connection, _ table: String?
  ) throws(SQLiteError) -> [String] {
    let what = table.map(literal) ?? "100"
    let said = try connection.rows("PRAGMA quick_check(\(what))").map {
      $0[0].string ?? "no answer"
    }
    return said == ["ok"] ? [] : said
  }
}
