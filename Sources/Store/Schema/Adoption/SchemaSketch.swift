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
  /// What could not be made, and why.
  private(set) var refused: [(object: SchemaObject, why: String)] = []

  init(_ objects: [SchemaObject]) throws(StoreError) {
    connection = try reporting { () throws(SQLiteError) in
      let connection = try Connection(path: ":memory:", mode: .create)
      // Stored SQL is read with them on: they were allowed when the table was made.
      try connection.set(.doubleQuotedStrings, to: true)
      try connection.execute("PRAGMA trusted_schema = OFF")
      return connection
    }
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

  /// Why SQLite cannot use a view, or a table with all of its triggers; nil if it can.
  ///
  /// It looks at what they name only when they are used; by then nobody could write to the table.
  func trouble(with step: SchemaAdoption.Step) -> String? {
    let name = "main.\(quoted(step.table))"
    do {
      if step.kind == .view {
        _ = try connection.prepare("SELECT * FROM \(name)")
        return nil
      }
      let columns = try connection.rows(
        """
        SELECT i.name FROM main.sqlite_schema AS s, pragma_table_info(s.name, 'main') AS i
        WHERE s.type = 'table' AND s.name = ? COLLATE NOCASE
        """, [.string(step.table)]
      ).compactMap { $0[0].string.map(quoted) }
      // A trigger of a view stands for one kind of write.
      guard !columns.isEmpty else { return nil }
      let values = columns.map { "\($0) = \($0)" }.joined(separator: ", ")
      for sql in [
        "INSERT INTO \(name) DEFAULT VALUES", "DELETE FROM \(name)", "UPDATE \(name) SET \(values)",
      ] {
        _ = try connection.prepare(sql)
      }
      return nil
    } catch {
      return error.message
    }
  }

  /// All that was made, tables first, without what belongs to SQLite, to Flotilla or to a virtual
  /// table.
  func objects() throws(StoreError) -> [Object] {
    let rows = try reporting { () throws(SQLiteError) in
      try connection.rows(
        """
        SELECT s.type, s.name, s.tbl_name, s.sql FROM main.sqlite_schema AS s
        LEFT JOIN pragma_table_list AS l ON l.schema = 'main' AND l.name = s.name
        WHERE s.sql IS NOT NULL AND coalesce(l.type, '') <> 'shadow'
        ORDER BY s.type = 'trigger', s.type = 'view', s.type = 'index', s.rowid
        """)
    }
    return rows.compactMap { row in
      guard let kind = row[0].string.flatMap(SchemaAdoption.Kind.init), let name = row[1].string,
        let table = row[2].string, let sql = row[3].string,
        !TableSchema.isReserved(name), !TableSchema.isReserved(table)
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

  /// Whether a name of Flotilla's or of SQLite's own occurs.
  var mentionsReserved: Bool { tokens.contains { TableSchema.isReserved($0.name) } }
}
