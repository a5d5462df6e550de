import Foundation
import Testing

extension LANTests {
  /// What a LAN does to two nodes that are at work.
  @Suite struct LinkTests {
    /// A site of two hosts, both nodes running; `options` are those of the second node.
    private func found(
      _ lab: Lab, at address: String? = nil, options: [String] = []
    ) async throws {
      let (one, two) = (lab.hosts[0], lab.hosts[1])
      try await one.succeed(
        "sqlite3", "site.db", "CREATE TABLE note(id TEXT PRIMARY KEY NOT NULL, text TEXT)")
      try await one.succeed(
        "flotilla", "init", "site.db", "--site", "Links", "--name", "one", "--all")
      try await one.succeed("flotilla", "run", "site.db", "--background")
      let code = try await one.succeed("flotilla", "invite", "site.db", "--role", "admin")
      if let address {
        try await two.succeed("flotilla", "join", "site.db", code, "--at", address)
      } else {
        try await two.succeed("flotilla", "join", "site.db", code)
      }
      try await run(two, options)
    }

    private func run(_ host: Host, _ options: [String] = []) async throws {
      let words = ["flotilla", "run", "site.db", "--background"] + options
      try await host.succeed("sh", "-c", words.joined(separator: " "))
    }

    private func write(_ text: String, on host: Host) async throws {
      try await host.succeed(
        "sqlite3", "-cmd", ".timeout 5000", "site.db",
        "INSERT INTO note VALUES ('\(text)', 'from \(host.number)')")
    }

    private func arrives(
      _ text: String, on host: Host, within limit: Duration
    ) async throws -> Bool {
      try await eventually(within: limit) {
        try await host.succeed(
          "sqlite3", "-cmd", ".timeout 5000", "site.db",
          "SELECT count(*) FROM note WHERE id = '\(text)'") == "1"
      }
    }

    @Test func `a code that is shown to the wrong site is told to be another one's`() async throws {
      try await Lab.with(hosts: 3) { lab in
        let three = lab.hosts[2]
        for (host, name) in zip(lab.hosts, ["North", "South"]) {
          try await host.succeed(
            "sqlite3", "site.db", "CREATE TABLE t(id TEXT PRIMARY KEY NOT NULL)")
          try await host.succeed(
            "flotilla", "init", "site.db", "--site", name, "--name", name.lowercased(), "--all")
          try await run(host)
        }
        let code = try await lab.hosts[1].succeed("flotilla", "invite", "site.db")
        let north = lab.hosts[0].address + ":7391"
        let isTold = try await eventually(within: .seconds(20), every: .seconds(1)) {
          let outcome = try await three.run("flotilla", "join", "j.db", code, "--at", north)
          return outcome.status == 1 && outcome.error.contains("of another site: \"South\", where")
        }
        #expect(isTold)
        let wrong = "K7QF-M2XD-9TRA-PZ4C-HJ3V-9R"
        let outcome = try await three.run("flotilla", "join", "j.db", wrong, "--at", north)
        #expect(outcome.error.contains("no node that is seen from here has it open"), "\(outcome)")
        // It was looked at, not used.
        try await three.succeed("flotilla", "join", "j.db", code)
      }
    }

    @Test func `nodes stay together when the discovery of one host starts anew`() async throws {
      try await Lab.with(hosts: 2) { lab in
        let (one, two) = (lab.hosts[0], lab.hosts[1])
        try await found(lab)
        try await write("before", on: one)
        #expect(try await arrives("before", on: two, within: .seconds(10)))
        try await lab.restartAvahi(two)
        try await write("after", on: one)
        #expect(try await arrives("after", on: two, within: .seconds(3)))
        // The node is found again, not only remembered: somebody new joins through it.
        let code = try await two.succeed("flotilla", "invite", "site.db")
        let joined = try await eventually(within: .seconds(20), every: .seconds(1)) {
          try await one.run("flotilla", "join", "other.db", code).status == 0
        }
        #expect(joined)
      }
    }

    @Test func `a cut that both sides have noticed heals within seconds`() async throws {
      try await Lab.with(hosts: 2) { lab in
        let (one, two) = (lab.hosts[0], lab.hosts[1])
        try await found(lab)
        try await write("before", on: one)
        #expect(try await arrives("before", on: two, within: .seconds(10)))
        try await lab.cut(two)
        try await write("one", on: one)
        try await write("two", on: two)
        try await Task.sleep(for: .seconds(15))
        for host in lab.hosts {
          let status = try await host.run("flotilla", "status", "site.db")
          #expect(status.status == 3)
          #expect(status.output.contains("away") || status.output.contains("connecting"))
        }
        try await lab.heal(two)
        #expect(try await arrives("one", on: two, within: .seconds(8)))
        #expect(try await arrives("two", on: one, within: .seconds(3)))
      }
    }

    @Test func `a host that gets another address is found again`() async throws {
      try await Lab.with(hosts: 2) { lab in
        let (one, two) = (lab.hosts[0], lab.hosts[1])
        try await found(lab)
        try await write("before", on: one)
        #expect(try await arrives("before", on: two, within: .seconds(10)))
        // The other order would take both away: the new one would be a secondary of the old.
        try await two.succeed("ip", "address", "del", "\(two.address)/24", "dev", "eth0")
        try await two.succeed("ip", "address", "add", "10.77.0.200/24", "dev", "eth0")
        try await write("after", on: one)
        #expect(try await arrives("after", on: two, within: .seconds(30)))
        try await write("back", on: two)
        #expect(try await arrives("back", on: one, within: .seconds(5)))
      }
    }

    @Test func `a host without Avahi takes part by an address, and catches up when it comes later`()
      async throws
    {
      try await Lab.with(hosts: 2) { lab in
        let (one, two) = (lab.hosts[0], lab.hosts[1])
        try await two.succeed("sh", "-c", "kill $(cat /run/avahi-daemon/pid)")
        let address = "\(one.address):7391"
        try await found(lab, at: address, options: ["--peer", address])
        try await write("before", on: one)
        #expect(try await arrives("before", on: two, within: .seconds(10)))
        try await two.succeed("flotilla", "stop", "site.db")
        try await write("meanwhile", on: one)
        try await write("unseen", on: two)
        try await run(two, ["--peer", address])
        #expect(try await arrives("meanwhile", on: two, within: .seconds(10)))
        #expect(try await arrives("unseen", on: one, within: .seconds(5)))
        try await two.succeed("flotilla", "stop", "site.db")
        // What was remembered is enough.
        try await run(two)
        try await write("again", on: one)
        #expect(try await arrives("again", on: two, within: .seconds(10)))
      }
    }
  }
}
