import Foundation
import Glibc
import Testing

extension BadInputTests {
  /// Several databases that one process serves.
  @Suite struct SeveralTests {
    @Test func `of which one is broken are served but that one`() async throws {
      try await Desk.with { desk in
        for name in ["a.db", "b.db", "c.db"] {
          try await desk.make(name)
          try await desk.succeed("init", name, "--all")
        }
        try FileManager.default.moveItem(
          atPath: desk.path("b.db-flotilla"), toPath: desk.path("away"))
        let words = ["flotilla", "run", "b.db", "a.db", "c.db", "--background", "--no-discovery"]
        let started = try await desk.run(words + ["--listen", "127.0.0.1:0"])
        #expect(started.status == 0 && started.error.contains("b.db-flotilla is missing"))
        for name in ["a.db", "c.db"] {
          #expect(try await desk.succeed("status", name, "--json").contains(#""running":true"#))
        }
        // The log lies beside the first one that has a place for it.
        let log = try String(contentsOfFile: desk.path("a.db-flotilla/node.log"), encoding: .utf8)
        #expect(log.contains("b.db: not served, and tried every minute: "), "\(log)")
        // A file that goes to ruin later leaves the other one at work, too.
        try desk.write("c.db", Data(repeating: 7, count: 4_096))
        _ = try await desk.flotilla("sync", "c.db", "--timeout", "2s")
        try await desk.sql("a.db", "INSERT INTO t VALUES ('new', 'x')")
        #expect(try await desk.succeed("status", "a.db", "--json").contains(#""running":true"#))
        // What is not served waits for nobody.
        try await desk.succeed("stop", "a.db")
        _ = try await desk.flotilla("stop", "c.db")
        let isOver = try await eventually(within: .seconds(30)) {
          try String(contentsOfFile: desk.path("a.db-flotilla/node.log"), encoding: .utf8)
            .contains("stopped\n")
        }
        #expect(isOver)
      }
    }

    @Test func `of which all are broken are an error at once`() async throws {
      try await Desk.with { desk in
        for name in ["a.db", "b.db"] {
          try await desk.make(name)
          try await desk.succeed("init", name, "--all")
          try FileManager.default.removeItem(atPath: desk.path("\(name)-flotilla/keys"))
        }
        let said = try await desk.flotilla("run", "a.db", "b.db", "--listen", "127.0.0.1:0")
        #expect(said.status == 1 && said.error.contains("flotilla: "), "\(said)")
      }
    }
  }
}
