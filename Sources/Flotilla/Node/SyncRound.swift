import Replication

/// One `sync`: what it started from, and how far it is with each member.
struct SyncRound: Sendable {
  /// One member's part.
  struct Part: Sendable {
    /// What had gone each way when the round began.
    var before: PeerRecord.Traffic
    var error: String?
    /// Whether it was asked for what it has.
    var isAsked = false
    /// When it was done, by uptime.
    var end: Int64?
  }

  /// What was held here when the round began: a member is done when it says that it holds it, too.
  var mark: Frontier
  var parts: [Identity: Part] = [:]
  /// So many rows were missing at most, when somebody looked.
  var most = 0

  /// Whether an exchange went each way and both sides hold what the other one held.
  func isDone(_ peer: PeerRecord, here: Frontier) -> Bool {
    guard let part = parts[peer.node] else { return true }
    if part.error != nil { return true }
    return peer.traffic.exchangesSent > part.before.exchangesSent
      && peer.traffic.exchangesReceived > part.before.exchangesReceived
      && peer.holds.covers(mark) && here.covers(peer.holds)
  }
}
