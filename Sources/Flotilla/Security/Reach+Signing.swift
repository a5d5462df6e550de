import Network
import Replication
import Store

extension Roster {
  /// Checks what members have signed of their origins, also those that are none any more, or whose
  /// admission counts no more: what they have written stands.
  var surety: Surety {
    Surety(exempt: { self.roll.exempt }) { reach in
      let membership = self.membership
      guard let key = membership.key(of: reach.node) else { return nil }
      let notary = membership.notary
      return reach.origin == Origin.of(reach.node, life: reach.life, notary)
        && notary.isSigned(reach.text(in: membership.site), reach.signature, key)
    }
  }
}

extension StoreActor {
  /// What is written here is signed with the key of the node from now on.
  func sign(with keys: NodeKeys) {
    let key = keys.node
    tell { store in
      let site = store.site
      store.sign { key.sign($0.text(in: site)) }
    }
  }
}
