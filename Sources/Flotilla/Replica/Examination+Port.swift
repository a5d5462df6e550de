/// Whether others reach the port of the node, as those say that are connected.
extension Examination {
  /// So many names are told.
  private static let mostNames = 5

  /// What peers have found when they dialled this node, or that they came in.
  mutating func judge(
    _ report: PortReport, firewalls: [(firewall: Firewall, sign: Firewall.Sign)]
  ) {
    if let own = report.own, own != report.port { tellMove(from: own, to: report.port) }
    if let host = report.ownHost, !report.peers.contains(where: { $0.isFailing }) {
      add(
        "port", .warning,
        "port \(report.port) is for this machine alone: the node listens on \(host)",
        remedy(report, firewalls))
    }
    guard !report.peers.isEmpty else { return }
    let others = report.peers.filter { !$0.isHere }
    let reaching = others.filter { $0.outcome == .reached }
    let failing = report.peers.filter { $0.isFailing }
    let port = "port \(report.port)"
    if let fresh = names(reaching.filter { $0.at == nil }) {
      add("port", .ok, "\(port) is reached from outside, by \(fresh)")
      guard let others = names(failing) else { return }
      return add(
        "port", .warning, "\(port) is not reached by \(others)", remedy(report, firewalls))
    }
    if let failing = names(failing) {
      return add(
        "port", .warning,
        "\(port) is not reached from outside: \(failing) dialled it in vain; what is needed goes "
          + "over connections that this node dials",
        remedy(report, firewalls))
    }
    if let early = reaching.max(by: { $0.at ?? "" < $1.at ?? "" }) {
      return add(
        "port", .ok,
        "\(port) was reached from outside, by \(early.node) (\(early.host)) at \(early.at ?? "")")
    }
    if others.isEmpty {
      return add(
        "port", .ok,
        "\(port) was not tried from outside: all connected peers run on this machine")
    }
    add("port", .ok, "\(port) was not tried from outside this time; ask again in a minute")
  }

  private mutating func tellMove(from own: Int, to port: Int) {
    let file = shellWord(path)
    add(
      "port", .warning,
      "the node listens on port \(port), for another program had its own port, \(own), at the "
        + "start",
      "ss -ltnp 'sport = :\(own)' shows who has it now. Once it is free: flotilla stop \(file); "
        + "flotilla run \(file) --background. Until then a firewall must let \(port) in.")
  }

  private func remedy(
    _ report: PortReport, _ firewalls: [(firewall: Firewall, sign: Firewall.Sign)]
  ) -> String {
    let file = shellWord(path)
    if let host = report.ownHost {
      return "The node listens on \(host), for this machine alone: flotilla stop \(file), then run "
        + "it without --listen, or with an address that others reach."
    }
    let openings = firewalls.map { seen in
      let name = seen.firewall.rawValue
      return (seen.sign == .on ? "\(name) is on: " : "If \(name) keeps it out: ")
        + seen.firewall.opening(report.port)
    }
    guard openings.isEmpty else { return openings.joined(separator: ". ") }
    return "No firewall is seen on this machine: look at the router, the wireless network or the "
      + "container between the two, and let TCP \(report.port) in "
      + "(\(Documentation.page("network.md")))."
  }

  /// "ward-2 (10.0.0.2), field (10.0.0.7)" and how many more; nil for nobody.
  private func names(_ peers: [PortReport.Peer]) -> String? {
    guard !peers.isEmpty else { return nil }
    let shown = peers.prefix(Self.mostNames).map { "\($0.node) (\($0.host)\($0.trouble))" }
    let rest = peers.count - shown.count
    return shown.joined(separator: ", ") + (rest > 0 ? " and \(rest) more" : "")
  }
}

extension PortReport.Peer {
  fileprivate var isFailing: Bool {
    switch outcome {
    case .refused, .silent, .another: at == nil
    case .reached, .untried: false
    }
  }

  fileprivate var trouble: String {
    switch outcome {
    case .refused: ": refused"
    case .silent: ": no answer"
    case .another: ": another program answers"
    case .reached, .untried: ""
    }
  }
}
