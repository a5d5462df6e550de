import Flotilla

/// One request for changes: those that are there, or all that come from now on.
struct ChangeCall {
  /// In which form they are told.
  enum Form: Sendable, Equatable {
    /// One JSON object, after a while.
    case page
    /// A JSON object on each line.
    case lines
    /// Server-sent events.
    case events

    init(accept: String?) {
      let wanted = (accept ?? "").lowercased()
      self =
        wanted.contains("text/event-stream")
        ? .events
        : wanted.contains("application/x-ndjson") || wanted.contains("application/ndjson")
          ? .lines : .page
    }

    var type: String {
      switch self {
      case .page: "application/json"
      case .lines: "application/x-ndjson"
      case .events: "text/event-stream"
      }
    }
  }

  static let longestWait = 60

  let database: GatewayDatabase
  let token: AccessToken
  let form: Form
  /// Where the client was; nil if it begins.
  let since: String?
  let tables: [String]?
  let wait: Int
  /// What a token for these tables alone might do.
  private let asked: AccessToken?
  /// So long it is looked for a change that the client may hear of, also if it waits for none.
  var patience = RowDesk.longest
  /// Whether the client is let in still: what it waits for comes later.
  private let mayStill: @Sendable () async -> Bool

  init(
    _ request: HTTPRequest, _ target: RequestTarget, _ database: GatewayDatabase,
    _ token: AccessToken, mayStill: @escaping @Sendable () async -> Bool
  ) async throws(Problem) {
    (self.database, self.token, self.mayStill) = (database, token, mayStill)
    form = Form(accept: request.list("accept"))
    var (since, tables, wait): (String?, [String]?, Int?) = (nil, nil, nil)
    for parameter in target.parameters {
      switch parameter.name {
      case "since" where since == nil: since = parameter.value
      case "tables" where tables == nil:
        tables = parameter.value.split(separator: ",").map(String.init)
      case "wait" where wait == nil && form == .page:
        guard let seconds = Int(parameter.value), 0...Self.longestWait ~= seconds else {
          throw .badRequest("query", "wait is a number of seconds up to \(Self.longestWait)")
        }
        wait = seconds
      default:
        throw .badRequest(
          "query", "the parameter \(parameter.name) is unknown here, or there twice")
      }
    }
    // A browser that has lost its connection says so with the last event that it has seen.
    self.since = request.header("last-event-id") ?? since
    (self.tables, self.wait) = (tables, wait ?? 0)
    asked = tables.map { tables in
      var asked = token
      asked.tables = Dictionary(tables.map { ($0, .read) }) { first, _ in first }
      return asked
    }
    try await requireTables()
    if let since = self.since, !Replica.isCursor(since) {
      throw .badRequest(
        "cursor", "since, or Last-Event-ID, is no cursor; take one from an answer")
    }
  }

  private func requireTables() async throws(Problem) {
    for table in tables ?? [] {
      let token = token
      try await database.read { file, standing throws(Problem) in
        guard standing.right(of: token, to: table) >= .read else {
          throw Problem(404, "table", "there is no replicated table \(table)")
        }
        _ = try file.shape(of: table)
      }
    }
  }

  func isWanted(_ change: ChangeHub.Told) -> Bool {
    guard token.right(to: change.first, here: change.table) >= .read else { return false }
    return asked.map { $0.right(to: change.table) >= .read } ?? true
  }

  func answer() async throws(Problem) -> HTTPResponse {
    guard form == .page else { return try await stream() }
    guard database.polls.enter(for: token) else { return Self.busy }
    defer { database.polls.leave(for: token) }
    return try await page()
  }

  /// Where one that begins is.
  private func begin() async throws(Problem) -> String {
    do throws(FlotillaError) {
      return try await database.changes.begin()
    } catch {
      throw Problem(error)
    }
  }

  private func news(after cursor: String, within limit: Duration) async throws(Problem)
    -> ChangeHub.News
  {
    do throws(FlotillaError) {
      return try await database.changes.next(
        after: cursor, within: limit, isLast: form == .page)
    } catch {
      throw Problem(error)
    }
  }

  private static var busy: HTTPResponse {
    Problem.later("busy", "too many clients wait for changes", seconds: 5).response
  }

  /// What is to be read before what follows the cursor: the rows of each table that is followed.
  private func snapshot() async throws(Problem) -> JSON {
    let base = "/v1/\(RequestTarget.encoded(database.name))/rows/"
    let followed: [String]
    if let tables {
      followed = tables
    } else {
      followed = try await TableList.names(database, for: token)
    }
    return .array(followed.map { .text(base + RequestTarget.encoded($0)) })
  }

  private func page() async throws(Problem) -> HTTPResponse {
    guard var cursor = since else { return page([], upTo: try await begin()) }
    let start = ContinuousClock.now
    let deadline = start + .seconds(wait)
    let latest = max(deadline, start + patience)
    while true {
      let left = max(.zero, deadline - ContinuousClock.now)
      let news = try await news(after: cursor, within: left)
      guard await mayStill() else { return Gateway.takenBack }
      switch news {
      case .reset(let cursor): throw gone(cursor, try await snapshot())
      case .nothing: return page([], upTo: cursor)
      case .page(let news):
        let wanted = news.changes.filter(isWanted)
        cursor = news.end
        if !wanted.isEmpty || .now >= latest { return page(wanted, upTo: cursor) }
      }
    }
  }

