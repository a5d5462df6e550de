import Foundation
import Testing

extension LANTests {
  /// Three machines, databases that were there before, programs that know nothing of replication.
  @Suite struct ThreeHostTests {
    static let samples =
      ProcessInfo.processInfo.environment["FLOTILLA_SAMPLES"] ?? "\(Lab.top)/../shared/data"
    static let fixtures = "\(Lab.top)/Tests/Fixtures"

    @Test(.enabled(if: isThere("chinook.db"), "chinook.db is not among the samples"))
    func `three replicas of chinook become equal`() async throws {
      try await becomeEqual { try copySample("chinook.db", to: $0) }
    }

    @Test(.enabled(if: isThere("northwind.db"), "northwind.db is not among the samples"))
    func `three replicas of northwind become equal`() async throws {
      try await becomeEqual { try copySample("northwind.db", to: $0) }
    }

    @Test func `three replicas with every shape of key become equal`() async throws {
      try await becomeEqual { path in
        try await Program("/usr/bin/python3", ["\(Self.fixtures)/key-shapes.py", path]).succeed()
      }
    }

    private static func isThere(_ sample: String) -> Bool {
      FileManager.default.isReadableFile(atPath: "\(samples)/\(sample)")
    }

    private func copySample(_ sample: String, to path: String) throws {
      let data = try Data(contentsOf: URL(filePath: "\(Self.samples)/\(sample)"))
      try data.write(to: URL(filePath: path))
    }

    /// The whole story: set-up, rounds of edits under changing links, equality, stop.
    private func becomeEqual(from make: (String) async throws -> Void) async throws {
      try await Lab.with(hosts: 3) { lab in
        try await make("\(lab.hosts[0].home)/site.db")
        try await found(lab)
        try await expectEqual(lab, "after joining")

        try await edit(lab, round: 0)
        try await expectEqual(lab, "after edits on all hosts at once")

        try await lab.cut(lab.hosts[1])
        try await edit(lab, round: 1)
        try await lab.heal(lab.hosts[1])
        try await expectEqual(lab, "after one host was cut off")

        try await lab.cut(lab.hosts[1])
        try await lab.cut(lab.hosts[2])
        try await edit(lab, round: 2)
        try await lab.heal(lab.hosts[2])
        try await edit(lab, round: 3)
        try await lab.heal(lab.hosts[1])
        try await expectEqual(lab, "after every host was alone")

        try await edit(lab, round: 4)
        try await expectInSync(lab)
        try await expectEqual(lab, "after waiting")
        for host in lab.hosts { try await host.succeed("flotilla", "stop", "site.db") }
      }
    }

    /// Founds the site on the first host and pairs the others with it by codes.
    private func found(_ lab: Lab) async throws {
      let first = lab.hosts[0]
      try await first.succeed(
        "flotilla", "init", "site.db", "--site", "LAN test", "--name", "one", "--all")
      try await first.succeed("flotilla", "run", "site.db", "--background")
      for (host, name) in zip(lab.hosts.dropFirst(), ["two", "three"]) {
        let code = try await first.succeed("flotilla", "invite", "site.db")
        try await host.succeed(
          "flotilla", "join", "site.db", code, "--name", name, within: .seconds(60))
        try await host.succeed("flotilla", "run", "site.db", "--background")
      }
    }

    /// One round of edits on all hosts at the same time.
    private func edit(_ lab: Lab, round: Int) async throws {
      try await withThrowingTaskGroup(of: Void.self) { group in
        for host in lab.hosts {
          group.addTask {
            try await host.succeed(
              "python3", "\(Self.fixtures)/edit.py", "site.db", "\(host.number)", "\(round)",
              within: .seconds(60))
          }
        }
        try await group.waitForAll()
      }
    }

    /// Looks from outside, with plain SQL, until all tables are identical and sound.
    private func expectEqual(_ lab: Lab, _ moment: Comment) async throws {
      let paths = lab.hosts.map { "\($0.home)/site.db" }
      let compare = Program("/usr/bin/python3", ["\(Self.fixtures)/compare.py"] + paths)
      var report = ""
      let equal = try await eventually(within: .seconds(60), every: .milliseconds(300)) {
        let outcome = try await compare.run()
        report = "\(outcome.output)\n\(outcome.error)"
        return outcome.status == 0
      }
      try #require(equal, "\(moment): \(report)")
    }

    /// What the nodes themselves say: everybody has everything, and nothing is parked.
    private func expectInSync(_ lab: Lab) async throws {
      for host in lab.hosts {
        try await host.succeed(
          "flotilla", "wait", "site.db", "--for", "all", "--timeout", "60s", within: .seconds(70))
      }
      for host in lab.hosts {
        var status = Status()
        let inSync = try await eventually(within: .seconds(30)) {
          let outcome = try await host.run("flotilla", "status", "site.db", "--all", "--json")
          status = try JSONDecoder().decode(Status.self, from: Data(outcome.output.utf8))
          return status.in_sync
        }
        #expect(inSync, "host \(host.number)")
        #expect(status.parked == 0, "host \(host.number)")
        #expect(status.peers.count == lab.hosts.count - 1, "host \(host.number)")
      }
    }

    /// The part of `status --json` that is looked at.
    private struct Status: Decodable {
      struct Peer: Decodable { var node: String }
      var in_sync = false
      var parked = 0
      var peers: [Peer] = []
    }
  }
}
