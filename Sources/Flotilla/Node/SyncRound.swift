import Replication

/// One `sync`: what it started from, and how far it is with each member.
///
/// A pure value; it is told what is known of the members, and what is held here. A member is asked
/// once, and done when an exchange went each way and both hold what was held at the beginning.
struct SyncRound: Sendable {
  typealias Peers = [Identity: PeerRecord]

  /// One member's part.
  private struct Part: Sendable {
    /// What had gone each way when the round began.
    var before: PeerRecord.Traffic
    var error: String?
    /// Whether it was asked for what it has.
    var isAsked = false
    /// When it was done, by uptime.
    var end: Int64?
  }

  /// What was held here when the round began: a member is done when it says that it holds it, too.
  let mark: Frontier
  private var parts: [Identity: Part] = [:]
  /// So many rows were missing at most, when somebody looked.
  private var most = 0

  init(mark: Frontier) { self.mark = mark }

  var members: Set<Identity> { Set(parts.keys) }

  func has(_ node: Identity) -> Bool { parts[node] != nil }

  /// A member takes part; or does not, and why.
  mutating func enter(_ node: Identity, before: PeerRecord.Traffic?, error: String?) {
    parts[node] = Part(before: before ?? PeerRecord.Traffic(), error: error)
  }

  /// The connection with a member has ended, which is an error unless it was done.
  mutating func cut(_ peer: PeerRecord, _ reason: String, here: Frontier) {
    if !isDone(peer, here: here) { parts[peer.node]?.error = reason }
  }

  /// A member to be asked for what it has; each is asked once. One that is asked while rows are on
  /// their way would send them again.
  mutating func takeQuestion(_ peers: Peers, here: Frontier) -> Identity? {
    guard let node = parts.keys.first(where: { canGoOn(with: $0, peers, here: here) }) else {
      return nil
    }
    parts[node]?.isAsked = true
    return node
  }

  /// Whether a member that was not in touch is now, or one that was busy can be asked.
  func canGoOn(with node: Identity, _ peers: Peers, here: Frontier) -> Bool {
    guard let peer = peers[node], peer.session != nil else { return false }
    guard let part = parts[node] else { return true }
    return part.error == nil && !part.isAsked && peer.isLevel(here: here)
  }

  /// Whether nothing more is to be waited for; also if the member has left meanwhile.
  func isSettled(_ node: Identity, _ peers: Peers, here: Frontier) -> Bool {
    peers[node].map { has(node) && isDone($0, here: here) } ?? true
  }

  /// Whether an exchange went each way and both sides hold what the other one held.
  private func isDone(_ peer: PeerRecord, here: Frontier) -> Bool {
    guard let part = parts[peer.node] else { return true }
    if part.error != nil { return true }
    return peer.traffic.exchangesSent > part.before.exchangesSent
      && peer.traffic.exchangesReceived > part.before.exchangesReceived
      && peer.holds.covers(mark) && here.covers(peer.holds)
  }

  /// Whether a member is done, and it was not noted when.
  func hasEnded(_ node: Identity, _ peers: Peers, here: Frontier) -> Bool {
    guard let part = parts[node], part.end == nil else { return false }
    return isSettled(node, peers, here: here)
  }

  mutating func noteEnds(_ peers: Peers, here: Frontier, at uptime: Int64) {
    for node in members where hasEnded(node, peers, here: here) { parts[node]?.end = uptime }
  }

  /// How far the round is, by what was missing at most; nil until something was.
  mutating func progress(left: Int) -> WorkProgress? {
    most = max(most, left)
    return most > 0 ? WorkProgress(.exchanging, most - left, of: most) : nil
  }

  /// What came of it with one member; nil if that has left meanwhile. `late` says why it was not
  /// done in time.
  func report(
    _ node: Identity, _ peers: Peers, here: Frontier, since start: Int64, at uptime: Int64,
    late: String = SyncReport.late
  ) -> SyncReport.Peer? {
    guard let peer = peers[node], let part = parts[node] else { return nil }
    return SyncReport.Peer(
      node: peer.name, sent_rows: peer.traffic.sentRows - part.before.sentRows,
      received_rows: peer.traffic.receivedRows - part.before.receivedRows,
      seconds: Double((part.end ?? uptime) - start) / 1_000,
      error: part.error ?? (isDone(peer, here: here) ? nil : late))
  }
}

/// The syncs under way; several people may ask for one at a time.
struct SyncRounds: Sendable {
  private var rounds: [UInt64: SyncRound] = [:]
  private var next: UInt64 = 1

  /// Begins a round, and gives its number.
  mutating func begin(_ mark: Frontier) -> UInt64 {
    defer { next += 1 }
    rounds[next] = SyncRound(mark: mark)
    return next
  }

  mutating func end(_ number: UInt64) { rounds[number] = nil }

  /// The connection with a member has ended.
  mutating func cut(_ peer: PeerRecord, _ reason: String, here: Frontier) {
    for number in rounds.keys { rounds[number]?.cut(peer, reason, here: here) }
  }

  subscript(_ number: UInt64) -> SyncRound {
    get { rounds[number] ?? SyncRound(mark: Frontier()) }
    set { if rounds[number] != nil { rounds[number] = newValue } }
  }
}
