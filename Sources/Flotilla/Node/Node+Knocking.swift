import Network
import Replication

/// Whether the port of this node is reached from outside: members try it for each other.
extension Node {
  /// So many peers are dialled at a time because they have asked, ...
  static let mostDialsBack = 4
  /// ... and so long each may take to answer, and then to say who it is.
  private static let dialBackPatience: Duration = .seconds(2)
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
        let answer = await Self.dialBack(endpoint, node, door)
        work.end(.dialBack(session.id))
        await session.feed(.dialledBack(answer))
      })
  }

  /// Connects, sees whose key is shown there, and hangs up as from a connection too many.
  private static func dialBack(
    _ endpoint: Endpoint, _ node: Identity, _ door: Door
  ) async -> Knocked {
    do throws(NetworkError) {
      let channel = try await SocketChannel.connect(to: endpoint, timeout: dialBackPatience)
      let link = try await TLSChannel.dial(
        over: channel, door.dialling, for: .member, timeout: dialBackPatience)
      defer { link.close() }
      guard case .member(let key) = link.peer, Notary.openSSL.digest(key) == node else {
        return .another
      }
      // A socket that is closed with unread bytes in it can lose the last words.
      let alarm = Alarm(after: .seconds(1)) { link.close() }
      defer { alarm.cancel() }
      try? await link.write(Message.bye(Bye(.duplicate, "connected already")).frame)
      while let bytes = try? await link.read(upTo: 4 << 10), !bytes.isEmpty {}
      return .reached
    } catch {
      return switch error.code {
      case .refused: .refused
      case .timedOut, .unreachable: .silent
      case .cancelled: .untried
      default: .another
      }
    }
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
        .map { (isHere: isHere($0, networks) ? 1 : 0, name: $0.name, node: $0.node) }
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
      peers: shown.map { report($0, networks, since: start - Session.knockPause) })
  }

  private func isHere(_ peer: PeerRecord, _ networks: LocalNetworks) -> Bool {
    peer.session.map { networks.isOwn($0.link.remote.host) } ?? false
  }

  private func report(
    _ peer: PeerRecord, _ networks: LocalNetworks, since start: Int64
  ) -> PortReport.Peer {
    let host = peer.session?.link.remote.host ?? ""
    // What it has tried from another address says nothing of this one.
    let knock = peer.knock.flatMap { $0.host == host ? $0 : nil }
    let outcome: PortReport.Peer.Outcome =
      switch knock?.answer {
      case .reached: .reached
      case .refused: .refused
      case .silent: .silent
      case .another: .another
      case .untried, nil: .untried
      }
    let isOld = knock.map { $0.at < start } ?? false
    return PortReport.Peer(
      node: peer.name, host: host, isHere: networks.isOwn(host), outcome: outcome,
      at: isOld ? knock.map { Self.text($0.wall) } : nil)
  }
}

extension PeerRecord {
  /// What became of it when a member tried the port of this node.
  struct Knock: Sendable, Equatable {
    var answer: Knocked
    /// The address from which it was connected.
    var host: String
    /// By uptime, and in ms since 1970.
    var at: Int64
    var wall: Int64
  }

  /// What was not tried takes nothing away from what was known.
  mutating func note(_ answer: Knocked, from host: String) {
    knockedAt = Uptime.now
    guard answer != .untried else { return }
    knock = Knock(answer: answer, host: host, at: Uptime.now, wall: Uptime.wall)
  }

  func isReaching(since start: Int64) -> Bool {
    knock.map { $0.answer == .reached && $0.at >= start } ?? false
  }

  /// Whether it has not just told.
  func canKnock(at now: Int64) -> Bool {
    knockedAt.map { now - $0 >= Session.knockPause } ?? true
  }
}
