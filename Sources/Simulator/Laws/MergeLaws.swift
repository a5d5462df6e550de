import Replication

/// The laws of merging, tried on the real store: in whatever order, however grouped and however
/// often versions come, the row that stands is the same.
///
/// That holds everywhere but at the anchor, which judges what comes as it comes. Of that the laws
/// say that its word is merged like any other version, and stands wherever all have come.
package struct MergeLaws {
  private let templates: Templates
  package private(set) var faults: [String] = []
  package private(set) var cases = 0

  package init(_ templates: Templates) { self.templates = templates }

  /// Two rows, four versions each, all 40,320 orders of the eight, one by one, and one of them a
  /// second time: commutative and idempotent; with what anchors have said, also where there is one.
  package mutating func exhaust() throws {
    try exhaust(.plain, at: .free)
    for part in [LawStore.Part.free, .member] { try exhaust(.judged, at: part) }
    for universe in LawUniverse.allCases { try exhaustAtAnchor(universe) }
  }

  /// Every order has two keys of its own, so that one merge takes a step of all orders.
  private mutating func exhaust(_ universe: LawUniverse, at part: LawStore.Part) throws {
    let store = try LawStore(templates, number: 1, part)
    let orders = Self.orders(of: Array(0..<8))
    func version(_ index: Int, of order: Int) -> LawVersion {
      universe.version(index, of: order, seq: UInt64(order * 8 + index + 1))
    }
    for step in 0..<8 {
      var versions: [LawVersion] = []
      for (number, order) in orders.enumerated() {
        versions.append(version(order[step], of: number))
        versions.append(version(order[(number + step) % (step + 1)], of: number))
      }
      try store.merge(versions)
    }
    try judge(store, rows: orders.count * 2) { row in
      (0..<4).map { version(row % 2 * 4 + $0, of: row / 2) }
    }
    cases += orders.count
  }

  /// All 720 orders of six of them in which the anchor hears and judges them one by one. Who has
  /// the versions first and then its words, and who has the words first, show what it shows.
  private mutating func exhaustAtAnchor(_ universe: LawUniverse) throws {
    let anchor = try LawStore(templates, number: 0, .anchor(rule: "newest-wins"))
    let members = try (1...2).map { try LawStore(templates, number: $0, .member) }
    let orders = Self.orders(of: [0, 1, 2, 4, 5, 6])
    var steps: [[LawVersion]] = []
    for step in orders[0].indices {
      let first = UInt64(step * orders.count + 1)
      let versions = orders.enumerated().map { number, order in
        universe.version(order[step], of: number, seq: first + UInt64(number))
      }
      steps.append(versions)
      try anchor.merge(versions, as: .full(covers: Self.frontier(to: first + 719)))
    }
    for versions in steps { try members[0].merge(versions) }
    for member in members { try member.merge(anchor, isFull: true) }
    for versions in steps { try members[1].merge(versions) }
    try compare(members, with: anchor)
    cases += orders.count
  }

  /// Random versions, shared out to two replicas in random order; a third merges what they hold,
  /// in either order: associative as well.
  ///
  /// With an anchor the third is that, and the two hear its word last.
  package mutating func sample(_ count: Int, seed: UInt64) throws {
    var random = Seeded(seed)
    let rule = random.pick([String?.none, .none, "newest-wins", "client-wins", "server-wins"])
    let part: LawStore.Part = random.chance(500) && rule == nil ? .free : .member
    let (a, b) = (
      try LawStore(templates, number: 1, part), try LawStore(templates, number: 2, part)
    )
    let c = try LawStore(templates, number: 0, rule.map { .anchor(rule: $0) } ?? part)
    var seq: UInt64 = 0
    let isPlain = random.chance(300)
    let universe = (0..<count).map {
      LawCase(row: $0, seq: &seq, isPlain: isPlain, isJudged: rule != nil, &random)
    }
    let isFull = rule != nil || random.chance(500)
    let all = universe.flatMap(\.versions)
    // Of each origin both have everything, or one has.
    for (store, origins) in zip([a, b], [1...2, 2...3] as [ClosedRange<UInt64>]) {
      let share = all.filter { origins.contains($0.version.dot.origin.rawValue) }
      try give(share.shuffled(using: &random), to: store, isFull: isFull, upTo: seq, &random)
    }
    let isSwapped = random.chance(500)
    for store in isSwapped ? [b, a, b] : [a, b, a] { try c.merge(store, isFull: isFull) }
    if rule != nil {
      try a.merge(b, isFull: true)
      for store in [a, b] { try store.merge(c, isFull: true) }
      try b.merge(a, isFull: true)
      try compare([a, b], with: c)
    } else {
      try judge(c, rows: count) { universe[$0].versions }
    }
    cases += count
  }

  /// Hands versions over in two repairs, in two full exchanges of which the first covers nothing,
  /// or in one push for each origin.
  private func give(
    _ versions: [LawVersion], to store: LawStore, isFull: Bool, upTo seq: UInt64,
    _ random: inout Seeded
  ) throws {
    let halves = [versions[..<(versions.count / 2)], versions[(versions.count / 2)...]]
    guard isFull else {
      for half in halves { try store.merge(Array(half)) }
      return
    }
    let origins = Set(versions.map(\.version.dot.origin)).sorted()
    guard random.chance(500) else {
      try store.merge(Array(halves[0]), as: .full(covers: Frontier()))
      let covers = Frontier(Dictionary(uniqueKeysWithValues: origins.map { ($0, seq) }))
      return try store.merge(Array(halves[1]), as: .full(covers: covers))
    }
    for origin in origins {
      try store.merge(
        versions.filter { $0.version.dot.origin == origin },
        as: .push(origin: origin, from: 0, to: seq))
    }
  }

  /// What covers everything of the four origins up to a number.
  private static func frontier(to seq: UInt64) -> Frontier {
    Frontier(
      Dictionary(uniqueKeysWithValues: (1...4).map { (Origin(rawValue: $0), seq) }))
  }

  /// Compares every row with the highest of its versions.
  private mutating func judge(
    _ store: LawStore, rows count: Int, _ versions: (Int) -> [LawVersion]
  ) throws {
    let shown = try store.rows()
    for row in 0..<count {
      let all = versions(row)
      let expected = all.max { $0.isBelow($1) }?.content
      guard shown[Int64(row)] != expected, faults.count < 20 else { continue }
      let text = shown[Int64(row)].map { "\($0)" } ?? "nothing"
      faults.append("row \(row) shows \(text) of \(all.map(\.version))")
    }
  }

  /// Compares every row of the members with what the anchor shows, which has judged everything.
  private mutating func compare(_ members: [LawStore], with anchor: LawStore) throws {
    let (word, unjudged) = (try anchor.rows(), try anchor.unjudged())
    if unjudged > 0 { faults.append("the anchor has left \(unjudged) edits unjudged") }
    for (number, member) in members.enumerated() {
      let shown = try member.rows()
      for row in Set(word.keys).union(shown.keys).sorted() where shown[row] != word[row] {
        guard faults.count < 20 else { return }
        let texts = [shown[row], word[row]].map { $0.map { "\($0)" } ?? "nothing" }
        faults.append("row \(row) shows \(texts[0]) at member \(number), \(texts[1]) at the anchor")
      }
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
