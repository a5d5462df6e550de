import Replication
import SQLite

/// A member that this replica has met.
package struct KnownPeer: Sendable, Equatable {
  package var node: Identity
  package var name: String
  package var address: String?
  /// When it was last connected, ms since 1970.
  package var seen: Int64?
  package var clockOffset: Int64
  /// What it held when it was last heard.
  package var frontier: Frontier

  package init(
    node: Identity, name: String, address: String?, seen: Int64?, clockOffset: Int64,
    frontier: Frontier
  ) {
    self.node = node
    self.name = name
    self.address = address
    self.seen = seen
    self.clockOffset = clockOffset
    self.frontier = frontier
  }
}

extension Store {
  package func knownPeers() throws(StoreError) -> [KnownPeer] {
    try reporting { () throws(SQLiteError) in
      try connection.rows(
        """
        SELECT node, name, address, seen, offset, frontier FROM _flotilla_peer
        ORDER BY name, node
        """
      ).compactMap { row in
        guard let node = row[0].string.flatMap(Identity.init) else { return nil }
        var reader = ByteReader(row[5].blob ?? [0])
        return KnownPeer(
          node: node, name: row[1].string ?? "", address: row[2].string, seen: row[3].integer,
          clockOffset: row[4].integer ?? 0,
          frontier: (try? reader.frontier("peer")) ?? Frontier())
      }
    }
  }

  /// Remembers members, all in one commit.
  package func save(_ peers: [KnownPeer]) throws(StoreError) {
    guard !peers.isEmpty else { return }
    try reporting { () throws(SQLiteError) in
      try connection.transaction { () throws(SQLiteError) in
        for peer in peers { try save(peer) }
      }
    }
  }

  /// Forgets a member that has left the site.
  package func forget(_ node: Identity) throws(StoreError) {
    try reporting { () throws(SQLiteError) in
      try connection.transaction { () throws(SQLiteError) in
        try connection.run(
          "DELETE FROM _flotilla_peer WHERE node = ?", [.string(node.description)])
        try progress.clear(node)
      }
    }
  }

  private func save(_ peer: KnownPeer) throws(SQLiteError) {
    var writer = ByteWriter()
    writer.frontier(peer.frontier)
    let frontier = writer.bytes
    try connection.run(
      """
      INSERT OR REPLACE INTO _flotilla_peer(node, name, address, seen, offset, frontier)
      VALUES (?, ?, ?, ?, ?, ?)
      """,
      [
        .string(peer.node.description), .string(peer.name), .string(peer.address),
        peer.seen.map { .integer($0) } ?? .null, .integer(peer.clockOffset), .blob(frontier),
      ])
  }
}
