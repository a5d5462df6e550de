/// Which rows a digest counts of a table whose key has come in several shapes.
package enum DigestScope: Sendable {
  /// Those of the shape that leads: the same before a migration and after it.
  case leading
  /// Those of the shape that the table has here.
  case here
}

/// 256 sums over every version that a replica holds and that is not a deleted one; equal content
/// gives equal digests. Deleted versions do not count, for they are forgotten some day, and not at
/// the same time everywhere.
///
/// Adding is commutative and can be undone, so the digest is kept up to date version by version.
/// It repairs what the frontier cannot see: a replica that was set back without noticing.
package struct Digest: Sendable, Equatable {
  package static let bucketCount = 256
  package private(set) var buckets: [UInt64]

  package init() { buckets = Array(repeating: 0, count: Self.bucketCount) }

  /// From 256 sums; nil for any other number.
  package init?(buckets: [UInt64]) {
    guard buckets.count == Self.bucketCount else { return nil }
    self.buckets = buckets
  }

  /// The bucket of a row: the same on every node.
  package static func bucket(table: UInt64, key: Key) -> Int {
    Int(hash64(key.bytes, seed: table) & 0xFF)
  }

  /// By how much which sum grows when one version of a row replaces another.
  package struct Change: Sendable {
    fileprivate let bucket: Int
    fileprivate var growth: UInt64 = 0

    package init(table: UInt64, key: Key, old: Version?, new: Version?) {
      let rowHash = hash64(key.bytes, seed: table)
      bucket = Int(rowHash & 0xFF)
      if let old, !old.isDeleted { growth &-= share(rowHash, old.dot, old.hash) }
      if let new, !new.isDeleted { growth &+= share(rowHash, new.dot, new.hash) }
    }
  }

  package mutating func add(_ change: Change) { buckets[change.bucket] &+= change.growth }

  /// Replaces the share of a row's old version by that of its new one.
  package mutating func replace(table: UInt64, key: Key, old: Version?, new: Version?) {
    add(Change(table: table, key: key, old: old, new: new))
  }

  /// Adds the share of a version that is not deleted; `place` is the hash of its row's key.
  package mutating func add(place: UInt64, _ dot: Dot, hash: UInt64) {
    buckets[Int(place & 0xFF)] &+= share(place, dot, hash)
  }

  /// The sum of all buckets.
  package var root: UInt64 { buckets.reduce(0, &+) }

  package func differing(from other: Digest) -> [Int] {
    (0..<Self.bucketCount).filter { buckets[$0] != other.buckets[$0] }
  }
}

private func share(_ rowHash: UInt64, _ dot: Dot, _ content: UInt64) -> UInt64 {
  let hash = mix(rowHash ^ dot.origin.rawValue)
  return mix(mix(hash ^ dot.seq) ^ content)
}

/// The seed of a table in hashes: from its name, folded as SQLite compares names.
package func tableSeed(_ name: String) -> UInt64 {
  hash64(KeyCollation.nocase.canonical(Array(name.utf8)))
}
