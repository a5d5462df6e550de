import Replication
import Store

/// Tables whose key a migration has changed, here and at others.
extension Node {
  /// What there is to say of them. Of a member that is away nobody knows.
  func keyRemarks(
    _ waiting: [WaitingKey], _ changed: [(name: String, key: KeyShape, told: TableKey)]
  ) -> [String] {
    let behind = changed.compactMap { table -> KeyRemark? in
      let lagging = others.filter { $0.session != nil && !$0.keys.contains(table.told) }
      guard !lagging.isEmpty else { return nil }
      return KeyRemark(table.name, key: table.key, behind: lagging.map(\.name))
    }
    let kept = waiting.map { key in
      KeyRemark(key) { node in
        node == identity.node ? identity.name : roster.roll.entries[node]?.name
      }
    }
    return (behind + kept).map(\.sentence)
  }

  /// Others learn by the next Hello that a table has another key here.
  func tellKeys(after before: Position) async {
    guard position.keyMark != before.keyMark else { return }
    for session in sessions.values {
      await session.feed(.close(Bye(.other, "the key of a table has changed")))
    }
  }

  /// A member that has made a migration has made anew what it wrote before it, and all of that is
  /// here; `since`: it was not, when this was held here.
  func letGoOfFormer(by session: PeerSession, since before: Frontier? = nil) async {
    guard let peer = peer(of: session), !peer.keys.isEmpty, peer.hasSpoken,
      position.frontier.covers(peer.holds), before?.covers(peer.holds) != true
    else { return }
    do {
      let (count, position) = try await store.run { (store) throws(StoreError) in
        (try store.letGoOfFormer(by: peer.node, keys: peer.keys), store.position)
      }
      if count > 0 { await folded(FoldResult(versions: 0, push: nil, hasMore: false), position) }
    } catch {
      if !note(error) {
        warn("could not let go of rows with a former key: \(error.message)")
      }
    }
  }
}
