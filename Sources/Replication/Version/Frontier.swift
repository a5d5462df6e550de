/// What a replica holds: for each origin the highest seq up to which nothing is missing.
///
/// A version vector (Parker et al., 1983). An origin that is absent counts as 0.
package struct Frontier: Sendable, Equatable {
  package private(set) var entries: [Origin: UInt64]

  package init(_ entries: [Origin: UInt64] = [:]) {
    self.entries = entries.filter { $0.value > 0 }
  }

  package subscript(origin: Origin) -> UInt64 { entries[origin] ?? 0 }

  package var isEmpty: Bool { entries.isEmpty }

  /// Raises one origin; lowering it is no effect.
  package mutating func raise(_ origin: Origin, to seq: UInt64) {
    guard seq > self[origin] else { return }
    entries[origin] = seq
  }

  /// Takes the higher seq of each origin.
  package mutating func join(_ other: Frontier) {
    for (origin, seq) in other.entries { raise(origin, to: seq) }
  }

  package func joined(_ other: Frontier) -> Frontier {
    var result = self
    result.join(other)
    return result
  }

  package func covers(_ dot: Dot) -> Bool { self[dot.origin] >= dot.seq }

  package func covers(_ other: Frontier) -> Bool {
    other.entries.allSatisfy { self[$0.key] >= $0.value }
  }

  /// True if both together have no more origins than may travel.
  package func fits(beside other: Frontier) -> Bool {
    let more = other.entries.keys.count { entries[$0] == nil }
    return entries.count + more <= Limits.frontierEntries
  }

  /// All entries but that of one origin.
  package func without(_ origin: Origin) -> Frontier {
    Frontier(entries.filter { $0.key != origin })
  }

  /// The entry of one origin alone.
  package func only(_ origin: Origin) -> Frontier {
    self[origin] == 0 ? Frontier() : Frontier([origin: self[origin]])
  }

  /// The entries of this frontier that `other` does not reach.
  package func beyond(_ other: Frontier) -> Frontier {
    Frontier(entries.filter { $0.value > other[$0.key] })
  }

  /// The lower seq of each origin.
  package func capped(by other: Frontier) -> Frontier {
    Frontier(
      Dictionary(uniqueKeysWithValues: entries.map { ($0.key, min($0.value, other[$0.key])) }))
  }

  /// How many versions lie between `other` and this frontier: an upper bound for rows.
  ///
  /// A peer may claim any seq, so the sum stops at the highest number.
  package func distance(above other: Frontier) -> UInt64 {
    entries.reduce(0) { sum, entry in
      let held = other[entry.key]
      let (next, overflow) = sum.addingReportingOverflow(entry.value - min(held, entry.value))
      return overflow ? .max : next
    }
  }

  /// The entries in ascending order of origin, as they travel.
  package var sorted: [(origin: Origin, seq: UInt64)] {
    entries.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }

  /// A hash of the frontier: equal frontiers have equal hashes on every node.
  package var hash: UInt64 {
    sorted.reduce(0x9E37_79B9_7F4A_7C15) { hash, entry in
      mix(mix(hash ^ entry.origin.rawValue) &+ entry.seq)
    }
  }
}
