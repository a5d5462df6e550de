import SQLite

extension TableSchema {
  /// Reads the definition of a table in the main schema; nil if there is no such table.
  ///
  /// Throws `.schema` if the definition needs a function or collation that only a program defines.
  package static func read(
    _ name: String, on connection: Connection
  ) throws(StoreError) -> TableSchema? {
    let reader = SchemaReader(connection: connection)
    guard let (name, sql) = try reporting({ () throws(SQLiteError) in try reader.table(name) })
    else { return nil }
    let copy = try PlainCopy(of: name, on: connection)
    return try reporting { () throws(SQLiteError) in
      try reader.schema(name: name, sql: sql, copy: copy)
    }
  }
}

/// Puts a `TableSchema` together from PRAGMAs, the stored SQL and a plain copy of the table.
struct SchemaReader {
  let connection: Connection

  /// The name as declared and the stored SQL.
  func table(_ name: String) throws(SQLiteError) -> (String, String)? {
    let row = try connection.row(
      """
      SELECT name, sql FROM main.sqlite_schema
      WHERE type = 'table' AND name = ? COLLATE NOCASE AND rootpage > 0
      """, [.string(name)])
    guard let row, let name = row[0].string, let sql = row[1].string else { return nil }
    return (name, sql)
  }

  func schema(
    name: String, sql: String, copy: PlainCopy
  ) throws(SQLiteError) -> TableSchema {
    let (isWithoutRowID, isStrict) = try copy.options(of: name)
    let indexes = try connection.rows(
      """
      SELECT l.name, l."unique", l.origin, s.sql FROM pragma_index_list(?, 'main') AS l
      LEFT JOIN main.sqlite_schema AS s ON s.type = 'index' AND s.name = l.name ORDER BY l.seq
      """, [.string(name)])
    let keyIndex = indexes.first { $0[2].string == "pk" }?[0].string
    let rows = try connection.rows(
      """
      SELECT name, type, "notnull", dflt_value, pk, hidden FROM pragma_table_xinfo(?, 'main')
      ORDER BY cid
      """, [.string(name)])
    let key = rows.indices.filter { rows[$0][4].integer != 0 }
      .sorted { rows[$0][4].integer! < rows[$1][4].integer! }
    let hasIntegerKey = key.count == 1 && keyIndex == nil && !isWithoutRowID
    let columns = try columns(
      rows, sql: sql, copy: copy, isStrict: isStrict,
      implicitlyNotNull: hasIntegerKey || isWithoutRowID || isStrict ? key : [])
    var unique: [UniqueIndex] = []
    for index in indexes where index[1].integer == 1 && index[2].string != "pk" {
      unique.append(try uniqueIndex(index[0].string ?? "", sql: index[3].string, columns))
    }
    let keyTerms = try keyIndex.map { name throws(SQLiteError) in try indexTerms(name) } ?? []
    return TableSchema(
      name: name, sql: sql, columns: columns, key: key,
      keyCollations: key.map { column in
        keyTerms.first { $0.column == column }?.collation ?? columns[column].collation
      }, hasIntegerKey: hasIntegerKey,
      isWithoutRowID: isWithoutRowID, isStrict: isStrict, uniqueIndexes: unique,
      foreignKeys: try foreignKeys(of: name),
      hasRepeatedKeyColumn: keyTerms.count > key.count,
      rowIDNames: isWithoutRowID
        ? []
        : rowIDNames.filter { name in !columns.contains { isSameName($0.name, name) } },
      shippedColumns: columns.indices.filter { !columns[$0].isGenerated },
      isWide: try connection.scalar("PRAGMA main.encoding") != .string("UTF-8"))
  }

  private func columns(
    _ rows: [[Value]], sql: String, copy: PlainCopy, isStrict: Bool, implicitlyNotNull: [Int]
  ) throws(SQLiteError) -> [Column] {
    let names = rows.map { $0[0].string ?? "" }
    let sources = generatedSources(names, isGenerated: rows.map { isGenerated($0[5]) }, sql: sql)
    var columns: [Column] = []
    for (index, row) in rows.enumerated() {
      let type = row[1].string ?? ""
      let affinity = Affinity(declared: type, isStrict: isStrict)
      columns.append(
        Column(
          name: names[index], type: type, affinity: affinity, collation: copy.collations[index],
          isNotNull: row[2].integer == 1 || implicitlyNotNull.contains(index),
          isGenerated: isGenerated(row[5]), defaultText: row[3].string,
          constantDefault: copy.constant(row[3].string, affinity: affinity),
          sources: sources[index]))
    }
    return columns
  }

  /// "The "hidden" column … is 0 … for a normal column, 1 for a hidden column of a virtual table, 2
  /// or 3 for a generated column" (sqlite.org/pragma.html#pragma_table_xinfo, in other words).
  private func isGenerated(_ hidden: Value) -> Bool { (hidden.integer ?? 0) >= 2 }

  /// The plain columns that each generated column depends on.
  ///
  /// If the text cannot be understood, it depends on all of them: that is safe, only slower.
  private func generatedSources(
    _ names: [String], isGenerated: [Bool], sql: String
  ) -> [[Int]] {
    guard isGenerated.contains(true) else { return names.map { _ in [] } }
    let text = SQLText(sql)
    let parts = text.parenthesised().map(text.parts) ?? []
    var direct = names.map { _ in Set(names.indices) }
    for index in names.indices where isGenerated[index] && index < parts.count {
      let start = parts[index].first { i in
        text.tokens[i].isWord("AS") && text.tokens[i + 1].isSymbol("(")
      }
      guard let start, let expression = text.parenthesised(from: start) else { continue }
      direct[index] = Set(indices(of: text.mentions(in: expression), in: names))
    }
    return names.indices.map { index in
      guard isGenerated[index] else { return [] }
      var reached: Set<Int> = []
      var waiting = direct[index]
      while let next = waiting.popFirst() {
        guard reached.insert(next).inserted, isGenerated[next] else { continue }
        waiting.formUnion(direct[next])
      }
      return reached.filter { !isGenerated[$0] }.sorted()
    }
  }

  func indices(of mentions: [String], in names: [String]) -> [Int] {
    names.indices.filter { index in mentions.contains { isSameName($0, names[index]) } }
  }
}

/// "the rowid … can be accessed using one of the special case-independent names "rowid", "oid", or
/// "_rowid_" … If a table contains a user defined column named "rowid", "oid" or "_rowid_", then
/// that name always refers the explicitly declared column" (sqlite.org/lang_createtable.html).
let rowIDNames = ["rowid", "_rowid_", "oid"]
