import Replication

extension Node {
  /// How long a node that was started for one command waits for the members it knows.
  static let patience: Int64 = 5_000

  /// What is said of a member that is connected, but was not done in time.
  static let late = SyncReport.late

  /// What is said of a member that is not connected.
  static let absent = "not in reach"

  /// So often it is told how far a sync is.
  private static let look = Duration.milliseconds(500)

  /// So long a sync waits for members that are not connected, in ms.
  static let arrival: Int64 = 2_000

  /// One exchange now, both ways, with all reachable members or the one named.
  func sync(
    with name: String?, timeout: Duration, telling listener: WorkProgress.Listener? = nil
  ) async throws(FlotillaError) -> SyncReport {
    let start = Uptime.now
    let deadline = start + timeout.milliseconds
    // What a node that was started for this very sync has exchanged is part of it.
    let before = mode == .brief ? [:] : peers.mapValues(\.traffic)
    let waiting = try await listener == nil ? 0 : waitingEdits()
    try await foldNow(within: deadline) { rows in
      if waiting > 0 { listener?(WorkProgress(.takingIn, rows, of: waiting)) }
    }
    let named: [Identity]
    switch try await targets(name, deadline: deadline) {
    case .members(let members): named = members
    case .nobody(let reason):
      return SyncReport(peers: [
        SyncReport.Peer(
          node: name ?? "", sent_rows: 0, received_rows: 0, seconds: Self.seconds(since: start),
          error: reason)
      ])
    }
    let round = nextSync
    nextSync += 1
    syncs[round] = SyncRound(mark: position.frontier)
    defer { syncs[round] = nil }
    let teller = listener.map { listener in
      Task { [weak self] in
        while (try? await Task.sleep(for: Self.look)) != nil {
          if let progress = await self?.progress(of: round) { listener(progress) }
        }
      }
    }
    defer { teller?.cancel() }
    // One that has just been started may be shaking hands; the others do not wait for it.
    let arrival = min(deadline, Uptime.now + (mode == .brief ? Self.patience : Self.arrival))
    while true {
      // A node that was started for this very sync finds others by and by.
      let wanted = name == nil ? others.map(\.node) : named
      let isLate = Uptime.now >= arrival
      for node in wanted where syncs[round]?.parts[node] == nil && (isOpen(node) || isLate) {
        syncs[round]?.parts[node] = SyncRound.Part(
          before: before[node] ?? PeerRecord.Traffic(),
          error: isOpen(node) ? nil : standing?.remark ?? reason(node) ?? Self.absent)
      }
      await askWhoIsLevel(in: round)
      noteEnds(in: round)
      let isDone = { wanted.allSatisfy { self.isSettled($0, in: round) } }
      if Uptime.now >= deadline || isDone() { break }
      _ = await until(isLate ? deadline : arrival) {
        isDone() || wanted.contains { canGoOn(with: $0, in: round) || hasEnded($0, in: round) }
      }
    }
    let parts = syncs[round]?.parts ?? [:]
    if parts.keys.contains(where: isOpen) { await noteMet() }
    return SyncReport(
      peers: parts.keys.compactMap { report($0, in: round, since: start) }
        .sorted { $0.node < $1.node })
  }

  /// How far a round is, by what was missing at most; nil until something was.
  private func progress(of round: UInt64) -> WorkProgress? {
    let members = (syncs[round]?.parts ?? [:]).keys.compactMap { peers[$0] }
      .filter { $0.session != nil && $0.hasSpoken }
    // A member may have said any numbers.
    let left = members.map(gap).flatMap { [$0.there, $0.here] }
      .reduce(0) { $0 + min(Int(clamping: $1), 1 << 40) }
    guard let before = syncs[round]?.most, max(before, left) > 0 else { return nil }
    let most = max(before, left)
    syncs[round]?.most = most
    return WorkProgress(.exchanging, most - left, of: most)
  }

  /// Why exchanges with a member fail, if they do.
  private func reason(_ node: Identity) -> String? {
    peers[node].flatMap { failure(of: $0)?.error }
  }

