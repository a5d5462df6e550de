import Flotilla

/// `flotilla peers`: the other nodes alone, with their addresses.
enum Peers {
  static let command = Command(
    name: "peers",
    summary: "shows the other nodes and their addresses",
    discussion: "",
    parameters: [.database],
    options: [.json],
    body: run)

  private static func run(_ call: Call) async throws(FlotillaError) -> ExitStatus {
    let report = try await call.replica.status(all: false)
    if call.json {
      let peers = JSON(reflecting: report.peers)
      call.output.data(JSON.object(["peers": peers]).description)
    } else if report.peers.isEmpty {
      call.output.result("there is no other node")
    } else {
      let table = table(report.peers, at: .current, addresses: true)
      call.output.result(table.text(colour: call.output.colour))
    }
    if !report.running { call.output.remark(Status.notRunning(call)) }
    return .done
  }

  /// One line for each node, in words; `paces` are rows a second by the ids of peers, where they
  /// were measured.
  static func table(
    _ peers: [PeerReport], at moment: Moment, paces: [String: Double] = [:], addresses: Bool
  ) -> Table {
    var columns = [
      Table.Column(heading: "NODE"), Table.Column(heading: "STATE"),
      Table.Column(heading: "BEHIND", gap: 3), Table.Column(heading: "LAST SEEN", gap: 3),
      Table.Column(heading: "CLOCK", gap: 3),
    ]
    if addresses { columns.append(Table.Column(heading: "ADDRESS")) }
    var table = Table(columns: columns)
    // Who was shut out and has come back under its name is one line.
    let names = Set(peers.filter { $0.state != .revoked }.map(\.node))
    let shown = peers.filter { $0.state != .revoked || !names.contains($0.node) }
    table.rows = shown.map { peer in
      let cells = [
        Table.Cell(peer.node), Table.Cell(peer.state.words, peer.state.colour),
        Table.Cell(behind(peer, paces[peer.id], at: moment)),
        Table.Cell(lastSeen(peer, at: moment)),
        Table.Cell(clock(peer)),
      ]
      return addresses ? cells + [Table.Cell(peer.address ?? "")] : cells
    }
    return table
  }

  /// What it lacks: rows and time, or since when it is away.
  private static func behind(_ peer: PeerReport, _ pace: Double?, at moment: Moment) -> String {
    if peer.state == .revoked { return "" }
    if !peer.state.isConnected {
      guard let seen = peer.last_seen.flatMap(Moment.date) else { return "" }
      return "since \(moment.clock(seen))"
    }
    let rows = counted(peer.behind_rows, "row")
    if let left = peer.seconds_left, peer.behind_rows > 0 {
      let pace = pace.map { " at \(thousands(Int(min($0, 1e12).rounded())))/s" } ?? ""
      return "\(rows)\(pace), about \(span(max(1, left.rounded()))) left"
    }
    return peer.behind_rows > 0 && peer.behind_seconds > 0
      ? "\(rows), \(span(peer.behind_seconds))" : rows
  }

  private static func lastSeen(_ peer: PeerReport, at moment: Moment) -> String {
    if peer.state.isConnected { return "now" }
    guard let text = peer.last_seen else { return "never" }
    let ago = Moment.date(from: text).map(moment.ago) ?? text
    return ago == "now" ? "a moment ago" : ago
  }

  /// How far its clock is off the time of the site, by which its edits are stamped all the same.
  private static func clock(_ peer: PeerReport) -> String {
    if !peer.state.isConnected { return "" }
    let offset = clockOffset(peer.clock_offset_ms)
    if peer.clock_offset_ms.magnitude < 1000 { return offset }
    return offset + (peer.clock_corrected ? "  (corrected)" : "  (not corrected yet)")
  }
}

extension PeerReport.State {
  fileprivate var isConnected: Bool { self == .inSync || self == .catchingUp }

  fileprivate var words: String {
    switch self {
    case .inSync: "in sync"
    case .catchingUp: "catching up"
    case .connecting: "connecting"
    case .failing: "failing"
    case .away: "away"
    case .revoked: "revoked"
    }
  }

  fileprivate var colour: Colour {
    switch self {
    case .inSync: .green
    case .catchingUp, .connecting: .yellow
    case .away: .grey
    case .revoked, .failing: .red
    }
  }
}
