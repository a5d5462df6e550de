import Replication
import Store

/// Tables whose key a migration has changed, as the shell goes about them.
extension World {
  /// Others learn by the next Hello that a table has another key here.
  mutating func tellKeys(_ node: Int) {
    let mark = nodes[node].replica.position.keyMark
    guard mark != nodes[node].keyMark else { return }
    nodes[node].keyMark = mark
    feed(node: node, .close(Bye(.other, "the key of a table has changed")))
  }

  /// A peer that has made a migration has made anew what it wrote before it.
  mutating func letGoOfFormer(_ link: Int, _ side: Int, holds frontier: Frontier) {
    let node = links[link].nodes[side]
    guard let peer = links[link].sides[side].session?.peer, !peer.keys.isEmpty,
      nodes[node].replica.frontier.covers(frontier)
    else { return }
    attempt(node, nil, 0) { world in
      let count = try world.use(node) {
        try $0.letGoOfFormer(by: peer.node, keys: peer.keys, at: $1)
      }
      guard count > 0 else { return }
      world.tell("\(Words.node(node)) lets go of \(count) rows of a former key")
      world.folded(node, FoldResult(versions: 0, push: nil, hasMore: false))
    }
  }
}
