import Network
import Replication
import Store

extension Roster {
  /// Checks what members have signed of their origins and of cuts, also those that are none any
  /// more, or whose admission counts no more: what they have written stands.
  var surety: Surety {
    Surety(
      exempt: { self.roll.exempt },
      appointees: { self.roll.appointees },
      holdsCut: { self.isSigned($0, $0.signature, by: $0.node) },
      isNamed: { $0.isNamed(by: self.membership.notary.digest) },
      isSigned: { reach in
        let origin = Origin.of(reach.node, life: reach.life, self.membership.notary)
        return self.isSigned(reach, reach.signature, by: reach.node).map {
          $0 && reach.origin == origin
        }
      })
  }

  /// Nil if nobody here knows the key of the node.
  private func isSigned(
    _ word: some Signable, _ signature: [UInt8], by node: Identity
  ) -> Bool? {
    let membership = self.membership
    return membership.key(of: node).map {
      membership.notary.isSigned(word.text(in: membership.site), signature, $0)
    }
  }
}

extension StoreActor {
  /// What is written here is signed with the key of the node from now on.
  func sign(with keys: NodeKeys) {
    let key = keys.node
    tell { store in
      let site = store.site
      store.lives.sign { key.sign($0.text(in: site)) }
    }
  }
}
