import Foundation
import Testing

extension BadInputTests {
  /// `flotilla changes`, as a script uses it.
  @Suite struct ChangesTests {
    private func cursor(_ output: String) throws -> String {
      let line = try #require(output.split(separator: "\n").last)
      return String(try #require(line.firstMatch(of: /"cursor":"([^"]+)"/)).1)
    }

    @Test func `a batch that its command fails on comes again`() async throws {
      try await Desk.with { desk in
        try await desk.make("a.db")
        try await desk.succeed("init", "a.db", "--all", "--name", "a")
        try await desk.succeed("changes", "a.db", "--cursor", "place")
        try await desk.sql("a.db", "UPDATE t SET v = 'new' WHERE id IN ('k1', 'k2')")
        let failed = try await desk.flotilla(
          "changes", "a.db", "t", "--cursor", "place", "--exec", "cat >bad; exit 3")
        #expect(failed.status == 1 && failed.error.contains("ended with status 3"), "\(failed)")
        #expect(failed.error.contains("the batch comes once more"))
        let good = try await desk.flotilla(
          "changes", "a.db", "t", "--cursor", "place", "--exec",
          "cat >good; echo $FLOTILLA_CURSOR >at")
        #expect(good.status == 0 && good.output.isEmpty, "\(good)")
        let lines = try String(contentsOfFile: desk.path("good"), encoding: .utf8)
        #expect(try String(contentsOfFile: desk.path("bad"), encoding: .utf8) == lines)
        #expect(lines.split(separator: "\n").count == 2 && lines.contains("\"v\":\"new\""))
        let place = try String(contentsOfFile: desk.path("place"), encoding: .utf8)
        #expect(try String(contentsOfFile: desk.path("at"), encoding: .utf8) == place)
        // Nothing is left, and nothing is run for nothing.
        try await desk.succeed("changes", "a.db", "--cursor", "place", "--exec", "touch ran")
        #expect(!FileManager.default.fileExists(atPath: desk.path("ran")))
      }
    }

    @Test func `a reader that has gone is the end, and what it was not given comes again`()
      async throws
    {
      try await Desk.with { desk in
        try await desk.make("a.db")
        try await desk.succeed("init", "a.db", "--all")
        try await desk.succeed("changes", "a.db", "--cursor", "place")
        let place = try String(contentsOfFile: desk.path("place"), encoding: .utf8)
        // The pipe has no reader before anything has changed.
        let script = """
          { flotilla changes a.db t --follow --cursor place; echo ended $? >status; } |
            touch gone &
          until [ -e gone ]; do sleep 0.1; done
          sqlite3 -cmd '.timeout 10000' a.db "UPDATE t SET v = 'new' WHERE id < 'k2'"
          wait; cat status
          """
        let ended = try await desk.run("bash", "-c", script, within: 30)
        #expect(ended.output.hasSuffix("ended 0"), "\(ended)")
        #expect(try String(contentsOfFile: desk.path("place"), encoding: .utf8) == place)
        let again = try await desk.succeed("changes", "a.db", "t", "--cursor", "place")
        #expect(again.contains("\"v\":\"new\""))
      }
    }

    @Test func `a command whose reader has gone ends as it would have ended`() async throws {
      try await Desk.with { desk in
        try await desk.make("a.db")
        try await desk.make("c.db")
        try await desk.succeed("init", "a.db", "--all", "--name", "first")
        let node = try await desk.start("a.db", "--listen", "127.0.0.1:0")
        try await desk.succeed("anchor", "a.db", "--here")
        let code = try await desk.succeed("invite", "a.db", "--role", "reader")
        // The pipe has no reader before the command says anything; then the disk is full.
        let script = """
          unread() {
            { until [ -e gone ]; do sleep 0.1; done; timeout 20 "$@"; echo $? >>status; } |
              touch gone
            rm gone
          }
          unread flotilla status a.db --watch
          unread flotilla join b.db \(code) --at \(node.address) --name second
          unread flotilla sql b.db "UPDATE t SET v = 'no' WHERE id = 'k1'" --online
          flotilla init c.db --all >/dev/full; echo $? >>status
          flotilla status c.db >/dev/null; echo $? >>status
          cat status
          """
        let outcome = try await desk.run("bash", "-c", script, within: 60)
        #expect(outcome.output.split(separator: "\n") == ["0", "0", "4", "1", "0"], "\(outcome)")
        #expect(outcome.error.contains("cannot write the results: No space left"), "\(outcome)")
      }
    }

    @Test func `who has missed changes is told, with another status`() async throws {
      try await Desk.with { desk in
        try await desk.make("a.db")
        try await desk.succeed("init", "a.db", "--all")
        let start = try cursor(try await desk.succeed("changes", "a.db"))
        try await desk.sql("a.db", "ALTER TABLE t ADD COLUMN more")
        let missed = try await desk.flotilla("changes", "a.db", "--since", start)
        #expect(missed.status == 1 && missed.output.hasSuffix(",\"reset\":true}"), "\(missed)")
        #expect(missed.error.contains("changes were missed: read the tables"))
        let next = try await desk.flotilla(
          "changes", "a.db", "--since", try cursor(missed.output))
        #expect(next.status == 0 && next.error.isEmpty, "\(next)")
      }
    }

    @Test func `what is no cursor and no table is wrong, and changes no file`() async throws {
      try await Desk.with { desk in
        try await desk.make("a.db")
        try await desk.succeed("init", "a.db", "--all")
        let word = try await desk.flotilla("changes", "a.db", "--since", "yesterday")
        #expect(word.status == 2 && word.error.contains("this is no cursor: yesterday"), "\(word)")
        let table = try await desk.flotilla("changes", "a.db", "absent")
        #expect(table.status == 1 && table.error.contains("absent is not replicated here"))
        try Data().write(to: URL(filePath: desk.path("empty")))
        let file = try await desk.flotilla("changes", "a.db", "--cursor", "empty")
        #expect(file.status == 1 && file.error.contains("empty holds no cursor"), "\(file)")
        let folder = try await desk.flotilla("changes", "a.db", "--cursor", "absent/place")
        #expect(folder.status == 1 && folder.error.contains("cannot write absent/place"))
        let both = try await desk.flotilla("changes", "a.db", "--since", "1.1", "--cursor", "f")
        #expect(both.status == 2)
        #expect(try Data(contentsOf: URL(filePath: desk.path("empty"))).isEmpty)
      }
    }

    @Test func `goes on beside a node until it is stopped`() async throws {
      try await Desk.with { desk in
        try await desk.make("a.db")
        try await desk.succeed("init", "a.db", "--all")
        _ = try await desk.start("a.db", "--listen", "127.0.0.1:0")
        let script = """
          set -m; flotilla changes a.db --follow >said 2>&1 & p=$!
          for i in $(seq 600); do [ -e told ] && break; sleep 0.1; done
          kill -INT $p; wait $p; echo $? >status
          """
        async let follower = desk.run("bash", "-c", script)
        let hasBegun = try await eventually(within: .seconds(25)) {
          (try? String(contentsOfFile: desk.path("said"), encoding: .utf8))?.isEmpty == false
        }
        #expect(hasBegun)
        try await desk.sql("a.db", "DELETE FROM t WHERE id = 'k3'")
        let isTold = try await eventually(within: .seconds(25)) {
          try String(contentsOfFile: desk.path("said"), encoding: .utf8)
            .contains("\"deleted\":true,\"key\":{\"id\":\"k3\"},\"row\":null")
        }
        #expect(isTold)
        try Data().write(to: URL(filePath: desk.path("told")))
        _ = try await follower
        let status = try String(contentsOfFile: desk.path("status"), encoding: .utf8)
        #expect(status == "0\n")
      }
    }
  }
}
