import Foundation
import Testing

/// Programs of the server that lock rows, write one of them all the time, or more than fits.
@Suite(.enabled(if: Office.isPossible, Office.why), .timeLimit(.minutes(10)))
struct `A busy server` {
  private static let schema = """
    CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT);
    CREATE TABLE u(id INTEGER PRIMARY KEY, v TEXT);
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
      INSERT INTO t SELECT i, 'v' FROM n;
    INSERT INTO u VALUES (1, 'v');
    """

  @Test(arguments: ["UPDATE t SET v = 'clerk' WHERE id = 7", "LOCK TABLES t WRITE"])
  func `keeps nothing else from flowing while somebody has locked a row, or a table`(
    _ lock: String
  ) async throws {
    try await Office.with { office in
      _ = try await office.open(Self.schema, "--create")
      let clerk = try office.session("START TRANSACTION; \(lock)", "locked")
      try await clerk.isReady()
      try await office.site(
        "UPDATE t SET v = 'site' WHERE id IN (7, 8); UPDATE u SET v = 'site' WHERE id = 1")
      try await office.serverComesTo("site", "SELECT v FROM u WHERE id = 1")
      if !lock.hasPrefix("LOCK") {
        try await office.serverComesTo("site", "SELECT v FROM t WHERE id = 8")
      }
      try await office.server("UPDATE u SET v = 'office' WHERE id = 1")
      try await office.siteComesTo("office", "SELECT v FROM u WHERE id = 1")
      let says = try await eventually {
        let status = try await office.status()
        return status["behind_rows"] as? Int ?? 0 > 0 && status["in_sync"] as? Bool == false
      }
      #expect(says)
      #expect(clerk.isOpen)
      // Who has it goes without a word.
      clerk.end()
      try await office.serverComesTo(
        "site\nsite", "SELECT v FROM t WHERE id IN (7, 8) ORDER BY id")
      try await office.isInSync()
    }
  }

  @Test func `says that rows of the server are to come in, until they are here`() async throws {
    try await Office.with { office in
      _ = try await office.open(Self.schema, "--create")
      try await office.isInSync()
      try await office.server("INSERT INTO u SELECT seq, 'office' FROM seq_100_to_30099")
      let says = try await eventually {
        let status = try await office.status()
        return status["takes_in"] as? Bool == true && status["in_sync"] as? Bool == false
      }
      #expect(says)
      try await office.siteComesTo("30000", "SELECT count(*) FROM u WHERE v = 'office'")
      try await office.isInSync()
      #expect(try await office.status()["takes_in"] as? Bool == false)
    }
  }

  @Test func `gets what is owed from the next process, too`() async throws {
    try await Office.with { office in
      let node = try await office.open(Self.schema, "--create")
      let clerk = try office.session(
        "START TRANSACTION; UPDATE t SET v = 'clerk' WHERE id = 7", "locked")
      try await clerk.isReady()
      try await office.site("UPDATE t SET v = 'site' WHERE id IN (7, 8)")
      try await office.serverComesTo("site", "SELECT v FROM t WHERE id = 8")
      try await office.site("UPDATE t SET v = 'more' WHERE id = 9")
      try await office.serverComesTo("more", "SELECT v FROM t WHERE id = 9")
      node.die()
      clerk.end()
      _ = try await office.serve()
      try await office.serverComesTo("site", "SELECT v FROM t WHERE id = 7")
      try await office.isInSync()
    }
  }

