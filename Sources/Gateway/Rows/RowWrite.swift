import Flotilla
import SQLite

/// What a request wants to write.
enum RowWrite: Sendable {
  /// Adds rows; all or none.
  case add([[JSONMember]], isList: Bool)
  /// Puts a whole row in the place of the one with this key.
  case put(key: String, [JSONMember])
  case change(key: String, [JSONMember])
  case remove(key: String)
  /// Changes or removes all rows that a filter finds.
  case changeAll([RequestTarget.Parameter], [JSONMember])
  case removeAll([RequestTarget.Parameter])
}

/// The conditions and wishes that come with it.
struct WriteTerms: Sendable {
  var ifMatch: TagCondition?
  var ifNoneMatch: TagCondition?
  var returnsRows = false
  var mostRows: Int?
}

/// What a write has come to: the row or rows that it left.
struct WriteResult: Sendable {
  var status: Int
  var rows: [StoredRow] = []
  var isList = false
  /// How many rows a write with a filter has touched.
  var changes: Int?

  /// Whether the one row that was changed is not there under its key.
  var isAway: Bool { status == 200 && rows.isEmpty && changes == nil }
}

/// Writes rows of one table inside the open transaction.
struct RowWriter {
  let table: TableShape
  let connection: Connection
  let terms: WriteTerms
  /// The places of columns by their names in small letters: while a row is read nobody else writes.
  private let places: [[UInt8]: Int]

  init(table: TableShape, connection: Connection, terms: WriteTerms) {
    (self.table, self.connection, self.terms) = (table, connection, terms)
    let names = table.columns.map { Array($0.name.asciiLowercased.utf8) }
    places = Dictionary(zip(names, names.indices)) { first, _ in first }
  }

  static let mostRows = 10_000

  func run(_ write: RowWrite) throws(Problem) -> WriteResult {
    switch write {
    case .add(let rows, let isList): return try add(rows, isList)
    case .put(let key, let row): return try put(key, row)
    case .change(let key, let row): return try change(key, row)
    case .remove(let key): return try remove(key)
    case .changeAll(let parameters, let row): return try changeAll(parameters, row)
    case .removeAll(let parameters): return try removeAll(parameters)
    }
  }

  /// The columns of an object and their values.
  private func settings(
    _ members: [JSONMember]
  ) throws(Problem) -> (columns: [TableShape.Column], values: [Value]) {
    let columns = try columns(members)
    return (columns, try values(members, columns))
  }

  private func columns(_ members: [JSONMember]) throws(Problem) -> [TableShape.Column] {
    var columns: [TableShape.Column] = []
    var named: Set<Int> = []
    for member in members {
      let known = places[Array(member.name.asciiLowercased.utf8)]
      let place = if let known { known } else { try table.column(member.name) }
      let column = table.columns[place]
      guard !column.isGenerated else {
        throw .badRequest("column", "\(column.name) is computed and cannot be written")
      }
      guard named.insert(place).inserted else {
        throw .badRequest("column", "\(column.name) is named twice")
      }
      columns.append(column)
    }
    return columns
  }

  private func values(
    _ members: [JSONMember], _ columns: [TableShape.Column]
  ) throws(Problem) -> [Value] {
    var values: [Value] = []
    values.reserveCapacity(members.count)
    for (member, column) in zip(members, columns) {
      do throws(ValueError) {
        values.append(try member.value.stored())
      } catch {
        throw .badRequest("value", "\(column.name): \(error.message)")
      }
    }
    return values
  }

  private func add(_ rows: [[JSONMember]], _ isList: Bool) throws(Problem) -> WriteResult {
    guard rows.count <= Self.mostRows else {
      throw Problem(413, "too-many-rows", "one request adds \(Self.mostRows) rows at most")
    }
    var result = WriteResult(status: 201, isList: isList)
    var size = 0
    var (named, insert): ([JSONMember], RowInsert) = ([], RowInsert(into: table, []))
    for members in rows {
      // Most rows name the same columns as the one before them.
      if !members.elementsEqual(named, by: { $0.name.utf8.elementsEqual($1.name.utf8) }) {
        (named, insert) = (members, RowInsert(into: table, try columns(members)))
      }
      let values = try values(members, insert.columns)
      guard !isList || terms.returnsRows else {
        try insert.runUnseen(values, on: connection)
        continue
      }
      let row = try insert.run(values, on: connection)
      size += row.size
      guard !isList || size <= StoredRow.longest else {
        throw Problem(
          422, "row-too-large",
          "the rows come to more than \(StoredRow.longest) bytes as JSON; nothing was done",
          remedy: "Add fewer at a time, or leave out Prefer: return=representation.")
      }
      result.rows.append(row)
    }
    if isList { result.changes = rows.count }
    return result
  }

