/// What a replica holds: for each origin the highest seq up to which nothing is missing.
///
/// A version vector (Parker et al., 1983). An origin that is absent counts as 0.
package struct Frontier: Sendable, Equatable {
  package struct Entry: Sendable, Equatable {
    package let origin: Origin
    package internal(set) var seq: UInt64
  }

  /// In ascending order of origin, none of them 0. There are few, asked for and joined all the
  /// time: a sorted list takes less time than a dictionary.
  package private(set) var list: [Entry] = []

  package init() {}

  package init(_ entries: [Origin: UInt64]) {
    list = entries.filter { $0.value > 0 }.map { Entry(origin: $0.key, seq: $0.value) }
      .sorted { $0.origin < $1.origin }
  }

  /// From entries in their order, none of them 0.
  init(ascending list: [Entry]) { self.list = list }

  package var entries: [Origin: UInt64] {
    Dictionary(uniqueKeysWithValues: list.map { ($0.origin, $0.seq) })
  }

  /// Where the entry of an origin is, or would be.
  private func place(of origin: Origin) -> Int {
    var (low, high) = (0, list.count)
    while low < high {
      let middle = (low + high) / 2
      if list[middle].origin < origin { low = middle + 1 } else { high = middle }
    }
    return low
  }

  package subscript(origin: Origin) -> UInt64 {
    let place = place(of: origin)
    return place < list.count && list[place].origin == origin ? list[place].seq : 0
  }

  package var isEmpty: Bool { list.isEmpty }

  /// Raises one origin; lowering it is no effect.
  package mutating func raise(_ origin: Origin, to seq: UInt64) {
    guard seq > 0 else { return }
    let place = place(of: origin)
    if place == list.count || list[place].origin != origin {
      list.insert(Entry(origin: origin, seq: seq), at: place)
    } else if list[place].seq < seq {
      list[place].seq = seq
    }
  }

  /// Takes the higher seq of each origin.
  package mutating func join(_ other: Frontier) {
    if list.isEmpty { return list = other.list }
    var isComplete = true
    for entry in other.list {
      let place = place(of: entry.origin)
      if place == list.count || list[place].origin != entry.origin {
        isComplete = false
      } else if list[place].seq < entry.seq {
        list[place].seq = entry.seq
      }
    }
    if !isComplete { addMissing(of: other) }
  }

  /// Merges the origins in that are not here: putting one after the other in its place would take
  /// the square of their number.
  private mutating func addMissing(of other: Frontier) {
    var merged: [Entry] = []
    merged.reserveCapacity(list.count + other.list.count)
    var next = 0
    for entry in list {
      while next < other.list.count, other.list[next].origin < entry.origin {
        merged.append(other.list[next])
        next += 1
      }
      if next < other.list.count, other.list[next].origin == entry.origin { next += 1 }
      merged.append(entry)
    }
    merged += other.list[next...]
    list = merged
  }

  package func joined(_ other: Frontier) -> Frontier {
    var result = self
    result.join(other)
    return result
  }

  package func covers(_ dot: Dot) -> Bool { self[dot.origin] >= dot.seq }

  package func covers(_ other: Frontier) -> Bool {
    other.list.allSatisfy { self[$0.origin] >= $0.seq }
  }

  /// True if both together have no more origins than may travel.
  package func fits(beside other: Frontier) -> Bool {
    let more = other.list.count { self[$0.origin] == 0 }
    return list.count + more <= Limits.frontierEntries
  }

  /// All entries but that of one origin.
  package func without(_ origin: Origin) -> Frontier {
    self[origin] == 0 ? self : Frontier(ascending: list.filter { $0.origin != origin })
  }

  /// No more of one origin than that.
  func limited(_ origin: Origin, to most: UInt64) -> Frontier {
    guard self[origin] > most else { return self }
    var limited = without(origin)
    limited.raise(origin, to: most)
    return limited
  }

  /// The entries of some origins.
  package func keeping(_ isKept: (Origin) -> Bool) -> Frontier {
    Frontier(ascending: list.filter { isKept($0.origin) })
  }

  /// The entry of one origin alone.
  package func only(_ origin: Origin) -> Frontier {
    Frontier(ascending: list.filter { $0.origin == origin })
  }

  /// The entries of this frontier that `other` does not reach.
  package func beyond(_ other: Frontier) -> Frontier {
    Frontier(ascending: list.filter { $0.seq > other[$0.origin] })
  }

  /// The lower seq of each origin.
  package func capped(by other: Frontier) -> Frontier {
    Frontier(
      ascending: list.compactMap {
        let seq = min($0.seq, other[$0.origin])
        return seq > 0 ? Entry(origin: $0.origin, seq: seq) : nil
      })
  }

  /// How far an exchange that covers this has come with the row of this dot.
  ///
  /// Rows come in the order of (origin, seq): every origin before the last row's is done. A sender
  /// that is itself catching up ships rows beyond what it covers: they prove nothing.
  package func reached(at last: Dot) -> Frontier {
    var reached = Frontier(ascending: list.filter { $0.origin < last.origin })
    reached.raise(last.origin, to: min(last.seq, self[last.origin]))
    return reached
  }

  /// How many versions lie between `other` and this frontier: an upper bound for rows.
  ///
  /// A peer may claim any seq, so the sum stops at the highest number.
  package func distance(above other: Frontier) -> UInt64 {
    list.reduce(0) { sum, entry in
      let held = other[entry.origin]
      let (next, overflow) = sum.addingReportingOverflow(entry.seq - min(held, entry.seq))
      return overflow ? .max : next
    }
  }

  /// The entries in ascending order of origin, as they travel.
  package var sorted: [(origin: Origin, seq: UInt64)] { list.map { ($0.origin, $0.seq) } }

  /// A hash of the frontier: equal frontiers have equal hashes on every node.
  package var hash: UInt64 {
    list.reduce(0x9E37_79B9_7F4A_7C15) { hash, entry in
      mix(mix(hash ^ entry.origin.rawValue) &+ entry.seq)
    }
  }
}
