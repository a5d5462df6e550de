import Replication
import Store

/// Comparing the rows here with those of one peer.
extension Node {
  /// A session brings what its peer has told of its rows.
  func inspected(_ session: PeerSession, _ content: Account.Content) async {
    switch content {
    case .sums(let sums): questions[session.id]?.sums = sums
    case .nothing(let reason): questions[session.id]?.refuse(reason)
    case .rows(let rows, let isLast):
      guard let walk = questions[session.id]?.walk else { return }
      do {
        let comparison = try await store.join(walk, rows, isLast: isLast, told)
        guard isLast else { return await store.restWalk(walk) }
        questions[session.id]?.end(comparison)
      } catch {
        questions[session.id]?.end(failure: FlotillaError(error, path: path).message)
      }
    }
  }

  /// Compares with one peer, once: the sums, then the rows of the sums that differ.
  func inspect(_ node: Identity, _ audit: AuditResult, deadline: Int64) async -> Verification {
    guard let peer = peers[node], let session = peer.session else {
      return .stopped(.away, standing?.text ?? Self.absent)
    }
    if let reason = incomparable(with: peer) { return .stopped(.incomparable, reason) }
    questions.beginInspection(session.id)
    let verification = await compare(session, audit, deadline: deadline)
    let walk = questions.endInspection(session.id)?.walk
    await session.feed(.stopInspecting)
    if let walk { await store.closeWalk(walk) }
    return verification
  }

  private func compare(
    _ session: PeerSession, _ audit: AuditResult, deadline: Int64
  ) async -> Verification {
    await session.feed(.inspect([]))
    _ = await until(deadline) {
      sessions[session.id] == nil || questions[session.id]?.hasAnswered != false
    }
    guard let sums = questions[session.id]?.sums else { return silence(of: session) }
    let scope = await session.machine.scope
    let buckets = audit.digest(scope).differing(from: sums.digest)
    guard !buckets.isEmpty else {
      return audit.shown == sums.shown ? .equal(sums) : .shownOtherwise(sums, apart: audit.apart)
    }
    do {
      let walk = try await store.openWalk(buckets, scope, strays: audit.strays, told)
      questions[session.id]?.walk = walk
      let (here, there) = (audit.frontier, sums.frontier)
      try await store.run { (store) throws(StoreError) in
        try store.verification.join(walk, here: here, there: there)
      }
    } catch {
      return .stopped(.failed, FlotillaError(error, path: path).message)
    }
    await session.feed(.inspect(buckets))
    _ = await until(deadline) {
      sessions[session.id] == nil || questions[session.id]?.isOver != false
    }
    guard let comparison = questions[session.id]?.comparison else {
      return silence(of: session)
    }
    guard comparison.explains else {
      return .unexplained(sums, isMoving: audit.frontier != sums.frontier)
    }
    return .compared(sums, comparison, buckets: buckets)
  }

  private func silence(of session: PeerSession) -> Verification {
    (questions[session.id] ?? Inspection()).silence(isConnected: sessions[session.id] != nil)
  }

  /// Why a peer shows no sums of its rows, or is shown none: they would tell of rows that somebody
  /// may not read.
  private func incomparable(with peer: PeerRecord) -> String? {
    let what = "may not read every table, so the two cannot be compared"
    if !rights.readsAll { return "\(identity.name) \(what)" }
    return rights(of: peer.node).readsAll ? nil : "it \(what)"
  }

  /// The peer's log is not the place for what is wrong with this file.
  func couldNotAccount(_ error: StoreError, to peer: String) {
    if note(error) { return }
    warn("could not tell \(peer) what is held here: \(FlotillaError(error, path: path).message)")
  }

  nonisolated var told: StoreActor.Told {
    { [weak self] result, position in await self?.folded(result, position) }
  }
}
