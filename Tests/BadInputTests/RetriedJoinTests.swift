import Foundation
import Glibc
import Testing

extension BadInputTests {
  /// A join that fails costs no code, and makes no member that nobody is.
  @Suite struct RetriedJoinTests {
    /// Two members, and their nodes are equal.
    private func expectTwo(_ desk: Desk, _ file: String, _ first: RunningNode) async throws {
      let members = try await desk.succeed("members", "a.db", "--json")
      #expect(members.matches(of: /"state":"member"/).count == 2, "\(members)")
      _ = try await desk.start(file, "--listen", "127.0.0.1:0", "--peer", first.address)
      let isEqual = try await eventually(within: .seconds(20)) {
        try await desk.flotilla("verify", "a.db").status == 0
      }
      #expect(isEqual)
    }

    private func begin(_ desk: Desk, tables: Int = 0) async throws -> (RunningNode, String) {
      try await desk.make("a.db", rows: 50)
      let more = (0..<tables).map { "CREATE TABLE t\($0)(id TEXT PRIMARY KEY NOT NULL, v);" }
      try await desk.sql("a.db", more.joined(separator: "\n"))
      try await desk.succeed("init", "a.db", "--all", "--name", "first")
      let node = try await desk.start("a.db", "--listen", "127.0.0.1:0")
      return (node, try await desk.succeed("invite", "a.db"))
    }

    @Test(.enabled(if: getuid() == 0, "only root can mount"), arguments: [0, 150])
    func `a full disk keeps the code good`(_ tables: Int) async throws {
      try await Desk.with { desk in
        let (node, code) = try await begin(desk, tables: tables)
        mkdir(desk.path("small"), 0o755)
        // With many tables it is only known after the code was used that there is too little room.
        let join =
          "flotilla join c.db \(code) --at \(node.address) --name late 2>&1; "
          + "echo status $?"
        let script = """
          mount -t tmpfs -o size=\(tables == 0 ? "900k" : "1400k") tmpfs small || exit 77
          cd small; \(join); ls -A; mount -o remount,size=60m .; \(join)
          cp -a c.db c.db-flotilla ..; ls -A c.db-flotilla
          """
        let outcome = try await desk.run("unshare", "-m", "sh", "-c", script, within: 120)
        guard outcome.status != 77 else { return }
        let lines = outcome.output.split(separator: "\n").map(String.init)
        #expect(lines.filter { $0.hasPrefix("status ") } == ["status 1", "status 0"], "\(outcome)")
        if tables == 0 {
          #expect(lines[0].contains("the disk of c.db has only "), "\(outcome)")
          #expect(lines[1].contains("the code was not used"), "\(outcome)")
          #expect(lines[2] == "status 1" && lines[3].hasPrefix("found"), "\(outcome)")
        } else {
          #expect(outcome.output.contains("is full; late is a member already"), "\(outcome)")
          #expect(outcome.output.contains("on first: flotilla forget DB late"), "\(outcome)")
        }
        #expect(!lines.contains("pairing.json") && lines.contains("keys"), "\(outcome)")
        let members = try await desk.succeed("members", "a.db", "--json")
        #expect(members.matches(of: /"state":"member"/).count == 2, "\(members)")
        #expect(members.contains(#""node":"late""#), "\(members)")
      }
    }

    @Test(.enabled(if: getuid() == 0, "only root can become another user"))
    func `who may not write the file uses no code`() async throws {
      try await Desk.with { desk in
        let (node, code) = try await begin(desk)
        let nobody = [
          "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "env",
          "XDG_RUNTIME_DIR=\(desk.path("theirs"))", "flotilla",
        ]
        mkdir(desk.path("theirs"), 0o700)
        chown(desk.path("theirs"), 65534, 65534)
        guard try await desk.run(nobody + ["--version"]).status == 0 else { return }
        try await desk.sql("ro.db", "CREATE TABLE mine(x)")
        chmod(desk.path("ro.db"), 0o444)
        mkdir(desk.path("shut"), 0o755)
        try await desk.sql("shut/open.db", "CREATE TABLE mine(x)")
        chmod(desk.path("shut/open.db"), 0o666)
        for name in ["ro.db", "shut/open.db", "shut/new.db"] {
          let outcome = try await desk.run(nobody + ["join", name, code, "--at", node.address])
          #expect(outcome.status == 1, "\(outcome)")
          #expect(outcome.error.contains("cannot be written: Permission denied"), "\(outcome)")
          #expect(try desk.names("\(name)-").isEmpty)
        }
        chmod(desk.path("ro.db"), 0o644)
        try await desk.succeed("join", "ro.db", code, "--at", node.address, "--name", "late")
        try await expectTwo(desk, "ro.db", node)
      }
    }

