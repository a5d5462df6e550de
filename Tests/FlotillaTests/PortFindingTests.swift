import Foundation
import Glibc
import Testing

@testable import Flotilla

/// What the doctor says of the port, as others find it.
@Suite struct `A finding about the port` {
  typealias Outcome = PortReport.Peer.Outcome

  private func peer(
    _ node: String, _ outcome: Outcome, isHere: Bool = false, at: String? = nil
  ) -> PortReport.Peer {
    PortReport.Peer(node: node, host: "10.0.0.2", isHere: isHere, outcome: outcome, at: at)
  }

  private func findings(
    _ peers: [PortReport.Peer], listen: String? = nil,
    _ firewalls: [(firewall: Firewall, sign: Firewall.Sign)] = []
  ) -> [DoctorReport.Finding] {
    var examination = Examination(path: "clinic.db")
    examination.judge(
      PortReport(port: 7_391, listen: listen, peers: peers), firewalls: firewalls)
    return examination.report.findings
  }

  @Test func `names who reaches it, and who does not`() {
    #expect(findings([]).isEmpty)
    let good = findings([peer("ward", .reached), peer("b", .untried)])
    #expect(good.map(\.level) == [.ok])
    #expect(good.map(\.text) == ["port 7391 is reached from outside, by ward (10.0.0.2)"])
    let both = findings([peer("ward", .reached), peer("far", .silent)])
    #expect(both.map(\.level) == [.ok, .warning])
    #expect(both.last?.text == "port 7391 is not reached by far (10.0.0.2: no answer)")
  }

  @Test(
    arguments: [
      (.refused, "ward (10.0.0.2: refused)"), (.silent, "ward (10.0.0.2: no answer)"),
      (.another, "ward (10.0.0.2: another program answers)"),
    ] as [(Outcome, String)])
  func `has a remedy where nobody reaches it`(outcome: Outcome, name: String) throws {
    let peers = [peer("ward", outcome), peer("old", .untried)]
    let finding = try #require(findings(peers).first)
    #expect(finding.level == .warning)
    #expect(finding.text.hasPrefix("port 7391 is not reached from outside: \(name) dialled"))
    #expect(finding.remedy?.contains("let TCP 7391 in") == true)
    let alone = findings(peers, listen: "127.0.0.1").first?.remedy
    #expect(alone?.contains("listens on 127.0.0.1, for this machine alone") == true)
    let on = findings(peers, [(.ufw, .on)]).first?.remedy
    #expect(on == "ufw is on: sudo ufw allow 7391/tcp; sudo ufw allow 5353/udp")
    let maybe = findings(peers, [(.nftables, .possible)]).first?.remedy
    #expect(maybe?.hasPrefix("If nftables keeps it out: ") == true)
  }

  @Test func `tells what was not tried from what was`() {
    let texts = { (peers: [PortReport.Peer]) in self.findings(peers).map(\.text).joined() }
    #expect(texts([peer("a", .reached, isHere: true)]).contains("run on this machine"))
    #expect(texts([peer("a", .untried)]).contains("ask again in a minute"))
    let early = peer("a", .reached, at: "2026-03-01T08:14:00Z")
    #expect(
      texts([early, peer("b", .untried)])
        == "port 7391 was reached from outside, by a (10.0.0.2) at 2026-03-01T08:14:00Z")
    // What was found long ago is no warning today.
    #expect(texts([peer("a", .refused, at: "2026-03-01T08:14:00Z")]).contains("was not tried"))
    #expect(findings([early]).map(\.level) == [.ok])
    let many = (1...7).map { peer("n\($0)", .reached) }
    #expect(texts(many).contains("n5 (10.0.0.2) and 2 more"))
  }
}

/// What the doctor says of the Flotilla that others run.
@Suite struct `A finding about versions` {
  private func findings(
    _ peers: [(String, Int?, String?)], program: String? = ProgramVersion.current, own: Int? = 5
  ) throws -> [DoctorReport.Finding] {
    let reports = peers.map { peer in
      PeerReport(
        node: peer.0, id: peer.0, state: .inSync, behind_rows: 0, behind_seconds: 0,
        last_seen: nil, clock_offset_ms: 0, program: peer.2, protocol: peer.1)
    }
    let status = StatusReport(
      site: "s", node: "n", role: "admin", tables: [], peers: reports, conflicts: 0, parked: 0,
      unjudged: 0, in_sync: true, running: true, remarks: [], program: program, protocol: own)
    var examination = Examination(path: "clinic.db")
    examination.judgeVersions(status, connected: reports)
    return examination.report.findings
  }

