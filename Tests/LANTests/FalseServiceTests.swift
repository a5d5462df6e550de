import Foundation
import Testing

extension LANTests {
  /// One host shows a thousand services that are none, with the hint of a code and of the site.
  @Suite struct FalseServiceTests {
    /// The services as Avahi's daemon reads them from a folder; behind some of the ports somebody
    /// takes connections and says nothing.
    private static let script = """
      import socket, select, sys
      records = "".join(f"<txt-record>{word}</txt-record>" for word in sys.argv[1].split())
      for number in range(1_000):
          with open(f"/etc/avahi/services/{number}.service", "w") as file:
              file.write(
                  "<service-group><name>false %d</name><service><type>_flotilla._tcp</type>"
                  "<port>%d</port>%s</service></service-group>"
                  % (number, 10_000 + number, records))
      listening = [socket.create_server(("", port), backlog=5) for port in range(10_000, 10_300)]
      print("ready", flush=True)
      silent = []
      while True:
          silent += [server.accept() for server in select.select(listening, [], [])[0]]
      """

    /// What the first host shows of itself, as words.
    private func shown(to host: Host) async throws -> String {
      let told = try await host.run(
        "timeout", "5", "avahi-browse", "-rtp", "_flotilla._tcp", within: .seconds(10)
      ).output
      let line = told.split(separator: "\n").first { $0.hasPrefix("=") && $0.contains("IPv4") }
      let text = try #require(line).split(separator: ";", maxSplits: 9).last ?? ""
      return text.filter { $0 != "\"" }
    }

    private func services(seenBy host: Host) async throws -> Int {
      try await host.run(
        "timeout", "8", "avahi-browse", "-tp", "_flotilla._tcp", within: .seconds(12)
      ).output.split(separator: "\n").count { $0.contains("IPv4") }
    }

    @Test func `a thousand of them keep nobody from joining, nor from being found`() async throws {
      try await Lab.with(hosts: 3) { lab in
        let (first, second, third) = (lab.hosts[0], lab.hosts[1], lab.hosts[2])
        try await first.succeed(
          "sqlite3", "a.db", "CREATE TABLE t(id TEXT PRIMARY KEY NOT NULL, v)")
        try await first.succeed("flotilla", "init", "a.db", "--name", "true", "--all")
        try await first.succeed("flotilla", "run", "a.db", "--background")
        let code = try await first.succeed("flotilla", "invite", "a.db")
        try await Task.sleep(for: .seconds(2))
        let words = try await shown(to: second)
        try #require(words.contains("j="))
        try Self.script.write(toFile: third.home + "/false.py", atomically: true, encoding: .utf8)
        try await third.succeed(
          "sh", "-c",
          "mkdir /run/services && mount --bind /run/services /etc/avahi/services && "
            + "{ python3 false.py '\(words)' >ready 2>&1 & } && until grep ready ready; do "
            + "sleep 0.1; done")
        try await lab.restartAvahi(third)
        let areSeen = try await eventually(within: .seconds(90)) {
          try await services(seenBy: second) > 1_000
        }
        try #require(areSeen)
        try await second.succeed(
          "flotilla", "join", "b.db", code, "--name", "second", within: .seconds(150))
        // Nobody listens where either was met, so discovery alone can bring them together.
        try await first.succeed("flotilla", "stop", "a.db")
        for (host, database) in [(second, "b.db"), (first, "a.db")] {
          try await host.succeed(
            "flotilla", "run", database, "--background", "--listen", "0.0.0.0:7777")
        }
        try await first.succeed("sqlite3", "a.db", "INSERT INTO t VALUES ('found', 1)")
        let hasCome = try await eventually(within: .seconds(60)) {
          try await second.succeed("sqlite3", "b.db", "SELECT count(*) FROM t") == "1"
        }
        #expect(hasCome)
        for (host, database) in [(second, "b.db"), (first, "a.db")] {
          try await host.succeed("flotilla", "stop", database)
        }
      }
    }
  }
}
