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
    let round = syncs.begin(position.frontier)
    defer { syncs.end(round) }
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
      for node in wanted where !syncs[round].has(node) && (isOpen(node) || isLate) {
        let error = isOpen(node) ? nil : standing?.remark ?? reason(node) ?? Self.absent
        syncs[round].enter(node, before: before[node], error: error)
      }
      while let node = syncs[round].takeQuestion(peers, here: position.frontier) {
        await peers[node]?.session?.feed(.ask)
      }
      syncs[round].noteEnds(peers, here: position.frontier, at: Uptime.now)
      let isDone = {
        wanted.allSatisfy {
          self.syncs[round].isSettled($0, self.peers, here: self.position.frontier)
        }
      }
      if Uptime.now >= deadline || isDone() { break }
      _ = await until(isLate ? deadline : arrival) {
        isDone() || wanted.contains { hasNews(of: $0, in: round) }
      }
    }
    let members = syncs[round].members
    let late = trouble.current?.error.message ?? Self.late
    if members.contains(where: isOpen) { await noteMet() }
    return SyncReport(
      peers: members.compactMap {
        syncs[round].report(
          $0, peers, here: position.frontier, since: start, at: Uptime.now, late: late)
      }.sorted { $0.node < $1.node })
  }

  /// How far a round is; nil until something was missing.
  private func progress(of round: UInt64) -> WorkProgress? {
    let members = syncs[round].members.compactMap { peers[$0] }
      .filter { $0.session != nil && $0.hasSpoken }
    // A member may have said any numbers.
    let left = members.map(gap).flatMap { [$0.there, $0.here] }
      .reduce(0) { $0 + min(Int(clamping: $1), 1 << 40) }
    return syncs[round].progress(left: left)
  }

  /// Why exchanges with a member fail, if they do.
  private func reason(_ node: Identity) -> String? {
    peers[node].flatMap { $0.failure(path)?.error }
  }

  private func isOpen(_ node: Identity) -> Bool { peers[node]?.session != nil }

  /// Whether a round has something to do with a member, or to note.
  private func hasNews(of node: Identity, in round: UInt64) -> Bool {
    let (round, here) = (syncs[round], position.frontier)
    return round.canGoOn(with: node, peers, here: here) || round.hasEnded(node, peers, here: here)
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
