import Replication
import Store

extension Roster {
  /// What this replica knows of the members; its own key must be that of its node.
  static func read(
    from store: StoreActor, _ identity: NodeIdentity, _ keys: NodeKeys, _ path: String
  ) async throws(FlotillaError) -> Roster {
    let (rootKey, statements) = try await reporting(path) { () async throws(StoreError) in
      try await store.run { (store) throws(StoreError) in
        (try store.members.rootKey(), try store.members.statements())
      }
    }
    var membership = Membership(rootKey: rootKey, notary: .openSSL)
    guard membership.site == identity.site, keys.identity == identity.node else {
      throw FlotillaError(
        .damagedSetUp, "the keys beside \(path) are not those of this node or site",
        remedy: "Put the right folder beside it, or start over with: flotilla leave "
          + "\(shellWord(path)) --force")
    }
    _ = membership.unite(statements)
    return Roster(membership)
  }
}
