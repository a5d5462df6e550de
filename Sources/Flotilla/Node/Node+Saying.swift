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
    let signer = self.signer
    let signed = try signer.sign(kinds, over: roster.membership, at: clock.now.moment).signed
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
    guard taken.count == signed.count else { throw signer.saysTooMuch }
    return taken
  }

  /// Who would belong to the site if this were said.
  func roll(after kinds: [SiteStatement.Kind]) throws(FlotillaError) -> Roll {
    try signer.sign(kinds, over: roster.membership, at: clock.now.moment).membership.roll
  }

  private var signer: StatementSigner {
    StatementSigner(node: identity.node, name: identity.name, keys, path: path)
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
    heard.add(statements)
    await saveUnsaved()
  }

  /// What the file does not take now the next patrol tries again.
  func saveUnsaved() async {
    let waiting = heard.takeUnsaved()
    guard !waiting.isEmpty else { return }
    do {
      try await store.patiently { (store) throws(StoreError) in try store.members.add(waiting) }
    } catch {
      heard.putBack(waiting)
      if !note(error) { warn("could not keep what was said about members: \(error.message)") }
    }
  }
}
