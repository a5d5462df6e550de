import Foundation
import Glibc
import Testing

/// Everything that goes wrong, one test after another: they share a small machine.
@Suite(.serialized) struct BadInputTests {}

extension BadInputTests {
  /// Files that are no database, or that cannot be used as one.
  @Suite struct FileTests {
    @Test(arguments: ["init", "join", "status", "run", "doctor"])
    func `what is no database is refused and stays as it is`(_ command: String) async throws {
      try await Desk.with { desk in
        try desk.write("text.db", Data("this is a text and no database at all\n".utf8))
        try desk.write("random.db", Desk.noise(20_000))
        try desk.write("short.db", Data("SQLite format 3\0 and nothing".utf8))
        mkdir(desk.path("folder.db"), 0o755)
        mkfifo(desk.path("pipe.db"), 0o644)
        let code = command == "join" ? ["K7QF-M2XD-9TRA-PZ4C-HJ3V-9R", "--at", "127.0.0.1:9"] : []
        for (name, why) in [
          ("text.db", "is not an SQLite database"), ("random.db", "is not an SQLite database"),
          ("short.db", "is not an SQLite database"), ("folder.db", "is a folder"),
          ("pipe.db", "is no regular file"),
        ] {
          let isFile = why.contains("SQLite")
          let before = isFile ? try desk.bytes(name) : Data()
          let outcome = try await desk.run(["flotilla", command, name] + code, within: 10)
          #expect(outcome.status == 1, "\(name)")
          #expect((outcome.error + outcome.output).contains(why), "\(name): \(outcome)")
          #expect(try desk.names(name) == [name])
          if isFile { #expect(try desk.bytes(name) == before) }
        }
      }
    }

    @Test func `a missing folder is named`() async throws {
      try await Desk.with { desk in
        for words in [["init", "no/x.db"], ["join", "no/x.db", "K7QF-M2XD-9TRA-PZ4C-HJ3V-9R"]] {
          let outcome = try await desk.run(["flotilla"] + words, within: 10)
          #expect(outcome.status == 1)
          #expect(outcome.error.contains("there is no folder \(desk.folder)/no"))
          #expect(outcome.error.contains("mkdir -p"))
        }
        let outcome = try await desk.flotilla("status", "no/x.db")
        #expect(outcome.error.contains("there is no file no/x.db"))
      }
    }

    @Test func `an empty file is an empty database`() async throws {
      try await Desk.with { desk in
        try desk.write("empty.db", Data())
        try await desk.succeed("init", "empty.db", "--all")
        #expect(try await desk.flotilla("status", "empty.db").status == 0)
      }
    }

    @Test func `a row that breaks a CHECK is no damage`() async throws {
      try await Desk.with { desk in
        try await desk.sql(
          "a.db",
          """
          CREATE TABLE t(id TEXT PRIMARY KEY, n INT CHECK (n > 0));
          PRAGMA ignore_check_constraints = ON; INSERT INTO t VALUES ('a', 1), ('b', -1);
          """)
        try await desk.succeed("init", "a.db", "--all")
        let said = try await desk.flotilla("doctor", "a.db").output
        #expect(said.contains("the file is sound"), "\(said)")
        #expect(said.contains("a row breaks a CHECK of its table: "), "\(said)")
        #expect(!said.contains("damaged"))
      }
    }

    @Test(arguments: ["x TEXT CHECK (x REGEXP 'a')", "x TEXT COLLATE swedish UNIQUE"])
    func `a table that needs its program is left out`(
      _ column: String
    ) async throws {
      try await Desk.with { desk in
        let making = """
          import sqlite3; c = sqlite3.connect("a.db")
          c.create_function("regexp", 2, lambda a, b: True, deterministic=True)
          c.create_collation("swedish", lambda a, b: (a > b) - (a < b))
          c.execute("CREATE TABLE t(id TEXT PRIMARY KEY, \(column))")
          c.execute("INSERT INTO t VALUES ('k', 'a')")
          c.execute("CREATE TABLE other(id TEXT PRIMARY KEY)"); c.commit()
          """
        #expect(try await desk.run(["python3", "-c", making]).status == 0)
        let begun = try await desk.flotilla("init", "a.db", "--all")
        #expect(begun.status == 0)
        #expect(begun.error.contains("t was left out: table \"t\" needs a "), "\(begun)")
        let said = try await desk.flotilla("status", "a.db")
        #expect(said.status == 0 && said.output.contains("1 table, and those to come"), "\(said)")
        #expect(try await desk.succeed("doctor", "a.db").contains("the file is sound"))
      }
    }

    @Test func `a file with JSON in its schema becomes a replica`() async throws {
      try await Desk.with { desk in
        try await desk.sql(
          "a.db",
          """
          CREATE TABLE t(id TEXT PRIMARY KEY, j TEXT CHECK (json_valid(j) OR j IS NULL));
          INSERT INTO t VALUES ('a', '[1]');
          """)
        try await desk.succeed("init", "a.db", "--all")
        #expect(try await desk.succeed("doctor", "a.db").contains("the file is sound"))
      }
    }

    @Test(arguments: [true, false])
    func `a damaged file is refused before it is touched`(_ isCut: Bool) async throws {
      try await Desk.with { desk in
        try await desk.make("bad.db", rows: 4_000)
        let size = try desk.bytes("bad.db").count
        if isCut {
          truncate(desk.path("bad.db"), size / 2 + 100)
        } else {
          try desk.write("bad.db", at: UInt64(size / 2), Desk.noise(30_000))
        }
        let before = try desk.bytes("bad.db")
        for words in [
          ["init", "bad.db", "--all"], ["init", "bad.db"],
          ["join", "bad.db", "K7QF-M2XD-9TRA-PZ4C-HJ3V-9R", "--at", "127.0.0.1:9"],
        ] {
          let outcome = try await desk.run(["flotilla"] + words)
          #expect(outcome.status == 1)
          #expect(outcome.error.contains("bad.db is damaged"))
          #expect(outcome.error.contains("sqlite3 bad.db '.recover'"))
          #expect(try desk.bytes("bad.db") == before)
          #expect(try desk.names("bad.db") == ["bad.db"])
        }
      }
    }

    @Test(.enabled(if: getuid() == 0, "only root can become another user"))
    func `another user's file and folder are left alone`() async throws {
      try await Desk.with { desk in
        let nobody = [
          "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "env",
          "XDG_RUNTIME_DIR=\(desk.path("theirs"))", "flotilla",
        ]
        try FileManager.default.createDirectory(
          atPath: desk.path("theirs"), withIntermediateDirectories: false)
        chown(desk.path("theirs"), 65534, 65534)
        chmod(desk.path("theirs"), 0o700)
        guard try await desk.run(nobody + ["--version"]).status == 0 else { return }

        try await desk.make("file.db")
        chmod(desk.path("file.db"), 0o444)
        mkdir(desk.path("shut"), 0o755)
        try await desk.make("shut/open.db")
        chmod(desk.path("shut/open.db"), 0o666)
        for name in ["file.db", "shut/open.db"] {
          let outcome = try await desk.run(nobody + ["init", name, "--all"])
          #expect(outcome.status == 1)
          #expect(outcome.error.contains("Permission denied"), "\(outcome)")
          #expect(outcome.error.contains("Run as the owner of the database"))
        }
        #expect(try desk.names("file.db") == ["file.db"])
        #expect(try await desk.sql("file.db", "PRAGMA journal_mode") == "delete")

        try await desk.make("mine.db")
        try await desk.succeed("init", "mine.db", "--all")
        for command in ["status", "run", "leave", "stop"] {
          let outcome = try await desk.run(nobody + [command, "mine.db"])
          #expect(outcome.status == 1)
          #expect(outcome.error.contains("Run as the owner of the file"), "\(outcome)")
        }
        // Where they may write to the file, the folder beside it is what shuts them out.
        chmod(desk.folder, 0o777)
        chmod(desk.path("mine.db"), 0o666)
        let outcome = try await desk.run(nobody + ["status", "mine.db"])
        #expect(
          outcome.error.contains("mine.db-flotilla belongs to root, and you are nobody"),
          "\(outcome)")
        #expect(try await desk.flotilla("status", "mine.db").status == 0)
      }
    }