  /// What was owed when the file was copied may be older than what stands by now.
  @Test func `loses nothing unseen to a file that was put back, and owed a row`() async throws {
    try await Office.with { office in
      let node = try await office.open(Self.schema, "--create")
      let clerk = try office.session(
        "START TRANSACTION; UPDATE t SET v = 'clerk' WHERE id = 7", "locked")
      try await clerk.isReady()
      try await office.site("UPDATE t SET v = 'site' WHERE id IN (7, 8)")
      try await office.serverComesTo("site", "SELECT v FROM t WHERE id = 8")
      try await office.site("UPDATE t SET v = 'more' WHERE id = 9")
      try await office.serverComesTo("more", "SELECT v FROM t WHERE id = 9")
      node.die()
      let (file, former) = (office.path("shop.db"), office.path("former.db"))
      #expect(try await office.run(["sqlite3", file, ".backup \(former)"]).status == 0)
      clerk.end()
      let second = try await office.serve()
      try await office.serverComesTo("site", "SELECT v FROM t WHERE id = 7")
      try await office.server("UPDATE t SET v = 'later' WHERE id = 7")
      try await office.siteComesTo("later", "SELECT v FROM t WHERE id = 7")
      try await office.isInSync()
      second.die()
      #expect(try await office.run(["rm", "-f", file + "-wal", file + "-shm"]).status == 0)
      #expect(try await office.run(["cp", former, file]).status == 0)
      _ = try await office.serve()
      try await office.serverComesTo("site", "SELECT v FROM t WHERE id = 7")
      try await office.isInSync()
      let conflicts = try await office.flotilla("conflicts", "shop.db", "--json")
      #expect(conflicts.text.contains("later"), "\(conflicts.text)")
    }
  }

  @Test func `gets all rows but the one that it writes all the time`() async throws {
    try await Office.with { office in
      _ = try await office.open(Self.schema, "--create")
      let writer = try office.session(
        """
        SELECT 'writes';
        DELIMITER //
        BEGIN NOT ATOMIC
          DECLARE i INT DEFAULT 0;
          WHILE i < 100000000 DO SET i = i + 1; UPDATE t SET v = i WHERE id = 1; END WHILE;
        END//
        DELIMITER ;
        SELECT 1
        """, "writes")
      try await writer.isReady()
      let written = try await eventually {
        try await office.server("SELECT v FROM t WHERE id = 1") > "v" ? false : true
      }
      #expect(written)
      try await office.site("UPDATE t SET v = 'site'")
      try await office.serverComesTo("1999", "SELECT count(*) FROM t WHERE v = 'site' AND id > 1")
      #expect(writer.isOpen)
      writer.end()
      let isEqual = try await eventually {
        let sql = "SELECT v FROM t WHERE id = 1"
        return try await office.server(sql) == office.site(sql)
      }
      #expect(isEqual)
      try await office.isInSync()
    }
  }

  @Test func `may write one long row thousands of times while the mirror rests`() async throws {
    try await Office.with { office in
      let node = try await office.open(
        "CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT, w TEXT); INSERT INTO t VALUES (1, '', '')",
        "--create")
      #expect(try await office.flotilla("mirror", "shop.db", "pause").status == 0)
      // What its trigger would have noted of 6,000 changes.
      try await office.server(
        """
        UPDATE t SET w = REPEAT('x', 200000) WHERE id = 1;
        INSERT INTO flotilla_journal_1(k1) SELECT 1 FROM seq_1_to_6000
        """)
      try await office.site("UPDATE t SET v = 'site' WHERE id = 1")
      #expect(try await office.flotilla("mirror", "shop.db", "resume").status == 0)
      try await office.serverComesTo("0", "SELECT count(*) FROM flotilla_journal_1")
      try await office.isInSync()
      let sql = "SELECT v, length(w) FROM t"
      #expect(try await office.server(sql) == office.site(sql))
      let lines = try String(
        contentsOfFile: "/proc/\(node.processIdentifier)/status", encoding: .utf8)
      let peak = lines.split(separator: "\n").first { $0.hasPrefix("VmHWM") }
        .flatMap { Int($0.split(whereSeparator: { !$0.isNumber }).first ?? "") }
      #expect(try #require(peak) < 500_000, "\(peak ?? 0) kB")
    }
  }

