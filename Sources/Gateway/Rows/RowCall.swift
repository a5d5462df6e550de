import Flotilla
import SQLite

/// One request about rows of a table.
struct RowCall {
  let database: GatewayDatabase
  let token: AccessToken
  let request: HTTPRequest
  let target: RequestTarget
  let table: String
  /// The last part of the path, still encoded; nil if the request is about the table.
  let key: String?
  /// Where it reads, if that was decided before.
  let seat: DeskPool.Seat?
  /// Whether the client is let in still: the verdict on a write comes later.
  let mayStill: @Sendable () async -> Bool

  var resource: String {
    "/v1/\(RequestTarget.encoded(database.name))/rows/\(RequestTarget.encoded(table))"
  }

  func answer() async throws(Problem) -> HTTPResponse {
    switch (request.method, key) {
    case ("GET", nil), ("HEAD", nil): return try await page()
    case ("GET", let key?), ("HEAD", let key?): return try await row(key)
    default: return try await write()
    }
  }

  /// Refuses what neither the token nor the node may do. A table that may not be read is as if it
  /// was not there.
  private func require(_ right: TableRight, _ standing: OwnStanding) throws(Problem) {
    let granted = standing.right(of: token, to: table)
    guard granted < right else { return }
    var problem = Problem(
      403, "not-allowed",
      standing.right(to: table) < right
        ? "this node may not write \(table)" : "this token may not write \(table)")
    if granted < .read {
      problem = Problem(404, "table", "there is no replicated table \(table)")
    }
    if !standing.unknownTables(of: token).isEmpty {
      problem.remedy =
        "The token is of an earlier version and names a table that is not here: until that comes "
        + "it is worth the least that it says. Ask for a new one: flotilla token DB list"
    }
    throw problem
  }

  private func page() async throws(Problem) -> HTTPResponse {
    let query = try RowQuery(target.parameters)
    let page = try await database.read(for: request, at: seat) { file, standing throws(Problem) in
      try require(.read, standing)
      return try RowPage.read(query, of: table, in: file)
    }
    var headers = [(name: "Content-Type", value: "application/json")]
    if let next = page.next {
      let others = target.parameters.filter { $0.name != "next" }
        .map { "\(RequestTarget.encoded($0.name))=\(RequestTarget.encoded($0.value))" }
      let link = resource + "?" + (others + ["next=\(next)"]).joined(separator: "&")
      guard link.utf8.count <= RequestTarget.longest else { throw PageEnd.tooLong }
      headers.append(("Link", "<\(link)>; rel=\"next\""))
    }
    return HTTPResponse(200, headers: headers, body: page.body)
  }

  private func row(_ key: String) async throws(Problem) -> HTTPResponse {
    try refuseParameters()
    let tellsEdit = try Preferences(request.list("prefer")).tellsEdit
    let (row, about) = try await database.read(for: request, at: seat) {
      file, standing throws(Problem) in
      try require(.read, standing)
      let shape = try file.shape(of: table)
      let row = try shape.row(try RowKey.read(key, of: shape), on: file.connection)
      return (row, tellsEdit ? try lastEdit(of: row, on: file.connection) : [])
    }
    guard let row else { throw Problem(404, "row", "\(table) has no row of this key") }
    let tag = row.tag
    if let condition = try TagCondition(request.list("if-match")),
      !condition.matches(tag, by: .strong)
    {
      throw Problem(412, "precondition", "the row is another one than If-Match names")
    }
    if let condition = try TagCondition(request.list("if-none-match")),
      condition.matches(tag, by: .weak)
    {
      return HTTPResponse(304, headers: [("ETag", tag)])
    }
    return HTTPResponse(
      200, headers: [("Content-Type", "application/json"), ("ETag", tag)] + about,
      body: try row.json() + [10])
  }

  /// Who has edited it last, and when, as headers. A name may have any letters.
  private func lastEdit(
    of row: StoredRow?, on connection: Connection
  ) throws(Problem) -> [(name: String, value: String)] {
    guard let row else { return [] }
    do throws(FlotillaError) {
      let edit = try database.replica.lastEdit(of: row.table.name, row.key, on: connection)
      return [("Preference-Applied", "last-edit")]
        + (edit.author.map { [("Flotilla-Edited-By", RequestTarget.encoded($0))] } ?? [])
        + (edit.at.map { [("Flotilla-Edited-At", $0)] } ?? [])
    } catch {
      throw Problem(error)
    }
  }

  private func refuseParameters() throws(Problem) {
    guard let one = target.parameters.first else { return }
    throw .badRequest("query", "the parameter \(one.name) is unknown here")
  }
}

