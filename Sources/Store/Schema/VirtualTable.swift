import SQLite

/// A virtual table of the file, and in which tables it keeps its rows.
///
/// SQLite tells that in `table_list`, which first compiles every view of the file: views that each
/// name the one before twice take it for ever. So it is told from the schema alone.
struct VirtualTable {
  let name: String
  /// In small letters, as `fts5`.
  let module: String

  /// What the modules that come with SQLite put after the name of a table, in small letters.
  private static let parts: [String: Set<String>] = {
    let old: Set = ["content", "docsize", "segdir", "segments", "stat"]
    let tree: Set = ["node", "parent", "rowid"]
    return [
      "fts3": old, "fts4": old, "fts5": ["config", "content", "data", "docsize", "idx"],
      "rtree": tree, "rtree_i32": tree, "geopoly": tree,
    ]
  }()

  static func all(on connection: Connection) throws(SQLiteError) -> [VirtualTable] {
    try connection.rows(
      "SELECT name, sql FROM main.sqlite_schema WHERE type = 'table' AND rootpage = 0"
    ).map { row in
      let tokens = SQLText(row[1].string ?? "").tokens
      let module = tokens.drop { !$0.isWord("USING") }.dropFirst().first?.name ?? ""
      return VirtualTable(name: row[0].string ?? "", module: folded(module))
    }
  }

  /// Whether it is known in which tables the module keeps rows.
  var isKnown: Bool { Self.parts[module] != nil }

  /// Whether it keeps rows in a table: one of its name, "_" and some more.
  func keeps(_ table: String) -> Bool {
    guard TableSchema.isShadow(table, of: name) else { return false }
    let ending = folded(String(decoding: table.utf8.dropFirst(name.utf8.count + 1), as: UTF8.self))
    return Self.parts[module]?.contains(ending) ?? true
  }
}

extension SQLText {
  /// The table or view whose content a full-text index has (`content='doc'`), if that is another.
  var contentElsewhere: String? {
    guard tokens.count > 1, tokens[1].isWord("VIRTUAL"), let inside = parenthesised() else {
      return nil
    }
    return parts(of: inside).lazy.map { Array(tokens[$0]) }.first { said in
      said.count == 3 && isSameName(said[0].name, "content") && said[1].isSymbol("=")
        && !said[2].name.isEmpty
    }?[2].name
  }
}
