/// The newest known state of one row, without its values.
package struct Version: Sendable, Equatable {
  /// Names this version.
  package var dot: Dot
  /// The version that first made the row under this key; later edits inherit it.
  package var created: Dot
  package var stamp: Stamp
  /// Hash of the content; 0 if deleted.
  package var hash: UInt64
  package var isDeleted: Bool

  package init(dot: Dot, created: Dot, stamp: Stamp, hash: UInt64, isDeleted: Bool) {
    self.dot = dot
    self.created = created
    self.stamp = stamp
    self.hash = hash
    self.isDeleted = isDeleted
  }

  package var rank: Rank { Rank(stamp: stamp, origin: dot.origin, content: hash) }
}

/// What decides between two versions of a row; the higher one stands.
///
/// The full order is (term, epoch, tentative, stamp, origin, content). Without an anchor term and
/// epoch are 0 and everything is tentative, so the last three decide. `content` only matters if a
/// copied replica has produced one (stamp, origin) twice.
package struct Rank: Sendable, Hashable, Comparable {
  package let stamp: Stamp
  package let origin: Origin
  package let content: UInt64

  package init(stamp: Stamp, origin: Origin, content: UInt64) {
    self.stamp = stamp
    self.origin = origin
    self.content = content
  }

  package static func < (left: Rank, right: Rank) -> Bool {
    (left.stamp, left.origin, left.content) < (right.stamp, right.origin, right.content)
  }
}
