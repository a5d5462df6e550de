import Foundation
import Glibc
import Testing

extension BadInputTests {
  /// A node that runs while its file cannot be written: it says so, and goes on by itself.
  @Suite struct TroubleTests {
    /// What both commands say of the file, by what the texts have in common.
    private func isTold(_ kind: String, _ text: String, of database: String, at desk: Desk)
      async throws -> Bool
    {
      let json = try await desk.flotilla("status", database, "--json")
      let status = try await desk.flotilla("status", database)
      let doctor = try await desk.flotilla("doctor", database)
      return json.output.contains(#""trouble":{"kind":"\#(kind)""#)
        && status.output.contains("! ") && status.output.contains(text)
        && doctor.output.contains("error    writing") && doctor.output.contains(text)
    }

    private func isOver(of database: String, at desk: Desk) async throws -> Bool {
      let json = try await desk.flotilla("status", database, "--json")
      let doctor = try await desk.flotilla("doctor", database)
      return json.output.contains(#""trouble":null"#) && doctor.status == 0
    }

    @Test func `a long lock is told, with the program that has it, and outlived`() async throws {
      try await Desk.with { desk in
        let first = try await desk.pair("a.db", "b.db")
        let second = try await desk.start("b.db", "--peer", first.address)
        #expect(
          try await eventually(within: .seconds(20)) { second.logText.contains("with first") })
        let holder = try await desk.begin("hold.py", desk.path("b.db"), "IMMEDIATE", "120")
        try await desk.sql("a.db", "INSERT INTO t VALUES('new', 'x')")
        #expect(try await isTold("locked", "(process \(holder))", of: "b.db", at: desk))
        // Longer than one try for the lock takes: the connection stays.
        try await Task.sleep(for: .seconds(7))
        #expect(try await isTold("locked", "(process \(holder))", of: "b.db", at: desk))
        // The row waits all the time, whether it is just tried or not.
        for _ in 0..<8 {
          let status = try await desk.flotilla("status", "b.db")
          #expect(status.status == 3 && status.output.contains("not in sync: "), "\(status)")
          try await Task.sleep(for: .seconds(1))
        }
        kill(holder, SIGKILL)
        #expect(
          try await eventually(within: .seconds(30)) {
            try await desk.sql("b.db", "SELECT count(*) FROM t WHERE id = 'new'") == "1"
          })
        #expect(
          try await eventually(within: .seconds(20)) { try await isOver(of: "b.db", at: desk) })
        #expect(second.logText.matches(of: /connected with first/).count == 1)
        #expect(second.logText.matches(of: /holds the write lock/).count == 1)
      }
    }

    @Test func `a file that may not be written any more is told, and used again`() async throws {
      try await Desk.with { desk in
        try await desk.make("a.db")
        try await desk.succeed("init", "a.db", "--all")
        let node = try await desk.start("a.db", "--listen", "127.0.0.1:0")
        // Permissions do not bind root, but this does, where the file system knows it.
        let words = getuid() == 0 ? ["chattr", "+i", "a.db"] : ["chmod", "444", "a.db"]
        guard try await desk.run(words).status == 0 else { return }
        let isTold = try await eventually(within: .seconds(20)) {
          node.logText.contains("a.db cannot be written")
        }
        let areTold = try await self.isTold(
          "read-only", "a.db cannot be written", of: "a.db", at: desk)
        _ = try await desk.run(
          getuid() == 0 ? ["chattr", "-i", "a.db"] : ["chmod", "644", "a.db"])
        #expect(isTold && areTold)
        #expect(
          try await eventually(within: .seconds(20)) { try await isOver(of: "a.db", at: desk) })
        try await desk.sql("a.db", "INSERT INTO t VALUES('new', 'x')")
        let folded = try await eventually(within: .seconds(20)) {
          try await desk.sql("a.db", "SELECT count(*) FROM _flotilla_journal") == "0"
        }
        #expect(folded)
        #expect(node.logText.matches(of: /a.db cannot be written/).count == 1)
      }
    }

    @Test(.enabled(if: getuid() == 0, "only root can mount"))
    func `a disk that fills up is told, and what waits arrives once there is room`() async throws {
      try await Desk.with { desk in
        let first = try await desk.pair("a.db", "other.db")
        let code = try await desk.succeed("invite", "a.db")
        mkdir(desk.path("small"), 0o755)
        // The file system is seen by what runs inside alone.
        let script = """
          mount -t tmpfs -o size=1500k tmpfs small || exit 77
          flotilla join small/b.db \(code) --at \(first.address) --name b >/dev/null 2>&1
          flotilla run small/b.db --no-discovery --listen 127.0.0.1:0 --peer \(first.address) \\
            2>node.log & node=$!
          look() { for i in $(seq 200); do eval "$1" && return; sleep 0.2; done; echo "not: $1"; }
          look 'grep -q connected node.log'
          sqlite3 -cmd '.timeout 9000' a.db "WITH RECURSIVE n(i) AS (
            SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 2000)
            INSERT INTO t SELECT 'n' || i, hex(randomblob(500)) FROM n"
          look 'flotilla status small/b.db | grep -q "! the disk that holds small/b.db is full"'
          flotilla status small/b.db --json | grep -o '"kind":"disk-full"'
          flotilla doctor small/b.db | grep -o 'error    writing'
          mount -o remount,size=40M small
          look '[ $(sqlite3 small/b.db "SELECT count(*) FROM t") = 2020 ]'
          look 'flotilla status small/b.db --json | grep -q "\\"trouble\\":null"'
          flotilla doctor small/b.db | grep -o 'ok       writing'
          grep -c 'connected with first' node.log; grep -c 'small/b.db is full' node.log
          kill $node; wait $node
          """
        let outcome = try await desk.run(["unshare", "-m", "sh", "-c", script], within: 120)
        guard outcome.status != 77 else { return }
        #expect(
          outcome.output == """
            "kind":"disk-full"
            error    writing
            ok       writing
            1
            1
            """, "\(outcome)")
      }
    }
  }
}
