import Foundation
import Testing

extension LANTests {
  /// What `doctor` says of a port that other hosts reach, or do not.
  @Suite struct PortTests {
    private func run(_ host: Host, _ options: String...) async throws {
      let words = ["flotilla", "run", "site.db", "--background", "--no-discovery"] + options
      try await host.succeed("sh", "-c", words.joined(separator: " "))
    }

    private func finds(_ words: String, on host: Host) async throws -> Bool {
      try await eventually(within: .seconds(20), every: .seconds(1)) {
        try await host.run("flotilla", "doctor", "site.db").output.contains(words)
      }
    }

    @Test func `is tried by the other host`() async throws {
      try await Lab.with(hosts: 2) { lab in
        let (one, two) = (lab.hosts[0], lab.hosts[1])
        try await one.succeed(
          "sqlite3", "site.db", "CREATE TABLE note(id TEXT PRIMARY KEY NOT NULL, text TEXT)")
        try await one.succeed(
          "flotilla", "init", "site.db", "--site", "Ports", "--name", "one", "--all")
        try await run(one)
        let code = try await one.succeed("flotilla", "invite", "site.db")
        let address = one.address + ":7391"
        try await two.succeed("flotilla", "join", "site.db", code, "--name", "two", "--at", address)
        // It dials, and lets nobody in.
        try await run(two, "--listen", "127.0.0.1:7391")
        let closed = "port 7391 is not reached from outside: one (\(one.address): refused)"
        #expect(try await finds(closed, on: two))
        let said = try await two.run("flotilla", "doctor", "site.db")
        #expect(said.output.contains("listens on 127.0.0.1, for this machine alone"), "\(said)")
        let open = "port 7391 is reached from outside, by two (\(two.address))"
        #expect(try await finds(open, on: one))
        // Both let others in, and still one of them dials: the other one dials back.
        try await two.succeed("flotilla", "stop", "site.db")
        try await run(two)
        #expect(
          try await finds("port 7391 is reached from outside, by one (\(one.address))", on: two))
      }
    }
  }
}
