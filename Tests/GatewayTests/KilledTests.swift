import Foundation
import Glibc
import Synchronization
import Testing

/// Clients write and follow while the node is killed again and again, and hang up themselves.
/// For longer: FLOTILLA_CHAOS_SECONDS.
@Suite(.timeLimit(.minutes(30))) struct `Clients of a node that is killed` {
  private static let seconds =
    ProcessInfo.processInfo.environment["FLOTILLA_CHAOS_SECONDS"].flatMap { Int($0) } ?? 6

  @Test func `lose no write, make none twice, and hear of all`() async throws {
    try await Workplace.with { place in
      try await place.found(
        "a.db",
        """
        PRAGMA journal_mode = WAL;
        CREATE TABLE entry(id INTEGER PRIMARY KEY, word TEXT NOT NULL, note INTEGER)
        """)
      let door = Door(try await place.token("a.db"))
      async let kills = killAgainAndAgain(place, door)
      async let heard = withThrowingTaskGroup { group in
        for number in 0..<3 {
          group.addTask {
            var client = FollowingClient(door)
            return try await client.run(byEvents: number == 0)
          }
        }
        return try await group.reduce(into: [RowTexts]()) { $0.append($1) }
      }
      let written = try await withThrowingTaskGroup { group in
        for number in 0..<3 {
          group.addTask {
            var client = WritingClient(door, number)
            return try await client.run()
          }
        }
        return try await group.reduce(into: [:]) { $0.merge($1) { $1 } }
      }
      let stands = try await place.sql("a.db", "SELECT id, word || ' ' || note FROM entry")
      let rows = RowTexts(
        uniqueKeysWithValues: stands.split(separator: "\n").map { line in
          let parts = line.split(separator: "|").map(String.init)
          return (Int(parts[0]) ?? 0, parts[1])
        })
      // Each write as often as it was meant: once.
      #expect(rows.values.sorted() == written.map { "\($0.key) \($0.value)" }.sorted())
      #expect(rows.count > 10)
      door.stands.withLock { $0 = rows }
      for one in try await heard { #expect(one == rows) }
      #expect(try await kills > 0)
      #expect(try await place.sql("a.db", "PRAGMA integrity_check") == "ok")
    }
  }

  /// The last one stays until everybody has had an answer.
  private func killAgainAndAgain(_ place: Workplace, _ door: Door) async throws -> Int {
    let end = ContinuousClock.now + .seconds(Self.seconds)
    var kills = 0
    while true {
      let node = try await place.serve("a.db", "--http", "127.0.0.1:0")
      door.port.withLock { $0 = node.port }
      guard ContinuousClock.now < end else { break }
      try await Task.sleep(for: .milliseconds(.random(in: 50...1_500)))
      kill(node.process.processIdentifier, SIGKILL)
      node.process.waitUntilExit()
      kills += 1
    }
    door.isOver.store(true, ordering: .relaxed)
    return kills
  }
}

/// What a client has been told of: rows by their numbers.
private typealias RowTexts = [Int: String]

/// Where the node is reached at present, and what stands in the end.
private final class Door: Sendable {
  let port = Mutex<UInt16>(0)
  let isOver = Atomic(false)
  let stands = Mutex<RowTexts?>(nil)
  let token: String

  init(_ token: String) { self.token = token }

  var client: RawClient { RawClient(port: port.withLock { $0 }, token: token) }
  var goesOn: Bool { !isOver.load(ordering: .relaxed) }

  /// One request; nil if the node was not there. Now and then it is killed: it hangs up at once.
  func ask(
    _ method: String, _ target: String, _ headers: [String: String] = [:], body: String? = nil
  ) async throws -> Answer? {
    if goesOn, Int.random(in: 0..<4) == 0 {
      let stream = try? EventStream(
        client.port, target, token: token, accept: "*/*", headers: headers, method: method,
        body: body, reads: false)
      stream?.hangUp()
    }
    guard let answer = try? await client.ask(method, target, headers, body: body),
      answer.status != 503
    else {
      try await Task.sleep(for: .milliseconds(20))
      return nil
    }
    return answer
  }
}

/// Writes words, changes and deletes them, and asks again until it has an answer.
private struct WritingClient {
  let door: Door
  let number: Int
  private var written: [String: Int] = [:]
  private var count = 0

  init(_ door: Door, _ number: Int) { (self.door, self.number) = (door, number) }

  /// What is to stand in the end.
  mutating func run() async throws -> [String: Int] {
    while door.goesOn {
      count += 1
      let word = written.keys.randomElement()
      switch (Int.random(in: 0..<6), word) {
      case (0, let word?):
        try await change("DELETE", word, body: nil)
        written[word] = nil
      case (1...2, let word?):
        try await change("PATCH", word, body: "{\"note\":\(count)}")
        written[word] = count
      default:
        let word = "w\(number)-\(count)"
        _ = try await write("POST", "/v1/a/rows/entry", "{\"word\":\"\(word)\",\"note\":0}", 201)
        written[word] = 0
      }
    }
    return written
  }

  private func change(_ method: String, _ word: String, body: String?) async throws {
    let answer = try await write(method, "/v1/a/rows/entry?word=eq.\(word)", body, 200)
    // Done twice, the second time would find nothing to delete, and two of what was added twice.
    #expect(answer.object["changes"] as? Int == 1, "\(method) \(word): \(answer.body)")
  }

  private func write(
    _ method: String, _ target: String, _ body: String?, _ status: Int
  ) async throws -> Answer {
    let end = ContinuousClock.now + .seconds(300)
    while ContinuousClock.now < end {
      let key = ["Idempotency-Key": "\(number)-\(count)"]
      guard let answer = try await door.ask(method, target, key, body: body) else { continue }
      try #require(answer.status == status, "\(method) \(target): \(answer.body)")
      return answer
    }
    throw POSIXError(.ETIMEDOUT)
  }
}

/// Keeps a copy of the table by its changes, and goes on where it was.
private struct FollowingClient {
  let door: Door
  private var rows: RowTexts = [:]
  private var cursor: String?

  init(_ door: Door) { self.door = door }

  /// What it has in the end: what stands, or what it had after a minute without that.
  mutating func run(byEvents: Bool) async throws -> RowTexts {
    var end: ContinuousClock.Instant?
    while true {
      if let stands = door.stands.withLock({ $0 }) {
        end = end ?? .now + .seconds(60)
        if rows == stands || .now > end! { return rows }
      }
      guard let cursor else {
        try await begin()
        continue
      }
      if byEvents { try await readEvents(after: cursor) } else { try await readPage(after: cursor) }
    }
  }

  private mutating func begin() async throws {
    guard let answer = try await door.ask("GET", "/v1/a/changes") else { return }
    try await begin(at: try #require(answer.object["cursor"] as? String, "\(answer.body)"))
  }

  /// Reads the table; what changes from now on comes after the cursor.
  private mutating func begin(at cursor: String) async throws {
    var target = "/v1/a/rows/entry?limit=1000"
    var read: RowTexts = [:]
    while true {
      guard let answer = try await door.ask("GET", target) else { continue }
      for case let row as [String: Any] in try #require(answer.json as? [Any], "\(answer.body)") {
        let (id, text) = Self.text(row)
        read[id] = text
      }
      guard let link = answer.header("link")?.firstMatch(of: /<(.+)>/) else { break }
      target = String(link.1)
    }
    (rows, self.cursor) = (read, cursor)
  }

  private static func text(_ row: [String: Any]) -> (Int, String) {
    (row["id"] as? Int ?? 0, "\(row["word"] as? String ?? "?") \(row["note"] as? Int ?? -1)")
  }

  private mutating func apply(_ change: [String: Any]) throws {
    let key = try #require(change["key"] as? [String: Any], "\(change)")
    let id = try #require(key["id"] as? Int, "\(change)")
    rows[id] = (change["row"] as? [String: Any]).map { Self.text($0).1 }
  }

  private mutating func readPage(after cursor: String) async throws {
    guard let answer = try await door.ask("GET", "/v1/a/changes?wait=1&since=\(cursor)") else {
      return
    }
    let next = try #require(answer.object["cursor"] as? String, "\(answer.body)")
    guard answer.status == 200 else { return try await begin(at: next) }
    for case let change as [String: Any] in answer.object["changes"] as? [Any] ?? [] {
      try apply(change)
    }
    self.cursor = next
  }

  /// Listens for a while, and hangs up in the middle of a word.
  private mutating func readEvents(after cursor: String) async throws {
    guard
      let stream = try? EventStream(
        door.client.port, "/v1/a/changes", token: door.token, headers: ["Last-Event-ID": cursor])
    else { return try await Task.sleep(for: .milliseconds(20)) }
    let end = ContinuousClock.now + .milliseconds(.random(in: 50...2_000))
    while ContinuousClock.now < end, !stream.hasEnded {
      try await Task.sleep(for: .milliseconds(10))
    }
    stream.hangUp()
    for event in Self.events(in: stream.text) {
      let data = try #require(
        try JSONSerialization.jsonObject(with: Data(event.data.utf8)) as? [String: Any])
      if event.name == "reset" { return try await begin(at: event.id) }
      if event.name == "change" { try apply(data) }
      self.cursor = event.id
    }
  }

  private struct Event {
    var id = ""
    var name = ""
    var data = ""
  }

  /// The events that have come whole.
  private static func events(in text: String) -> [Event] {
    guard text.hasPrefix("HTTP/1.1 200"), let head = text.range(of: "\r\n\r\n") else { return [] }
    var (rest, body) = (Array(text[head.upperBound...].utf8)[...], [UInt8]())
    while let line = rest.firstRange(of: [13, 10]),
      let count = Int(String(decoding: rest[..<line.lowerBound], as: UTF8.self), radix: 16)
    {
      body += rest[line.upperBound...].prefix(count)
      rest = rest[line.upperBound...].dropFirst(count + 2)
    }
    let whole = String(decoding: body, as: UTF8.self).components(separatedBy: "\n\n").dropLast()
    return whole.compactMap { text in
      var event = Event()
      for line in text.split(separator: "\n") {
        if line.hasPrefix("id: ") { event.id = String(line.dropFirst(4)) }
        if line.hasPrefix("event: ") { event.name = String(line.dropFirst(7)) }
        if line.hasPrefix("data: ") { event.data = String(line.dropFirst(6)) }
      }
      return event.id.isEmpty ? nil : event
    }
  }
}
