import Network
import Replication
import Store

/// What this node says itself about who belongs to the site, and keeping what was signed.
extension Node {
  func say(_ kinds: SiteStatement.Kind...) async throws(FlotillaError) { try await say(kinds) }

  /// Signs statements in the name of this node, or of the site if that is needed and can be.
  ///
  /// They are in the file before they count and before anybody hears of them: all or none.
  func say(_ kinds: [SiteStatement.Kind]) async throws(FlotillaError) {
    // One after the other, for each statement names the one before it.
    let before = lastWord
    let word = Task { () async -> Result<[SignedStatement], FlotillaError> in
      _ = await before?.value
      do throws(FlotillaError) {
        return .success(try await self.keep(kinds))
      } catch {
        return .failure(error)
      }
    }
    lastWord = word
    let said = try await word.value.get()
    await spread(said, besides: nil, areKept: true)
  }

  private func keep(
    _ kinds: [SiteStatement.Kind]
  ) async throws(FlotillaError) -> [SignedStatement] {
    var membership = roster.membership
    var words: [SignedStatement] = []
    for kind in kinds { words += try sign(kind, in: &membership) }
    let signed = words
    do {
      try await store.patiently { (store) throws(StoreError) in try store.members.add(signed) }
    } catch {
      note(error)
      let failure = FlotillaError(error, path: path)
      throw FlotillaError(
        failure.code, "\(failure.message); nothing was changed about members",
        remedy: failure.remedy, cause: failure.cause)
    }
    let taken = roster.unite(signed)
    // The same key may have been at work elsewhere meanwhile.
    guard taken.count == signed.count else { throw saysTooMuch }
    return taken
  }

  /// Who would belong to the site if this were said.
  func roll(after kinds: [SiteStatement.Kind]) throws(FlotillaError) -> Roll {
    var membership = roster.membership
    for kind in kinds { _ = try sign(kind, in: &membership) }
    return membership.roll
  }

  private func sign(
    _ kind: SiteStatement.Kind, in membership: inout Membership
  ) throws(FlotillaError) -> [SignedStatement] {
    let own = membership.roll.entries[identity.node]
    if case .revoked? = own?.ending {
      throw FlotillaError(
        .notAllowed, "this node was shut out of the site, so nothing that it says counts",
        remedy:
          "The data stays; to come back: flotilla leave \(shellWord(path)) --force, then join.")
    }
    guard SiteStatement.isReadable(kind) else {
      throw FlotillaError(.usage, "no member could read this: a name in it is too long")
    }
    let signed: [SignedStatement]
    let now = clock.now.moment
    let isOwn = own?.role == .admin && !membership.isFull(identity.node)
    if kind == .leave {
      signed = membership.farewell(of: identity.node, at: now).map {
        SignedStatement($0, signature: keys.node.sign($0.bytes))
      }
      _ = membership.unite(signed)
    } else if let site = keys.site, asRoot(kind, in: membership.roll) || !isOwn {
      signed = [membership.sign(kind, by: membership.site, with: site, at: now)]
    } else {
      signed = [membership.sign(kind, by: identity.node, with: keys.node, at: now)]
    }
    guard signed.allSatisfy(membership.knows) else {
      if signed.contains(where: { membership.isFull($0.statement.issuer) }) { throw saysTooMuch }
      throw FlotillaError(
        .notAllowed, "\(identity.name) may not do that in this site",
        remedy: "Do it on a node that may: flotilla members \(shellWord(path)) shows the admins.")
    }
    return signed
  }

  private var saysTooMuch: FlotillaError {
    FlotillaError(
      .notAllowed,
      "\(identity.name) has signed \(Membership.mostOfOne) statements about members, and a site "
        + "takes no more of one admin",
      remedy: "Do it on another admin, or bring the site key here, which has no limit: flotilla "
        + "import-site-key \(shellWord(path)) FILE")
  }

  /// Whether only the site key may say such a thing.
  private func asRoot(_ kind: SiteStatement.Kind, in roll: Roll) -> Bool {
    switch kind {
    case .admit(_, let role): role == .admin
    case .revoke(let node, _), .introduce(let node, _, _), .grant(let node, _, _):
      roll.entries[node]?.role == .admin
    case .leave, .appoint, .forget, .close: false
    }
  }

  /// Says that this node leaves the site, as the last thing.
  func sayLeaving() async {
    guard ownEntry?.isMember == true else { return }
    do {
      try await say(.leave)
    } catch {
      warn("could not say that this node leaves: \(error.message)")
    }
  }

  /// Keeps what others have said.
  func save(_ statements: [SignedStatement]) async {
    unsaved += statements
    await saveUnsaved()
  }

  /// What the file does not take now the next patrol tries again.
  func saveUnsaved() async {
    let waiting = unsaved
    guard !waiting.isEmpty else { return }
    unsaved = []
    do {
      try await store.patiently { (store) throws(StoreError) in try store.members.add(waiting) }
    } catch {
      unsaved = waiting + unsaved
      if !note(error) { warn("could not keep what was said about members: \(error.message)") }
    }
  }
}
