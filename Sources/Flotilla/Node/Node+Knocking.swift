import Network
import Replication

/// Whether the port of this node is reached from outside: members try it for each other.
extension Node {
  /// So many peers are dialled at a time because they have asked.
  static let mostDialsBack = 4
  /// So many peers are asked at a time.
  private static let mostAsked = 3

  /// Dials a peer that has asked, at the address from which it is connected and nowhere else.
  func dialBack(for session: PeerSession) async {
    let whereabouts = await session.whereabouts
    // Nothing may be waited for between this and `work.begin`: they are counted.
    guard !isStopping, work.dialsBack < Self.mostDialsBack,
      !work.isUnderWay(.dialBack(session.id)),
      let (node, port) = whereabouts,
      let endpoint = try? Endpoint(host: session.link.remote.host, port: port)
    else { return await session.feed(.dialledBack(.untried)) }
    work.begin(
      .dialBack(session.id),
      Task { [door] in
        let answer = await door.dialBack(endpoint, node)
        work.end(.dialBack(session.id))
        await session.feed(.dialledBack(answer))
      })
  }

  /// A peer has tried this node's port, because it was asked or of itself.
  func note(_ answer: Knocked, of session: PeerSession) {
    update(session) { $0.note(answer, from: session.link.remote.host) }
  }

  /// What the connected members know of this node's port. Those that have not tried lately are
  /// asked, unless one of another machine has just come in.
  func portReport(within timeout: Duration) async throws(FlotillaError) -> PortReport {
    guard let port else {
      throw FlotillaError(.node, "this node does not listen")
    }
    let (start, networks) = (Uptime.now, LocalNetworks.here)
    let connected = peers.values.filter { $0.session != nil }
    let isReached = connected.contains {
      $0.isReaching(since: start - Session.knockPause)
        && !networks.isOwn($0.knock?.host ?? "")
    }
    let asked =
      isReached
      ? []
      : connected.filter { $0.canKnock(at: start) }
        .map { (isHere: $0.isHere(networks) ? 1 : 0, name: $0.name, node: $0.node) }
        .sorted { ($0.isHere, $0.name) < ($1.isHere, $1.name) }
        .prefix(Self.mostAsked).map(\.node)
    for node in asked { await peers[node]?.session?.feed(.knock) }
    _ = await until(start + timeout.milliseconds) {
      asked.allSatisfy { peers[$0]?.session == nil || peers[$0]?.knockedAt ?? .min >= start }
    }
    let shown = peers.values.filter { $0.session != nil }
      .sorted { ($0.name, $0.node) < ($1.name, $1.node) }
    return PortReport(
      port: Int(port), own: ownPort.map(Int.init),
      listen: options.listen.flatMap { try? ListenAddress($0).host },
      peers: shown.map { $0.portReport(networks, since: start - Session.knockPause) })
  }
}
