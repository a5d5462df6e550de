import Replication
import Store

/// Proving that the rows here are those of the other nodes.
extension Node {
  /// Between two looks at rows that are on their way, in ms.
  private static let pause: Int64 = 300
  /// So often a repair is tried again that has changed nothing.
  private static let attempts = 4

  func verify(
    with name: String?, repairs: Bool, timeout: Duration,
    telling listener: WorkProgress.Listener? = nil
  ) async throws(FlotillaError) -> VerifyReport {
    let deadline = Uptime.now + timeout.milliseconds
    let wanted = try verified(name)
    // Two at a time would take each other's answers.
    guard await until(deadline, { !questions.isVerifying }) else {
      throw FlotillaError(
        .timedOut, "another verify of \(path) is under way", remedy: "Try again when it is done.",
        cause: "another verify is under way")
    }
    questions.beginVerifying()
    defer { questions.endVerifying() }
    try await requirePlaced(within: deadline)
    var (audit, repaired) = try await audited(repairs: repairs, telling: listener)
    if !wanted.isEmpty {
      // Where something is always written they never hold the same at one moment.
      await level(with: wanted, until: Uptime.now + (deadline - Uptime.now) / 2)
      if position.frontier != audit.frontier { audit = try await look(telling: listener) }
    }
    if !wanted.isEmpty { listener?(WorkProgress(.comparing)) }
    let comparisons = wanted.map { [audit] node in
      Task { await self.verify(node, audit, repairs: repairs, deadline: deadline) }
    }
    var peers: [VerifyReport.Peer] = []
    for comparison in comparisons { peers.append(await comparison.value) }
    // What a repair has brought is here now.
    if peers.contains(where: { $0.repaired > 0 }) { audit = try await look(telling: listener) }
    return await words.report(
      audit, repaired, peers.sorted { $0.node < $1.node }, waiting: waitingKeys(),
      isNamed: name != nil)
  }

  private var words: VerifyWords {
    VerifyWords(store: store, roll: roster.roll, path: path, node: identity.name)
  }

  /// Tables that are not the same here and elsewhere, though all that is held of them is.
  private func waitingKeys() async -> [String] {
    let found = try? await store.run { (store) throws(StoreError) in
      (try store.tableSurvey.waitingKeys(), store.tableSurvey.changedTables())
    }
    return found.map { keyRemarks($0, $1) } ?? []
  }

  /// The members to compare with: all that are none but this one, or the one named.
  private func verified(_ name: String?) throws(FlotillaError) -> [Identity] {
    guard let name else { return others.map(\.node) }
    let member = try otherMember(
      named: name, otherwise: ": it was revoked, or has left",
      itself: "To verify it alone, and with all others: flotilla verify \(shellWord(path))")
    return [member.node]
  }

  /// What was written here must be folded first, and for that it needs the time of the site.
  private func requirePlaced(within deadline: Int64) async throws(FlotillaError) {
    if clock.now.site == nil {
      let patience = mode == .brief ? min(deadline, Uptime.now + Self.patience) : deadline
      _ = await until(patience) { clock.now.site != nil }
    }
    guard clock.now.site != nil else {
      throw FlotillaError(
        .timedOut, "\(identity.name) does not know the time of the site yet, and takes nothing in",
        remedy: "It learns it from any other node in reach; see: flotilla clock "
          + shellWord(path))
    }
    try await foldNow(within: deadline)
  }

  /// Looks at all that is here; with `repairs` what is found is put right, and looked at again.
  private func audited(
    repairs: Bool, telling listener: WorkProgress.Listener?
  ) async throws(FlotillaError) -> (AuditResult, repaired: Int) {
    let (id, before) = try await openedAudit(telling: listener)
    let isRepairing = repairs && before.repairable > 0
    do {
      if isRepairing {
        try await store.patiently { (store) throws(StoreError) in try store.repair(after: id) }
      }
    } catch {
      await store.closeAudit(id)
      throw FlotillaError(error, path: path)
    }
    await store.closeAudit(id)
    guard isRepairing else { return (before, 0) }
    try await foldNow()
    let after = try await look(telling: listener)
    return (after, max(0, before.repairable - after.repairable))
  }

  private func look(
    telling listener: WorkProgress.Listener? = nil
  ) async throws(FlotillaError) -> AuditResult {
    let (id, result) = try await openedAudit(telling: listener)
    await store.closeAudit(id)
    return result
  }

