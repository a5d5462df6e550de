import Replication
import Store

/// Letting go of deleted versions that everybody has, and coming back after others have
/// (docs/collection.md).
extension Node {
  /// Whether nobody waits for a member: it has shown no life since somebody said so.
  func isForgotten(_ entry: Roll.Entry) -> Bool {
    entry.isForgotten(
      knowing: entry.node == identity.node ? [life.number] : authors[entry.node] ?? [])
  }

  func isForgotten(_ node: Identity) -> Bool {
    roster.roll.entries[node].map(isForgotten) ?? false
  }

  /// The members that deleted versions are kept for.
  private var waitedFor: Set<Identity> {
    Set(roster.roll.members.filter { !isForgotten($0) }.map(\.node)).union([identity.node])
  }

  /// The other members for whom everybody has always waited.
  private var alwaysWaitedFor: [Identity] {
    roster.roll.members.filter { $0.forgotten == nil && $0.node != identity.node }.map(\.node)
  }

  /// The site was told not to wait for this node, and here it is: it goes on as a new one.
  func comeBack() async {
    guard mode != .offline, !life.isBeginning, let entry = ownEntry, entry.isMember,
      isForgotten(entry)
    else { return }
    await beginLife(.forgotten)
  }

  func hear(_ news: StabilityNews, from session: PeerSession) async {
    guard let peer = peer(of: session) else { return }
    update(session) { $0.standing = news.standing }
    let moment = clock.now.moment
    let news = news.possible(knowing: roster.roll.appointees, at: moment)
    let isLeaf = !rights(of: peer.node).isWhole
    do {
      try await changeStability { (store) throws(StoreError) in
        try store.deletions.hear(news, from: peer.node, isLeaf: isLeaf, at: moment)
      }
    } catch {
      if !note(error) { warn("could not note what everybody holds: \(error.message)") }
    }
  }

  /// A peer has forgotten what was deleted while this node was away.
  func fallBehind(_ standing: CutStanding, as session: PeerSession) async {
    // Another peer may have said so a moment ago.
    guard position.stability.mustRenew(for: standing), !life.isBeginning else { return }
    let mark = standing.cleared
    do {
      // Who is not waited for, or has not come so far, signs for nothing.
      let acknowledgements = position.stability.acknowledgements
      let others = waitedFor.filter { $0 != identity.node && acknowledgements[$0] != nil }
      let teller = peer(of: session)?.node
      // Before its first copy is complete a node has nothing to lose.
      let isSaid = position.stability.isShown(mark, by: others, besides: teller)
      let isShown = isSaid && copy.unfinished != nil
      let isNew = try await store.patiently { (store) throws(StoreError) in
        guard isShown, try store.isNew() else { return false }
        try store.renewAsNew(to: mark)
        return true
      }
      if isNew { return try await changeStability { (_) throws(StoreError) in } }
    } catch {
      warn("could not begin to fetch everything: \(error.message)")
      return await session.feed(.close(Bye(.storage, error.message)))
    }
    guard !life.isBeginning, position.stability.mustRenew(for: standing) else { return }
    guard let cut = position.stability.renewal(for: mark, held: alwaysWaitedFor) else {
      return disbelieve(session)
    }
    update(session) { $0.isDisbelieved = false }
    let name = peer(of: session)?.name ?? "a peer"
    guard let sender = peer(of: session)?.node, life.mayBegin(by: sender, at: clock.now)
    else {
      let text = "\(name) claims again and again that this node was away for too long"
      return await session.feed(.close(Bye(.badMessage, text)))
    }
    await beginLife(.behind, renewingTo: cut)
  }

  /// No rows go to a peer that has forgotten what was deleted, and none come from it: this node
  /// would take for deleted what that peer has not got.
  private func disbelieve(_ session: PeerSession) {
    guard let peer = peer(of: session), !peer.isDisbelieved else { return }
    update(session) { $0.isDisbelieved = true }
    log(disbeliefRemark(of: peer.name), about: peer.name, .warning)
  }

  private func disbeliefRemark(of name: String) -> String {
    let stability = position.stability
    let silent = alwaysWaitedFor.filter { stability.agreed(by: [$0]) == nil }
      .map { roster.roll.entries[$0]?.name ?? "\($0)" }
    return remarks.disbelief(of: name, silent: stability.mayHaveMissed ? silent : nil)
  }

  /// Who was not believed may have been right: what others have signed came since.
  private func askAgain() async {
    for peer in peers.values where peer.isDisbelieved {
      guard let session = peer.session else { continue }
      if position.stability.mustRenew(for: peer.standing) {
        await fallBehind(peer.standing, as: session)
      } else {
        update(session) { $0.isDisbelieved = false }
      }
    }
  }