  @Test func `names those that are older, and those that are newer`() throws {
    let equal = try findings([("a", 5, "0.1.0"), ("b", 5, "0.1.0")])
    #expect(equal.map(\.level) == [.ok])
    #expect(
      equal.map(\.text) == ["all connected peers speak protocol 5, as this node does (0.1.0)"])
    let mixed = try findings([("a", 5, "0.1.0"), ("b", 5, "0.1.1"), ("c", 5, nil)])
    #expect(mixed.first?.text.contains("0.1.0 on a; 0.1.1 on b; ? on c") == true)
    let older = try findings([("a", 5, "0.1.0"), ("b", 4, nil), ("c", 4, nil)])
    #expect(older.map(\.level) == [.warning])
    #expect(
      older.map(\.text) == [
        "an older Flotilla runs on b (protocol 4), c (protocol 4); this node speaks protocol 5"
      ])
    #expect(older.first?.remedy?.contains("Bring it up to date there") == true)
    let newer = try findings([("a", 6, "0.2.0")])
    #expect(
      newer.map(\.text) == [
        "this node speaks protocol 5, and is older than a (0.2.0, protocol 6)"
      ])
    #expect(try findings([]).isEmpty)
  }

  @Test func `a node that was not started again is told`() throws {
    #expect(
      try findings([], program: "0.0.9").map(\.text) == [
        "the node runs Flotilla 0.0.9, and this command is \(ProgramVersion.current)"
      ])
    let old = try findings([("a", nil, nil)], program: nil, own: nil)
    #expect(old.map(\.level) == [.warning])
    #expect(old.first?.remedy?.contains("flotilla stop clinic.db") == true)
  }
}

/// Firewalls, as who is not root sees them.
@Suite struct FirewallTests {
  /// A root of a file system with these files in it; an empty text makes a folder.
  private func with<Result>(
    _ files: [String: String], _ body: (String) throws -> Result
  ) throws -> Result {
    let root = "/tmp/flotilla-firewall-\(UUID().uuidString)"
    let manager = FileManager.default
    try manager.createDirectory(atPath: root, withIntermediateDirectories: true)
    defer { try? manager.removeItem(atPath: root) }
    for (path, text) in files {
      let parts = path.split(separator: "/")
      let folder = root + "/" + parts.dropLast(text.isEmpty ? 0 : 1).joined(separator: "/")
      try manager.createDirectory(atPath: folder, withIntermediateDirectories: true)
      guard !text.isEmpty else { continue }
      try text.write(toFile: root + "/" + path, atomically: false, encoding: .utf8)
    }
    return try body(root)
  }

  private static let wants = "etc/systemd/system"
  private static let open = """
    flush ruleset
    table inet filter { chain input { type filter hook input priority filter; } } # drop
    """

  private static let cases: [(files: [String: String], seen: [String])] = [
    ([:], []),
    (["etc/ufw/ufw.conf": "# x\nENABLED=yes\n"], ["ufw on"]),
    (["etc/ufw/ufw.conf": "ENABLED=no\n"], []),
    (["run/firewalld": ""], ["firewalld on"]),
    // Of what acts for certain the doctor tells alone.
    (["run/firewalld": "", "sys/module/nf_tables": ""], ["firewalld on"]),
    (["sys/module/nf_tables": ""], ["nftables possible"]),
    (["sys/module/iptable_filter": ""], ["iptables possible"]),
    (
      [
        "etc/nftables.conf": "table inet f { chain i { type filter hook input; policy drop; } }",
        "\(wants)/sysinit.target.wants/nftables.service": "x",
      ], ["nftables on"]
    ),
    // A file that nobody loads says nothing.
    (["etc/nftables.conf": "chain i { type filter hook input; policy drop; }"], []),
    (
      [
        "etc/nftables.conf": "# chain { hook input; policy drop }\nchain i { hook input; }",
        "\(wants)/sysinit.target.wants/nftables.service": "x",
      ], []
    ),
    (
      [
        "etc/iptables/rules.v4": "*filter\n:INPUT DROP [0:0]\nCOMMIT\n",
        "\(wants)/multi-user.target.wants/netfilter-persistent.service": "x",
      ], ["iptables on"]
    ),
    (
      [
        "etc/sysconfig/iptables": "*filter\n:INPUT ACCEPT [0:0]\n-A INPUT -j REJECT\n",
        "\(wants)/basic.target.wants/iptables.service": "x",
      ], ["iptables on"]
    ),
    (
      [
        "etc/iptables/rules.v4": "*filter\n:INPUT ACCEPT [0:0]\n-A FORWARD -j DROP\n",
        "\(wants)/multi-user.target.wants/netfilter-persistent.service": "x",
      ], []
    ),
  ]

  @Test(arguments: cases.indices)
  func `are seen by what they leave`(index: Int) throws {
    let (files, wanted) = Self.cases[index]
    let seen = try with(files) { root in
      Firewall.seen(root: root).map { "\($0.firewall.rawValue) \($0.sign)" }
    }
    #expect(seen == wanted)
  }

