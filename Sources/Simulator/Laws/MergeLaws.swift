/// The laws of merging, tried on the real store: in whatever order, however grouped and however
/// often versions come, the row that stands is the same.
package struct MergeLaws {
  private let templates: Templates
  package private(set) var faults: [String] = []
  package private(set) var cases = 0

  package init(_ templates: Templates) { self.templates = templates }

  /// Two rows, four versions each, all 40,320 orders of the eight, one by one, and one of them a
  /// second time: commutative and idempotent.
  ///
  /// Every order has two keys of its own, so that one merge takes a step of all orders.
  package mutating func exhaust() throws {
    let store = try LawStore(templates)
    let orders = Self.orders(of: Array(0..<8))
    for step in 0..<8 {
      var versions: [LawVersion] = []
      for (number, order) in orders.enumerated() {
        versions.append(Self.version(order[step], of: number))
        versions.append(Self.version(order[(number + step) % (step + 1)], of: number))
      }
      try store.merge(versions)
    }
    try judge(store, rows: orders.count * 2) { row in
      (0..<4).map { Self.version(row % 2 * 4 + $0, of: row / 2) }
    }
    cases += orders.count
  }

  /// The universe: versions 0 to 3 are of the first row, where stamps tie and the origin decides;
  /// 4 to 7 of the second, where a copied replica has used one stamp twice and a delete comes last.
  private static func version(_ index: Int, of order: Int) -> LawVersion {
    let (row, seq) = (Int64(order * 2 + index / 4), UInt64(order * 8 + index + 1))
    return switch index {
    case 0: LawVersion(row: row, content: 1, stamp: 10, origin: 3, seq: seq)
    case 1: LawVersion(row: row, content: 2, stamp: 20, origin: 1, seq: seq)
    case 2: LawVersion(row: row, content: nil, stamp: 20, origin: 2, seq: seq)
    case 3: LawVersion(row: row, content: 4, stamp: 20, origin: 3, seq: seq)
    case 4: LawVersion(row: row, content: 5, stamp: 10, origin: 1, seq: seq)
    case 5: LawVersion(row: row, content: 6, stamp: 20, origin: 2, seq: seq)
    case 6: LawVersion(row: row, content: 7, stamp: 20, origin: 2, seq: seq)
    default: LawVersion(row: row, content: nil, stamp: 30, origin: 1, seq: seq)
    }
  }

  /// Random versions, shared out to two replicas in random order; a third merges what they hold,
  /// in either order: associative as well.
  package mutating func sample(_ count: Int, seed: UInt64) throws {
    var random = Seeded(seed)
    let (a, b, c) = (
      try LawStore(templates), try LawStore(templates), try LawStore(templates)
    )
    var universe: [[LawVersion]] = []
    var seq: UInt64 = 0
    var shares: [[LawVersion]] = [[], []]
    for row in 0..<count {
      let versions = (0..<2 + random.below(3)).map { _ in
        seq += 1
        return LawVersion(
          row: Int64(row), content: random.chance(250) ? nil : Int64(random.below(4)),
          stamp: Int64(1 + random.below(3)), origin: UInt64(1 + random.below(3)), seq: seq)
      }
      universe.append(versions)
      for version in versions {
        let share = random.below(3)
        if share != 1 { shares[0].append(version) }
        if share != 0 { shares[1].append(version) }
      }
    }
    for (store, share) in zip([a, b], shares) {
      let mixed = share.shuffled(using: &random)
      try store.merge(Array(mixed[..<(mixed.count / 2)]))
      try store.merge(Array(mixed[(mixed.count / 2)...]))
    }
    let isSwapped = random.chance(500)
    for store in isSwapped ? [b, a, b] : [a, b, a] { try c.merge(store) }
    try judge(c, rows: count) { universe[$0] }
    cases += count
  }

  /// Compares every row with the highest of its versions.
  private mutating func judge(
    _ store: LawStore, rows count: Int, _ versions: (Int) -> [LawVersion]
  ) throws {
    let shown = try store.rows()
    for row in 0..<count {
      let all = versions(row)
      let expected = all.max { $0.rank < $1.rank }?.content
      guard shown[Int64(row)] != expected, faults.count < 20 else { continue }
      let text = shown[Int64(row)].map { "\($0)" } ?? "nothing"
      faults.append("row \(row) shows \(text) of \(all.map(\.version))")
    }
  }

  static func orders(of items: [Int]) -> [[Int]] {
    guard items.count > 1 else { return [items] }
    return items.indices.flatMap { index in
      var rest = items
      let item = rest.remove(at: index)
      return orders(of: rest).map { [item] + $0 }
    }
  }
}
