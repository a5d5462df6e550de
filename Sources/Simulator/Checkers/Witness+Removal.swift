import Replication

extension Witness {
  /// What was written here and sent to nobody is gone with its table: nobody is to wait for it.
  mutating func forget(
    _ now: Observation, of own: Origin, above delivered: UInt64,
    wasDropped: (RowNumber) -> Bool, _ history: inout History
  ) {
    let hasWritten = now.frontier[own] > max(seen.frontier[own], delivered)
    let covered = history.newest(now.frontier).mapValues(\.version)
    let held = [passed, seen.lost, seen.versions].reduce(covered) {
      $0.merging($1, uniquingKeysWith: Self.higher)
    }
    for (row, old) in held where wasDropped(row) {
      if let known = now.known(row), known.rank >= old.rank { continue }
      let isUnsent = old.dot.origin == own && old.dot.seq > delivered
      // Or an edit that nobody saw had taken its place.
      guard isUnsent || hasWritten else { continue }
      history.forget(row, of: own, above: delivered)
      (seen.versions[row], seen.lost[row]) = (nil, nil)
    }
  }

  static func higher(_ one: Version, _ other: Version) -> Version {
    one.rank < other.rank ? other : one
  }
}
