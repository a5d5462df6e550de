import SQLite

/// A statement that writes one row as any program would, and no other; else it fails with words.
///
/// "The ON CONFLICT clause applies to UNIQUE, NOT NULL, CHECK, and PRIMARY KEY constraints"
/// (sqlite.org/lang_conflict.html). A table that is declared with REPLACE lets another row go for
/// the new one, and one with IGNORE does not take the new one in; either way SQLite says nothing.
struct OneRowWrite {
  enum Verb: String {
    case insert = "INSERT"
    case update = "UPDATE"
    case delete = "DELETE"

    fileprivate var done: String {
      switch self {
      case .insert: "inserted"
      case .update: "changed"
      case .delete: "deleted"
      }
    }
  }

  let verb: Verb
  let table: String
  /// What follows the verb.
  let rest: String
  let values: [SQLite.Value]

  /// A new row.
  static func insert(_ row: [String: SQLValue], into table: String) -> OneRowWrite {
    let columns = row.keys.sorted()
    let names = columns.map(quoted).joined(separator: ", ")
    let marks = columns.map { _ in "?" }.joined(separator: ", ")
    return OneRowWrite(
      verb: .insert, table: table,
      rest: "INTO main.\(quoted(table))(\(names)) VALUES (\(marks))",
      values: columns.map { row[$0]?.stored ?? .null })
  }

  /// Writes the row as any program would, in the open transaction.
  func run(on connection: Connection) throws(SQLiteError) {
    if verb != .delete, try hasClause(on: connection) { try tryOut(on: connection) }
    guard try connection.run("\(verb.rawValue) \(rest)", values) == 1 else {
      throw SQLiteError(
        code: 19, message: "a trigger of \(table) does not let the row be \(verb.done)")
    }
  }

  /// Whether the table itself may say what becomes of rows in a conflict; an index cannot.
  private func hasClause(on connection: Connection) throws(SQLiteError) -> Bool {
    try connection.row(
      """
      SELECT 1 FROM main.sqlite_schema
      WHERE type = 'table' AND name = ? COLLATE NOCASE AND sql LIKE '%CONFLICT%'
      """, [.string(table)]) != nil
  }

  /// Throws if another row is in the way, whatever the table says of that.
  ///
  /// Without triggers: "if an ON CONFLICT clause is specified as part of the statement causing the
  /// trigger to fire, then conflict handling policy of the outer statement is used instead"
  /// (sqlite.org/lang_createtrigger.html). So OR ABORT alone would change what they do.
  private func tryOut(on connection: Connection) throws(SQLiteError) {
    try connection.run("SAVEPOINT _flotilla_trial")
    try connection.set(.triggers, to: false)
    let failure: SQLiteError?
    do {
      try connection.run("\(verb.rawValue) OR ABORT \(rest)", values)
      failure = nil
    } catch {
      failure = error
    }
    try connection.set(.triggers, to: true)
    if !connection.isAutocommit {
      try connection.execute("ROLLBACK TO _flotilla_trial; RELEASE _flotilla_trial")
    }
    if let failure { throw failure }
  }
}
