import Replication

/// Who writes under an origin.
package struct KnownAuthor: Sendable, Equatable {
  package var origin: Origin
  package var node: Identity
  package var name: String
  /// From which the origin follows; others can check that when they are told.
  package var life: UInt64

  package init(origin: Origin, node: Identity, name: String, life: UInt64) {
    self.origin = origin
    self.node = node
    self.name = name
    self.life = life
  }
}
