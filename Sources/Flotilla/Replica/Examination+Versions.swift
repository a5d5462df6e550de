/// Which Flotilla this node and the connected members run.
extension Examination {
  mutating func judgeVersions(_ status: StatusReport, connected: [PeerReport]) {
    let file = shellWord(path)
    if let text = ProgramVersion.difference(status.program) {
      add(
        "version", .warning, text,
        "Start it again: flotilla stop \(file); flotilla run \(file) --background")
    }
    guard let own = status.protocol else { return }
    let told = connected.filter { $0.protocol != nil }
    let older = told.filter { $0.protocol ?? own < own }
    let newer = told.filter { $0.protocol ?? own > own }
    if !older.isEmpty {
      add(
        "version", .warning,
        "an older Flotilla runs on \(Self.named(older)); this node speaks protocol \(own)",
        "Bring it up to date there and start its node again: "
          + "\(Documentation.page("upgrading.md")). All that both know works meanwhile.")
    }
    if !newer.isEmpty {
      add(
        "version", .warning,
        "this node speaks protocol \(own), and is older than \(Self.named(newer))",
        "Bring Flotilla up to date here and start the node again: "
          + "\(Documentation.page("upgrading.md")).")
    }
    guard older.isEmpty, newer.isEmpty, !told.isEmpty else { return }
    let programs = Dictionary(grouping: told, by: { $0.program ?? "?" })
    let list = programs.keys.sorted().map { program in
      programs.count == 1 ? program : "\(program) on \(Self.listed(programs[program] ?? []))"
    }
    let text = "all connected peers speak protocol \(own), as this node does"
    add("version", .ok, text + " (\(list.joined(separator: "; ")))")
  }

  private static func named(_ peers: [PeerReport]) -> String {
    listed(peers) { peer in
      let program = peer.program.map { "\($0), " } ?? ""
      return "\(peer.node) (\(program)protocol \(peer.protocol ?? 0))"
    }
  }

  private static func listed(
    _ peers: [PeerReport], as text: (PeerReport) -> String = { $0.node }
  ) -> String {
    let most = 5
    let shown = peers.prefix(most).map(text).joined(separator: ", ")
    return shown + (peers.count > most ? " and \(peers.count - most) more" : "")
  }
}
