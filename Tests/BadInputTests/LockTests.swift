import Foundation
import Glibc
import Testing

extension BadInputTests {
  /// Another program keeps the write lock of a replica whose node runs.
  @Suite struct LockTests {
    @Test func `leave that cannot take Flotilla out changes nothing and tells nobody`()
      async throws
    {
      try await Desk.with { desk in
        let first = try await desk.pair("a.db", "b.db")
        let second = try await desk.start("b.db", "--peer", first.address)
        #expect(
          try await eventually(within: .seconds(20)) { first.logText.contains("with second") })
        let look = "SELECT count(*) FROM sqlite_schema WHERE name LIKE '%flotilla%'"
        let before = try await desk.sql("b.db", look)
        let holder = try await desk.begin("hold.py", desk.path("b.db"), "IMMEDIATE", "60")
        let outcome = try await desk.flotilla("leave", "b.db", "--force", within: 30)
        #expect(outcome.status == 1)
        #expect(outcome.error.contains("locked by another program"), "\(outcome)")
        #expect(outcome.error.contains("nothing was changed"), "\(outcome)")
        #expect(outcome.error.contains("(process \(holder))"), "\(outcome)")
        #expect(second.isRunning)
        #expect(try await desk.sql("b.db", look) == before)
        #expect(try await desk.succeed("peers", "a.db").contains("second"))

        kill(holder, SIGKILL)
        try await desk.succeed("leave", "b.db")
        #expect(try await second.ends())
        #expect(try await desk.sql("b.db", look) == "0")
      }
    }
  }
}
