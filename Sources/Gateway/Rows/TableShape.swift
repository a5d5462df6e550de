import SQLite

/// A replicated table as the file has it now: its columns and its key.
struct TableShape: Sendable, Equatable {
  struct Column: Sendable, Equatable {
    var name: String
    /// Whether it leaves values as they are written: no declared type, or BLOB.
    var isUntyped: Bool
    /// Whether SQLite computes it.
    var isGenerated = false
    /// As it was declared; it may be any text.
    var type = ""
    /// Whether a new row must say what it is.
    var isRequired = false

    /// By the bytes of the names: to Swift two spellings of a letter are one.
    static func == (left: Column, right: Column) -> Bool {
      left.name.utf8.elementsEqual(right.name.utf8) && left.type == right.type
        && (left.isUntyped, left.isGenerated, left.isRequired)
          == (right.isUntyped, right.isGenerated, right.isRequired)
    }
  }

  var name: String
  var columns: [Column]
  /// The places of the key's columns, in the order of the key.
  var key: [Int]
  /// Whether the application has triggers on it.
  var hasTriggers = false
  /// Whether its constraints may say themselves what becomes of a row that breaks them.
  var resolvesConflicts = false

  /// Nothing is left out or replaced without a word, whatever the table says of conflicts. It holds
  /// for statements of triggers, too, so it stands where the table says something alone.
  var resolution: StaticString { resolvesConflicts ? "OR ABORT " : "" }

  /// Nil if there is no such table, or the site does not replicate it.
  static func read(_ name: String, on connection: Connection) throws(SQLiteError) -> TableShape? {
    try all(on: connection) { $0.utf8.elementsEqual(name.utf8) }.first
  }

  /// The names of all replicated tables: those with a view of their rows (`_flotilla_rows_…`).
  static func names(on connection: Connection) throws(SQLiteError) -> [String] {
    try connection.rows(
      """
      SELECT name FROM main.sqlite_schema
      WHERE type = 'table' AND name NOT GLOB '_flotilla_*' AND
        ('_flotilla_rows_' || name) COLLATE NOCASE IN
          (SELECT name FROM main.sqlite_schema WHERE type = 'view')
      ORDER BY name COLLATE NOCASE
      """
    ).map { $0[0].string ?? "" }
  }

  /// Replicated tables, by name. What is asked of the whole schema is asked once: SQLite keeps it
  /// in no order, and goes through all of it each time.
  static func all(
    on connection: Connection, where isWanted: (String) -> Bool
  ) throws(SQLiteError) -> [TableShape] {
    let wanted = try names(on: connection).filter(isWanted)
    guard !wanted.isEmpty else { return [] }
    let triggered = try folded(
      """
      SELECT DISTINCT tbl_name FROM main.sqlite_schema
      WHERE type = 'trigger' AND name NOT GLOB '_flotilla_*'
      """, on: connection)
    let resolving = try folded(
      "SELECT name FROM main.sqlite_schema WHERE type = 'table' AND sql LIKE '%conflict%'",
      on: connection)
    var shapes: [TableShape] = []
    for name in wanted {
      var shape = try one(name, on: connection)
      let folded = Array(name.asciiLowercased.utf8)
      shape.hasTriggers = triggered.contains(folded)
      shape.resolvesConflicts = resolving.contains(folded)
      shapes.append(shape)
    }
    return shapes
  }

  /// Names in small letters, by their bytes: to Swift two spellings of a letter are one.
  private static func folded(
    _ sql: String, on connection: Connection
  ) throws(SQLiteError) -> Set<[UInt8]> {
    Set(try connection.rows(sql).map { Array(($0[0].string ?? "").asciiLowercased.utf8) })
  }

  private static func one(
    _ name: String, on connection: Connection
  ) throws(SQLiteError) -> TableShape {
    // Without a name it would compile every view.
    let isStrict =
      try connection.scalar(
        "SELECT strict FROM pragma_table_list(?) WHERE schema = 'main'", [.string(name)]
      ).integer == 1
    let rows = try connection.rows(
      """
      SELECT name, type, pk, hidden, "notnull", dflt_value IS NOT NULL
      FROM pragma_table_xinfo(?, 'main') ORDER BY cid
      """, [.string(name)])
    let keys = rows.count { ($0[2].integer ?? 0) > 0 }
    let columns = rows.map { row in
      let type = row[1].string ?? ""
      let isKey = (row[2].integer ?? 0) > 0
      // "A rowid table that has a primary key named INTEGER": SQLite draws a number for it.
      let isDrawn = isKey && keys == 1 && type.asciiLowercased == "integer"
      let isGenerated = (row[3].integer ?? 0) > 1
      return Column(
        name: row[0].string ?? "", isUntyped: isUntyped(type, isStrict: isStrict),
        isGenerated: isGenerated, type: type,
        isRequired: !isGenerated && !isDrawn && row[5].integer == 0
          && (isKey || row[4].integer == 1))
    }
    let key = rows.indices.filter { (rows[$0][2].integer ?? 0) > 0 }
      .sorted { (rows[$0][2].integer ?? 0) < (rows[$1][2].integer ?? 0) }
    return TableShape(name: name, columns: columns, key: key)
  }

  /// "3.1. Determination Of Column Affinity" (sqlite.org/datatype3.html).
  static func isUntyped(_ type: String, isStrict: Bool) -> Bool {
    let type = type.uppercased()
    if isStrict { return type == "ANY" || type == "BLOB" }
    if ["INT", "CHAR", "CLOB", "TEXT"].contains(where: type.contains) { return false }
    return type.isEmpty || type.contains("BLOB")
  }

  /// The column of this name, as SQLite finds it: capitals do not count.
  func place(of name: String) -> Int? {
    let name = name.asciiLowercased
    return columns.firstIndex { $0.name.asciiLowercased.utf8.elementsEqual(name.utf8) }
  }

  func column(_ name: String) throws(Problem) -> Int {
    guard let place = place(of: name) else {
      throw .badRequest("column", "the table \(self.name) has no column \(name)")
    }
    return place
  }

  var keyColumns: [Column] { key.map { columns[$0] } }
}

extension String {
  /// "A" to "Z" alone, as SQLite folds names.
  var asciiLowercased: String {
    String(decoding: utf8.map { (0x41...0x5A).contains($0) ? $0 + 32 : $0 }, as: UTF8.self)
  }
}
