import Foundation
import Testing

extension BadInputTests {
  /// Two machines between which something of one table, or of one file, is not as it should be.
  @Suite struct KeyChangeTests {
    private static let migration = """
      BEGIN IMMEDIATE; CREATE TABLE n(id TEXT, v TEXT, b TEXT NOT NULL DEFAULT '1',
      PRIMARY KEY(id, b)); INSERT INTO n(id, v) SELECT id, v FROM t; DROP TABLE t;
      ALTER TABLE n RENAME TO t; COMMIT
      """

    @Test func `a table whose key differs waits alone, and goes on by itself`() async throws {
      try await Desk.with { desk in
        let node = try await desk.pair("a.db", "b.db")
        try await desk.sql("a.db", "CREATE TABLE u(id TEXT PRIMARY KEY NOT NULL, v)")
        try await desk.sql("b.db", "CREATE TABLE u(id TEXT PRIMARY KEY NOT NULL, v)")
        try await desk.succeed("track", "a.db", "u")
        _ = try await desk.start("b.db", "--listen", "127.0.0.1:0", "--peer", node.address)
        try await desk.sql("a.db", Self.migration)
        try await desk.sql("a.db", "UPDATE t SET v = 'a gap' WHERE id = 'k1'")
        try await desk.sql("b.db", "UPDATE t SET v = 'b gap' WHERE id = 'k2'")
        try await desk.sql("a.db", "INSERT INTO u VALUES ('x', 1)")
        try await desk.succeed("wait", "a.db")
        try await desk.succeed("wait", "b.db")
        #expect(try await desk.sql("b.db", "SELECT v FROM u") == "1")

        let behind = try await desk.flotilla("status", "b.db")
        #expect(behind.status == 0, "\(behind)")
        for part in ["table t waits: its key is (id) here and (id, b) on first", "same migration"] {
          #expect(behind.error.contains(part), "\(part): \(behind)")
        }
        #expect(behind.output.contains("0 parked"), "\(behind)")
        let ahead = try await desk.flotilla("status", "a.db")
        let part = "table t: its key is (id, b) here, and not yet on second"
        #expect(ahead.error.contains(part), "\(ahead)")
        let doctor = try await desk.flotilla("doctor", "b.db")
        #expect(doctor.output.contains("table t waits") && doctor.status == 0, "\(doctor)")

        try await desk.sql("b.db", Self.migration)
        try await desk.succeed("wait", "b.db")
        try await desk.succeed("wait", "a.db")
        let rows = "SELECT id, v, b FROM t ORDER BY id"
        #expect(try await desk.sql("a.db", rows) == desk.sql("b.db", rows))
        let edits = "SELECT v FROM t WHERE id IN ('k1', 'k2') ORDER BY id"
        #expect(try await desk.sql("a.db", edits) == "a gap\nb gap")
        let done = try await desk.flotilla("status", "a.db")
        #expect(done.status == 0 && !done.error.contains("table t"), "\(done)")
        #expect(try await desk.flotilla("verify", "a.db").status == 0)
        #expect(try await desk.succeed("conflicts", "b.db") == "no conflicts")
      }
    }

    /// The delete had not seen the edit, and went over it as if it had: the edit was in no log.
    /// An anchor that has accepted the edit, and takes it back by that, has it in its own log.
    @Test(arguments: [false, true])
    func `a delete under the former key tells whom it takes an edit from`(
      isAnchor: Bool
    ) async throws {
      try await Desk.with { desk in
        let node = try await desk.pair("a.db", "b.db")
        if isAnchor { try await desk.succeed("anchor", "a.db", "--here") }
        _ = try await desk.start("b.db", "--listen", "127.0.0.1:0", "--peer", node.address)
        try await desk.succeed("wait", "b.db")
        try await desk.sql("b.db", Self.migration)
        try await desk.sql("b.db", "UPDATE t SET v = 'taken' WHERE id = 'k1'")
        try await desk.succeed("wait", "b.db")
        try await desk.sql("a.db", "DELETE FROM t WHERE id = 'k1'")
        try await desk.sql("a.db", Self.migration)
        for name in ["a.db", "b.db"] { try await desk.succeed("wait", name) }
        for name in ["a.db", "b.db"] {
          #expect(try await desk.sql(name, "SELECT count(*) FROM t WHERE id = 'k1'") == "0")
          #expect(try await desk.sql(name, "SELECT count(*) FROM t WHERE id = 'k2'") == "1")
        }
        let log = try await desk.succeed("conflicts", isAnchor ? "a.db" : "b.db", "--json")
        #expect(log.contains("taken") && log.contains("\"reason\":\"older\""), "\(log)")
        #expect(try await desk.flotilla("verify", "a.db").status == 0)
      }
    }

