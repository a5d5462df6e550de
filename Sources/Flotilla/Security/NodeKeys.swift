import Network
import Replication

/// The keys that a node holds: its own, and on some machines that of the site.
package struct NodeKeys: Sendable {
  package let node: SigningKey
  package var site: SigningKey?

  package init(node: SigningKey = SigningKey(), site: SigningKey? = nil) {
    self.node = node
    self.site = site
  }

  /// The name of the node: it cannot be taken by anybody who does not have the key.
  package var identity: Identity { Notary.openSSL.digest(node.publicKey) }
}

extension Notary {
  /// SHA-256 and Ed25519 of OpenSSL.
  package static let openSSL = Notary(
    digest: { bytes in
      var reader = ByteReader(Hashing.sha256(bytes))
      guard let identity = try? reader.identity("digest") else {
        preconditionFailure("SHA-256 gives more than 16 bytes")
      }
      return identity
    },
    isSigned: { bytes, signature, key in Signature.isValid(signature, of: bytes, by: key) })
}

extension Membership {
  /// Signs a statement and takes it in; `time` is the time of the site where that is known.
  package mutating func sign(
    _ kind: SiteStatement.Kind, by issuer: Identity, with key: SigningKey,
    at time: Int64 = Uptime.wall
  ) -> SignedStatement {
    let statement = draft(kind, by: issuer, at: time)
    let signed = SignedStatement(statement, signature: key.sign(statement.bytes))
    _ = unite([signed])
    return signed
  }

  /// A new site: its first member is an admin by the root's word.
  package static func founded(by keys: NodeKeys, root: SigningKey, name: String) -> Membership {
    var membership = Membership(rootKey: root.publicKey, notary: .openSSL)
    let site = membership.site
    _ = membership.sign(
      .admit(key: keys.node.publicKey, role: .admin), by: site, with: root)
    _ = membership.sign(
      .introduce(node: keys.identity, name: name, words: ""), by: site, with: root)
    _ = membership.sign(.close(besides: []), by: site, with: root)
    return membership
  }
}