  private func isOpen(_ node: Identity) -> Bool { peers[node]?.session != nil }

  /// Whether a member that was not in touch is now, or one that was busy can be asked.
  private func canGoOn(with node: Identity, in round: UInt64) -> Bool {
    guard let part = syncs[round]?.parts[node] else { return isOpen(node) }
    return part.error == nil && !part.isAsked && isOpen(node) && isLevel(with: node)
  }

  /// Asks each member once. One that is asked while rows are on their way would send them again.
  private func askWhoIsLevel(in round: UInt64) async {
    for node in (syncs[round]?.parts ?? [:]).keys where canGoOn(with: node, in: round) {
      syncs[round]?.parts[node]?.isAsked = true
      await peers[node]?.session?.feed(.ask)
    }
  }

  private func hasEnded(_ node: Identity, in round: UInt64) -> Bool {
    syncs[round]?.parts[node].map { $0.end == nil && isDone(node, in: round) } ?? false
  }

  private func noteEnds(in round: UInt64) {
    for node in (syncs[round]?.parts ?? [:]).keys where hasEnded(node, in: round) {
      syncs[round]?.parts[node]?.end = Uptime.now
    }
  }

  private func isSettled(_ node: Identity, in round: UInt64) -> Bool {
    peers[node] == nil || syncs[round]?.parts[node] != nil && isDone(node, in: round)
  }

  /// Whether all that a peer has told of is here.
  private func isLevel(with node: Identity) -> Bool {
    guard let peer = peers[node] else { return true }
    return peer.hasSpoken && !peer.isReceiving && position.frontier.covers(peer.holds)
  }

  /// Whether nothing more is to be waited for; also if the member has left meanwhile.
  func isDone(_ node: Identity, in round: UInt64) -> Bool {
    guard let peer = peers[node], let round = syncs[round] else { return true }
    return round.isDone(peer, here: position.frontier)
  }

  private func report(
    _ node: Identity, in round: UInt64, since start: Int64
  ) -> SyncReport.Peer? {
    guard let peer = peers[node], let part = syncs[round]?.parts[node] else { return nil }
    return SyncReport.Peer(
      node: peer.name, sent_rows: peer.traffic.sentRows - part.before.sentRows,
      received_rows: peer.traffic.receivedRows - part.before.receivedRows,
      seconds: Double((part.end ?? Uptime.now) - start) / 1_000,
      error: part.error
        ?? (isDone(node, in: round) ? nil : trouble.current?.error.message ?? Self.late))
  }

  /// The other nodes that count: neither shut out, nor forgotten and away.
  var others: [PeerRecord] {
    peers.values.filter { !$0.isRevoked && ($0.session != nil || !isForgotten($0.node)) }
  }

  private static func seconds(since start: Int64) -> Double {
    Double(Uptime.now - start) / 1_000
  }

  /// Waits until every known member is connected, or the time is over.
  func untilConnected(within limit: Duration) async {
    _ = await until(Uptime.now + limit.milliseconds) {
      others.allSatisfy { $0.session != nil }
    }
  }

  private enum Targets {
    case members([Identity])
    /// Nobody answers at the address that was given, and why.
    case nobody(String)
  }

  /// The members to sync with.
  private func targets(
    _ name: String?, deadline: Int64
  ) async throws(FlotillaError) -> Targets {
    guard let name, others.allSatisfy({ $0.name != name }) else {
      return .members(others.filter { name == nil || $0.name == name }.map(\.node))
    }
    switch try await dialled(name, deadline: deadline) {
    case .member(let node): return .members([node])
    case .nobody(let reason): return .nobody(reason)
    }
  }
}

extension Duration {
  /// Whole milliseconds, so bounded that a clock can be added.
  var milliseconds: Int64 {
    let limit = Duration.milliseconds(Limits.clock)
    let (seconds, attoseconds) = min(max(self, .zero - limit), limit).components
    return seconds * 1_000 + attoseconds / 1_000_000_000_000_000
  }
}