    /// What the other side has made anew comes some moments after it says that it has.
    @Test func `keeps no row of a former key once its author has migrated, too`() async throws {
      try await Desk.with { desk in
        let node = try await desk.pair("a.db", "b.db")
        try await desk.sql("a.db", Self.migration)
        try await desk.sql("b.db", "UPDATE t SET v = 'b gap' WHERE id IN ('k1', 'k2')")
        try await desk.sql("a.db", "DELETE FROM t WHERE id = 'k2'")
        _ = try await desk.start("b.db", "--listen", "127.0.0.1:0", "--peer", node.address)
        try await desk.succeed("wait", "b.db")
        let kept = try await desk.flotilla("status", "a.db")
        #expect(kept.error.contains("with its former key (id)"), "\(kept)")
        try await desk.sql("b.db", Self.migration)
        for name in ["b.db", "a.db"] { try await desk.succeed("wait", name) }
        for name in ["a.db", "b.db"] {
          let status = try await desk.flotilla("status", name)
          #expect(status.status == 0 && !status.error.contains("former key"), "\(status)")
          #expect(try await desk.sql(name, "SELECT v FROM t WHERE id = 'k1'") == "b gap")
        }
      }
    }

    /// The row is found by the key that it had. A lost delete was said to be made again, and was
    /// not.
    @Test func `what lost before a migration of the key is restored after it`() async throws {
      try await Desk.with { desk in
        let node = try await desk.pair("a.db", "b.db")
        try await desk.sql("b.db", "DELETE FROM t WHERE id = 'k2'")
        try await desk.sql("b.db", "UPDATE t SET v = 'lost' WHERE id IN ('k1', 'k3')")
        try await desk.sql("a.db", "UPDATE t SET v = 'won' WHERE id IN ('k1', 'k2', 'k3')")
        _ = try await desk.start("b.db", "--listen", "127.0.0.1:0", "--peer", node.address)
        for name in ["b.db", "a.db"] { try await desk.succeed("wait", name) }
        for name in ["a.db", "b.db"] { try await desk.sql(name, Self.migration) }
        for name in ["b.db", "a.db"] { try await desk.succeed("wait", name) }
        // Of two rows nobody knows which was meant.
        try await desk.sql("b.db", "INSERT INTO t VALUES ('k3', 'another', '2')")
        let restored = try await desk.flotilla("conflicts", "b.db", "restore", "all")
        #expect(restored.error.contains("several rows have its id"), "\(restored)")
        let rows = "SELECT id || v FROM t WHERE id IN ('k1', 'k2', 'k3') ORDER BY 1"
        #expect(try await desk.sql("b.db", rows) == "k1lost\nk3another\nk3won")
        #expect(try await desk.succeed("conflicts", "b.db").contains("k3"))
      }
    }

    /// An index that cannot be kept makes every merge fail, and nothing else.
    @Test func `an exchange that fails is a state, told once and counted`() async throws {
      try await Desk.with { desk in
        let node = try await desk.pair("a.db", "b.db")
        let last = try await desk.sql("b.db", "SELECT max(seq) FROM _flotilla_version")
        try await desk.sql(
          "b.db",
          "CREATE INDEX broken ON _flotilla_version(abs(-9223372036854775807 - (seq > \(last))))")
        let other = try await desk.start(
          "b.db", "--listen", "127.0.0.1:0", "--peer", node.address)
        for number in 0..<3 {
          try await desk.sql("a.db", "UPDATE t SET v = '\(number)' WHERE id = 'k1'")
        }
        let failed = try await desk.flotilla("wait", "a.db", "--timeout", "3s")
        #expect(failed.status == 3, "\(failed)")
        #expect(failed.output.contains("second refuses the exchange"), "\(failed)")
        let status = try await desk.flotilla("status", "b.db")
        #expect(status.status == 3, "\(status)")
        for part in ["first  failing", "! no exchange with first succeeds", "integer overflow"] {
          #expect(status.output.contains(part), "\(part): \(status)")
        }
        let json = try await desk.flotilla("status", "a.db", "--json").output
        for part in [#""state":"failing""#, #""error":"second refuses"#, #""remedy":"See what"#] {
          #expect(json.contains(part), "\(part): \(json)")
        }
        let sync = try await desk.flotilla("sync", "a.db", "--timeout", "3s")
        #expect(sync.status == 3, "\(sync)")
        let doctor = try await desk.flotilla("doctor", "a.db")
        #expect(
          doctor.status == 1 && doctor.output.contains("no exchange with second"), "\(doctor)")
        #expect(try Self.lines(other.log, "first fails") == 1)
        #expect(try Self.lines(node.log, "second fails") == 1)
        #expect(try Self.lines(node.log, "connected with second") <= 2)

        try await desk.sql("b.db", "DROP INDEX broken")
        try await desk.succeed("wait", "a.db", "--timeout", "30s")
        #expect(try await desk.flotilla("status", "a.db").status == 0)
        #expect(try await desk.flotilla("status", "b.db").status == 0)
        #expect(try Self.lines(other.log, "first works again after") == 1)
        #expect(try Self.lines(node.log, "second works again after") == 1)
      }
    }

    private static func lines(_ log: String, _ part: String) throws -> Int {
      try String(contentsOfFile: log, encoding: .utf8)
        .split(separator: "\n").count { $0.contains(part) }
    }
  }
}