    @Test(.enabled(if: getuid() == 0, "only root can mount"))
    func `a folder that is mounted read-only is told`() async throws {
      try await Desk.with { desk in
        mkdir(desk.path("ro"), 0o755)
        try await desk.make("ro/a.db")
        try await desk.make("ro/b.db")
        try await desk.succeed("init", "ro/b.db", "--all")
        let script = """
          mount --bind ro ro && mount -o remount,bind,ro ro || exit 77
          flotilla init ro/a.db --all; echo $?; flotilla init ro/new.db; echo $?
          flotilla track ro/b.db t; echo $?; flotilla run ro/b.db --no-discovery; echo $?
          """
        let outcome = try await desk.run("unshare", "-m", "sh", "-c", script)
        guard outcome.status != 77 else { return }
        #expect(outcome.output == "1\n1\n1\n1", "\(outcome)")
        #expect(outcome.error.contains("Read-only file system"))
        #expect(try desk.names("ro/a.db-").isEmpty)
      }
    }

    @Test func `a file that stays locked is told, and not waited for without end`() async throws {
      try await Desk.with { desk in
        try await desk.make("plain.db")
        try await desk.make("site.db")
        try await desk.succeed("init", "site.db", "--all", "--name", "n", "--site", "S")
        let before = try desk.bytes("plain.db")
        _ = try await desk.begin("hold.py", desk.path("plain.db"), "EXCLUSIVE", "60")
        _ = try await desk.begin("hold.py", desk.path("site.db"), "IMMEDIATE", "60")
        for words in [["init", "plain.db"], ["track", "site.db", "t"]] {
          let outcome = try await desk.run(["flotilla"] + words, within: 20)
          #expect(outcome.status == 1)
          #expect(outcome.error.contains("\(words[1]) was locked by another program for too long"))
        }
        #expect(try desk.bytes("plain.db") == before)
        #expect(try desk.names("plain.db-flotilla").isEmpty)
        // What only looks needs no lock in WAL mode.
        #expect(try await desk.flotilla("status", "site.db", within: 10).status == 0)
        let again = try await desk.flotilla("init", "site.db", within: 10)
        #expect(again.error.contains(#"node n of the site "S""#))
      }
    }

