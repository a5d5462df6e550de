import Foundation
import Glibc
import Testing

extension BadInputTests {
  /// First copies by pages whose programs are killed.
  @Suite struct PageCopyTests {
    private static let rows = 60_000

    private func expectWhole(_ desk: Desk, _ name: String) async throws {
      let look = "SELECT count(*), total(length(v)), max(v) FROM t"
      #expect(try await desk.sql(name, look) == desk.sql("a.db", look))
      #expect(try await desk.sql(name, "PRAGMA integrity_check") == "ok")
      #expect(try desk.names("\(name)-flotilla/pages").isEmpty)
      #expect(try await desk.sql(name, "SELECT count(*) FROM nokey") == "0")
    }

    @Test(arguments: 0..<6)
    func `a joiner that is killed at any moment goes on`(_ round: Int) async throws {
      try await Desk.with { desk in
        let node = try await desk.pair("a.db", "b.db", rows: Self.rows)
        try await desk.sql("a.db", "INSERT INTO nokey VALUES('private')")
        let code = try await desk.succeed("invite", "a.db")
        var kills = 0
        for pause in 0..<12 {
          // From the pairing on, through the pages and the checks, to the end.
          let wait = 0.08 + Double(round) * 0.013 + Double(pause) * 0.05
          let words = "flotilla join j.db \(code) --at \(node.address)"
          let outcome = try await desk.run(
            ["sh", "-c", "\(words) & j=$!; sleep \(wait); kill -9 $j 2>/dev/null; wait $j"])
          if outcome.status == 0 { break }
          kills += 1
          // Nothing, or an empty replica, or a whole one.
          guard try !desk.names("j.db").isEmpty, try desk.names("j.db").contains("j.db") else {
            continue
          }
          let count = try await desk.sql("j.db", "SELECT count(*) FROM sqlite_schema")
          guard count != "0" else { continue }
          let rows = try await desk.sql("j.db", "SELECT count(*) FROM t")
          #expect(["0", "\(Self.rows)"].contains(rows), "\(rows)")
          #expect(try await desk.sql("j.db", "PRAGMA integrity_check") == "ok")
        }
        #expect(kills > 0)
        // Also after a kill between the last word of the pairing and its first own.
        let again = try await desk.flotilla("join", "j.db", code, "--at", node.address)
        #expect(again.status == 0 || again.error.contains("is a replica already"), "\(again)")
        try await expectWhole(desk, "j.db")
        _ = try await desk.start("j.db", "--peer", node.address)
        try await desk.sql("j.db", "UPDATE t SET v = 'from j' WHERE id = 'k9'")
        let comes = try await eventually(within: .seconds(20)) {
          try await desk.sql("a.db", "SELECT v FROM t WHERE id = 'k9'") == "from j"
        }
        #expect(comes)
      }
    }

    @Test(arguments: [0.1, 0.25, 0.4])
    func `an inviter that is killed and comes back is asked again`(_ wait: Double) async throws {
      try await Desk.with { desk in
        var node = try await desk.pair("a.db", "b.db", rows: Self.rows)
        let code = try await desk.succeed("invite", "a.db")
        let address = node.address
        async let joining = desk.flotilla("join", "j.db", code, "--at", address, within: 90)
        try await Task.sleep(for: .seconds(wait))
        node.signal(SIGKILL)
        #expect(try await node.ends())
        node = try await desk.start("a.db", "--listen", address)
        let outcome = try await joining
        // Killed before it had answered, it knows nothing of a joiner, who has nothing then.
        if outcome.status != 0, try desk.names("j.db").isEmpty { return }
        if outcome.status != 0 {
          try await desk.succeed("join", "j.db", code, "--at", address)
        }
        try await expectWhole(desk, "j.db")
        #expect(try desk.names("a.db-flotilla/copy").isEmpty)
      }
    }
  }
}
