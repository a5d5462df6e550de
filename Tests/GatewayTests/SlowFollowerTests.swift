import Flotilla
import Foundation
import Testing

@testable import Gateway

@Suite(.timeLimit(.minutes(5))) struct `A follower for whom there is no room` {
  /// What a stream has said until it has ended.
  private func said(by response: HTTPResponse) async throws -> String {
    let body = try #require(response.stream)
    let mailbox = Mailbox()
    let stream = ResponseStream(1, mailbox) {}
    async let ends: Void = body(stream)
    let reader = Task {
      var text: [UInt8] = []
      while true {
        let isLast = Task.isCancelled
        for case .part(_, let bytes) in mailbox.take() {
          text += bytes
          stream.sent()
        }
        guard !isLast else { return text }
        try? await Task.sleep(for: .milliseconds(2))
      }
    }
    await ends
    reader.cancel()
    return String(decoding: await reader.value, as: UTF8.self)
  }

  @Test(arguments: [("text/event-stream", true), ("application/x-ndjson", false)])
  func `is told where to go on, and then gets all`(accept: String, isEvents: Bool) async throws {
    try await Workplace.with { place in
      try await place.found("a.db", "CREATE TABLE t(id INTEGER PRIMARY KEY, v)")
      let replica = Replica(path: place.path("a.db"))
      let database = GatewayDatabase(replica)
      let hash = AccessToken.hash(of: try await place.token("a.db"))
      let token = try #require(try await database.token(hash: hash))
      let start = try await database.changes.begin()
      try await place.sql("a.db", "INSERT INTO t VALUES (1, 'told later')")
      func follow(since cursor: String) async throws -> HTTPResponse {
        var request = HTTPRequest("GET", "/v1/a/changes?since=\(cursor)")
        request.headers = [("accept", accept)]
        let calls = Counter()
        // It is let in twice: once to be told, and once more to see that it is still there.
        return try await ChangeCall(
          request, try RequestTarget(request.target), database, token,
          mayStill: { calls.next() <= 2 }
        ).answer()
      }
      // Others have not taken what this token may have on its way.
      let most = 64 << 20
      #expect(database.waitingBytes.enter(most / 4 * 3, for: token))
      let refused = try await said(by: try await follow(since: start))
      #expect(!refused.contains("told later"))
      #expect(refused.contains(#"{"cursor":"\#(start)","resume":true}"#), "\(refused)")
      #expect(refused.contains("id: \(start)\nevent: resume\n") == isEvents)
      database.waitingBytes.leave(most / 4 * 3, for: token)
      let told = try await said(by: try await follow(since: start))
      #expect(told.contains("told later") && !told.contains("resume"), "\(told)")
      await database.changes.stop()
    }
  }

  @Test func `hears no further part of what it is told once it may not`() async throws {
    try await Workplace.with { place in
      try await place.found("a.db", "CREATE TABLE t(id INTEGER PRIMARY KEY, v)")
      let database = GatewayDatabase(Replica(path: place.path("a.db")))
      let hash = AccessToken.hash(of: try await place.token("a.db"))
      let token = try #require(try await database.token(hash: hash))
      let start = try await database.changes.begin()
      try await place.sql("a.db", "INSERT INTO t VALUES (1, printf('%.*c', 300000, 'x'))")
      var request = HTTPRequest("GET", "/v1/a/changes?since=\(start)")
      request.headers = [("accept", "application/x-ndjson")]
      let calls = Counter()
      let call = try await ChangeCall(
        request, try RequestTarget(request.target), database, token,
        mayStill: { calls.next() <= 3 })
      let told = try await said(by: try await call.answer())
      // Once to be told, and for two parts.
      #expect(told.utf8.count == 2 * 64 << 10, "\(told.utf8.count)")
      await database.changes.stop()
    }
  }

  private final class Counter: @unchecked Sendable {
    private let lock = NSLock()
    private var count = 0
    func next() -> Int {
      lock.withLock {
        count += 1
        return count
      }
    }
  }
}
