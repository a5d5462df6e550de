import Foundation
import Glibc
import Testing

/// What happens to a mirror in the course of years.
@Suite(.enabled(if: Office.isPossible, Office.why), .timeLimit(.minutes(10)))
struct `The life of a mirror` {
  private static let schema = """
    CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT); CREATE TABLE u(id INTEGER PRIMARY KEY, v TEXT);
    INSERT INTO t SELECT value, 'v' || value FROM json_each('[1,2,3,4,5,6,7,8]');
    """
  private static let all = "SELECT id, v FROM t ORDER BY id"

  @Test func `survives that the server is away, and that both changed meanwhile`() async throws {
    try await Office.with { office in
      let server = try await office.startServerAgain()
      _ = try await office.open(Self.schema, "--create")
      server.die()
      try await office.site(
        "UPDATE t SET v = 'site' WHERE id IN (1, 2); DELETE FROM t WHERE id = 8")
      let says = try await eventually {
        try await office.status()["trouble"] as? String != nil
      }
      #expect(says)
      #expect(try await office.flotilla("mirror", "shop.db", "status").status == 3)
      #expect(try await office.flotilla("status", "shop.db").text.contains("stands still"))
      #expect(try await office.flotilla("doctor", "shop.db").text.contains("stands still"))
      try await office.startServer()
      try await office.serverComesTo(
        "1\tsite\n2\tsite\n3\tv3\n4\tv4\n5\tv5\n6\tv6\n7\tv7", Self.all)

      // Now the mirror is away.
      #expect(try await office.flotilla("mirror", "shop.db", "pause").status == 0)
      #expect(try await office.status()["state"] as? String == "paused")
      try await office.site(
        "UPDATE t SET v = 'older' WHERE id = 3; UPDATE t SET v = 'mine' WHERE id = 4")
      // It rests, and says what waits.
      let status = try await office.status()
      #expect(status["behind_rows"] as? Int == 2, "\(status)")
      let doctor = try await office.flotilla("doctor", "shop.db")
      #expect(doctor.text.contains("is paused"), "\(doctor.text)")
      #expect(try await office.flotilla("status", "shop.db").text.contains("is paused"))
      try await Task.sleep(for: .seconds(1))
      try await office.server(
        "UPDATE t SET v = 'newer' WHERE id = 3; UPDATE t SET v = 'theirs' WHERE id = 5")
      #expect(try await office.flotilla("mirror", "shop.db", "resume").status == 0)
      let wanted = "1\tsite\n2\tsite\n3\tnewer\n4\tmine\n5\ttheirs\n6\tv6\n7\tv7"
      try await office.siteComesTo(wanted, Self.all)
      try await office.serverComesTo(wanted, Self.all)
      let conflicts = try await office.flotilla("conflicts", "shop.db", "--json")
      #expect(conflicts.text.contains(#""v":"older""#) && !conflicts.text.contains("mine"))
    }
  }

