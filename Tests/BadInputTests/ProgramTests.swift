import Foundation
import Glibc
import Testing

extension BadInputTests {
  /// Nodes whose program was replaced or taken away under them.
  @Suite struct ProgramTests {
    private static let packaging = URL(filePath: Desk.fixtures).deletingLastPathComponent()
      .deletingLastPathComponent().appending(path: "scripts/packaging").path

    /// A script of the package, for the program that lies in the folder instead.
    private func script(_ name: String, _ desk: Desk, _ word: String) async throws -> Outcome {
      let text = try String(contentsOfFile: Self.packaging + "/" + name, encoding: .utf8)
        .replacing("/usr/bin/flotilla", with: desk.path("bin/flotilla"))
        .replacing("/run/systemd/system", with: "/nowhere")
      try text.write(toFile: desk.path(name), atomically: false, encoding: .utf8)
      return try await desk.run("sh", name, word, "0.0.9")
    }

    @Test func `is told, and the package ends those that still run`() async throws {
      try await Desk.with { desk in
        mkdir(desk.path("bin"), 0o755)
        let copy = "cp \(Desk.release)/flotilla bin/new && mv bin/new bin/flotilla"
        #expect(try await desk.run("sh", "-c", copy).status == 0)
        try await desk.make("a.db")
        try await desk.succeed("init", "a.db", "--all")
        let run = ["run", "a.db", "--background", "--no-discovery", "--listen", "127.0.0.1:0"]
        let started = try await desk.run(["bin/flotilla"] + run)
        let process = try #require(started.error.firstMatch(of: /process (\d+)/)?.1)
        let node = RunningNode(process: try #require(pid_t(process)), port: 0, log: "")
        defer { if node.isRunning { node.signal(SIGKILL) } }
        #expect(try await !desk.flotilla("status", "a.db").error.contains("was replaced"))

        #expect(try await desk.run("sh", "-c", copy).status == 0)
        for command in ["status", "doctor"] {
          let outcome = try await desk.flotilla(command, "a.db")
          let said = outcome.output + outcome.error
          #expect(said.contains("was replaced at \(desk.path("bin/flotilla"))"), "\(said)")
          #expect(said.contains("flotilla run a.db --background"), "\(said)")
        }
        // At an upgrade it goes on, and is named.
        let upgrade = try await script("prerm", desk, "upgrade")
        #expect(upgrade.output.isEmpty && node.isRunning, "\(upgrade)")
        let tell =
          "sed -n '/^  for process/,/^  done/p' \(Self.packaging)/postinst >tell; "
          + "program=$PWD/bin/flotilla; . ./tell"
        let configure = try await desk.run("sh", "-c", tell)
        #expect(configure.output.contains("process \(process) runs the program before this one"))
        #expect(configure.output.contains("-- a.db"), "\(configure)")

        unlink(desk.path("bin/flotilla"))
        let status = try await desk.flotilla("status", "a.db")
        #expect((status.output + status.error).contains("its program was removed"), "\(status)")
        let removal = try await script("prerm", desk, "remove")
        #expect(removal.status == 0)
        #expect(removal.output.contains("ends a process that still runs it: \(process) ("))
        #expect(removal.output.contains("-- a.db"), "\(removal)")
        #expect(!node.isRunning)
        #expect(try await desk.flotilla("status", "a.db").error.contains("no node runs"))
      }
    }
  }
}
