import Network
import Replication

extension Node {
  /// How long a node that was started for one command waits for the members it knows.
  static let patience: Int64 = 5_000

  /// One exchange now, both ways, with all reachable members or the one named.
  func sync(with name: String?, timeout: Duration) async throws(FlotillaError) -> SyncReport {
    let start = Uptime.now
    let deadline = start + timeout.milliseconds
    try await foldNow()
    let wanted = try await targets(name, deadline: deadline)
    for node in wanted {
      syncs[node] = SyncProgress()
      if let session = peers[node]?.session {
        await session.feed(.ask)
      } else {
        syncs[node]?.error = "not in reach"
      }
    }
    _ = await until(deadline) { wanted.allSatisfy { syncs[$0]?.isDone ?? true } }
    var reports: [SyncReport.Peer] = []
    for node in wanted {
      let progress = syncs.removeValue(forKey: node) ?? SyncProgress()
      reports.append(
        SyncReport.Peer(
          node: peers[node]?.name ?? "?", sent_rows: progress.sentRows,
          received_rows: progress.receivedRows,
          seconds: Double(Uptime.now - start) / 1_000,
          error: progress.error ?? (progress.isDone ? nil : "no answer in time")))
    }
    return SyncReport(peers: reports.sorted { $0.node < $1.node })
  }

  /// The members to sync with; a brief node first waits for those that it knows.
  private func targets(
    _ name: String?, deadline: Int64
  ) async throws(FlotillaError) -> [Identity] {
    if let name, peers.values.allSatisfy({ $0.name != name }) {
      return [try await dialled(name, deadline: deadline)]
    }
    let wanted = peers.values.filter { name == nil || $0.name == name }.map(\.node)
    if mode == .brief {
      let patience = min(deadline, Uptime.now + Self.patience)
      _ = await until(patience) { wanted.allSatisfy { peers[$0]?.session != nil } }
      let found = peers.values.filter { $0.session != nil && name == nil }.map(\.node)
      return Array(Set(wanted + found))
    }
    return wanted
  }

  /// Dials HOST:PORT and gives the member that answers there.
  private func dialled(_ address: String, deadline: Int64) async throws(FlotillaError) -> Identity {
    let endpoint: Endpoint
    do {
      guard address.contains(":") || address.contains(".") else {
        throw NetworkError(.invalidAddress, "no such member")
      }
      endpoint = try Endpoint(parsing: address, defaultPort: Endpoint.defaultPort)
    } catch {
      let known = peers.values.map(\.name).sorted().joined(separator: ", ")
      throw FlotillaError(
        .peer, "\(address) is no member that this node knows, and no address",
        remedy: known.isEmpty
          ? "Nobody has joined this site yet: flotilla invite \(shellWord(path))"
          : "Known: \(known)")
    }
    let text = endpoint.description
    await perform(mesh.receive(.configured([text]), at: .now))
    var found: Identity?
    _ = await until(deadline) {
      found = mesh.node(at: text)
      return found.map { peers[$0]?.session != nil } ?? false
    }
    guard let found, peers[found]?.session != nil else {
      throw FlotillaError(
        .timedOut, "no member of this site answers at \(text)",
        remedy: "Check the address, and that a node runs there: flotilla status DB")
    }
    return found
  }

  /// Waits until what was committed here before the call is there.
  func wait(for target: WaitTarget, timeout: Duration) async throws(FlotillaError) -> WaitReport {
    let deadline = Uptime.now + timeout.milliseconds
    try await foldNow()
    let (own, mark) = (position.own, position.frontier[position.own])
    let wanted: [Identity]
    switch target {
    case .anchor:
      throw FlotillaError(
        .usage, "this site has no anchor", remedy: "Wait for a node, or for all.")
    case .node(let name):
      wanted = peers.values.filter { $0.name == name }.map(\.node)
      if wanted.isEmpty {
        let known = peers.values.map(\.name).sorted().joined(separator: ", ")
        throw FlotillaError(
          .peer, "\(name) is no member that this node knows",
          remedy: known.isEmpty ? "Nobody has joined this site yet." : "Known: \(known)")
      }
    case .all: wanted = Array(peers.keys)
    }
    _ = await until(deadline) {
      wanted.allSatisfy { (peers[$0]?.holds[own] ?? 0) >= mark }
    }
    var report = WaitReport(reached: [], missing: [])
    for node in wanted {
      guard let peer = peers[node] else { continue }
      if peer.holds[own] >= mark {
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
  var milliseconds: Int64 {
    let (seconds, attoseconds) = components
    return seconds * 1_000 + attoseconds / 1_000_000_000_000_000
  }
}