  @Test func `may refuse a table again and again without a line in the log each time`()
    async throws
  {
    try await Office.with { office in
      try await office.server(
        """
        CREATE TABLE w(id BIGINT PRIMARY KEY, n BIGINT UNSIGNED);
        INSERT INTO w VALUES (1, 9223372036854775809)
        """)
      _ = try await office.open("CREATE TABLE w(id INTEGER PRIMARY KEY, n INTEGER);")
      let isHeld = try await eventually { try await office.status()["held_count"] as? Int == 1 }
      #expect(isHeld)
      try await office.server(
        """
        REVOKE ALL ON shop.* FROM flo@localhost;
        GRANT SELECT, CREATE, TRIGGER, DROP ON shop.* TO flo@localhost;
        GRANT ALL ON shop.flotilla_state TO flo@localhost;
        GRANT ALL ON shop.flotilla_held TO flo@localhost;
        GRANT ALL ON shop.flotilla_table TO flo@localhost;
        GRANT ALL ON shop.flotilla_journal_1 TO flo@localhost; \(Office.cut)
        """)
      try await office.site("INSERT INTO w VALUES (1, 5)")
      let retries = try await eventually { try await office.status()["retries"] as? Int ?? 0 > 2 }
      #expect(retries)
      try await office.server("GRANT ALL ON shop.* TO flo@localhost")
      try await office.serverComesTo("5", "SELECT n FROM w")
      let conflicts = try await office.flotilla("conflicts", "shop.db", "--json")
      #expect(conflicts.text.components(separatedBy: "9223372036854775809").count == 2)
    }
  }

  @Test func `is not said to be equal with a table that took nothing`() async throws {
    try await Office.with { office in
      _ = try await office.open(Self.schema, "--create")
      try await office.isInSync()
      try await office.quietly(1, "UPDATE t SET v = 'unseen' WHERE id = 7")
      try await office.server(
        """
        REVOKE ALL ON shop.* FROM flo@localhost;
        GRANT SELECT, CREATE, TRIGGER, DROP ON shop.* TO flo@localhost;
        GRANT ALL ON shop.flotilla_state TO flo@localhost;
        GRANT ALL ON shop.flotilla_held TO flo@localhost;
        GRANT ALL ON shop.flotilla_table TO flo@localhost;
        GRANT ALL ON shop.flotilla_journal_1 TO flo@localhost;
        GRANT ALL ON shop.flotilla_journal_2 TO flo@localhost; \(Office.cut)
        """)
      try await office.isInSync()
      let said = try await office.flotilla("mirror", "shop.db", "verify", "--timeout", "60s")
      #expect(said.status == 3, "\(said.text)")
      try await office.server("GRANT ALL ON shop.* TO flo@localhost")
      try await office.serverComesTo("0", "SELECT count(*) FROM t WHERE v = 'unseen'")
      try await office.isInSync()
    }
  }
}

/// Somebody who has the server's own client open.
final class OfficeSession: Sendable {
  private let process: Process
  private let output: String
  private let ready: String

  init(_ process: Process, _ output: String, _ ready: String) {
    (self.process, self.output, self.ready) = (process, output, ready)
  }

  func isReady() async throws { try await says(ready) }

  func says(_ word: String) async throws {
    let does = try await eventually {
      text.contains(word)
    }
    try #require(does, "\(text)")
  }

  var isOpen: Bool { process.isRunning }

  /// What the client has shown.
  var text: String { (try? String(contentsOfFile: output, encoding: .utf8)) ?? "" }

  /// The client is gone, and the server undoes what it had begun.
  func end() {
    kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
  }
}

extension Office {
  /// Runs statements, says a word, and stays.
  func session(
    _ sql: String, _ word: String, at socket: String = "socket"
  ) throws -> OfficeSession {
    let name = "session-\(UUID().uuidString.prefix(8))"
    let process = try start(
      [
        "mariadb", "--no-defaults", "-uroot", "-N", "-B", "--unbuffered",
        "--socket=\(folder)/\(socket)", "shop", "-e", "\(sql); SELECT '\(word)'; SELECT SLEEP(300)",
      ], name)
    return OfficeSession(process, path(name), word)
  }

  func isInSync() async throws {
    let does = try await eventually { try await status()["in_sync"] as? Bool == true }
    let said = try await status()
    #expect(does, "\(said)")
  }
}