  @Test func `notices that the server was put back to a backup`() async throws {
    try await Office.with { office in
      let server = try await office.startServerAgain()
      _ = try await office.open(Self.schema, "--create")
      try await office.server("UPDATE t SET v = 'before' WHERE id = 1")
      try await office.siteComesTo("before", "SELECT v FROM t WHERE id = 1")
      // The backup's journal names a row.
      #expect(try await office.flotilla("mirror", "shop.db", "pause").status == 0)
      #expect(try await office.status()["state"] as? String == "paused")
      try await office.server("UPDATE t SET v = 'in the backup' WHERE id = 6")
      try await office.end(server)
      let copied = try await office.run(["cp", "-a", office.path("data"), office.path("backup")])
      #expect(copied.status == 0)

      let second = try await office.startServer()
      #expect(try await office.flotilla("mirror", "shop.db", "resume").status == 0)
      try await office.siteComesTo("in the backup", "SELECT v FROM t WHERE id = 6")
      try await office.site("UPDATE t SET v = 'v6' WHERE id = 6")
      try await office.server(
        "UPDATE t SET v = 'lost there' WHERE id = 2; DELETE FROM t WHERE id = 3")
      try await office.siteComesTo("lost there", "SELECT v FROM t WHERE id = 2")
      try await office.site("UPDATE t SET v = 'site' WHERE id = 4; INSERT INTO t VALUES (9, 'new')")
      try await office.serverComesTo("new", "SELECT v FROM t WHERE id = 9")
      // What the server was heard of last is written down once a second.
      try await Task.sleep(for: .seconds(2))
      try await office.end(second)
      _ = try await office.run(["rm", "-r", office.path("data")])
      _ = try await office.run(["mv", office.path("backup"), office.path("data")])
      try await office.startServer()
      try await office.server("UPDATE t SET v = 'after' WHERE id = 5")
      let wanted =
        "1\tbefore\n2\tlost there\n4\tsite\n5\tafter\n6\tv6\n7\tv7\n8\tv8\n9\tnew"
      try await office.serverComesTo(wanted, Self.all)
      try await office.siteComesTo(wanted, Self.all)
      let conflicts = try await office.flotilla("conflicts", "shop.db", "--json")
      #expect(conflicts.text.contains("in the backup"), "\(conflicts.text)")
    }
  }

  @Test func `notices that a dump was loaded while it was at work`() async throws {
    try await Office.with { office in
      _ = try await office.open(Self.schema, "--create")
      try await office.server("UPDATE t SET v = 'before' WHERE id = 1")
      try await office.siteComesTo("before", "SELECT v FROM t WHERE id = 1")
      try await office.server(
        """
        CREATE TABLE kept LIKE t; INSERT INTO kept SELECT * FROM t;
        CREATE TABLE kept_state LIKE flotilla_state;
        INSERT INTO kept_state SELECT * FROM flotilla_state
        """)
      try await office.site("UPDATE t SET v = 'since' WHERE id = 4")
      try await office.serverComesTo("since", "SELECT v FROM t WHERE id = 4")
      // The rows of a dump come before the triggers: so nothing notes them.
      let mark = try await office.server(
        """
        SELECT REGEXP_SUBSTR(action_statement, '@flotilla_[0-9a-z]+')
        FROM information_schema.triggers WHERE event_object_table = 't' LIMIT 1
        """)
      let number = try await office.server(
        "SELECT number FROM flotilla_table WHERE site_table = 't'")
      try await office.server(
        """
        SET \(mark) = \(number); BEGIN; REPLACE INTO flotilla_state SELECT * FROM kept_state;
        DELETE FROM t; INSERT INTO t SELECT * FROM kept; COMMIT
        """)
      try await office.serverComesTo("since", "SELECT v FROM t WHERE id = 4")
      #expect(try office.log().contains("was put back to an earlier state"))
      try await office.site("UPDATE t SET v = 'after' WHERE id = 5")
      try await office.serverComesTo("after", "SELECT v FROM t WHERE id = 5")
    }
  }

  @Test func `puts what either side lacks there when the replica was put back to a backup`()
    async throws
  {
    try await Office.with { office in
      let node = try await office.open(Self.schema, "--create")
      try await office.isInSync()
      let (file, former) = (office.path("shop.db"), office.path("former.db"))
      #expect(try await office.run(["sqlite3", file, ".backup \(former)"]).status == 0)
      try await office.site("DELETE FROM t WHERE id = 3; INSERT INTO t VALUES (9, 'site')")
      try await office.server(
        "DELETE FROM t WHERE id = 4; UPDATE t SET v = 'later' WHERE id = 5;"
          + "INSERT INTO t VALUES (50, 'server')")
      let since = "1\tv1\n2\tv2\n5\tlater\n6\tv6\n7\tv7\n8\tv8\n9\tsite\n50\tserver"
      try await office.serverComesTo(since, Self.all)
      try await office.siteComesTo(since, Self.all)
      try await office.isInSync()
      node.die()
      #expect(try await office.run(["rm", "-f", file + "-wal", file + "-shm"]).status == 0)
      #expect(try await office.run(["cp", former, file]).status == 0)
      _ = try await office.serve()
      let wanted =
        "1\tv1\n2\tv2\n3\tv3\n4\tv4\n5\tv5\n6\tv6\n7\tv7\n8\tv8\n9\tsite\n50\tserver"
      try await office.serverComesTo(wanted, Self.all)
      try await office.siteComesTo(wanted, Self.all)
      try await office.isInSync()
      let conflicts = try await office.flotilla("conflicts", "shop.db", "--json")
      #expect(conflicts.text.contains(#""v":"later""#), "\(conflicts.text)")
    }
  }

