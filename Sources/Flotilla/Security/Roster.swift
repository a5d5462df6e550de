import Network
import Replication

/// What the handshakes, which run on threads of their own, must know of the site.
package final class Roster: Sendable {
  private struct State {
    var membership: Membership
    /// Taken from the credential of a peer, and not yet stored.
    var unsaved: [SignedStatement] = []
    var secrets: [String: [UInt8]] = [:]
  }

  private let state: Locked<State>

  package init(_ membership: Membership) { state = Locked(State(membership: membership)) }

  var membership: Membership { state.withLock { $0.membership } }
  var roll: Roll { state.withLock { $0.membership.roll } }
  var hash: UInt64 { state.withLock { $0.membership.hash } }

  /// Takes statements in; gives those that were new.
  func unite(_ statements: [SignedStatement]) -> [SignedStatement] {
    state.withLock { $0.membership.unite(statements) }
  }

  /// Takes in what a peer tells.
  ///
  /// Thousands of signatures take a second: they are checked on a thread of their own and on a
  /// copy, so that neither the node nor a handshake waits for it.
  func hear(_ statements: [SignedStatement]) async -> Membership.Hearing {
    let before = membership
    let (after, heard) = await offPool {
      var copy = before
      let hearing = copy.hear(statements)
      return (copy, hearing)
    }
    guard !heard.taken.isEmpty else { return heard }
    var hearing = heard
    hearing.taken = state.withLock { state in
      guard state.membership.hash == before.hash else {
        // Somebody else has told something meanwhile.
        return state.membership.unite(heard.taken)
      }
      state.membership = after
      return heard.taken
    }
    return hearing
  }

  /// What handshakes have brought since the last call.
  func takeUnsaved() -> [SignedStatement] {
    state.withLock { state in
      defer { state.unsaved = [] }
      return state.unsaved
    }
  }

  /// The secrets by which joiners can pair.
  func set(_ invitations: [Invitation]) {
    let pairs = invitations.map { ($0.identity, $0.secret) }
    state.withLock { $0.secrets = Dictionary(pairs) { first, _ in first } }
  }

  func secret(of identity: [UInt8]) -> [UInt8]? {
    state.withLock { $0.secrets[InvitationBook.digits(identity)] }
  }

  /// Whether the owner of a key is let in, by what is known here and what it shows.
  func judge(key: [UInt8], credential: [UInt8]) -> TLSContext.Verdict {
    state.withLock { state in
      let node = state.membership.notary.digest(key)
      if state.membership.roll.entries[node] == nil,
        let shown = try? SignedStatement.decode(credential, most: Limits.credentialStatements)
      {
        // Kept only if they do what they are shown for: else whoever can sign something, like an
        // admin that was shut out, could fill the set from outside.
        var membership = state.membership
        let news = membership.hear(shown).taken
        if membership.roll.member(node) != nil {
          state.membership = membership
          state.unsaved += news
        }
      }
      guard let entry = state.membership.roll.entries[node] else { return .unknown }
      switch entry.ending {
      case nil: return .trusted
      case .revoked: return .revoked
      case .left: return .unknown
      }
    }
  }
}

/// How a node shows itself: one way for those that dial it, one for those that it dials.
package struct Door: Sendable {
  /// So long who dials us has to show who it is, ...
  static let patience: Duration = .seconds(10)
  /// ... and whom we dial.
  static let dialPatience: Duration = .seconds(5)

  package let accepting: TLSContext
  package let dialling: TLSContext

  package init(_ keys: NodeKeys, _ roster: Roster) throws(FlotillaError) {
    let credential = roster.membership.credential(of: keys.identity)
    do {
      let certificate = try Certificate(
        of: keys.node, credential: SignedStatement.encode(credential))
      accepting = try TLSContext(
        accepting: keys.node, certificate,
        judge: { key, credential in roster.judge(key: key, credential: credential) },
        secrets: { identity in roster.secret(of: identity) })
      dialling = try TLSContext(
        dialling: keys.node, certificate,
        judge: { key, credential in roster.judge(key: key, credential: credential) })
    } catch {
      throw FlotillaError(.system, "cannot make this node's certificate: \(error)")
    }
  }
}