  private func run(_ sql: SQLText) throws(Problem) -> Int {
    try reporting { () throws(SQLiteError) in try connection.run(sql.text, sql.values) }
  }

  /// The row that is there, once the conditions of the request hold of it.
  private func current(_ key: [Value]) throws(Problem) -> StoredRow? {
    let row = try table.row(key, on: connection)
    let tag = row?.tag
    if let condition = terms.ifMatch, !condition.matches(tag, by: .strong) {
      throw Problem(
        412, "precondition",
        row == nil ? "there is no row of this key" : "the row is another one than If-Match names")
    }
    if let condition = terms.ifNoneMatch, condition.matches(tag, by: .weak) {
      throw Problem(412, "precondition", "the row is there already")
    }
    return row
  }

  private func put(_ part: String, _ members: [JSONMember]) throws(Problem) -> WriteResult {
    let key = try RowKey.read(part, of: table)
    let row = try current(key)
    let computed = members.filter { member in
      table.place(of: member.name).map { table.columns[$0].isGenerated } ?? false
    }
    var (columns, values) = try settings(members.filter { !computed.contains($0) })
    for (column, value) in zip(table.keyColumns, key) {
      guard let place = columns.firstIndex(of: column) else {
        columns.append(column)
        values.append(value)
        continue
      }
      guard try isSame(values[place], value, in: column) else {
        throw .badRequest("key", "\(column.name) is another one in the path than in the row")
      }
      values[place] = value
    }
    if let missing = table.columns.first(where: { !$0.isGenerated && !columns.contains($0) }) {
      throw .badRequest(
        "column", "PUT writes the whole row, and \(missing.name) is missing; PATCH changes parts")
    }
    guard let row else {
      let made = try RowInsert(into: table, columns).run(values, on: connection)
      try check(computed, against: [made])
      return WriteResult(status: 201, rows: [made])
    }
    let rest = columns.indices.filter { !table.keyColumns.contains(columns[$0]) }
    if !rest.isEmpty {
      try update(key, rest.map { columns[$0] }, rest.map { values[$0] })
    }
    let rows = try table.row(key, on: connection).map { [$0] } ?? []
    try check(computed, against: [row] + rows)
    return WriteResult(status: 200, rows: rows)
  }

  /// Who puts back what GET gave names computed columns, too: each must be as it was in the row, or
  /// as it is there now.
  private func check(_ computed: [JSONMember], against rows: [StoredRow]) throws(Problem) {
    var seen: Set<Int> = []
    for member in computed {
      let place = try table.column(member.name)
      let column = table.columns[place]
      guard seen.insert(place).inserted else {
        throw .badRequest("column", "\(column.name) is named twice")
      }
      let value: Value
      do throws(ValueError) {
        value = try member.value.stored()
      } catch {
        throw .badRequest("value", "\(column.name): \(error.message)")
      }
      var isKnown = false
      for row in rows where !isKnown {
        isKnown = try isSame(value, row.values[place], in: column)
      }
      guard isKnown else {
        var problem = Problem(
          400, "column", "\(column.name) is computed, and cannot be set to another value")
        problem.remedy = "Leave it out, or send it as GET gave it."
        throw problem
      }
    }
  }

  /// Whether a value is what the column makes of another one.
  private func isSame(
    _ value: Value, _ other: Value, in column: TableShape.Column
  ) throws(Problem) -> Bool {
    if value == other { return true }
    func text(_ value: Value) -> String? {
      switch value {
      case .integer(let number): String(number)
      case .real(let number): number.description
      default: value.string
      }
    }
    guard !column.isUntyped, let left = text(value), let right = text(other) else { return false }
    if left == right { return true }
    guard Int64(left) == nil || Int64(right) == nil else { return false }
    return Double(left).flatMap { number in Double(right).map { $0 == number } } ?? false
  }

