/// What new rows must outrank: the highest rank of the deleted versions that were collected.
package struct Floor: Sendable, Hashable, Comparable {
  package var term: Term
  package var epoch: UInt64
  package var stamp: Stamp

  package init(term: Term, epoch: UInt64, stamp: Stamp) {
    self.term = term
    self.epoch = epoch
    self.stamp = stamp
  }

  package init(_ version: Version) {
    self.init(term: version.term, epoch: version.epoch, stamp: version.stamp)
  }

  /// A tentative version with term, epoch and a later stamp of this outranks what was collected.
  package static func < (left: Floor, right: Floor) -> Bool {
    if left.term != right.term { return left.term < right.term }
    return (left.epoch, left.stamp) < (right.epoch, right.stamp)
  }
}

/// The floors of a replica, one for each bucket of the digest in which something was collected.
package struct Floors: Sendable, Equatable {
  package private(set) var buckets: [Int: Floor]

  package init(_ buckets: [Int: Floor] = [:]) { self.buckets = buckets }

  package subscript(table table: UInt64, key key: Key) -> Floor? {
    buckets.isEmpty ? nil : buckets[Digest.bucket(table: table, key: key)]
  }

  package mutating func raise(table: UInt64, key: Key, over version: Version) {
    guard version.isPossible else { return }
    raise(Digest.bucket(table: table, key: key), to: Floor(version))
  }

  package mutating func join(_ other: Floors) {
    for (bucket, floor) in other.buckets { raise(bucket, to: floor) }
  }

  private mutating func raise(_ bucket: Int, to floor: Floor) {
    buckets[bucket] = max(buckets[bucket] ?? floor, floor)
  }
}

extension Version {
  /// The same edit above a floor, as that of a row that is new to everybody.
  package func raised(above floor: Floor?) -> Version {
    guard let floor, Floor(self) <= floor else { return self }
    var version = self
    (version.term, version.epoch) = (floor.term, floor.epoch)
    version.stamp = max(stamp, floor.stamp.successor)
    if created == dot { version.createdAt = version.stamp }
    return version
  }
}
