import Replication

extension Node {
  /// How long a node that was started for one command waits for the members it knows.
  static let patience: Int64 = 5_000

  /// So long a sync waits for members that are not connected, in ms.
  static let arrival: Int64 = 2_000

  /// One exchange now, both ways, with all reachable members or the one named.
  func sync(with name: String?, timeout: Duration) async throws(FlotillaError) -> SyncReport {
    let start = Uptime.now
    let deadline = start + timeout.milliseconds
    // What a node that was started for this very sync has exchanged is part of it.
    let before = mode == .brief ? [:] : peers.mapValues(\.traffic)
    try await foldNow(within: deadline)
    let wanted = try await targets(name, deadline: deadline)
    if let name, wanted.isEmpty {
      return SyncReport(peers: [
        SyncReport.Peer(
          node: name, sent_rows: 0, received_rows: 0, seconds: Self.seconds(since: start),
          error: "no member of this site answers there")
      ])
    }
    // One that has just been started may be shaking hands.
    _ = await until(min(deadline, Uptime.now + Self.arrival)) {
      wanted.allSatisfy { peers[$0]?.session != nil }
    }
    let round = nextSync
    nextSync += 1
    syncs[round] = SyncRound(mark: position.frontier)
    defer { syncs[round] = nil }
    for node in wanted {
      let isOpen = peers[node]?.session != nil
      syncs[round]?.parts[node] = SyncRound.Part(
        before: before[node] ?? PeerRecord.Traffic(), error: isOpen ? nil : "not in reach")
      // A peer that is asked while rows are on their way would send them again.
      _ = await until(deadline) { isLevel(with: node) }
      await peers[node]?.session?.feed(.ask)
    }
    _ = await until(deadline) { wanted.allSatisfy { isDone($0, in: round) } }
    if wanted.contains(where: { peers[$0]?.session != nil }) { await noteMet() }
    return SyncReport(
      peers: wanted.compactMap { report($0, in: round, since: start) }
        .sorted { $0.node < $1.node })
  }

  /// Whether all that a peer has told of is here; also if it is not connected.
  private func isLevel(with node: Identity) -> Bool {
    guard let peer = peers[node], peer.session != nil else { return true }
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
      seconds: Self.seconds(since: start),
      error: part.error ?? (isDone(node, in: round) ? nil : "no answer in time"))
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

  /// The members to sync with; a brief node first waits for those that it knows. None if nobody
  /// answers at the address given.
  private func targets(
    _ name: String?, deadline: Int64
  ) async throws(FlotillaError) -> [Identity] {
    if let name, others.allSatisfy({ $0.name != name }) {
      return try await dialled(name, deadline: deadline).map { [$0] } ?? []
    }
    let wanted = others.filter { name == nil || $0.name == name }.map(\.node)
    if mode == .brief {
      let patience = min(deadline, Uptime.now + Self.patience)
      _ = await until(patience) { wanted.allSatisfy { peers[$0]?.session != nil } }
      let found = others.filter { $0.session != nil && name == nil }.map(\.node)
      return Array(Set(wanted + found))
    }
    return wanted
  }

  /// Waits until what was committed here before the call is there.
  func wait(for target: WaitTarget, timeout: Duration) async throws(FlotillaError) -> WaitReport {
    let deadline = Uptime.now + timeout.milliseconds
    let isPlaced = try await foldNow(within: deadline)
    let (own, mark) = (position.own, position.frontier[position.own])
    let wanted: [Identity]
    switch target {
    case .anchor: wanted = try anchorForWaiting().map { [$0] } ?? []
    case .node(let name):
      let itself = "What was written here is here."
      wanted = [try otherMember(named: name, otherwise: "", itself: itself).node]
    case .all: wanted = others.map(\.node)
    }
    _ = await until(deadline) {
      wanted.allSatisfy { peers[$0].map { $0.holds[own] >= mark } ?? true }
    }
    var report = WaitReport(reached: [], missing: [])
    for node in wanted {
      guard let peer = peers[node] else { continue }
      if isPlaced, peer.holds[own] >= mark {
        report.reached.append(peer.name)
      } else {
        report.missing.append(peer.name)
      }
    }
    report.reached.sort()
    report.missing.sort()
    return report
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