  private func update(
    _ key: [Value], _ columns: [TableShape.Column], _ values: [Value]
  ) throws(Problem) {
    var sql = assignments(columns, values)
    sql.add(" WHERE ")
    sql.add(key: key, of: table)
    guard try run(sql) > 0 else { throw RowInsert.leftOut(table) }
  }

  private func assignments(_ columns: [TableShape.Column], _ values: [Value]) -> SQLText {
    var sql = SQLText()
    sql.add("UPDATE ")
    sql.add(table.resolution)
    sql.add(table: table)
    sql.add(" SET ")
    for (index, (column, value)) in zip(columns, values).enumerated() {
      if index > 0 { sql.add(", ") }
      sql.add(name: column.name)
      sql.add(" = ")
      sql.bind(value)
    }
    return sql
  }

  /// What a change sets: at least one column, and no part of the key to NULL, for no other machine
  /// gets a row without one.
  private func changes(
    _ members: [JSONMember]
  ) throws(Problem) -> (columns: [TableShape.Column], values: [Value]) {
    let (columns, values) = try settings(members)
    guard !columns.isEmpty else { throw .badRequest("body", "the change names no column") }
    for (column, value) in zip(columns, values) where value.isNull {
      guard !table.keyColumns.contains(column) else {
        throw .badRequest("key", "\(column.name) is a part of the key, and cannot be null")
      }
    }
    return (columns, values)
  }

  private func change(_ part: String, _ members: [JSONMember]) throws(Problem) -> WriteResult {
    let key = try RowKey.read(part, of: table)
    guard let row = try current(key) else { throw missing }
    let (columns, values) = try changes(members)
    try update(row.key, columns, values)
    // The key itself may have changed, and a column may have made another value of it.
    var next = row.key
    for (index, place) in table.key.enumerated() {
      if let changed = columns.firstIndex(of: table.columns[place]) {
        next[index] = values[changed]
      }
    }
    return WriteResult(status: 200, rows: try table.row(next, on: connection).map { [$0] } ?? [])
  }

  private func remove(_ part: String) throws(Problem) -> WriteResult {
    let key = try RowKey.read(part, of: table)
    guard let row = try current(key) else { throw missing }
    var sql = SQLText()
    sql.add("DELETE FROM ")
    sql.add(table: table)
    sql.add(" WHERE ")
    sql.add(key: row.key, of: table)
    guard try run(sql) > 0 else { throw RowInsert.leftOut(table) }
    return WriteResult(status: 204)
  }

  private var missing: Problem { Problem(404, "row", "\(table.name) has no row of this key") }

  private func changeAll(
    _ parameters: [RequestTarget.Parameter], _ members: [JSONMember]
  ) throws(Problem) -> WriteResult {
    let (columns, values) = try changes(members)
    return try runFiltered(assignments(columns, values), parameters)
  }

  private func removeAll(
    _ parameters: [RequestTarget.Parameter]
  ) throws(Problem) -> WriteResult {
    var sql = SQLText()
    sql.add("DELETE FROM ")
    sql.add(table: table)
    return try runFiltered(sql, parameters)
  }

  /// A write to all rows that are found. Without a filter it is a mistake, as a rule.
  private func runFiltered(
    _ start: SQLText, _ parameters: [RequestTarget.Parameter]
  ) throws(Problem) -> WriteResult {
    let filters = try RowQuery(parameters, takes: []).filters
    guard !filters.isEmpty || terms.mostRows != nil else {
      throw Problem(
        400, "no-filter", "without a filter this would touch every row of \(table.name)",
        remedy: "Name the rows, as in ?id=eq.5; or say how many may be touched: "
          + "Prefer: max-affected=1000")
    }
    var sql = start
    sql.add(" WHERE 1")
    for filter in filters {
      sql.add(" AND ")
      try sql.add(filter, on: table)
    }
    let count = try run(sql)
    if let most = terms.mostRows, count > most {
      throw Problem(
        400, "max-affected", "\(count) rows would be touched, and \(most) may be; nothing was done")
    }
    return WriteResult(status: 200, changes: count)
  }
}
