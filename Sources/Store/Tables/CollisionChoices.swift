import SQLite

/// What the site has chosen for two rows of a table that get one key on two nodes (docs/keys.md).
///
/// A table of which nothing is said here goes by its foreign keys.
struct CollisionChoices {
  /// The replicated table of these choices: `tbl` → `rekey` or `log`.
  static let settings = "_flotilla_number"

  let connection: Connection

  /// By the table's name in small letters. A word that this version does not know says nothing.
  func read() throws(SQLiteError) -> [String: KeyHandling.Kind] {
    // A file of an older version, opened to look at it.
    guard try Layout.hasTable(Self.settings, on: connection) else { return [:] }
    var choices: [String: KeyHandling.Kind] = [:]
    // There may be any number of others.
    for row in try connection.rows(
      """
      SELECT s.tbl, s.on_collision FROM _flotilla_local AS l
      CROSS JOIN \(Self.settings) AS s ON s.tbl = l.name
      """)
    {
      guard let table = row[0].string, let kind = row[1].string.flatMap(KeyHandling.Kind.init),
        KeyHandling.Kind.choices.contains(kind)
      else { continue }
      choices[folded(table)] = kind
    }
    return choices
  }

  func read(_ table: String) throws(SQLiteError) -> KeyHandling.Kind? {
    try read()[folded(table)]
  }

  /// Nil takes back what was chosen; false if that is how it is already.
  func set(_ choice: KeyHandling.Kind?, of table: String) throws(SQLiteError) -> Bool {
    let changed =
      if let choice {
        try connection.run(
          """
          INSERT INTO \(Self.settings)(tbl, on_collision) VALUES (?1, ?2)
          ON CONFLICT DO UPDATE SET on_collision = ?2 WHERE on_collision <> ?2
          """, [.string(table), .string(choice.rawValue)])
      } else {
        try connection.run("DELETE FROM \(Self.settings) WHERE tbl = ?", [.string(table)])
      }
    return changed > 0
  }
}
