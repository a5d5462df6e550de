import SQLite

/// What `PRAGMA quick_check` finds: pages that are damaged, or rows that break a CHECK.
///
/// The pragma tells of both alike. A row that breaks one was written while checks were off, or
/// before somebody changed the CHECK: its file is whole, and nothing has to be recovered.
package struct QuickCheck {
  package private(set) var damage: String?
  package private(set) var breach: String?

  package init(_ connection: Connection) throws(SQLiteError) {
    let finding = try Self.finding(connection)
    damage = finding
    guard let finding, finding.hasPrefix("CHECK constraint failed in ") else { return }
    breach = finding
    // The first finding hides those after it.
    try connection.execute("PRAGMA ignore_check_constraints = ON")
    defer { try? connection.execute("PRAGMA ignore_check_constraints = OFF") }
    damage = try Self.finding(connection)
  }

  private static func finding(_ connection: Connection) throws(SQLiteError) -> String? {
    let said = try connection.scalar("PRAGMA quick_check(1)").string ?? "no answer"
    return said == "ok" ? nil : said
  }
}
