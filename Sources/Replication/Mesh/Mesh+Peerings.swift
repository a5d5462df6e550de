extension Mesh {
  /// A session is up: learns who is where, and keeps one of two connections to one node.
  mutating func open(
    _ id: ConnectionID, _ hello: Hello, dialled: String?, _ now: Instant,
    _ directives: inout [Directive]
  ) {
    if let dialled {
      candidates[dialled]?.meet(hello.node, at: now.uptime)
      candidates[dialled]?.isDialling = false
      candidates[dialled]?.failures = 0
      let service = candidates[dialled]?.service
      for (address, candidate) in candidates where service != nil && candidate.service == service {
        candidates[address]?.node = hello.node
        candidates[address]?.isHearsay = false
      }
    }
    let fresh = Peering(
      id: id, node: hello.node, run: hello.run, life: hello.life, weDialled: dialled != nil,
      address: dialled, since: now.uptime)
    runs.note(life: fresh.life, of: fresh.node)
    for old in peerings.values.sorted(by: { $0.id < $1.id }) where old.node == hello.node {
      let isTwin = old.run != fresh.run && runs.hasEnded(fresh.run, of: fresh.node)
      guard let loser = isTwin ? younger(of: old, and: fresh) : loser(of: old, and: fresh) else {
        continue
      }
      let bye =
        isTwin
        ? Bye(.twin, "another copy of this node is connected")
        : Bye(.duplicate, "connected already")
      directives.append(.drop(loser.id, bye))
      guard loser.id == old.id else { return }
      if old.run != fresh.run { runs.end(old.run, of: old.node) }
      peerings[old.id] = nil
    }
    peerings[id] = fresh
    if let dialled {
      directives.append(.remember(node: hello.node, name: hello.name, address: dialled))
    }
  }

  /// Which of two connections to one node must go; both sides come to the same answer, whatever
  /// the order in which they learn of the two. Nil leaves the answer to the peer.
  private func loser(of old: Peering, and fresh: Peering) -> Peering? {
    // Another life of the peer: the old one is dead.
    guard old.run == fresh.run else { return old }
    // Dialled twice by one side: that side knows which is dead, and ends it.
    if old.weDialled == fresh.weDialled { return fresh.weDialled ? old : nil }
    let weAreLower = node < fresh.node
    return old.weDialled == weAreLower ? fresh : old
  }

  /// A run that was taken for dead is here again: two machines run as one node. The copy goes; it
  /// began its life later. Of one life who is connected stays.
  private func younger(of old: Peering, and fresh: Peering) -> Peering {
    runs.isEarlier(fresh.life, than: old.life, of: fresh.node) ? old : fresh
  }

  /// The nodes that are connected.
  package var connected: [Identity] { Array(Set(peerings.values.map(\.node))) }
}

extension Mesh {
  /// The node at the other end of a connection.
  package func node(of id: ConnectionID) -> Identity? { peerings[id]?.node }

  /// The newest other connection to the node at the other end of this one.
  ///
  /// A node that has dialled twice ends one of the two, and its peer learns only then which.
  package func connection(besides id: ConnectionID) -> ConnectionID? {
    peerings.values.filter { $0.node == peerings[id]?.node && $0.id != id }.map(\.id).max()
  }

  /// True while an address of this node is being dialled.
  package func isDialling(_ node: Identity) -> Bool {
    candidates.values.contains { $0.node == node && $0.isDialling }
  }

  /// True if this node itself has answered at an address.
  package func isSelf(at address: String) -> Bool { candidates[address]?.isSelf ?? false }

  /// The node that answered at an address, if any.
  package func node(at address: String) -> Identity? { candidates[address]?.node }
}