  private func openedAudit(
    telling listener: WorkProgress.Listener?
  ) async throws(FlotillaError) -> (Int64, AuditResult) {
    let found = try await reporting(path) { () async throws(StoreError) in
      try await store.audit(telling: listener, told) { [weak self] in
        await self?.isStopping == false
      }
    }
    guard let found else {
      throw FlotillaError(.node, "the node ended before it had looked at all rows")
    }
    return found
  }

  /// Waits until all hold the same, as far as they are in reach; after an exchange with each.
  private func level(with nodes: [Identity], until deadline: Int64) async {
    let arrival = mode == .brief ? Self.patience : Self.arrival
    _ = await until(min(deadline, Uptime.now + arrival)) {
      nodes.allSatisfy { peers[$0]?.session != nil }
    }
    // What is on its way comes by itself.
    _ = await until(min(deadline, Uptime.now + Self.arrival)) {
      nodes.allSatisfy { isEven(with: $0) }
    }
    for node in nodes where !isEven(with: node) { await peers[node]?.session?.feed(.ask) }
    _ = await until(deadline) { nodes.allSatisfy { isEven(with: $0) } }
  }

  /// Whether a peer and this node have told each other that they hold the same.
  private func isEven(with node: Identity) -> Bool {
    guard let peer = peers[node], peer.session != nil else { return true }
    // Of what a leaf holds nobody knows all.
    guard rights.isWhole, rights(of: node).isWhole else { return peer.hasSpoken }
    return peer.hasSpoken && !peer.isReceiving && peer.holds == position.frontier
  }

  /// Compares with one peer until nothing is on its way, or the time is over.
  private func verify(
    _ node: Identity, _ first: AuditResult, repairs: Bool, deadline: Int64
  ) async -> VerifyReport.Peer {
    let name = peers[node]?.name ?? node.description
    var audit = first
    var (differed, least, futile) = (0, Int.max, 0)
    var pause = Self.pause
    var last: VerifyReport.Peer?
    var asked: (rows: [RowName], isShown: Bool) = ([], false)
    while true {
      let start = Uptime.now
      let found = await inspect(node, audit, deadline: deadline)
      // What was cut off by the end of the time says less than what was seen before.
      if let last, case .stopped = found, Uptime.now >= deadline { return last }
      var report = await words.report(found, name: name)
      differed = max(differed, report.differing_rows)
      report.repaired = repairs ? differed - min(differed, report.differing_rows) : 0
      if case .equal = found { report.repaired += asked.rows.count }
      last = report
      let next = Uptime.now + pause + (Uptime.now - start)
      let canWait = next < deadline && peers[node]?.session != nil && !isStopping
      futile = report.differing_rows < least ? 0 : futile + 1
      least = min(least, report.differing_rows)
      guard canWait else { return report }
      switch found {
      case .equal, .stopped: return report
      case .shownOtherwise:
        guard repairs, await mend(&asked, with: node) else { return report }
      case .unexplained(_, let isMoving):
        guard isMoving || futile < Self.attempts else { return report }
      case .compared(_, let comparison, let buckets):
        let isMending = repairs && comparison.isMendable && futile < Self.attempts
        guard isMending || comparison.onTheWay > 0 else { return report }
        if isMending { await peers[node]?.session?.feed(.repair(buckets)) }
      }
      try? await Task.sleep(for: .milliseconds(pause))
      pause = min(2 * pause, 5_000)
      guard !Task.isCancelled, let next = try? await look() else { return report }
      audit = next
    }
  }

  /// Asks a peer for rows of which not all values are known here: of a column that was dropped here
  /// and is here again, or of an edit of which it has another content. When all have come, the peer
  /// is shown those here. False if nothing is left to do.
  private func mend(
    _ asked: inout (rows: [RowName], isShown: Bool), with node: Identity
  ) async -> Bool {
    let rows = await incompleteRows(after: asked.rows.last)
    guard rows.isEmpty else {
      asked.rows += rows
      await peers[node]?.session?.feed(.want(rows))
      return true
    }
    let buckets = Set(
      asked.rows.map { Digest.bucket(table: tableSeed($0.table), key: Key(bytes: $0.key)) })
    guard !asked.isShown, 1...Self.shownBuckets ~= buckets.count else { return false }
    asked.isShown = true
    await peers[node]?.session?.feed(.repair(buckets.sorted()))
    return true
  }

  /// A sixteenth of all rows, at most.
  private static let shownBuckets = 16

  private func incompleteRows(after last: RowName?) async -> [RowName] {
    do {
      return try await store.run { (store) throws(StoreError) in
        try store.columns.incompleteRows(after: last)
      }
    } catch {
      warn("could not look for rows whose values are elsewhere: \(error.message)")
      return []
    }
  }
}
