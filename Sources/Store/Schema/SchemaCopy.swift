import Replication
import SQLite

/// The schema that a first copy starts from.
package struct SchemaCopy {
  let connection: Connection
  let tables: Tables

  /// Every object of the schema that is the application's, tables first, then what tells which
  /// migrations have made it; without what no peer would take.
  package func objects() throws(StoreError) -> [SchemaObject] {
    var bytes = 0
    let all = try definedObjects() + tableNames() + firstNames() + bookEntries() + headNumbers()
    let objects = all.filter { object in
      guard object.name.utf8.count <= Limits.name, object.sql.utf8.count <= Limits.schemaText
      else { return false }
      bytes += object.size
      return bytes <= Limits.schemaBytes
    }
    return Array(objects.prefix(Limits.schemaObjects))
  }

  func definedObjects() throws(StoreError) -> [SchemaObject] {
    let rows = try reporting { () throws(SQLiteError) in
      try connection.rows(
        """
        SELECT type, name, sql FROM main.sqlite_schema WHERE sql IS NOT NULL
        ORDER BY type = 'trigger', type = 'view', type = 'index', rowid
        """)
    }
    let virtual = try reporting { () throws(SQLiteError) in
      try VirtualTable.all(on: connection).filter(\.isKnown)
    }
    return rows.compactMap { row in
      guard let name = row[1].string, !TableSchema.isReserved(name), let sql = row[2].string,
        row[0].string != "table" || !virtual.contains(where: { $0.keeps(name) })
      else { return nil }
      let kind: SchemaObject.Kind? =
        switch row[0].string {
        case "table": .table
        case "index": .index
        case "view": .view
        case "trigger": .trigger
        default: nil
        }
      return kind.map { SchemaObject(kind: $0, name: name, sql: sql) }
    }
  }

  /// The further names of the site's tables: a file that joins may have one under another of them.
  private func tableNames() throws(StoreError) -> [SchemaObject] {
    try reporting { () throws(SQLiteError) in
      try tables.renames.told("WHERE tbl = ?", [.string(TableNames.owner)])
        .filter { $0[0].string == TableNames.owner }.map { row in
          SchemaObject(
            .entry, of: Renames.settings,
            zip(["name", "first"], row.dropFirst()).map {
              .init(column: $0, value: Replication.Value($1))
            })
        }
    }
  }

  /// How the columns of the site's tables were called first, of a table each: its names on the site
  /// and here, then the same of each column, the name here first.
  private func firstNames() throws(StoreError) -> [SchemaObject] {
    let known = try reporting { () throws(SQLiteError) in try tables.renames.read() }
    return tables.tracked.compactMap { table in
      // Where nobody says otherwise each column has its own name.
      guard let schema = table.schema, schema.columns.count < Limits.columns,
        let columns = known[folded(table.name)], !columns.isPlain
      else { return nil }
      let names = columns.names(of: schema)
      let firsts = zip(schema.columns.map(\.name), names.firsts)
      return SchemaObject(
        .entry, of: Self.toldNames,
        ([(table.name, schema.name)] + firsts).map {
          .init(column: $0, value: .text(Array($1.utf8)))
        })
    }
  }

  /// What such an entry is called.
  private static let toldNames = "_flotilla_named"

  /// What such entries tell: how the columns of a table were called first, by its name there and
  /// theirs, in small letters.
  static func toldFirsts(_ objects: [SchemaObject]) -> [String: [String: String]] {
    var told: [String: [String: String]] = [:]
    for object in objects where object.kind == .entry && object.name == toldNames {
      let fields = object.fields.compactMap { field in
        field.value.sqlite.string.map { (folded(field.column), $0) }
      }
      guard let (_, name) = fields.first else { continue }
      told[folded(name)] = Dictionary(fields.dropFirst(), uniquingKeysWith: { $1 })
    }
    return told
  }

  /// Notes how columns were called first, as who shows the schema tells, of tables of which nothing
  /// is known. Settings of the site that say otherwise may be anybody's.
  static func takeNames(
    _ objects: [SchemaObject], on connection: Connection
  ) throws(SQLiteError) {
    let renames = Renames(connection: connection)
    let virtual = try VirtualTable.all(on: connection)
    for object in objects where object.kind == .entry && object.name == toldNames {
      let fields = object.fields.map { ($0.column, $0.value.sqlite.string ?? "") }
      guard let (table, name) = fields.first, !TableSchema.isReserved(table),
        !TableSchema.isReserved(name), table != TableNames.owner,
        !virtual.contains(where: { $0.keeps(name) }),
        let schema = (try? TableSchema.read(name, on: connection)) ?? nil,
        try renames.read(table).known.isEmpty
      else { continue }
      let columns = schema.columns.map(\.name)
      let told = fields.dropFirst().map {
        ColumnNames.Known(name: $0, declaration: "", first: $1)
      }
      // A file of its own may have them under other names.
      guard Set(told.map { folded($0.name) }) == Set(columns.map(folded)) else { continue }
      try renames.save(
        schema.known(ColumnNames(of: columns, known: told, settings: [])), of: table)
    }
  }

  /// The tables of the site by their later names, in small letters, as such entries tell them.
  static func toldTables(_ objects: [SchemaObject]) -> [String: String] {
    var told: [String: String] = [:]
    for object in objects where object.kind == .entry && object.name == Renames.settings {
      let values = object.fields.compactMap(\.value.sqlite.string)
      if values.count == 2 { told[folded(values[0])] = values[1] }
    }
    return told
  }

  /// What the names of a table are, by each of them, all in small letters, as an inviter tells.
  private static func namesakes(_ objects: [SchemaObject]) -> [String: [String]] {
    var names: [String: [String]] = [:]
    for object in objects where object.kind == .entry && object.name == Renames.settings {
      let values = object.fields.compactMap { $0.value.sqlite.string.map(folded) }
      guard values.count == 2 else { continue }
      names[values[1], default: [values[1]]].append(values[0])
    }
    for all in names.values { for name in all { names[name] = all } }
    return names
  }

  /// A book of more rows than that is none that a tool has written.
  private static let bookRows = 10_000

  /// The rows of the books that the site does not replicate: who gets this schema has all of these
  /// migrations.
  private func bookEntries() throws(StoreError) -> [SchemaObject] {
    var entries: [SchemaObject] = []
    let tracked = Set(
      try reporting { () throws(SQLiteError) in try tables.namesHere() }.map(folded))
    for name in try TableSchema.all(on: connection)
    where !tracked.contains(folded(name)) {
      guard try MigrationBook.isOne(name, on: connection) else { continue }
      let found = try reporting { () throws(SQLiteError) in
        try connection.with(
          "SELECT * FROM main.\(quoted(name)) LIMIT \(Self.bookRows + 1)"
        ) { (statement) throws(SQLiteError) in
          let columns = (0..<statement.columnCount).map(statement.columnName)
          var rows: [SchemaObject] = []
          while try statement.step() {
            let values = statement.travelling(columns.count)
            rows.append(
              SchemaObject(
                .entry, of: name,
                zip(columns, values).map { SchemaObject.Field(column: $0, value: $1) }))
          }
          return rows
        }
      }
      guard entries.count + found.count <= Self.bookRows,
        found.allSatisfy({ $0.size <= Limits.schemaText })
      else { continue }
      entries += found
    }
    return entries
  }

  /// Where an application notes the version of its schema if it has no book.
  static let numbers = ["user_version", "application_id"]

  private func headNumbers() throws(StoreError) -> [SchemaObject] {
    try reporting { () throws(SQLiteError) in
      var objects: [SchemaObject] = []
      for name in Self.numbers {
        guard let number = try connection.scalar("PRAGMA main.\(name)").integer, number != 0
        else { continue }
        objects.append(
          SchemaObject(.number, of: name, [.init(column: "", value: .integer(number))]))
      }
      return objects
    }
  }

  /// Takes over which migrations have made the schema of a file that had none before; what is no
  /// book, or does not fit, is left out.
  private static func takeOver(
    _ objects: [SchemaObject], made: Set<String>, on connection: Connection
  ) throws(SQLiteError) {
    for object in objects where object.kind == .number {
      guard numbers.contains(object.name), case .integer(let number)? = object.fields.first?.value,
        let value = Int32(exactly: number)
      else { continue }
      try connection.execute("PRAGMA main.\(object.name) = \(value)")
    }
    for object in objects where object.kind == .entry && made.contains(folded(object.name)) {
      let columns = try connection.rows(
        "SELECT name FROM pragma_table_info(?, 'main')", [.string(object.name)]
      ).compactMap { $0[0].string }
      let fields = object.fields.filter { columns.contains($0.column) }
      guard MigrationBook.isOne(object.name, columns: columns), !fields.isEmpty else { continue }
      let names = fields.map { quoted($0.column) }.joined(separator: ", ")
      let marks = fields.map { _ in "?" }.joined(separator: ", ")
      try connection.run(
        "INSERT OR IGNORE INTO main.\(quoted(object.name))(\(names)) VALUES (\(marks))",
        fields.map(\.value.sqlite))
    }
  }

  /// Creates what is missing here, in the open transaction; gives a remark for each object that
  /// cannot be made.
  ///
  /// SQL from another node runs here and in `adopt`: on joining it is that of the member whose code
  /// the operator has typed. Each text must be a single CREATE statement.
  static func create(
    _ objects: [SchemaObject], on connection: Connection
  ) throws(SQLiteError) -> [String] {
    var remarks: [String] = []
    var made: Set<String> = []
    var isWhole = true
    func leaveOut(_ object: SchemaObject, _ why: String) {
      remarks.append("\(object.name) was left out: \(why)")
      if object.isPlainTable { isWhole = false }
    }
    let present = try connection.rows(
      """
      SELECT name, type FROM main.sqlite_schema
      WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND name NOT LIKE '\\_flotilla\\_%' ESCAPE '\\'
      """)
    let tables = present.filter { $0[1].string == "table" }.compactMap { $0[0].string }
    let namesakes = namesakes(objects)
    for object in objects where object.kind != .entry && object.kind != .number {
      let exists = try connection.row(
        "SELECT 1 FROM main.sqlite_schema WHERE name = ? COLLATE NOCASE",
        [.string(object.name)])
      guard exists == nil, !TableSchema.isReserved(object.name) else { continue }
      let others = object.kind == .table ? namesakes[folded(object.name)] ?? [] : []
      if let own = tables.first(where: { others.contains(folded($0)) }) {
        leaveOut(object, "this file has it as \(own)")
        continue
      }
      guard SQLText(object.sql).isStoredObject else {
        leaveOut(object, "it is no CREATE statement as stored")
        continue
      }
      do throws(SQLiteError) {
        try connection.asStored { () throws(SQLiteError) in
          _ = try connection.prepare(object.sql).step()
        }
        made.insert(folded(object.name))
      } catch {
        // A full disk says nothing about the object, and may have ended the transaction.
        guard error.isRefusal else { throw error }
        leaveOut(object, error.message)
      }
    }
    // Their tool would never make the table that is missing.
    if present.isEmpty, isWhole { try takeOver(objects, made: made, on: connection) }
    try takeNames(objects, on: connection)
    return remarks
  }
}

extension SchemaObject {
  /// A table whose rows the file itself keeps.
  fileprivate var isPlainTable: Bool {
    kind == .table && SQLText(sql).tokens.dropFirst().first?.isWord("VIRTUAL") != true
  }
}

extension SQLiteError {
  /// The statement itself is at fault: it is wrong, breaks a constraint or is not allowed.
  var isRefusal: Bool { primary == 1 || primary == 23 || isConstraint }
}