/// Writes.
extension RowCall {
  private func write() async throws(Problem) -> HTTPResponse {
    let methods =
      key == nil
      ? ["GET", "HEAD", "POST", "PATCH", "DELETE"]
      : ["GET", "HEAD", "PUT", "PATCH", "DELETE"]
    guard methods.contains(request.method) else {
      var problem = Problem(405, "method", "\(request.method) is not among the methods here")
      problem.headers = [("Allow", methods.joined(separator: ", "))]
      throw problem
    }
    let preferences = try Preferences(request.list("prefer"))
    let (response, edit) = try await database.withNames { standing throws(Problem) in
      try require(.write, standing)
      return try await commit(preferences, standing)
    }
    guard let edit, let seconds = preferences.wait else { return response }
    // What is told of a write again is told with the verdict of now.
    return await verdict(on: edit, within: seconds, response)
  }

  /// Writes on the thread of the one connection that does; what comes in is read there as well, for
  /// a large body takes its time.
  private func commit(
    _ preferences: Preferences, _ standing: OwnStanding
  ) async throws(Problem) -> (HTTPResponse, Replica.Edit?) {
    guard database.writes.enter(for: token) else {
      throw .later("busy", "too many clients write at a time")
    }
    defer { database.writes.leave(for: token) }
    let terms = try terms(preferences)
    do throws(Problem) {
      return try await database.writer.run(until: min(.now + RowDesk.longest, request.deadline)) {
        file throws(Problem) -> (HTTPResponse, Replica.Edit?) in
        try commit(preferences, terms, standing, in: file)
      }
    } catch {
      throw isTold(error) ? error : Problem(409, error.kind, "a constraint or trigger forbids it")
    }
  }

  /// Whether a client may know what SQLite says: a trigger may have met another table.
  private func isTold(_ problem: Problem) -> Bool {
    guard ["constraint", "sql"].contains(problem.kind), !token.readsAll else { return true }
    return problem.detail.contains(": \(table).")
      || problem.detail.hasPrefix("FOREIGN KEY") || problem.isOfGateway
  }

  private func commit(
    _ preferences: Preferences, _ terms: WriteTerms, _ standing: OwnStanding, in file: OpenFile
  ) throws(Problem) -> (HTTPResponse, Replica.Edit?) {
    let connection = file.connection
    guard try database.isValid(token) else {
      throw Problem(401, "token", "the token was taken back")
    }
    let write = try wanted()
    let kept = try KeptAnswer(request, token: token.hash)
    try file.beginWriting()
    try file.require(schema: standing.schema)
    let now = standing.ageing
    if let answer = try kept?.find(on: connection) {
      return (answer, try edit(of: answer, on: connection))
    }
    let mark = try reporting { () throws(SQLiteError) in
      try database.replica.editMark(on: connection)
    }
    let shape = try file.shape(of: table)
    let result = try RowWriter(table: shape, connection: connection, terms: terms).run(write)
    if result.isAway, try hasLostItsKey(shape, since: mark, on: connection) {
      throw RowInsert.withoutKey(shape)
    }
    var response = try answer(to: result, preferences)
    let edit = try reporting { () throws(SQLiteError) in
      preferences.wait == nil
        ? nil
        : try database.replica.edit(
          since: mark, limit: RowWriter.mostRows, bytes: StoredRow.longest, on: connection)
    }
    let receipt = Receipt(token: token.hash)
    if let edit, try receipt.keep(edit, at: now, on: connection) {
      response = response.with(Self.receiptHeader, receiptPath + receipt.id)
    }
    try kept?.keep(response, at: now, on: connection)
    try reporting { () throws(SQLiteError) in _ = try connection.run("COMMIT") }
    return (response, edit)
  }

  /// Whether a trigger has set a part of a key to NULL: no other machine gets such a row.
  private func hasLostItsKey(
    _ table: TableShape, since mark: Replica.EditMark, on connection: Connection
  ) throws(Problem) -> Bool {
    try reporting { () throws(SQLiteError) in
      try database.replica.edit(
        since: mark, limit: RowWriter.mostRows, bytes: StoredRow.longest, on: connection)
    }.rows.contains { $0.isKeyless && $0.table.utf8.elementsEqual(table.name.utf8) }
  }

  static let receiptHeader = "Flotilla-Receipt"
  private var receiptPath: String { "/v1/\(RequestTarget.encoded(database.name))/receipts/" }

