import SQLite

/// An empty copy of one table in memory, on a connection that knows only what SQLite brings along.
///
/// What it cannot hold, a peer cannot hold either; and it answers what no PRAGMA tells: the
/// collation of a column without an index and the value that a DEFAULT stores.
package struct PlainCopy {
  /// Per column: BINARY, NOCASE or RTRIM.
  let collations: [String]
  private let connection: Connection

  static let knownCollations = ["BINARY", "NOCASE", "RTRIM"]

  /// Copies the table and its indexes; `.schema` if one needs something of a program's own.
  init(of table: String, on source: Connection) throws(StoreError) {
    do {
      connection = try Connection(path: ":memory:", mode: .create)
      // Stored SQL is read with them on: they were allowed when the table was made.
      try connection.set(.doubleQuotedStrings, to: true)
      let definitions = try source.rows(
        """
        SELECT type, sql FROM main.sqlite_schema WHERE tbl_name = ? AND type IN ('table', 'index')
        AND sql IS NOT NULL ORDER BY type = 'index', rowid
        """, [.string(table)]
      ).compactMap { $0[1].string }
      for sql in definitions {
        // SQLite looks a collation up only when it compares, so a CHECK may hide one.
        for name in SQLText(sql).collations
        where !Self.knownCollations.contains(where: { isSameName($0, name) }) {
          throw Self.refusal(table, "collation \(quoted(name))", nil)
        }
        do {
          try connection.execute(sql)
        } catch {
          throw Self.refusal(table, "function or collation (\(error.message))", error)
        }
      }
      collations = try Self.collations(of: table, on: connection)
    } catch let error as SQLiteError {
      throw StoreError(error)
    } catch let error as StoreError {
      throw error
    } catch {
      preconditionFailure("neither of SQLite nor of the store: \(error)")
    }
  }

  private static func refusal(
    _ table: String, _ what: String, _ cause: SQLiteError?
  ) -> StoreError {
    StoreError(
      .schema,
      "table \(quoted(table)) needs a \(what) that SQLite does not bring along",
      remedy: "Remove it from the table's columns, CHECKs and indexes; "
        + "an application can still use it in its own queries.",
      cause: cause)
  }

  /// PRAGMA table_xinfo does not tell a column's collation.
  private static func collations(
    of table: String, on connection: Connection
  ) throws(SQLiteError) -> [String] {
    var collations: [String] = []
    for row in try connection.rows("PRAGMA table_xinfo(\(quoted(table)))") {
      let name = row[1].string ?? ""
      collations.append(try connection.collation(of: name, in: table).uppercased())
    }
    return collations
  }

  /// Whether the table is WITHOUT ROWID, and STRICT. In the file itself `table_list` would first
  /// compile every view.
  func options(of table: String) throws(SQLiteError) -> (isWithoutRowID: Bool, isStrict: Bool) {
    let row = try connection.row("PRAGMA main.table_list(\(quoted(table)))")
    return (row?[4].integer == 1, row?[5].integer == 1)
  }

  /// What the table itself says against a row, beside no other; nil if it takes it.
  package static func refusal(
    of row: [(column: String, value: SQLite.Value)], by table: String, on connection: Connection
  ) -> String? {
    guard let copy = try? PlainCopy(of: table, on: connection) else { return nil }
    let columns = row.map { quoted($0.column) }.joined(separator: ", ")
    let marks = row.map { _ in "?" }.joined(separator: ", ")
    do {
      try copy.connection.run(
        "INSERT OR ABORT INTO main.\(quoted(table))(\(columns)) VALUES (\(marks))",
        row.map(\.value))
      return nil
    } catch {
      return error.refusesRow ? error.message : nil
    }
  }

  /// What a literal default becomes in a column of that affinity; nil if it is no literal.
  func constant(_ text: String?, affinity: Affinity) -> Value? {
    guard let text else { return .null }
    var tokens = SQLText(text).tokens[...]
    tokens = tokens.drop { $0.isSymbol("-") || $0.isSymbol("+") }
    guard tokens.count == 1, let token = tokens.first, token.kind != .symbol,
      !["CURRENT_TIME", "CURRENT_DATE", "CURRENT_TIMESTAMP"].contains(where: token.isWord)
    else { return nil }
    // "DEFAULT name" without parentheses means the text 'name' (parse.y, ccons).
    let sql = """
      DROP TABLE IF EXISTS temp._flotilla_default;
      CREATE TEMP TABLE _flotilla_default(c \(affinity.rawValue) DEFAULT \(text));
      INSERT INTO _flotilla_default DEFAULT VALUES;
      """
    guard (try? connection.execute(sql)) != nil,
      let statement = try? connection.prepare("SELECT c FROM _flotilla_default"),
      (try? statement.step()) == true
    else { return nil }
    return statement.value(0)
  }
}
