import Replication
import Store

/// What this node and others may do with the tables of the site.
extension Node {
  /// Who is no member has no right.
  func rights(of node: Identity) -> Rights {
    roster.roll.member(node)?.rights ?? Rights(general: .none)
  }

  /// Sees to it that the store and every session go by the rights of today.
  func followRights() async {
    let own = rights(of: identity.node)
    // Who is no member any more keeps what it has, as it is.
    if own != rights, roster.roll.member(identity.node) != nil, clock.now.site != nil {
      await allow(own)
    }
    // A session keeps the rights with which it began; the next one has the new ones.
    for (id, session) in sessions {
      // One that has left says so itself, and one that was revoked is cut off.
      guard let node = mesh.node(of: id), roster.roll.member(node) != nil,
        !hasRightsOfToday(session, with: node)
      else { continue }
      await session.feed(.close(Bye(.other, "the rights of a member have changed")))
    }
  }

  func hasRightsOfToday(_ session: PeerSession, with node: Identity) -> Bool {
    // Until the time of the site is known nothing is told or taken, and it comes by a session.
    if clock.now.site == nil { return true }
    // As long as the store could not follow, it would count as held what others leave out by now.
    let own = roster.roll.member(identity.node)?.rights ?? rights
    return own == rights && session.ownRights == rights
      && session.peerRights == rights(of: node)
  }

  /// What fails, as at a full disk, is tried again by the patrol; no session lasts until then.
  private func allow(_ rights: Rights) async {
    let delivered = deliveredSeq
    do {
      let (followed, position) = try await store.run { (store) throws(StoreError) in
        try store.allow(rights, delivered: delivered, at: self.clock.now)
        return (store.rights, store.position)
      }
      guard position.age >= self.position.age else { return }
      self.rights = followed
      self.position = position
    } catch {
      warn("could not follow the rights of this node: \(error.message)")
    }
  }

  /// How much of what was written here some node holds that may pass it on.
  var deliveredSeq: UInt64 {
    peers.values.filter { rights(of: $0.node).isWhole }
      .map { $0.holds[position.own] }.max() ?? 0
  }

  /// A leaf may begin a new life now and then, for its file may be restored; not as it likes.
  func mayLive(_ hello: Hello) -> Bool {
    guard !rights(of: hello.node).isWhole, let lives = peers[hello.node]?.lives else { return true }
    return lives.count < Self.lives || lives.contains(hello.life)
  }

  private static let lives = 8

  /// Asks for rows that were edited here without the right to.
  func askForRows(_ session: PeerSession? = nil) async {
    // Nobody may know them: without news they are asked for in the next session or minute.
    guard position.wanted > 0,
      session != nil || times.isAskingDue(for: position.wanted, at: Uptime.now)
    else { return }
    let able = peers.filter { $0.value.session != nil && rights(of: $0.key).isWhole }
    guard session != nil || !able.isEmpty else { return }
    times.ask(for: position.wanted, at: Uptime.now, isNewcomer: session != nil)
    do {
      let (isAnew, names) = try await store.run { (store) throws(StoreError) in
        (store.asksAnew, try store.wantedRows())
      }
      guard !names.isEmpty else { return }
      let helper =
        session
        ?? times.helper(of: able.keys, isAnew: isAnew).flatMap { peers[$0]?.session }
      await helper?.feed(.want(names))
    } catch {
      warn("could not look for rows to be put back: \(error.message)")
    }
  }

  /// Throws unless this node may change what holds for the whole site.
  func requireWhole(_ what: String) throws(FlotillaError) {
    guard !rights.isWhole else { return }
    throw FlotillaError(
      .notAllowed, "\(identity.name) may not \(what): it may not write every table of the site",
      remedy: "Do it on a node that may: flotilla members \(shellWord(path))")
  }

  /// Says what a member may do with a table.
  func grant(
    _ name: String, table: String, right: String
  ) async throws(FlotillaError) -> GrantReport {
    let entry = try member(named: name)
    guard let right = Right(right) else {
      throw FlotillaError(.usage, "\(right) is no right: read, write or none")
    }
    guard entry.isMember else {
      throw FlotillaError(.refused, "\(name) is no member any more")
    }
    guard entry.role != .admin else {
      throw FlotillaError(
        .refused, "\(entry.name) is an admin, who may do everything",
        remedy: "Grant rights to readers and writers.")
    }
    if entry.node == anchor?.node, right != .write {
      throw FlotillaError(
        .refused, "\(entry.name) is the anchor, which must read and write every table",
        remedy: "Appoint another one first: flotilla anchor \(shellWord(path)) NODE")
    }
    let tracked = try await reporting(path) { () async throws(StoreError) in
      try await store.run { (store) throws(StoreError) in try store.survey.figures().tables }
    }
    let wanted = table.foldedForNames
    guard
      let found = tracked.first(where: { $0.name.foldedForNames == wanted })
        ?? tracked.first(where: { $0.first.foldedForNames == wanted })
    else {
      throw FlotillaError(
        .table, "\(table) is no table of the site",
        remedy: "Tables are: \(tracked.map(\.name).joined(separator: ", "))")
    }
    let known = found.name
    try await say(.grant(node: entry.node, table: found.first, right: right))
    return GrantReport(
      node: entry.name, table: known, right: right.name,
      is_leaf: !rights(of: entry.node).isWhole)
  }
}