  /// The write to which this was the answer.
  private func edit(
    of answer: HTTPResponse, on connection: Connection
  ) throws(Problem) -> Replica.Edit? {
    guard let path = answer.headers.first(where: { $0.name == Self.receiptHeader })?.value,
      let id = path.split(separator: "/").last
    else { return nil }
    return try Receipt(token: token.hash, id: String(id)).edit(on: connection)
  }

  private func terms(_ preferences: Preferences) throws(Problem) -> WriteTerms {
    let (match, noneMatch) = (request.list("if-match"), request.list("if-none-match"))
    guard key != nil || match == nil && noneMatch == nil else {
      throw .badRequest("precondition", "If-Match is about one row, named by its key in the path")
    }
    return WriteTerms(
      ifMatch: try TagCondition(match), ifNoneMatch: try TagCondition(noneMatch),
      returnsRows: preferences.returnsRows, mostRows: preferences.mostRows)
  }

  /// What is to be written, from method, path and body.
  private func wanted() throws(Problem) -> RowWrite {
    switch (request.method, key) {
    case ("DELETE", let key?):
      try refuseParameters()
      return .remove(key: key)
    case ("DELETE", nil): return .removeAll(target.parameters)
    case ("POST", _):
      try refuseParameters()
      return try added()
    case ("PUT", let key?):
      try refuseParameters()
      return .put(key: key, try members(of: try request.json()))
    case (_, let key?):
      try refuseParameters()
      return .change(key: key, try members(of: try request.json()))
    default: return .changeAll(target.parameters, try members(of: try request.json()))
    }
  }

  private func added() throws(Problem) -> RowWrite {
    guard case .array(let elements) = try request.json() else {
      return .add([try members(of: try request.json())], isList: false)
    }
    var rows: [[JSONMember]] = []
    for element in elements { rows.append(try members(of: element)) }
    return .add(rows, isList: true)
  }

  private func members(of value: JSONValue) throws(Problem) -> [JSONMember] {
    guard case .object(let members) = value else {
      throw .badRequest("body", "a row is an object: {\"column\": value}")
    }
    return members
  }

  /// The answer before anybody has judged.
  private func answer(
    to result: WriteResult, _ preferences: Preferences
  ) throws(Problem) -> HTTPResponse {
    var response = HTTPResponse(result.status)
    if !result.isList, let row = result.rows.first {
      response.headers.append(("ETag", row.tag))
      let location = resource + "/" + row.path
      // A longer one could not be asked for.
      if result.status == 201, location.utf8.count <= RequestTarget.longest {
        response.headers.append(("Location", location))
      }
    }
    if preferences.returnsRows, !result.rows.isEmpty || result.isList {
      var body: [UInt8] = []
      for (index, row) in result.rows.enumerated() {
        body += (index > 0 ? Array(",\n".utf8) : []) + (try row.json())
      }
      if result.isList { body = [UInt8(ascii: "[")] + body + [UInt8(ascii: "]")] }
      response.headers.append(("Preference-Applied", "return=representation"))
      response.body = body + [10]
    } else if let changes = result.changes {
      response.body = Array("{\"changes\":\(changes)}\n".utf8)
    } else if result.status == 200 {
      response.status = 204
    }
    if !response.body.isEmpty { response.headers.append(("Content-Type", "application/json")) }
    return response
  }

  /// The answer of the anchor, if it comes in time: what `sql --online` says, with these keys.
  private func verdict(
    on edit: Replica.Edit, within seconds: Int, _ response: HTTPResponse
  ) async -> HTTPResponse {
    if edit.rows.isEmpty { return response.with("Flotilla-Verdict", "none") }
    // It is committed here, whatever becomes of asking; so many rows nobody asks about.
    guard edit.isWhole, database.waits.enter(for: token) else {
      return response.with("Flotilla-Verdict", "unknown")
    }
    defer { database.waits.leave(for: token) }
    do throws(FlotillaError) {
      let outcome = try await database.replica.outcome(of: edit, within: .seconds(seconds))
      guard await mayStill() else { return response.with("Flotilla-Verdict", "unknown") }
      let own = try? await database.standing()
      let answer = VerdictAnswer(edit: edit, outcome: outcome) { table in
        (own?.right(of: token, to: table) ?? .none) >= .read
      }
      return answer.response(after: response)
    } catch {
      guard error.code == .noAnchor else { return response.with("Flotilla-Verdict", "unknown") }
      var answer = response.with("Flotilla-Verdict", "none")
      answer.headers.removeAll { $0.name == Self.receiptHeader }
      return answer
    }
  }
}