  /// Changes what is known of what everybody holds, and tells it to the peers.
  private func changeStability(
    _ change: @Sendable @escaping (Store) throws(StoreError) -> Void
  ) async throws(StoreError) {
    let position = try await store.patiently { (store) throws(StoreError) in
      try change(store)
      return store.position
    }
    await follow(position)
  }

  private func follow(_ position: Position) async {
    let wasBehind = self.position.stability.standing.isBehind
    await folded(FoldResult(versions: 0, push: nil, hasMore: false), position)
    if wasBehind, !position.stability.standing.isBehind {
      log("what was deleted while this node was away is gone; it has all that the site has")
    }
  }

  /// Now and then: acknowledges what is held, and lets go of what everybody has seen deleted.
  func collectDeletions() async {
    guard mode == .lasting, !work.isUnderWay(.collecting), clock.now.site != nil,
      trouble.current == nil, !isStopping
    else { return }
    await askAgain()
    guard copy.unfinished == nil, !work.isUnderWay(.collecting) else { return }
    await goOnAlone()
    work.begin(
      .collecting,
      Task {
        do throws(StoreError) {
          try await self.tend()
        } catch {
          if !self.note(error) { self.warn("could not let go of deleted rows: \(error.message)") }
        }
        self.work.end(.collecting)
      })
  }

  private func tend() async throws(StoreError) {
    var collected = 0
    while !isStopping {
      let (members, digest) = (waitedFor, roster.membership.notary.digest)
      let everybody = Set(roster.roll.members.map(\.node)).union([identity.node])
      // It may be behind a peer whom it does not believe.
      let proposes = !peers.values.contains { $0.session != nil && $0.isDisbelieved }
      let (done, position) = try await store.run { (store) throws(StoreError) in
        (
          try store.tend(
            members: members, everybody: everybody, naming: digest, proposes: proposes,
            at: self.clock.now),
          store.position
        )
      }
      collected += done.collected
      if position.stability != self.position.stability { await follow(position) }
      guard done.hasMore else { break }
      // Programs that write have their turn in between.
      guard (try? await Task.sleep(for: .milliseconds(20))) != nil else { break }
    }
    if collected > 0 { log("let go of \(collected) deleted rows that everybody knows to be gone") }
  }

  /// Nobody is left who could tell what was deleted: all that are waited for are connected, and
  /// none of them can.
  private func goOnAlone() async {
    let others = waitedFor.subtracting([identity.node])
    let standings = others.compactMap { node in
      peers[node].flatMap { $0.session == nil ? nil : $0.standing }
    }
    let isHelpless =
      position.stability.standing.isBehind && standings.count == others.count
      && !position.stability.isHelped(by: standings)
    guard times.isHelpless(isHelpless, at: Uptime.now) else { return }
    do {
      let (result, position) = try await store.patiently { (store) throws(StoreError) in
        (try store.giveUpRenewal(at: self.clock.now), store.position)
      }
      log("no member is left that was there all the time; this node goes on with what it has")
      await folded(result, position)
      if result.hasMore, !isStopping { try await foldAll() }
    } catch {
      if !note(error) { warn("could not go on: \(error.message)") }
    }
  }

  /// What a person should know about it.
  var renewalRemark: String? {
    guard position.stability.standing.isBehind else {
      let doubtful = peers.values.filter { $0.session != nil && $0.isDisbelieved }
      return doubtful.map(\.name).min().map(disbeliefRemark)
    }
    return "this node was away while deleted rows were forgotten, so it fetches everything from a "
      + "member that was there; if none of them will come back: flotilla forget "
      + "\(shellWord(path)) NODE for each"
  }

  /// Nobody waits for a member any more, until it comes back.
  func forget(_ name: String) async throws(FlotillaError) -> ForgetReport {
    let entry = try otherMember(named: name, otherwise: ", so nobody waits for it")
    guard peers[entry.node]?.session == nil else {
      throw FlotillaError(
        .refused, "\(name) is connected with this node, so it has returned",
        remedy: "To shut it out: flotilla revoke \(shellWord(path)) \(shellWord(name))")
    }
    guard !isForgotten(entry) else {
      throw FlotillaError(.refused, "\(name) is forgotten already; nothing was changed")
    }
    try await say(.forget(node: entry.node, lives: authors[entry.node] ?? []))
    return ForgetReport(
      node: entry.name, id: entry.node.description,
      last_seen: peers[entry.node]?.seen.map(Self.text)
    )
  }
}