    @Test func `who fails after it was let in is found again where the inviter was`() async throws {
      try await Desk.with { desk in
        let (node, code) = try await begin(desk)
        // Where the folder of the keys has to be there is a file.
        mkdir(desk.path("c.db-flotilla"), 0o700)
        mkdir(desk.path("c.db-flotilla/node.json.new"), 0o700)
        let first = try await desk.flotilla(
          "join", "c.db", code, "--at", node.address, "--name", "late")
        #expect(first.status == 1)
        #expect(first.error.contains("late is a member already"), "\(first)")
        #expect(first.error.contains("give the same command again"), "\(first)")
        #expect(try desk.names("c.db") == ["c.db-flotilla"])
        let other = try await desk.flotilla("join", "d.db", code, "--at", node.address)
        #expect(other.error.contains("the code was used already"), "\(other)")
        #expect(try desk.names("d.db").isEmpty)
        rmdir(desk.path("c.db-flotilla/node.json.new"))
        // It needs no address: it was noted.
        try await desk.succeed("join", "c.db", code, "--name", "late")
        #expect(try desk.names("c.db-flotilla/pairing").isEmpty)
        try await expectTwo(desk, "c.db", node)
      }
    }

    @Test func `thirty joins with a code that was used sign nothing`() async throws {
      try await Desk.with { desk in
        let (node, code) = try await begin(desk)
        func said() async throws -> String {
          try await desk.sql("a.db", "SELECT count(*), max(id) FROM _flotilla_statement")
        }
        // It is let in, fails, and gets the same answer each time that it asks with its own key.
        mkdir(desk.path("c.db-flotilla"), 0o700)
        mkdir(desk.path("c.db-flotilla/node.json.new"), 0o700)
        func fail() async throws {
          let outcome = try await desk.flotilla(
            "join", "c.db", code, "--at", node.address, "--name", "late")
          #expect(outcome.error.contains("late is a member already"), "\(outcome)")
        }
        try await fail()
        let admitted = try await said()
        for _ in 0..<5 { try await fail() }
        #expect(try await said() == admitted)

        rmdir(desk.path("c.db-flotilla/node.json.new"))
        _ = try await desk.run("sh", "-c", "mkdir -m 700 own; cp -a c.db-flotilla/* own/")
        try await desk.succeed("join", "c.db", code, "--name", "late")
        // It has come once it has said as a member what it holds.
        _ = try await desk.start(
          "c.db", "--listen", "127.0.0.1:0", "--peer", node.address)
        try await desk.succeed("wait", "c.db", "--for", "all")
        let before = try await said()
        let script = """
          for i in $(seq 30); do
            case $i in *5) cp -a own d$i.db-flotilla;; esac
            flotilla join d$i.db \(code) --at \(node.address) --name thief 2>&1
            echo "status $?"; ls -d d$i.db
          done
          """
        let outcome = try await desk.run("sh", "-c", script, within: 120)
        #expect(outcome.output.matches(of: /status 1/).count == 30, "\(outcome)")
        // Also with the key of who has used it.
        let refusals = outcome.output.matches(of: /the code was used already/).count
        #expect(refusals == 30, "\(outcome)")
        #expect(try await said() == before)
        #expect(!outcome.output.contains("d1.db\n"), "\(outcome)")
        let members = try await desk.succeed("members", "a.db", "--all", "--json")
        #expect(members.matches(of: /"state":/).count == 2, "\(members)")
        #expect(!members.contains("thief"), "\(members)")
        #expect(node.isRunning)
      }
    }
  }
}