  @Test func `stops one table at a migration, and the others flow on`() async throws {
    try await Office.with { office in
      let node = try await office.open(Self.schema, "--create")
      try await office.server("ALTER TABLE t DROP COLUMN v")
      try await office.site("UPDATE t SET v = 'x' WHERE id = 1; INSERT INTO u VALUES (1, 'flows')")
      try await office.serverComesTo("flows", "SELECT v FROM u WHERE id = 1")
      let status = try await office.status()
      let stopped = (status["stopped"] as? [[String: Any]])?.first
      #expect(stopped?["table"] as? String == "t", "\(status)")
      #expect((stopped?["reason"] as? String)?.contains("no column v") == true)
      try await office.server("ALTER TABLE t ADD COLUMN v LONGTEXT")
      node.die()
      _ = try await office.serve()
      try await office.serverComesTo("x\nv2", "SELECT v FROM t WHERE id < 3 ORDER BY id")
      try await office.server("UPDATE t SET v = 'y' WHERE id = 2")
      try await office.siteComesTo("y", "SELECT v FROM t WHERE id = 2")
    }
  }

  @Test func `goes on after the password was changed`() async throws {
    try await Office.with { office in
      _ = try await office.open(Self.schema, "--create")
      try await office.server(
        "SET PASSWORD FOR flo@localhost = PASSWORD('other'); "
          + "SELECT concat('KILL ', id) INTO @k FROM information_schema.processlist "
          + "WHERE user = 'flo' LIMIT 1; EXECUTE IMMEDIATE @k")
      let says = try await eventually {
        (try await office.status()["trouble"] as? String)?.contains("Access denied") == true
      }
      #expect(says)
      try "other\n".write(toFile: office.path("password"), atomically: true, encoding: .utf8)
      try await office.follows()
      try await office.site("UPDATE t SET v = 'again' WHERE id = 1")
      try await office.serverComesTo("again", "SELECT v FROM t WHERE id = 1")
    }
  }

