import Foundation
import Testing

/// Everything that needs several hosts. One lab at a time: they share one small machine.
@Suite(.serialized, .enabled(if: Lab.obstacle == nil, "\(Lab.obstacle ?? "")"))
struct LANTests {}

extension LANTests {
  /// The lab itself: a test that passes because nothing was connected proves nothing.
  @Suite struct LabTests {
    @Test func `hosts have their own name, address and home`() async throws {
      try await Lab.with(hosts: 2) { lab in
        for host in lab.hosts {
          #expect(try await host.succeed("hostname") == "h\(host.number)")
          #expect(try await host.succeed("pwd") == host.home)
          let addresses = try await host.succeed("ip", "-4", "-o", "address", "show", "eth0")
          #expect(addresses.contains("\(host.address)/24"))
        }
      }
    }

    @Test func `a cut host is out of reach until it is healed`() async throws {
      try await Lab.with(hosts: 3) { lab in
        let (one, two, three) = (lab.hosts[0], lab.hosts[1], lab.hosts[2])
        #expect(try await one.reaches(two))
        try await lab.cut(two)
        #expect(try await !one.reaches(two))
        #expect(try await !two.reaches(three))
        #expect(try await one.reaches(three))
        try await lab.heal(two)
        #expect(try await eventually(within: .seconds(5)) { try await one.reaches(two) })
      }
    }

    @Test func `a service on one host is found on another, also after a restart`() async throws {
      try await Lab.with(hosts: 2) { lab in
        let (one, two) = (lab.hosts[0], lab.hosts[1])
        let publish = "exec avahi-publish -s lab-test _flotilla._tcp 4777 v=1 >/dev/null 2>&1 &"
        try await one.succeed("sh", "-c", publish)
        #expect(try await eventually(within: .seconds(10)) { try await finds(one, from: two) })
        try await lab.restartAvahi(two)
        #expect(try await eventually(within: .seconds(10)) { try await finds(one, from: two) })
      }
    }

    private func finds(_ host: Host, from other: Host) async throws -> Bool {
      let lines = try await other.run("avahi-browse", "-rtp", "_flotilla._tcp").output
      return lines.split(separator: "\n").contains { line in
        line.hasPrefix("=") && line.contains(";lab-test;") && line.contains(";\(host.address);4777")
      }
    }

    @Test func `a program's status and errors come back, and one that hangs is ended`() async throws
    {
      try await Lab.with(hosts: 1) { lab in
        let outcome = try await lab.hosts[0].run("sh", "-c", "echo out; echo err >&2; exit 7")
        #expect(outcome.status == 7)
        #expect(outcome.output == "out")
        #expect(outcome.error == "err")
        let hung = try await lab.hosts[0].run("sleep", "60", within: .seconds(1))
        #expect(hung.status == 124)
      }
    }

    @Test func `nothing is left of a lab`() async throws {
      let marker = "100\(ProcessInfo.processInfo.processIdentifier)"
      var folder = ""
      try await Lab.with(hosts: 1) { lab in
        folder = lab.folder
        try await lab.hosts[0].succeed("sh", "-c", "setsid sleep \(marker) >/dev/null 2>&1 &")
        #expect(try await eventually(within: .seconds(2)) { isRunning("sleep\0\(marker)\0") })
      }
      #expect(!FileManager.default.fileExists(atPath: folder))
      #expect(!isRunning("sleep\0\(marker)\0"))
      #expect(try await eventually(within: .seconds(5)) { !isRunning(folder) })
    }

    /// Whether any process of this machine has the text among its arguments.
    private func isRunning(_ text: String) -> Bool {
      let processes = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
      return processes.contains { process in
        guard Int(process) != nil else { return false }
        let arguments = FileManager.default.contents(atPath: "/proc/\(process)/cmdline")
        return arguments.map { String(decoding: $0, as: UTF8.self).contains(text) } ?? false
      }
    }
  }
}
