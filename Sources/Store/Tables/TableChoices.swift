import SQLite

/// What was said at this machine, or is still to be asked, about tables that are not replicated.
///
/// A table that is replicated here has no entry. An entry is about a name, and outlasts the table:
/// a program may drop a table for a moment to make it anew.
struct TableChoices {
  enum Choice: String {
    /// It was here when the site began to take in new tables by itself.
    case apart
    /// It was replicated here until the site stopped tracking it.
    case ended
    /// The site tracks a table of that name, and nobody here has said that this one is meant.
    case asked
    /// Somebody here has said that it is not.
    case declined
  }

  let connection: Connection

  subscript(name: String) -> Choice? {
    get throws(SQLiteError) {
      guard try isPresent else { return nil }
      return try connection.scalar(
        "SELECT choice FROM _flotilla_choice WHERE name = ?", [.string(name)]
      ).string.flatMap(Choice.init)
    }
  }

  /// All of them, by the name as it is compared.
  func all() throws(SQLiteError) -> [String: Choice] {
    guard try isPresent else { return [:] }
    var found: [String: Choice] = [:]
    for row in try connection.rows("SELECT name, choice FROM _flotilla_choice") {
      found[folded(row[0].string ?? "")] = row[1].string.flatMap(Choice.init)
    }
    return found
  }

  /// The tables of which nothing is sent and in which nothing is changed, whatever the site tracks.
  func withheld() throws(SQLiteError) -> Set<String> {
    Set(try all().filter { $0.value == .asked || $0.value == .declined }.keys)
  }

  func set(_ choice: Choice, for name: String) throws(SQLiteError) {
    try connection.run(
      "INSERT OR REPLACE INTO _flotilla_choice(name, choice) VALUES (?, ?)",
      [.string(name), .string(choice.rawValue)])
  }

  func remove(_ name: String) throws(SQLiteError) {
    try connection.run("DELETE FROM _flotilla_choice WHERE name = ?", [.string(name)])
  }

  /// A file that an older version has made lacks it until a node opens it.
  private var isPresent: Bool {
    get throws(SQLiteError) { try Layout.hasTable("_flotilla_choice", on: connection) }
  }
}