  @Test func `is one at a time, moves when it is taken, and leaves nothing behind`() async throws {
    try await Office.with { office in
      let node = try await office.open(Self.schema, "--create")
      let code = try await office.flotilla("invite", "shop.db")
      let word = try #require(code.text.split(separator: "\n").first.map(String.init))
      let port = try office.port()
      let joined = try await office.flotilla(
        "join", "two.db", word, "--at", "127.0.0.1:\(port)", "--name", "two")
      #expect(joined.status == 0, "\(joined.text)")
      _ = try await office.serve("two.db", "--peer", "127.0.0.1:\(port)")

      let words = [office.url, "--password-file", "password", "--yes"]
      let second = try await office.run(["flotilla", "mirror", "two.db", "add"] + words)
      #expect(second.status == 1 && second.text.contains("anchor mirrors this site"))
      let early = try await office.run(["flotilla", "mirror", "two.db", "take"] + words)
      #expect(early.status == 1 && early.text.contains("at work"), "\(early.text)")

      // As soon as it is paused its place is free.
      #expect(try await office.flotilla("mirror", "shop.db", "pause").status == 0)
      // What is deleted meanwhile does not come back.
      try await office.site("DELETE FROM t WHERE id = 3")
      let isGone = try await eventually {
        try await office.site("SELECT count(*) FROM t WHERE id = 3", "two.db") == "0"
      }
      #expect(isGone)
      let taken = try await office.run(["flotilla", "mirror", "two.db", "take"] + words)
      #expect(taken.status == 0, "\(taken.text)")
      let follows = try await eventually {
        try await office.status("two.db")["state"] as? String == "following"
      }
      #expect(follows)
      try await office.server("INSERT INTO t VALUES (50, 'to two')")
      let has = try await eventually {
        try await office.site("SELECT v FROM t WHERE id = 50", "two.db") == "to two"
      }
      #expect(has)
      // The one that was there before says why it stands still, now and when it runs again.
      #expect(try await office.flotilla("mirror", "shop.db", "resume").status == 0)
      node.die()
      _ = try await office.serve()
      let says = try await eventually {
        (try await office.status()["trouble"] as? String)?.contains("two mirrors this site") == true
      }
      #expect(says)
      // It may ask for the mirror again, and takes nothing away that the other one needs.
      let back = try await office.run(["flotilla", "mirror", "shop.db", "take"] + words)
      #expect(back.status == 1 && back.text.contains("two is at work"), "\(back.text)")
      let left = try await office.flotilla("mirror", "shop.db", "remove")
      #expect(left.status == 0 && left.text.contains("two has taken it over"), "\(left.text)")
      try await office.server("INSERT INTO t VALUES (51, 'still')")
      let hasMore = try await eventually {
        try await office.site("SELECT v FROM t WHERE id = 51", "two.db") == "still"
      }
      #expect(hasMore)
      #expect(try await office.flotilla("mirror", "two.db", "remove").status == 0)
      #expect(try await office.server("SHOW TABLES") == "t\nu")
      #expect(try await office.server("SHOW TRIGGERS") == "")
      #expect(!FileManager.default.fileExists(atPath: office.path("two.db-flotilla/mirror.json")))
      #expect(try await office.server("SELECT count(*) FROM t") == "9")
      #expect(try await office.site("SELECT count(*) FROM t") == "9")
    }
  }

  @Test func `deletes what was deleted while both sides were altered`() async throws {
    try await Office.with { office in
      _ = try await office.open(Self.schema, "--create")
      #expect(try await office.flotilla("mirror", "shop.db", "pause").status == 0)
      try await office.site("DELETE FROM t WHERE id = 3")
      try await office.site("ALTER TABLE t ADD COLUMN w TEXT")
      try await office.server("ALTER TABLE t ADD COLUMN w text")
      try await office.server("INSERT INTO t(id, v) VALUES (50, 'new')")
      #expect(try await office.flotilla("mirror", "shop.db", "resume").status == 0)
      try await office.serverComesTo("", "SELECT id FROM t WHERE id = 3")
      try await office.siteComesTo("new", "SELECT v FROM t WHERE id = 50")
      #expect(try await office.site("SELECT count(*) FROM t WHERE id = 3") == "0")
    }
  }
}

extension Office {
  /// The server that runs is ended, and begins anew as a process that the test knows.
  func startServerAgain() async throws -> Process {
    let process = try #require(daemon)
    try await end(process)
    return try await startServer()
  }

  /// Ends a server as an operator does.
  func end(_ server: Process) async throws {
    kill(server.processIdentifier, SIGTERM)
    let hasEnded = try await eventually { !server.isRunning }
    #expect(hasEnded)
  }

  /// The port of the one node that was started.
  func port() throws -> String {
    let log = try #require(
      FileManager.default.contentsOfDirectory(atPath: folder).first { $0.hasPrefix("node-") })
    return try String(contentsOfFile: path(log), encoding: .utf8)
      .firstMatch(of: /listens on port (\d+)/).map { String($0.1) } ?? ""
  }
}