  @Test func `may have rules that only root can read`() throws {
    let files = [
      "etc/iptables/rules.v4": ":INPUT ACCEPT",
      "\(Self.wants)/multi-user.target.wants/netfilter-persistent.service": "x",
    ]
    let sign = try with(files) { root in
      // Whoever runs this, no text can be read from a folder.
      let file = root + "/etc/iptables/rules.v4"
      try FileManager.default.removeItem(atPath: file)
      try FileManager.default.createDirectory(atPath: file, withIntermediateDirectories: false)
      return Firewall.iptables.sign(root: root)
    }
    #expect(sign == .possible)
  }

  @Test(arguments: Firewall.allCases)
  func `each has a line that opens the port and the search`(firewall: Firewall) {
    #expect(firewall.opening(7_395).contains("7395"))
    #expect(["5353", "mdns"].contains { firewall.opening(7_395).contains($0) })
  }
}

/// File systems, by what the kernel calls them.
@Suite struct FileSystemTests {
  @Test(
    arguments: [
      (0xEF53, nil, .fit), (0x5846_5342, nil, .fit), (0x9123_683E, nil, .fit),
      (0x0102_1994, nil, .fit), (0x6969, nil, .network("NFS")), (0xFF53_4D42, nil, .network("SMB")),
      (0xFE53_4D42, nil, .network("SMB")), (0x517B, nil, .network("SMB")),
      (0x0102_1997, nil, .network("9p")), (0x00C3_6400, nil, .network("Ceph")),
      (0x6573_5546, "fuse.sshfs", .network("sshfs")),
      (0x6573_5546, "virtiofs", .network("virtiofs")),
      (0x6573_5546, "fuse.rclone", .network("rclone")), (0x6573_5546, "fuseblk", .fit),
      (0x6573_5546, "fuse.gocryptfs", .userSpace("fuse.gocryptfs")),
      (0x6573_5546, nil, .userSpace("FUSE")), (0x794C_7630, "overlay", .layer),
    ] as [(UInt32, String?, FileSystem)])
  func `are told by their number and type`(number: UInt32, type: String?, wanted: FileSystem) {
    #expect(FileSystem(number: number, type: type) == wanted)
  }

  @Test func `are looked up among the mounts`() {
    let table = """
      22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
      36 22 0:31 / /mnt/far\\040away rw,nosuid shared:5 master:1 - fuse.sshfs me@far: rw,user_id=0
      nonsense
      37 22 0:32 / /x rw -
      """
    #expect(FileSystem.type(of: "0:31", in: table) == "fuse.sshfs")
    #expect(FileSystem.type(of: "254:0", in: table) == "ext4")
    #expect(FileSystem.type(of: "0:32", in: table) == nil)
    #expect(FileSystem.type(of: "0:99", in: table) == nil)
    #expect(FileSystem.text(device: 31) == "0:31")
    #expect(FileSystem.text(device: 254 << 8 | 3) == "254:3")
    // The rest of a larger number is further up.
    let device: UInt64 = 0x345 << 8 | 0x12000 << 32 | 0x9A | 0x67800 << 12
    #expect(FileSystem.text(device: device) == "\(0x12345):\(0x6789A)")
  }

  @Test func `the mounts of this machine are read`() throws {
    var file = stat()
    try #require(stat("/proc", &file) == 0)
    let table = try String(contentsOfFile: "/proc/self/mountinfo", encoding: .utf8)
    let device = FileSystem.text(device: UInt64(file.st_dev))
    #expect(FileSystem.type(of: device, in: table) == "proc")
    #expect(FileSystem(at: "/proc") == .fit)
    #expect(FileSystem(at: "/nowhere/at/all") == .fit)
  }

  @Test func `are told with what to do`() {
    for (system, level, words) in [
      (.network("NFS"), .error, "on a network drive (NFS)"),
      (.userSpace("fuse.x"), .warning, "of a program (fuse.x)"),
      (.layer, .warning, "layer of a container"),
    ] as [(FileSystem, DoctorReport.Level, String)] {
      var examination = Examination(path: "clinic.db")
      let isError = examination.judge([.fit, system])
      #expect(isError == (level == .error))
      let findings = examination.report.findings
      #expect(findings.map(\.level) == [level])
      #expect(findings.first?.text.contains(words) == true)
      #expect(findings.first?.remedy != nil)
    }
    var examination = Examination(path: "clinic.db")
    let isError = examination.judge([.fit, .fit])
    #expect(!isError)
    #expect(examination.report.findings.isEmpty)
  }

  @Test func `are refused where they are network drives, and not where that is doubtful`() {
    func refusal(_ system: FileSystem) -> FlotillaError? {
      do throws(FlotillaError) {
        try FileSystem.refuseNetwork("a.db", system)
        return nil
      } catch {
        return error
      }
    }
    #expect(
      refusal(.network("NFS"))?.message
        == "a.db is on a network drive (NFS), where SQLite cannot keep programs apart")
    #expect(refusal(.network("9p"))?.remedy?.contains("docs/limits.md") == true)
    for system in [FileSystem.fit, .layer, .userSpace("fuse.encfs")] {
      #expect(refusal(system) == nil)
    }
  }
}
