import SQLite

/// Which of Flotilla's tables a copy by pages carries, and which belong to one file alone.
///
/// What is named nowhere is not sent; a test sees to it that each table is named once.
package enum CopiedTables {
  /// What is said there is about the site's rows, and equal wherever these rows are: origins and
  /// tables have the numbers by which versions name them. What owners have signed goes along, for
  /// without it nobody would take these rows from here. What was signed about members has the keys.
  package static let shared = [
    "_flotilla_table", "_flotilla_column", "_flotilla_number", "_flotilla_local",
    "_flotilla_origin", "_flotilla_term", "_flotilla_version", "_flotilla_shelf",
    "_flotilla_pending", "_flotilla_ruling", "_flotilla_former", "_flotilla_key",
    "_flotilla_shape", "_flotilla_dropped", "_flotilla_named", "_flotilla_digest",
    "_flotilla_reach", "_flotilla_statement",
  ]

  /// What one file knows for itself: what programs have just written, whom it has met, what it was
  /// asked and has decided, the conflicts that it saw.
  package static let own = [
    "_flotilla_meta", "_flotilla_journal", "_flotilla_conflict",
    "_flotilla_author", "_flotilla_choice", "_flotilla_dismissed", "_flotilla_lost",
    "_flotilla_rest", "_flotilla_rekeyed", "_flotilla_moving", "_flotilla_unnoted", "_flotilla_run",
    "_flotilla_progress", "_flotilla_overruled", "_flotilla_verdict",
    "_flotilla_putback", "_flotilla_fresh", "_flotilla_peer", "_flotilla_unseen",
    "_flotilla_count", "_flotilla_answer", "_flotilla_change",
    "_flotilla_replaced", "_flotilla_reached",
  ]

  /// Single values that go along: what everybody holds and has let go of, what was judged, which
  /// references were looked at, and that the site takes in new tables.
  static let sharedValues: [Meta.Name] = [.stability, .judged, .references, .takesNewTables]

  /// Work that a file has before it: while there is any, its rows are not what its versions say, or
  /// not all of them are here.
  static let unfinished = [
    "_flotilla_journal", "_flotilla_dismissed", "_flotilla_putback", "_flotilla_fresh",
    "_flotilla_moving", "_flotilla_unnoted",
  ]

  /// One object of a schema, as SQLite's schema table has it.
  struct Object: Hashable {
    var type: String
    var name: String
    var table: String
    var sql: String
  }

  /// The first objects of a schema of a connection, in the order in which they were made; without
  /// those that SQLite makes by itself.
  static func objects(
    of schema: String, on connection: Connection, limit: Int = .max
  ) throws(SQLiteError) -> [Object] {
    try connection.rows(
      """
      SELECT type, name, tbl_name, sql FROM \(schema).sqlite_schema
      WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY rowid
      LIMIT \(limit)
      """
    ).map {
      Object(
        type: $0[0].string ?? "", name: $0[1].string ?? "", table: $0[2].string ?? "",
        sql: $0[3].string ?? "")
    }
  }

  /// The shared tables and their indexes, as a new file of this format has them.
  static func layout() throws(SQLiteError) -> [Object] {
    let scratch = try Connection(path: ":memory:", mode: .create)
    try scratch.execute(Layout.statements)
    try scratch.execute(Layout.additions)
    return try objects(of: "main", on: scratch).filter { shared.contains($0.table) }
  }
}

extension CopiedTables.Object {
  /// The statement that makes it in another schema than the first.
  ///
  /// SQLite stores each statement from the name of the object on, behind words of its own:
  /// "the normalised text" (sqlite.org/schematab.html).
  func statement(in schema: String) -> String? {
    let heads = ["CREATE TABLE ", "CREATE UNIQUE INDEX ", "CREATE INDEX ", "CREATE VIEW "]
    let triggers = ["CREATE TRIGGER "]
    for head in heads + triggers where sql.hasPrefix(head) {
      return head + schema + "." + sql.dropFirst(head.count)
    }
    return nil
  }

  var isTable: Bool { type == "table" }
}

extension Store {
  /// The version of Flotilla's tables: pages of another one cannot be taken.
  package static var tableFormat: Int64 { Layout.format }
}
