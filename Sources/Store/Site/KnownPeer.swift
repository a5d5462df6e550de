import Replication

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
