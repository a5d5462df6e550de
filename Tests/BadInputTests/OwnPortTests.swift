import Foundation
import Glibc
import Testing

extension BadInputTests {
  /// Nodes that choose their ports by themselves, in a network of their own.
  @Suite(.enabled(if: getuid() == 0, "only root can make a network")) struct OwnPortTests {
    private func lines(_ script: String, _ desk: Desk) async throws -> [String]? {
      for name in ["p.db", "q.db"] {
        try await desk.make(name)
        try await desk.succeed("init", name, "--all", "--name", String(name.prefix(1)))
      }
      let start = """
        ip link set lo up || exit 77
        run() { flotilla run $* --background --no-discovery 2>&1; }
        listens() { echo "$1 listens $(grep 'listens on' $1-flotilla/node.log | tail -n 1)"; }
        """
      let outcome = try await desk.run(
        "unshare", "--net", "sh", "-c",
        start + "\n" + script
          + "\nflotilla stop p.db 2>/dev/null; flotilla stop q.db 2>/dev/null; exit 0")
      if outcome.status == 77 { return nil }
      #expect(outcome.status == 0, "\(outcome)")
      return outcome.output.split(separator: "\n").map(String.init)
    }

    @Test func `a node takes its first port again, and tells where it listens meanwhile`()
      async throws
    {
      try await Desk.with { desk in
        let script = """
          run p.db >/dev/null; flotilla stop p.db 2>/dev/null; listens p.db
          run q.db >/dev/null; run p.db >/dev/null; listens p.db
          flotilla doctor p.db | grep -A1 'own port'
          flotilla stop p.db 2>/dev/null; flotilla stop q.db 2>/dev/null
          run p.db >/dev/null; listens p.db; flotilla doctor p.db | grep -c 'own port'
          """
        guard let lines = try await lines(script, desk) else { return }
        let text = lines.joined(separator: "\n")
        #expect(lines.first?.hasSuffix("listens on port 7391") == true, "\(text)")
        #expect(
          lines[1].hasSuffix("on port 7392: another program has its own port, 7391"), "\(text)")
        #expect(lines[2].contains("the node listens on port 7392, for another program had"))
        #expect(lines[3].contains("ss -ltnp 'sport = :7391'"), "\(text)")
        #expect(lines[4].hasSuffix("listens on port 7391") && lines[5] == "0", "\(text)")
      }
    }

    @Test func `the gateway leaves a node its port`() async throws {
      try await Desk.with { desk in
        let script = """
          serves() { grep -o 'serves http[^ ]*' $1-flotilla/node.log; }
          run p.db >/dev/null; run q.db >/dev/null; flotilla stop q.db 2>/dev/null
          listens q.db; run q.db --http >/dev/null; listens q.db; serves q.db
          flotilla stop p.db 2>/dev/null; run p.db --http >/dev/null; listens p.db; serves p.db
          """
        guard let lines = try await lines(script, desk) else { return }
        let text = lines.joined(separator: "\n")
        #expect(lines[0].hasSuffix("port 7392") && lines[1].hasSuffix("port 7392"), "\(text)")
        #expect(lines[2] == "serves http://127.0.0.1:7400/v1/,", "\(text)")
        #expect(lines[3].hasSuffix("listens on port 7391"), "\(text)")
        #expect(lines[4].hasPrefix("serves http://127.0.0.1:740"), "\(text)")
      }
    }

    @Test func `a node that only this machine reaches says so`() async throws {
      try await Desk.with { desk in
        try await desk.make("a.db")
        try await desk.succeed("init", "a.db", "--all")
        let node = try await desk.start("a.db", "--listen", "127.0.0.1:0")
        let invitation = try await desk.flotilla("invite", "a.db")
        #expect(
          invitation.error.contains("listens at \(node.address), where no other machine gets"),
          "\(invitation)")
        let doctor = try await desk.flotilla("doctor", "a.db")
        #expect(
          doctor.output.contains(
            "port \(node.port) is for this machine alone: the node listens on 127.0.0.1"),
          "\(doctor)")
        #expect(doctor.output.contains("run it without --listen"), "\(doctor)")
      }
    }
  }
}