  private func page(_ changes: [ChangeHub.Told], upTo cursor: String) -> HTTPResponse {
    var body = Array("{\"changes\":[".utf8)
    for (index, change) in changes.enumerated() {
      if index > 0 { body.append(UInt8(ascii: ",")) }
      body += change.text
    }
    body += Array("],\"cursor\":\(JSON.text(cursor).description)}\n".utf8)
    return HTTPResponse(200, headers: [("Content-Type", form.type)], body: body)
  }

  private func gone(_ cursor: String, _ snapshot: JSON) -> Problem {
    var problem = Problem(
      410, "gone", "what has changed since then is not known any more",
      remedy: "Read the tables, then the changes after this cursor.")
    problem.more = ["cursor": .text(cursor), "snapshot": snapshot]
    return problem
  }

  private func stream() async throws(Problem) -> HTTPResponse {
    guard database.followers.enter(for: token) else { return Self.busy }
    database.followers.leave(for: token)
    let start: String
    if let since { start = since } else { start = try await begin() }
    var response = HTTPResponse(
      200, headers: [("Content-Type", form.type), ("X-Accel-Buffering", "no")])
    let isNew = since == nil
    response.stream = { stream in
      guard database.followers.enter(for: token) else { return }
      await follow(from: start, isNew: isNew, into: stream)
      database.followers.leave(for: token)
    }
    return response
  }
}

/// Answers that do not end.
extension ChangeCall {
  /// So often a client hears that it is connected.
  static let heartbeat: Duration = .seconds(15)
  /// So often it is looked at whether the client may still hear anything.
  static let watch: Duration = .seconds(2)
  private static let longestPart = 64 << 10

  private func follow(from start: String, isNew: Bool, into stream: ResponseStream) async {
    var cursor = start
    // The client waits for its first byte.
    let hello = isNew ? place(cursor, "begin") : form == .events ? ": \n\n" : ""
    var isOpen = await stream.write(hello)
    var (told, lastWord) = (cursor, ContinuousClock.now)
    while isOpen, !Task.isCancelled {
      let left = Self.heartbeat - (ContinuousClock.now - lastWord)
      var (news, snapshot) = (ChangeHub.News.nothing, JSON.null)
      do throws(Problem) {
        let next = try await self.news(after: cursor, within: min(max(.zero, left), Self.watch))
        if case .reset = next { snapshot = try await self.snapshot() }
        news = next
      } catch {
        // The node is away for a moment: what comes then follows.
        guard (try? await Task.sleep(for: .seconds(1))) != nil else { return }
      }
      // Who was let in no longer is told nothing more.
      guard await mayStill() else { return }
      switch news {
      case .reset(let place):
        isOpen = await stream.write(
          self.place(place, "reset", ["reset": .bool(true), "snapshot": snapshot]))
        (cursor, told, lastWord) = (place, place, .now)
      case .page(let page):
        guard let bytes = text(of: page.changes) else {
          cursor = page.end
          continue
        }
        guard database.waitingBytes.enter(bytes.count, for: token) else {
          _ = await stream.write(place(cursor, "resume", ["resume": .bool(true)]))
          return
        }
        isOpen = await write(bytes, into: stream)
        database.waitingBytes.leave(bytes.count, for: token)
        (cursor, told, lastWord) = (page.end, page.end, .now)
      case .nothing:
        guard ContinuousClock.now - lastWord >= Self.heartbeat else { continue }
        isOpen = await stream.write(
          told == cursor && form == .events ? ": \n\n" : place(cursor, "progress"))
        (told, lastWord) = (cursor, .now)
      }
    }
  }

  /// Writes it in small parts, to who may still hear them: a client may take a minute for each.
  private func write(_ bytes: [UInt8], into stream: ResponseStream) async -> Bool {
    for start in stride(from: 0, to: bytes.count, by: Self.longestPart) {
      let part = bytes[start..<min(start + Self.longestPart, bytes.count)]
      guard await mayStill(), await stream.write(Array(part)) else { return false }
    }
    return true
  }

  /// Those that the client wants; nil if it wants none.
  private func text(of changes: [ChangeHub.Told]) -> [UInt8]? {
    var bytes: [UInt8] = []
    for change in changes where isWanted(change) {
      switch form {
      case .events:
        bytes += Array("id: \(change.cursor)\nevent: change\ndata: ".utf8)
        bytes += change.text
        bytes += [10, 10]
      case .lines, .page:
        bytes += change.text
        bytes.append(10)
      }
    }
    return bytes.isEmpty ? nil : bytes
  }

  private func place(
    _ cursor: String, _ event: String, _ more: [String: JSON] = [:]
  ) -> String {
    let told = more.merging(["cursor": .text(cursor)]) { _, new in new }
    let text = JSON.object(told).description
    return form == .events ? "id: \(cursor)\nevent: \(event)\ndata: \(text)\n\n" : text + "\n"
  }
}
