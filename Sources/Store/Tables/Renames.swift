import Replication
import SQLite

/// What this file keeps of the columns of its tables, to know a renamed column again.
///
/// `_flotilla_named` has the columns as they were seen last, here; `_flotilla_column` the renames
/// of the site, which are replicated: a machine that joins later has never seen the old name.
struct Renames {
  /// The replicated table of the site's renames: `(tbl, name)` → the column's first name.
  static let settings = "_flotilla_column"

  /// What is kept of one table.
  struct Columns: Equatable {
    /// As they were seen last, in their order; empty if they never were.
    var known: [ColumnNames.Known] = []
    /// The names that tables had then, by their local numbers, where there is no table to tell of.
    var tables: [Int64: String] = [:]
    /// The renames of the site.
    var settings: [String: String] = [:]

    /// Whether every column has its own name, as far as is known here.
    var isPlain: Bool { settings.isEmpty && known.allSatisfy { $0.name == $0.first } }

    /// Whether a column has another name for the site, or has taken NULL and takes none any more.
    var addToSchema: Bool { !isPlain || known.contains(where: \.hasOutgrownNull) }

    func names(of schema: TableSchema, renamed: [String: String] = [:]) -> ColumnNames {
      ColumnNames(
        of: schema.columns.map(\.name), known: known, renamed: renamed,
        settings: settings.map { ($0.key, $0.value) })
    }
  }

  let connection: Connection

  /// Remembers the name of a table in this file; its first name needs no remembering.
  func name(_ id: Int64, _ name: String, first: String) throws(SQLiteError) {
    try connection.run(
      "DELETE FROM _flotilla_named WHERE tbl = ? AND place = ?",
      [.string(TableNames.owner), .integer(id)])
    guard !isSameName(name, first) else { return }
    try connection.run(
      "INSERT INTO _flotilla_named(tbl, place, name, declared, first) VALUES (?, ?, ?, '', ?)",
      [.string(TableNames.owner), .integer(id), .string(name), .string(first)])
  }

  /// What is kept of each table, or of one alone, by its name in small letters.
  func read(only table: String? = nil) throws(SQLiteError) -> [String: Columns] {
    var columns: [String: Columns] = [:]
    // A file of an older version, opened to look at it.
    guard try Layout.hasTable("_flotilla_named", on: connection) else { return columns }
    let (wanted, condition) = (
      table.map { [SQLite.Value.string($0)] } ?? [],
      table == nil ? "" : "WHERE tbl = ? COLLATE NOCASE"
    )
    for row in try connection.rows(
      """
      SELECT tbl, name, declared, first, place FROM _flotilla_named \(condition)
      ORDER BY tbl, place
      """, wanted)
    {
      guard let table = row[0].string, let name = row[1].string, let declared = row[2].string,
        let first = row[3].string
      else { continue }
      if table == TableNames.owner, let id = row[4].integer {
        columns[table, default: Columns()].tables[id] = name
        continue
      }
      columns[folded(table), default: Columns()].known.append(
        ColumnNames.Known(name: name, kept: declared, first: first))
    }
    for row in try told(condition, wanted) {
      guard let table = row[0].string, let name = row[1].string, let first = row[2].string,
        Self.mayRename(table, name, first)
      else { continue }
      columns[folded(table), default: Columns()].settings[name] = first
    }
    return columns
  }

  /// So many renames of the site are read, whatever they name.
  static let most = 1_000

  /// The renames of the site. Where a member has made up very many, those that name something of
  /// this file are among them all the same.
  func told(
    _ condition: String, _ wanted: [SQLite.Value]
  ) throws(SQLiteError) -> [[SQLite.Value]] {
    let some = try connection.rows(
      "SELECT tbl, name, first FROM \(Self.settings) \(condition) LIMIT \(Self.most)", wanted)
    guard some.count == Self.most else { return some }
    return try some
      + connection.rows(
        """
        SELECT s.tbl, s.name, s.first FROM (
          SELECT tbl, name FROM _flotilla_named
          UNION SELECT '\(TableNames.owner)', name FROM main.sqlite_schema WHERE type = 'table'
        ) AS own CROSS JOIN \(Self.settings) AS s ON s.tbl = own.tbl AND s.name = own.name
        """)
  }

  /// Whether the site may say so: settings come from peers. Flotilla's own tables and their columns
  /// are called the same everywhere, and a first name has to travel.
  private static func mayRename(_ table: String, _ name: String, _ first: String) -> Bool {
    if TableSchema.isReserved(table) || first.isEmpty || !Limits.carries(first) { return false }
    return table != TableNames.owner
      || !TableSchema.isReserved(name) && !TableSchema.isReserved(first)
  }

  func read(_ table: String) throws(SQLiteError) -> Columns {
    try read(only: table)[folded(table)] ?? Columns()
  }

  /// Remembers the columns of a table as they are now.
  func save(_ known: [ColumnNames.Known], of table: String) throws(SQLiteError) {
    try forget(table)
    for (place, column) in known.enumerated() {
      try connection.run(
        "INSERT INTO _flotilla_named(tbl, place, name, declared, first) VALUES (?, ?, ?, ?, ?)",
        [
          .string(table), .integer(Int64(place)), .string(column.name),
          .string(column.kept), .string(column.first),
        ])
    }
  }

  /// A table is not tracked any more.
  func forget(_ table: String) throws(SQLiteError) {
    try connection.run("DELETE FROM _flotilla_named WHERE tbl = ?", [.string(table)])
  }

  /// Sets what the site says of a name, and notes the edit as a program's would be; false if it
  /// says so already.
  func publish(
    _ name: String, first: String, of table: String, number: Int64
  ) throws(SQLiteError) -> Bool {
    let key: [SQLite.Value] = [.string(table), .string(name)]
    let standing = try connection.scalar(
      "SELECT first FROM \(Self.settings) WHERE tbl = ? AND name = ?", key)
    guard standing != .string(first) else { return false }
    try connection.run(
      "INSERT OR REPLACE INTO \(Self.settings)(tbl, name, first) VALUES (?, ?, ?)",
      key + [.string(first)])
    try Journal.note(number, key, on: connection)
    return true
  }
}
