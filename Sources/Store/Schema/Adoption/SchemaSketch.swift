import Replication
import SQLite

/// The objects of a schema without rows, in memory: what can be made there SQLite understands, and
/// it tells how each is called and to which table it belongs, whatever a peer says.
struct SchemaSketch {
  struct Object {
    let kind: SchemaAdoption.Kind
    let name: String
    let table: String
    let sql: String

    /// The text without white space, comments and the spelling of names.
    var text: [String] { SQLText(sql).canonical }
  }

  let connection: Connection
  /// The names, in small letters, of what was to be made.
  private let wanted: Set<String>
  /// What could not be made, and why.
  private(set) var refused: [(object: SchemaObject, why: String)] = []

  init(_ objects: [SchemaObject]) throws(StoreError) {
    connection = try reporting { () throws(SQLiteError) in
      let connection = try Connection(path: ":memory:", mode: .create)
      // Stored SQL is read with them on: they were allowed when the table was made.
      try connection.set(.doubleQuotedStrings, to: true)
      // As in the replica, or there would be no JSON in a CHECK.
      try connection.set(.trustedSchema, to: true)
      return connection
    }
    wanted = Set(objects.map { folded($0.name) })
    for object in objects where object.kind != .entry && object.kind != .number {
      guard SQLText(object.sql).isStoredObject else {
        refused.append((object, "it is no CREATE statement as stored"))
        continue
      }
      if let why = make(object.sql) { refused.append((object, why)) }
    }
  }

  /// Runs one statement; gives why it cannot be.
  func make(_ sql: String) -> String? {
    do {
      _ = try connection.prepare(sql).step()
      return nil
    } catch {
      return error.message
    }
  }

  /// All that was made, tables first, without what belongs to SQLite, to Flotilla or to a virtual
  /// table.
  ///
  /// Nothing here compiles a view, as `table_list` would: fourteen views that each name the one
  /// before twice take SQLite 3.40 half a minute.
  func objects() throws(StoreError) -> [Object] {
    let rows = try reporting { () throws(SQLiteError) in
      try connection.rows(
        """
        SELECT type, name, tbl_name, sql, rootpage FROM main.sqlite_schema WHERE sql IS NOT NULL
        ORDER BY type = 'trigger', type = 'view', type = 'index', rowid
        """)
    }
    let virtual = rows.filter { $0[0] == .string("table") && $0[4] == .integer(0) }
      .compactMap { $0[1].string }
    return rows.compactMap { row in
      guard let kind = row[0].string.flatMap(SchemaAdoption.Kind.init), let name = row[1].string,
        let table = row[2].string, let sql = row[3].string,
        !TableSchema.isReserved(name), !TableSchema.isReserved(table),
        wanted.contains(folded(name))
          || !virtual.contains(where: { TableSchema.isShadow(name, of: $0) })
      else { return nil }
      return Object(kind: kind, name: name, table: table, sql: sql)
    }
  }
}

/// One column or one constraint of a CREATE TABLE.
struct TablePart {
  /// The name of a column; nil of a constraint.
  let column: String?
  /// As it is written.
  let sql: String
  let text: [String]

  /// The parts of a table, and what follows their parentheses (WITHOUT ROWID, STRICT).
  static func all(of sql: String) -> (parts: [TablePart], options: [String]) {
    let text = SQLText(sql)
    guard let inside = text.parenthesised() else { return ([], text.canonical) }
    let parts = text.parts(of: inside).filter { !$0.isEmpty }.map { part in
      let first = text.tokens[part.lowerBound]
      let isConstraint = ["CONSTRAINT", "PRIMARY", "UNIQUE", "CHECK", "FOREIGN"]
        .contains(where: first.isWord)
      return TablePart(
        column: isConstraint ? nil : first.name, sql: text.raw(part), text: text.canonical(part))
    }
    let end = text.tokens.count
    return (parts, text.canonical(min(inside.upperBound + 1, end)..<end))
  }
}

extension SQLText {
  /// The tokens as SQLite compares them: names in small letters, however they are quoted.
  func canonical(_ range: Range<Int>) -> [String] {
    range.map { index in
      switch tokens[index].kind {
      case .word, .quoted: folded(tokens[index].name)
      case .string: "'" + tokens[index].name
      case .blob, .number, .symbol: raw(index..<index + 1)
      }
    }
  }

  var canonical: [String] { canonical(tokens.indices) }

  /// The first name of Flotilla's or of SQLite's own that occurs.
  var reserved: String? { tokens.first { TableSchema.isReserved($0.name) }?.name }
}