    @Test func `a running node outlives a long lock`() async throws {
      try await Desk.with { desk in
        try await desk.make("site.db")
        try await desk.succeed("init", "site.db", "--all")
        let holder = try await desk.begin("hold.py", desk.path("site.db"), "IMMEDIATE", "60")
        let node = try await desk.start("site.db", "--listen", "127.0.0.1:0")
        try await Task.sleep(for: .seconds(6))
        kill(holder, SIGKILL)
        try await desk.sql("site.db", "INSERT INTO t VALUES('new', 'x')")
        let folded = try await eventually(within: .seconds(20)) {
          try await desk.sql("site.db", "SELECT count(*) FROM _flotilla_journal") == "0"
        }
        #expect(folded)
        #expect(node.isRunning)
      }
    }

    @Test func `a file that one program keeps to itself cannot become a replica`() async throws {
      try await Desk.with { desk in
        try await desk.make("site.db")
        let before = try await desk.sql("site.db", "SELECT * FROM sqlite_schema")
        let holder = try await desk.begin("hold.py", desk.path("site.db"), "private", "60")
        let outcome = try await desk.flotilla("init", "site.db", "--all", within: 20)
        #expect(outcome.status == 1)
        #expect(outcome.error.contains("locked"), "\(outcome)")
        kill(holder, SIGKILL)
        #expect(try await desk.sql("site.db", "SELECT * FROM sqlite_schema") == before)
        #expect(try desk.names("site.db-flotilla").isEmpty)
      }
    }
  }
}
