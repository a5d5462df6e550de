import Foundation
import Glibc
import Testing

/// What is lost on the way at the worst moment, and what of it somebody takes for something else.
@Suite(.enabled(if: Office.isPossible, Office.why), .timeLimit(.minutes(10)))
struct `A mirror that loses its connection or its place` {
  private static let schema = """
    CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT);
    INSERT INTO t SELECT value, 'v' || value FROM json_each('[1,2,3,4,5,6,7,8]');
    """
  private static let all = "SELECT id, v FROM t ORDER BY id"

  @Test(arguments: [CuttingProxy.Cut.before, .after])
  func `knows a COMMIT that nobody answered from a backup that was put back`(
    _ cut: CuttingProxy.Cut
  ) async throws {
    try await Office.with { office in
      let proxy = try CuttingProxy(
        at: office.path("way"), before: office.path("socket"))
      defer { proxy.end() }
      office.way = "way"
      _ = try await office.open(Self.schema, "--create")
      // A program of the server writes at that moment, and nobody has taken it in.
      let program = office.program(
        "UPDATE t SET v = 'theirs' WHERE id = 5; DELETE FROM t WHERE id = 6")
      proxy.arm(cut) { program() }
      try await office.site("UPDATE t SET v = 'site' WHERE id IN (1, 2)")
      let isCut = try await eventually { proxy.cuts == 1 }
      #expect(isCut)
      let wanted = "1\tsite\n2\tsite\n3\tv3\n4\tv4\n5\ttheirs\n7\tv7\n8\tv8"
      try await office.siteComesTo(wanted, Self.all)
      try await office.serverComesTo(wanted, Self.all)
      #expect(!(try office.log().contains("put back to an earlier state")))
      let conflicts = try await office.flotilla("conflicts", "shop.db", "--json")
      #expect(conflicts.text.contains(#""conflicts":[]"#), "\(conflicts.text)")
    }
  }

  @Test func `takes what it had taken before it was cut off for no change of the site`()
    async throws
  {
    try await Office.with { office in
      let proxy = try CuttingProxy(
        at: office.path("way"), before: office.path("socket"))
      defer { proxy.end() }
      office.way = "way"
      _ = try await office.open(Self.schema, "--create")
      try await office.server("UPDATE t SET v = 'first' WHERE id = 1")
      try await office.siteComesTo("first", "SELECT v FROM t WHERE id = 1")
      let isEmpty = try await eventually {
        try await office.server("SELECT count(*) FROM flotilla_journal_1") == "0"
      }
      #expect(isEmpty)
      // What was read is taken in, and the server never hears of that. When the next connection has
      // settled it, the row changes there once more, before the feed has told of it.
      let again = office.program("UPDATE t SET v = 'once more' WHERE id = 2")
      proxy.arm(.before, passing: 1) { proxy.arm(.late, passing: 1) { again() } }
      try await office.server("UPDATE t SET v = 'taken' WHERE id = 2")
      try await office.siteComesTo("once more", "SELECT v FROM t WHERE id = 2")
      #expect(try await office.server("SELECT v FROM t WHERE id = 2") == "once more")
      #expect(proxy.cuts == 2)
      let conflicts = try await office.flotilla("conflicts", "shop.db", "--json")
      #expect(conflicts.text.contains(#""conflicts":[]"#), "\(conflicts.text)")
    }
  }

  @Test func `notices a backup though the first connections to it end early`() async throws {
    try await Office.with { office in
      let server = try await office.startServerAgain()
      _ = try await office.open(Self.schema, "--create")
      #expect(try await office.flotilla("mirror", "shop.db", "pause").status == 0)
      try await office.end(server)
      let copied = try await office.run(["cp", "-a", office.path("data"), office.path("backup")])
      #expect(copied.status == 0)
      let second = try await office.startServer()
      #expect(try await office.flotilla("mirror", "shop.db", "resume").status == 0)
      for number in 1...3 {
        try await office.server("UPDATE t SET v = 'taken \(number)' WHERE id = 2")
        try await office.siteComesTo("taken \(number)", "SELECT v FROM t WHERE id = 2")
      }
      #expect(try await office.flotilla("mirror", "shop.db", "pause").status == 0)
      try await office.end(second)
      _ = try await office.run(["rm", "-r", office.path("data")])
      _ = try await office.run(["mv", office.path("backup"), office.path("data")])
      try await office.startServer()
      // What the mirror asks for before it compares is not there.
      try await office.server("RENAME TABLE flotilla_table TO elsewhere")
      #expect(try await office.flotilla("mirror", "shop.db", "resume").status == 0)
      let fails = try await eventually { try await office.status()["trouble"] as? String != nil }
      #expect(fails)
      try await office.server("RENAME TABLE elsewhere TO flotilla_table")
      try await office.serverComesTo("taken 3", "SELECT v FROM t WHERE id = 2")
      try await office.follows()
      #expect(try office.log().contains("put back to an earlier state"))
    }
  }

