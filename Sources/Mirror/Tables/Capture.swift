import SQLite

/// What notes on the server that its programs have changed a row: triggers that write the key into
/// a journal. The row itself is read when the journal is.
///
/// A session that sets `@flotilla` to the table's number is not noted: that is the mirror itself.
struct Capture {
  /// Where the mirror's own tables are.
  let database: String
  let links: [TableLink]

  func journal(_ number: Int) -> String {
    "\(serverName(database)).\(serverName("flotilla_journal_\(number)"))"
  }

  /// The columns of a journal that hold the key: `k1`, `k2`.
  static func keyNames(_ link: TableLink) -> [String] { link.key.indices.map { "k\($0 + 1)" } }

  /// Makes what is missing; gives the numbers of the tables that lacked a trigger, whose changes
  /// may have gone by unnoticed: each is told of before its trigger is made.
  func install(
    on server: ServerConnection, cascades: [Cascade],
    missing: (Int) throws(ServerError) -> Void
  ) throws(ServerError) -> Set<Int> {
    var lacking: Set<Int> = []
    for link in links {
      try server.execute(journalStatement(link))
      for (name, statement) in triggers(link) {
        let isMade = try create(name, in: link.server.schema, statement, on: server) {
          () throws(ServerError) in try missing(link.number)
        }
        if isMade { lacking.insert(link.number) }
      }
    }
    var wanted: Set<[String]> = []
    for cascade in cascades {
      for (name, statement) in cascade.triggers(self) {
        wanted.insert([cascade.schema, name])
        let isMade = try create(name, in: cascade.schema, statement, on: server) {
          () throws(ServerError) in
          for number in cascade.numbers { try missing(number) }
        }
        if isMade { lacking.formUnion(cascade.numbers) }
      }
    }
    // One whose foreign key is gone names columns that may be gone, too.
    for (schema, name) in try Self.triggers(of: database, on: server)
    where name.hasPrefix("flotilla_c") && !wanted.contains([schema, name]) {
      try server.execute("DROP TRIGGER IF EXISTS \(serverName(schema)).\(serverName(name))")
    }
    return lacking
  }

  /// Triggers that write into journals of this database.
  private static func triggers(
    of database: String, on server: ServerConnection
  ) throws(ServerError) -> [(schema: String, name: String)] {
    let rows = try server.rows(
      of: 3,
      """
      SELECT trigger_schema, trigger_name, action_statement FROM information_schema.triggers
      WHERE trigger_name LIKE 'flotilla\\_%'
      """)
    let target = "\(serverName(database)).`flotilla_journal_"
    return rows.compactMap { row in
      guard row.count == 3, let schema = row[0].string, let name = row[1].string,
        row[2].string?.contains(target) == true
      else { return nil }
      return (schema, name)
    }
  }

  /// True if it was not there, or was another one.
  private func create(
    _ name: String, in schema: String, _ statement: String, on server: ServerConnection,
    missing: () throws(ServerError) -> Void
  ) throws(ServerError) -> Bool {
    let found = try server.rows(
      of: 1,
      """
      SELECT action_statement FROM information_schema.triggers
      WHERE trigger_schema = ? AND trigger_name = ?
      """, [.string(schema), .string(name)]
    ).first
    if let body = found?[0].string, statement.hasSuffix(body) { return false }
    try missing()
    if found != nil {
      try server.execute("DROP TRIGGER \(serverName(schema)).\(serverName(name))")
    }
    try server.execute(statement)
    return true
  }

  private func journalStatement(_ link: TableLink) -> String {
    let columns = zip(Self.keyNames(link), link.serverKey).map { name, key in
      let column = link.server.column(key)
      let collation = column?.collation.map { text in
        let letters = text.split(separator: "_").first.map(String.init) ?? "utf8mb4"
        return " CHARACTER SET \(letters) COLLATE \(text)"
      }
      return "\(name) \(Self.widest(column))\(collation ?? "") NOT NULL"
    }
    return """
      CREATE TABLE IF NOT EXISTS \(journal(link.number)) (
        id BIGINT AUTO_INCREMENT PRIMARY KEY,
        at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
        \(columns.joined(separator: ",\n  "))
      ) ENGINE=InnoDB
      """
  }

  /// A type that takes what the key's column takes, and what it may take after a migration: a
  /// journal that is too narrow would stop the server's programs.
  private static func widest(_ column: ServerTable.Column?) -> String {
    switch column?.base {
    case "tinyint", "smallint", "mediumint", "int", "integer", "bigint":
      column?.isUnsigned == true ? "BIGINT UNSIGNED" : "BIGINT"
    case "char", "varchar": "VARCHAR(768)"
    case "varbinary": "VARBINARY(3072)"
    default: column?.type ?? "BIGINT"
    }
  }

  private func triggers(_ link: TableLink) -> [(name: String, statement: String)] {
    let number = link.number
    let target = "\(journal(number))(\(Self.keyNames(link).joined(separator: ", ")))"
    func note(_ row: String) -> String {
      let values = link.serverKey.map { "\(row).\(serverName($0))" }.joined(separator: ", ")
      return "INSERT INTO \(target) VALUES (\(values));"
    }
    let moved = link.serverKey.map { "OLD.\(serverName($0)) <=> NEW.\(serverName($0))" }
      .joined(separator: " AND ")
    let update = "\(note("OLD")) IF NOT (\(moved)) THEN \(note("NEW")) END IF;"
    return [
      ("INSERT", "i", note("NEW")), ("UPDATE", "u", update), ("DELETE", "d", note("OLD")),
    ].map { event, letter, body in
      let name = "flotilla_\(number)_\(letter)"
      return (
        name,
        """
        CREATE TRIGGER \(serverName(link.server.schema)).\(serverName(name)) AFTER \(event) \
        ON \(link.server.sqlName) FOR EACH ROW \
        BEGIN IF @flotilla IS NULL OR @flotilla <> \(number) THEN \(body) END IF; END
        """
      )
    }
  }

  /// Takes out what `install` has made.
  static func remove(
    numbers: [Int], database: String, on server: ServerConnection
  ) throws(ServerError) {
    for (schema, name) in try triggers(of: database, on: server) {
      try server.execute("DROP TRIGGER IF EXISTS \(serverName(schema)).\(serverName(name))")
    }
    let tables = numbers.map { "flotilla_journal_\($0)" } + ["flotilla_held", "flotilla_table"]
    for table in tables + ["flotilla_state"] {
      try server.execute("DROP TABLE IF EXISTS \(serverName(database)).\(serverName(table))")
    }
  }
}
