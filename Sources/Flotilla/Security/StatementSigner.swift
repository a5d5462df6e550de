import Network
import Replication

/// Signs what a node says about members, in its own name or in that of the site.
///
/// Of an admin that also has the site key, it takes the site key for what concerns other admins,
/// for only that counts there. It writes nothing, and nobody hears of it yet.
struct StatementSigner: Sendable {
  private let node: Identity
  private let name: String
  private let keys: NodeKeys
  /// The database, as a person names it.
  private let path: String

  init(node: Identity, name: String, _ keys: NodeKeys, path: String) {
    self.node = node
    self.name = name
    self.keys = keys
    self.path = path
  }

  /// The statements, each of which names the one before it, and who belongs to the site after them.
  func sign(
    _ kinds: [SiteStatement.Kind], over known: Membership, at moment: Int64
  ) throws(FlotillaError) -> (signed: [SignedStatement], membership: Membership) {
    var membership = known
    var signed: [SignedStatement] = []
    for kind in kinds { signed += try sign(kind, in: &membership, at: moment) }
    return (signed, membership)
  }

  private func sign(
    _ kind: SiteStatement.Kind, in membership: inout Membership, at now: Int64
  ) throws(FlotillaError) -> [SignedStatement] {
    let own = membership.roll.entries[node]
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
    let isOwn = own?.role == .admin && !membership.isFull(node)
    if kind == .leave {
      signed = membership.farewell(of: node, at: now).map {
        SignedStatement($0, signature: keys.node.sign($0.bytes))
      }
      _ = membership.unite(signed)
    } else if let site = keys.site, asRoot(kind, in: membership.roll) || !isOwn {
      signed = [membership.sign(kind, by: membership.site, with: site, at: now)]
    } else {
      signed = [membership.sign(kind, by: node, with: keys.node, at: now)]
    }
    guard signed.allSatisfy(membership.knows) else {
      if signed.contains(where: { membership.isFull($0.statement.issuer) }) { throw saysTooMuch }
      throw FlotillaError(
        .notAllowed, "\(name) may not do that in this site",
        remedy: "Do it on a node that may: flotilla members \(shellWord(path)) shows the admins.")
    }
    return signed
  }

  /// The error of an admin that has signed as much as a site takes of one.
  var saysTooMuch: FlotillaError {
    FlotillaError(
      .notAllowed,
      "\(name) has signed \(Membership.mostOfOne) statements about members, and a site "
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
}