  @Test func `takes no entry for another one that had its number`() async throws {
    try await Office.with { office in
      _ = try await office.open(Self.schema, "--create")
      try await office.server("UPDATE t SET v = 'first' WHERE id = 1")
      try await office.siteComesTo("first", "SELECT v FROM t WHERE id = 1")
      let isEmpty = try await eventually {
        try await office.server("SELECT count(*) FROM flotilla_journal_1") == "0"
      }
      #expect(isEmpty)
      #expect(try await office.flotilla("mirror", "shop.db", "pause").status == 0)
      // The numbers begin anew.
      try await office.server(
        "TRUNCATE flotilla_journal_1; UPDATE t SET v = 'second' WHERE id = 2")
      #expect(try await office.server("SELECT id FROM flotilla_journal_1") == "1")
      #expect(try await office.flotilla("mirror", "shop.db", "resume").status == 0)
      try await office.siteComesTo("second", "SELECT v FROM t WHERE id = 2")
      #expect(try await office.server("SELECT v FROM t WHERE id = 2") == "second")
    }
  }

  @Test func `compares a table whose journal is gone, with what it held`() async throws {
    try await Office.with { office in
      _ = try await office.open(Self.schema, "--create")
      #expect(try await office.flotilla("mirror", "shop.db", "pause").status == 0)
      try await office.server(
        "UPDATE t SET v = 'theirs' WHERE id = 2; DROP TABLE flotilla_journal_1")
      #expect(try await office.flotilla("mirror", "shop.db", "resume").status == 0)
      // No journal names the row: then the site stands, and what was there is in the log.
      try await office.serverComesTo("v2", "SELECT v FROM t WHERE id = 2")
      let conflicts = try await office.flotilla("conflicts", "shop.db", "--json")
      #expect(conflicts.text.contains("theirs"), "\(conflicts.text)")
    }
  }

  @Test func `says of a comparison what it has put right`() async throws {
    try await Office.with { office in
      _ = try await office.open(Self.schema + "CREATE TABLE u(id INTEGER PRIMARY KEY)", "--create")
      func verify() async throws -> (status: Int32, text: String) {
        try await office.flotilla("mirror", "shop.db", "verify", "--timeout", "100s")
      }
      let first = try await verify()
      #expect(first.status == 0 && first.text == "8 rows compared: equal", "\(first.text)")
      try await office.quietly(
        1,
        """
        DELETE FROM t WHERE id <= 3; UPDATE t SET v = 'x' WHERE id = 4;
        INSERT INTO t VALUES (20, 'twenty')
        """)
      let second = try await verify()
      #expect(second.status == 3 && second.text.contains(": 5 differed"), "\(second.text)")
      // Where a trigger was gone its table is compared at once, and that counts.
      let name = try await office.trigger("1_d")
      try await office.server("DROP TRIGGER \(name); DELETE FROM t WHERE id IN (5, 6)")
      let third = try await verify()
      #expect(third.status == 3 && third.text.contains("9 rows compared: 2"), "\(third.text)")
      let last = try await verify()
      #expect(last.status == 0 && last.text == "9 rows compared: equal", "\(last.text)")
      #expect(try await office.status()["rows_compared"] as? Int == 9)
    }
  }

  @Test func `takes nothing in after another one has its place`() async throws {
    try await Office.with { office in
      let node = try await office.open(Self.schema, "--create")
      kill(node.processIdentifier, SIGSTOP)
      try await office.server(
        """
        UPDATE flotilla_state SET session = 'another', until = NOW() + INTERVAL 1 HOUR;
        UPDATE t SET v = 'for the other one' WHERE id = 3
        """)
      try await Task.sleep(for: .seconds(5))
      kill(node.processIdentifier, SIGCONT)
      let says = try await eventually {
        let trouble = try await office.status()["trouble"] as? String
        return trouble?.contains("has taken the mirror over") == true
          || trouble?.contains("another process of this mirror") == true
      }
      #expect(says)
      #expect(try await office.site("SELECT v FROM t WHERE id = 3") == "v3")
      // The other one is gone.
      try await office.server("UPDATE flotilla_state SET until = '2000-01-01 00:00:00'")
      try await office.siteComesTo("for the other one", "SELECT v FROM t WHERE id = 3")
    }
  }
}

extension Office {
  /// What has the server's own client run statements, on any thread.
  func program(_ sql: String, at socket: String = "socket") -> @Sendable () -> Void {
    let socket = path(socket)
    return {
      let program = Process()
      program.executableURL = URL(filePath: "/usr/bin/mariadb")
      program.arguments = ["--no-defaults", "-uroot", "--socket=\(socket)", "shop", "-e", sql]
      try? program.run()
      program.waitUntilExit()
    }
  }

  /// What the nodes have said so far.
  func log() throws -> String {
    try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasPrefix("node-") }
      .map { try String(contentsOfFile: path($0), encoding: .utf8) }.joined()
  }
}
