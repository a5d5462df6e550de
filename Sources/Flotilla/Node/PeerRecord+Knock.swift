import Network
import Replication

/// Whether a member has reached the port of this node.
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

  /// Whether it is connected from this machine.
  func isHere(_ networks: LocalNetworks) -> Bool {
    session.map { networks.isOwn($0.link.remote.host) } ?? false
  }

  /// What it knows of the port; what was found out before `start` is old.
  func portReport(_ networks: LocalNetworks, since start: Int64) -> PortReport.Peer {
    let host = session?.link.remote.host ?? ""
    // What it has tried from another address says nothing of this one.
    let latest = knock.flatMap { $0.host == host ? $0 : nil }
    let outcome: PortReport.Peer.Outcome =
      switch latest?.answer {
      case .reached: .reached
      case .refused: .refused
      case .silent: .silent
      case .another: .another
      case .untried, nil: .untried
      }
    let isOld = latest.map { $0.at < start } ?? false
    return PortReport.Peer(
      node: name, host: host, isHere: networks.isOwn(host), outcome: outcome,
      at: isOld ? latest.map { Node.text($0.wall) } : nil)
  }
}
