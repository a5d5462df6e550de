import FoundationEssentials
import Glibc
import Network
import Replication
import Store

/// Invitations, and letting joiners in.
extension Node {
  /// Opens an invitation; a running node serves it at once.
  func invite(timeToLive: Duration, role name: String) async throws(FlotillaError) -> InviteReport {
    guard let role = Role(name) else {
      throw FlotillaError(.usage, "there is no role \(name)")
    }
    try mayInvite(role)
    let code = RandomNumbers.inviteCode()
    let secret = InvitationSecret(code)
    let clock = BootClock.now
    let expires = Uptime.wall + timeToLive.milliseconds
    let invitation = Invitation(
      identity: InvitationBook.digits(secret.identity), secret: secret.secret,
      hint: secret.hint, role: role.name, expires: expires, boot: clock.boot,
      deadline: clock.uptime + timeToLive.milliseconds, usedBy: nil)
    try admissions.open(invitation, at: clock)
    await advertise()
    return InviteReport(
      code: code.description, expires: Self.text(expires), role: role.name,
      served: mode == .lasting, port: port.map(Int.init), addresses: dialled)
  }

  /// Where this node can be dialled: at the address that it was told to listen on, or at all.
  var dialled: [String]? {
    guard let port else { return nil }
    let named = options.listen.flatMap { try? ListenAddress($0).host }
    if let named, !["0.0.0.0", "::"].contains(named) {
      return [(named.contains(":") ? "[\(named)]" : named) + ":\(port)"]
    }
    return LocalNetworks.here.dialled.map { "\($0):\(port)" }
  }

  private func mayInvite(_ role: Role) throws(FlotillaError) {
    let name = shellWord(path)
    if case .revoked? = ownEntry?.ending {
      throw FlotillaError(
        .notAllowed, "this node was shut out of the site, so it cannot invite",
        remedy: "Invite from a member that is an admin.")
    }
    let isAdmin = ownEntry?.isMember == true && ownEntry?.role == .admin
    if role == .admin, keys.site == nil {
      throw FlotillaError(
        .notAllowed, "only the site key makes admins, and it is not on this machine",
        remedy: "Invite from the machine that has it, or bring it here: flotilla "
          + "import-site-key \(name) FILE")
    }
    guard isAdmin || keys.site != nil else {
      throw FlotillaError(
        .notAllowed, "\(identity.name) is no admin of this site, so it cannot invite",
        remedy: "Invite from a node that is: flotilla members \(name)")
    }
  }

  /// Whether this process only serves an invitation, so that a starting `run` may take over.
  var yields: Bool { servesInvitationOnly }

  /// A joiner has come that knows a code: tells it what it would join, or why it cannot.
  func receive(joiner session: PeerSession) async {
    guard case .pairing(let shown) = session.link.peer else { return }
    do {
      let joiner = await session.announced
      let objection = admissions.objection(
        to: shown, by: joiner, hasCome: joiner.map(hasCome) ?? false, at: .now)
      if let objection {
        return await refuse(session, objection)
      }
      try await offer(session)
    } catch {
      await refuse(session, .storage, error.message)
    }
  }

  /// Tells a joiner, or a member that has asked, what the schema is here.
  func offer(_ session: PeerSession) async throws(FlotillaError) {
    let (rows, objects) = try await reporting(path) { () async throws(StoreError) in
      try await store.run { (store) throws(StoreError) in
        (try store.survey.liveRowCount(), try store.schemaCopy.objects())
      }
    }
    let offer = Offer(
      siteName: identity.siteName, rows: UInt64(rows), objects: UInt64(objects.count))
    await session.feed(.offer(offer, objects))
  }

  /// The joiner agrees; lets it in or tells it why not.
  func judge(_ join: Join, _ session: PeerSession) async {
    guard case .pairing(let invitation) = session.link.peer else {
      return await refuse(session, .badMessage, "a member does not join")
    }
    let node = Notary.openSSL.digest(join.key)
    guard await node == session.announced,
      Signature.isValid(join.proof, of: JoinProof.bytes(session.link), by: join.key)
    else { return await refuse(session, .badMessage, "the joiner does not own its key") }
    guard !hasCome(node) else { return await refuse(session, .used) }
    do {
      let verdict = try admissions.use(invitation, by: node, at: .now)
      guard case .admitted(let role) = verdict else { return await refuse(session, verdict) }
      await advertise()
      try await admit(join, node, role, session)
    } catch {
      await refuse(session, .storage, error.message)
    }
  }

  /// Whether a node was here as a member, or is none any more: it is not let in once more.
  private func hasCome(_ node: Identity) -> Bool {
    guard let entry = roster.roll.entries[node] else { return false }
    return !entry.isMember || peers[node]?.hasCome == true
  }

  private func admit(
    _ join: Join, _ node: Identity, _ role: Role, _ session: PeerSession
  ) async throws(FlotillaError) {
    let words = JoinProof.words(session.link)
    // Given away before anything is waited for: another joiner may want the same name.
    let known = roster.roll.member(node).flatMap { $0.name.isEmpty ? nil : $0.name }
    let wanted = Replica.isName(join.name) ? join.name : String(node.description.prefix(8))
    let name = admissions.name(
      node, wanted: wanted, known: known, beside: roster.roll.everybody.map(\.name))
    if roster.roll.member(node) == nil {
      try await say(
        .admit(key: join.key, role: role), .introduce(node: node, name: name, words: words))
    }
    log("\(name) joins the site · words: \(words)", about: name)
    admissions.note(Admitted(name: name, words: words))
    await session.feed(
      .admitted(
        Admit(
          rootKey: roster.membership.rootKey, nodeName: name,
          statements: roster.membership.credential(of: node))))
  }

  private func refuse(_ session: PeerSession, _ verdict: InvitationBook.Verdict) async {
    switch verdict {
    case .used: await refuse(session, .invitationUsed, "the invitation was used already")
    case .expired: await refuse(session, .invitationExpired, "the invitation has expired")
    case .unknown, .admitted:
      await refuse(session, .invitationUnknown, "this site knows no such invitation")
    }
  }

  private func refuse(_ session: PeerSession, _ code: Bye.Code, _ reason: String) async {
    log("a joiner was refused: \(reason)")
    await session.feed(.close(Bye(code, reason)))
  }
}
