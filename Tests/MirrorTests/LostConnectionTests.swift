import SQLite
import Testing

@testable import Mirror

/// A network that goes away in the middle of a transaction: the server does not hear of it.
@Suite(.enabled(if: Office.isPossible, Office.why), .timeLimit(.minutes(10)))
struct `A connection of the mirror that is lost` {
  @Test func `is ended by the server when its transaction has rested for half a minute`()
    async throws
  {
    try await Office.with { office in
      let server = try ServerConnection(try ServerAddress(office.url), password: "secret")
      let time = try server.rows(of: 1, "SELECT @@SESSION.idle_transaction_timeout")
      #expect(time == [[.integer(30)]])
    }
  }

  @Test func `is named while it has the place of the mirror locked`() async throws {
    try await Office.with { office in
      _ = try await office.open("CREATE TABLE t(id INTEGER PRIMARY KEY);", "--create")
      let lost = try office.session(
        "START TRANSACTION; SELECT number FROM flotilla_state FOR UPDATE", "locked")
      try await lost.isReady()
      try await office.site("INSERT INTO t VALUES (1)")
      let isNamed = try await eventually {
        (try await office.status()["trouble"] as? String)?.contains("place locked") == true
      }
      let status = try await office.status()
      #expect(isNamed, "\(status)")
      lost.end()
      try await office.serverComesTo("1", "SELECT id FROM t")
      try await office.isInSync()
    }
  }
}
