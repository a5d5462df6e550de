import Foundation
import Glibc
import Testing

extension BadInputTests {
  /// Files with more than one name, and paths that cannot be looked at.
  @Suite struct LinkTests {
    @Test func `a file with two names is refused, and doctor tells how to find the other`()
      async throws
    {
      try await Desk.with { desk in
        try await desk.make("a.db")
        link(desk.path("a.db"), desk.path("b.db"))
        let code = "K7QF-M2XD-9TRA-PZ4C-HJ3V-9R"
        for words in [["init", "a.db", "--all"], ["join", "b.db", code, "--at", "127.0.0.1:9"]] {
          let outcome = try await desk.run(["flotilla"] + words)
          #expect(outcome.status == 1)
          #expect(outcome.error.contains("\(words[1]) has 2 names (hard links)"), "\(outcome)")
          #expect(outcome.error.contains("cp \(words[1]) \(words[1]).own"), "\(outcome)")
        }
        #expect(try desk.names("a.db-").isEmpty && desk.names("b.db-").isEmpty)
        unlink(desk.path("b.db"))
        try await desk.succeed("init", "a.db", "--all")
        link(desk.path("a.db"), desk.path("b.db"))
        for words in [["run", "a.db"], ["run", "a.db", "--background"]] {
          let outcome = try await desk.run(["flotilla"] + words + ["--no-discovery"], within: 20)
          #expect(outcome.status == 1 && outcome.error.contains("2 names"), "\(outcome)")
        }
        let doctor = try await desk.flotilla("doctor", "a.db")
        #expect(doctor.status == 1)
        let search = try #require(doctor.output.firstMatch(of: /find (\S+) -xdev -inum (\d+)/))
        let inode = try await desk.run("stat", "-c", "%i", "b.db").output
        #expect(search.2 == inode && desk.folder.hasPrefix(search.1 == "/" ? "" : search.1))
        unlink(desk.path("b.db"))
        _ = try await desk.start("a.db", "--listen", "127.0.0.1:0")
      }
    }

    @Test func `another name of a replica is told, and nothing is taken out by it`() async throws {
      try await Desk.with { desk in
        try await desk.make("good.db")
        try await desk.succeed("init", "good.db", "--all")
        let node = try await desk.start("good.db", "--listen", "127.0.0.1:0")
        link(desk.path("good.db"), desk.path("hard.db"))
        for words in [
          ["leave", "hard.db", "--force"], ["status", "hard.db"], ["doctor", "hard.db"],
        ] {
          let outcome = try await desk.run(["flotilla"] + words)
          #expect(outcome.status == 1)
          let said = outcome.error + outcome.output
          #expect(said.contains("another name (a hard link) of \(desk.path("good.db"))"), "\(said)")
          #expect(said.contains("rm hard.db"), "\(said)")
        }
        unlink(desk.path("hard.db"))
        #expect(node.isRunning)
        #expect(try await desk.flotilla("status", "good.db").status == 0)
        #expect(try await desk.sql("good.db", "SELECT count(*) > 0 FROM _flotilla_version") == "1")
      }
    }

    @Test(arguments: [true, false])
    func `a symbolic link leads to its database everywhere`(_ isThere: Bool) async throws {
      try await Desk.with { desk in
        mkdir(desk.path("real"), 0o755)
        if isThere { try await desk.make("real/a.db") }
        symlink("real/a.db", desk.path("one.db"))
        symlink("one.db", desk.path("l.db"))
        try await desk.succeed("init", "l.db", "--all")
        #expect(try desk.names("l.db") == ["l.db"] && desk.names("one.db") == ["one.db"])
        let outcome = try await desk.flotilla(
          "run", "l.db", "--background", "--no-discovery", "--listen", "127.0.0.1:0")
        #expect(outcome.status == 0, "\(outcome)")
        #expect(outcome.error.contains("log: \(desk.path("real/a.db"))-flotilla/node.log"))
        for name in ["l.db", "one.db", "real/a.db"] {
          let status = try await desk.succeed("status", name, "--json")
          #expect(status.contains(#""running":true"#), "\(status)")
        }
        try await desk.succeed("doctor", "l.db", "--bundle", "bundle.json")
        let bundle = try String(contentsOfFile: desk.path("bundle.json"), encoding: .utf8)
        #expect(bundle.contains("listens on port"), "\(bundle)")
        try await desk.succeed("stop", "l.db")
        try await desk.succeed("leave", "l.db", "--force")
        #expect(try await desk.run("ls", "-A", "real").output == "a.db")
      }
    }

    @Test(.enabled(if: getuid() == 0, "only root can become another user"))
    func `what cannot be looked at is closed, and not absent`() async throws {
      try await Desk.with { desk in
        let nobody = [
          "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "env",
          "XDG_RUNTIME_DIR=\(desk.path("theirs"))", "flotilla",
        ]
        mkdir(desk.path("theirs"), 0o700)
        chown(desk.path("theirs"), 65534, 65534)
        guard try await desk.run(nobody + ["--version"]).status == 0 else { return }
        mkdir(desk.path("shut"), 0o700)
        try await desk.make("shut/a.db")
        try await desk.succeed("init", "shut/a.db", "--all")
        try await desk.make("closed.db")
        chmod(desk.path("closed.db"), 0o600)
        let places = [
          ("shut/a.db", "the folder shut is closed to you"),
          (desk.path("shut/a.db"), "the folder \(desk.path("shut")) is closed to you"),
          ("closed.db", "closed.db cannot be read"),
        ]
        for command in ["status", "init", "run", "doctor", "stop"] {
          for (place, why) in places {
            let outcome = try await desk.run(nobody + [command, place])
            let said = outcome.error + outcome.output
            #expect(outcome.status == 1 && said.contains(why), "\(command): \(said)")
            #expect(said.contains("Permission denied"), "\(said)")
            #expect(said.contains("belongs to root, and you are nobody"), "\(said)")
            #expect(!said.contains("makes a new database") && !said.contains("mkdir"), "\(said)")
          }
        }
      }
    }

    @Test(.enabled(if: getuid() == 0, "only root can mount, and become another user"))
    func `a node whose log cannot be written says what to do`() async throws {
      try await Desk.with { desk in
        try await desk.make("a.db")
        try await desk.succeed("init", "a.db", "--all")
        chmod(desk.folder, 0o777)
        chmod(desk.path("a.db"), 0o666)
        let nobody = "setpriv --reuid=65534 --regid=65534 --clear-groups"
        let script = """
          \(nobody) true || exit 77
          \(nobody) env XDG_RUNTIME_DIR=/nowhere flotilla run a.db --background --no-discovery
          mount --bind . . && mount -o remount,bind,ro . || exit 77
          cd "$PWD" && flotilla run a.db --background --no-discovery; exit 0
          """
        let outcome = try await desk.run("unshare", "-m", "sh", "-c", script)
        guard outcome.status != 77 else { return }
        #expect(outcome.error.contains("belongs to root, and you are nobody"), "\(outcome)")
        #expect(outcome.error.contains("sudo -u root flotilla"), "\(outcome)")
        #expect(outcome.error.contains("the file system of a.db is read-only"), "\(outcome)")
        #expect(outcome.error.contains("mount -o remount,rw"), "\(outcome)")
      }
    }
  }
}
