import SQLite

/// Adds rows that name the same columns, one after the other.
struct RowInsert {
  let columns: [TableShape.Column]
  private let table: TableShape
  private let insert: String
  private let read: String

  init(into table: TableShape, _ columns: [TableShape.Column]) {
    (self.table, self.columns) = (table, columns)
    var sql = SQLText()
    sql.add("INSERT ")
    sql.add(table.resolution)
    sql.add("INTO ")
    sql.add(table: table)
    if columns.isEmpty {
      sql.add(" DEFAULT VALUES")
    } else {
      sql.add(" (")
      sql.add(columns: columns)
      sql.add(") VALUES (")
      for index in columns.indices {
        if index > 0 { sql.add(", ") }
        sql.bind(.null)
      }
      sql.add(")")
    }
    sql.add(" RETURNING ")
    sql.add(columns: table.keyColumns)
    insert = sql.text
    read = table.selection(of: table.key.map { _ in .null }).text
  }

  /// Adds one row and reads it again as it stands then.
  func run(_ values: [Value], on connection: Connection) throws(Problem) -> StoredRow {
    let key = try add(values, on: connection)
    let row = try reporting { () throws(SQLiteError) in try connection.row(read, key) }
    guard let row else { throw Self.leftOut(table) }
    return StoredRow(table: table, values: row)
  }

  /// Adds one row that nobody wants to see; where a trigger could undo that, it is looked at.
  func runUnseen(_ values: [Value], on connection: Connection) throws(Problem) {
    if table.hasTriggers {
      _ = try run(values, on: connection)
    } else {
      _ = try add(values, on: connection)
    }
  }

  /// Adds one row, and gives its key.
  private func add(_ values: [Value], on connection: Connection) throws(Problem) -> [Value] {
    let added = try reporting { () throws(SQLiteError) in try connection.rows(insert, values) }
    guard let key = added.first else { throw Self.leftOut(table) }
    if let place = key.firstIndex(where: \.isNull) {
      let name = table.keyColumns[place].name
      throw .badRequest("key", "\(name) is a part of the key, and is missing")
    }
    return key
  }

  static func withoutKey(_ table: TableShape) -> Problem {
    var problem = Problem(
      409, "constraint", "a trigger of \(table.name) has set a part of the key to NULL")
    problem.isOfGateway = true
    return problem
  }

  static func leftOut(_ table: TableShape) -> Problem {
    var problem = Problem(409, "constraint", "a trigger of \(table.name) has undone it")
    problem.isOfGateway = true
    return problem
  }
}
