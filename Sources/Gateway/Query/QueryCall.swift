import Flotilla
import SQLite

/// One request with a statement of the client's own: `{"sql": "SELECT …", "values": […]}`.
struct QueryCall {
  let database: GatewayDatabase
  let token: AccessToken
  let request: HTTPRequest

  func answer() async throws(Problem) -> HTTPResponse {
    let (statement, values) = try Self.read(try request.json())
    let token = token
    let body = try await database.queries.pass("queries", for: token) { () throws(Problem) in
      try await database.read(from: database.asker) { file, standing throws(Problem) in
        try Self.rows(statement, values, on: file.connection, hides: !token.readsAll) {
          standing.right(of: token, to: $0) >= .read
        }
      }
    }
    return HTTPResponse(200, headers: [("Content-Type", "application/json")], body: body)
  }

  static func read(_ body: JSONValue) throws(Problem) -> (String, [Value]) {
    guard case .object(let members) = body,
      case .text(let statement)? = members.first(where: { $0.name == "sql" })?.value,
      members.allSatisfy({ ["sql", "values"].contains($0.name) })
    else {
      throw .badRequest("body", "a query is {\"sql\": \"SELECT … WHERE id = ?\", \"values\": [1]}")
    }
    guard let list = members.first(where: { $0.name == "values" })?.value else {
      return (statement, [])
    }
    guard case .array(let elements) = list, elements.count <= QueryBounds.mostValues else {
      throw .badRequest("body", "values is an array, of \(QueryBounds.mostValues) at most")
    }
    do throws(ValueError) {
      return (statement, try elements.map { element throws(ValueError) in try element.stored() })
    } catch {
      throw .badRequest("value", error.message)
    }
  }

  /// The answer to a statement: `{"columns":[…],"rows":[[…]],"more":false}`. `hides` says that the
  /// names of what may not be read are no business of the client's.
  static func rows(
    _ text: String, _ values: [Value], on connection: Connection, hides: Bool,
    mayRead: (String) -> Bool
  ) throws(Problem) -> [UInt8] {
    // SQLite reads up to it.
    guard !text.utf8.contains(0) else {
      throw .badRequest("sql", "the statement has a NUL in it")
    }
    let end = ContinuousClock.now + RowDesk.longest
    let access = try reporting { () throws(SQLiteError) in
      try QueryAccess(connection, until: end, mayRead: mayRead)
    }
    if hides { try check(text, on: connection, access, until: end) }
    connection.setAuthorizer { access.allows($0, within: $1) }
    defer { connection.setAuthorizer(nil) }
    do throws(SQLiteError) {
      let statement = try connection.prepare(text)
      try check(statement, values.count)
      try statement.bind(values)
      return try json(statement)
    } catch {
      if error.isInterrupted {
        guard .now < end else {
          throw Problem(
            422, "too-slow", "the query took longer than 5 s and was ended",
            remedy: "Select fewer rows, or by a column with an index.")
        }
        throw Problem(
          413, "too-large",
          "the query sorts or gathers more than \(QueryBounds.memory >> 20) MiB",
          remedy: "Select fewer rows or columns.")
      }
      throw problem(error, access)
    }
  }

  private static func check(
    _ text: String, on connection: Connection, _ access: QueryAccess,
    until end: ContinuousClock.Instant
  ) throws(Problem) {
    let visible = try reporting { () throws(SQLiteError) in
      try VisibleSchema(of: connection, access, until: end)
    }
    guard visible.isWhole else {
      throw Problem(
        422, "sql", "queries of this token cannot be checked: a table needs functions of a program",
        remedy: "Ask for rows, or with a token that may read every table.")
    }
    try visible.check(text)
    access.namesAreKnown = true
  }

  private static func check(_ statement: Statement, _ count: Int) throws(SQLiteError) {
    var wrong: String?
    if !statement.isAlone {
      wrong = "one statement at a time, please"
    } else if !statement.isReadOnly || statement.columnCount == 0 {
      wrong = "a query only reads rows: SELECT, WITH or VALUES"
    } else if statement.parameterCount != count {
      wrong =
        "the statement has \(statement.parameterCount) parameters, and there are \(count) values"
    }
    if let wrong { throw SQLiteError(code: 1, message: wrong) }
  }

  private static func json(_ statement: Statement) throws(SQLiteError) -> [UInt8] {
    var text = RowText()
    text.append("{\"columns\":[")
    for index in 0..<statement.columnCount {
      if index > 0 { text.append(",") }
      text.append(quoted: Array(statement.columnName(index).utf8))
    }
    text.append("],\"rows\":[")
    var (count, hasMore) = (0, false)
    while try statement.step() {
      guard count < QueryBounds.mostRows, text.bytes.count < QueryBounds.longest else {
        hasMore = true
        break
      }
      text.append(count > 0 ? ",\n[" : "[")
      for (index, value) in statement.row.enumerated() {
        if index > 0 { text.append(",") }
        text.append(result: value)
      }
      text.append("]")
      count += 1
    }
    text.append("],\"more\":")
    text.append(hasMore ? "true}\n" : "false}\n")
    return text.bytes
  }

  static func problem(_ error: SQLiteError, _ access: QueryAccess) -> Problem {
    if error.isTooBig {
      return Problem(
        413, "too-large",
        "a value of a query has more than \(QueryBounds.longestValue >> 10) KiB, or the query "
          + "itself more than \(QueryBounds.longestStatement >> 10)",
        remedy: "Read that row by its key: rows/TABLE/KEY")
    }
    guard error.primary == 1 || error.isRefused || error.primary == 21 || error.primary == 20
    else { return Problem(error) }
    return .badRequest("sql", access.refused ?? error.message)
  }
}

extension Statement {
  /// Whether nothing but remarks stands behind it.
  var isAlone: Bool {
    let rest = tail.drop { $0.isWhitespace || $0 == ";" }
    return rest.isEmpty || rest.hasPrefix("--") || rest.hasPrefix("/*")
  }
}

extension RowText {
  /// A value that has no column: only a large integer needs the long form, to be no text.
  mutating func append(result value: Value) {
    if case .real = value {
      append(value, isUntyped: false)
    } else {
      append(value, isUntyped: true)
    }
  }
}
