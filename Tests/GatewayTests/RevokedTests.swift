import Flotilla
import Foundation
import Testing

@testable import Gateway

/// Requests that were let in, and wait for so long that they may not hear the answer any more.
@Suite(.timeLimit(.minutes(5))) struct `Who waits while its token is taken back` {
  @Test func `hears no verdict on its writes`() async throws {
    try await Workplace.with { place in
      try await place.found(
        "a.db",
        "PRAGMA journal_mode = WAL; CREATE TABLE t(id INTEGER PRIMARY KEY, v);"
          + "INSERT INTO t VALUES (1, 'first'), (2, 'second')")
      let node = try await place.serve("a.db", "--http", "127.0.0.1:0")
      let client = RawClient(port: node.port, token: try await place.token("a.db"))
      try await place.awaitAnchor("office", beside: node, client)
      let written = try await client.ask(
        "PATCH", "/v1/a/rows/t/1", ["Prefer": "wait=0"], body: #"{"v":"mine"}"#)
      let receipt = try #require(written.header("Flotilla-Receipt"), "\(written.body)")

      let wait = ["Prefer": "wait=60"]
      async let later = client.ask("GET", receipt, wait)
      async let last = client.ask("PATCH", "/v1/a/rows/t/2", wait, body: #"{"v":"mine"}"#)
      let isMade = try await eventually {
        try await place.sql("a.db", "SELECT v FROM t WHERE id = 2") == "mine"
      }
      #expect(isMade)
      try await place.flotilla("token", "a.db", "remove", "me")
      let office = try await place.serve("b.db", "--peer", "127.0.0.1:\(node.nodePort)")
      let (told, made) = (try await later, try await last)
      #expect(told.status == 401 && told.kind == "token", "\(told)")
      // It was made while it might be, and that is all that is said of it.
      #expect(made.header("Flotilla-Verdict") == "unknown" && made.body.isEmpty, "\(made)")
      try await office.stop()
      try await node.stop()
    }
  }

  @Test func `makes the node look once, however many ask what it may do`() async throws {
    try await Workplace.with { place in
      try await place.found("a.db", "CREATE TABLE t(id INTEGER PRIMARY KEY, v)")
      let database = GatewayDatabase(Replica(path: place.path("a.db")))
      let times = try await withThrowingTaskGroup(of: Int64.self) { group in
        for _ in 0..<32 { group.addTask { try await database.standing().siteTime } }
        return try await group.reduce(into: Set<Int64>()) { $0.insert($1) }
      }
      #expect(times.count == 1)
    }
  }
}
