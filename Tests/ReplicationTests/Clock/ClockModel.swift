import Replication

/// Five nodes with clocks of all kinds, and what their users do: set them by a year, pull the plug,
/// work while nobody is in reach. Only the machines are real; true time is known to the test alone.
struct ClockModel {
  struct Fate {
    /// The whole site loses its power now and then.
    var hasCuts: Bool
  }

  struct Tally {
    /// Edits that did not know of each other, made more than ten minutes apart, and how often the
    /// one made first has won.
    var conflicts = 0
    var wrong = 0
    var foundings = Set<UInt64>()
    /// Stamps that were ahead of site time when they were given.
    var future = 0

    static func + (left: Tally, right: Tally) -> Tally {
      Tally(
        conflicts: left.conflicts + right.conflicts, wrong: left.wrong + right.wrong,
        foundings: left.foundings.union(right.foundings), future: left.future + right.future)
    }
  }

  struct Row {
    var stamp: Stamp
    var madeAt: Int64
    var id: Int
    var seen: Set<Int>
    var author: Int
    /// What it was made on.
    var over: Stamp?
  }

  struct Node {
    let id: Identity
    let hasBattery: Bool
    let drift: Double
    var offset: Int64
    var bootedAt: Int64
    var boot: UInt64 = 1
    var clock: SiteClock
    var timeline: Timeline
    var rows: [Int: Row] = [:]
    /// Rows that were touched and wait, with the wall time noted.
    var journal: [(row: Int, wall: Int64)] = []

    func reading(_ time: Int64) -> ClockReading {
      let ran = time - bootedAt
      let drifted = Int64(Double(ran) * drift)
      return ClockReading(
        uptime: ran + drifted, wall: time + offset + drifted, isKept: hasBattery)
    }
  }

  private static let minute: Int64 = 60_000
  private static let day: Int64 = 86_400_000
  private static let year = 365 * day

  private var random: Seeded
  private var time: Int64 = 1_790_000_000_000
  private var nodes: [Node] = []
  private var parts: [Int]
  private var edits = 0
  private(set) var tally = Tally()

  init(seed: UInt64, count: Int = 5) {
    random = Seeded(seed)
    parts = Array(repeating: 0, count: count)
    for index in 0..<count {
      let id = Identity(high: UInt64(index), low: seed)
      let offsets = [0, 0, pick(-5...5) * Self.minute, -5 * Self.year, Self.year]
      nodes.append(
        Node(
          id: id, hasBattery: pick(0...1) == 0, drift: Double(pick(-100...100)) * 1e-6,
          offset: index == 0 ? 0 : offsets[Int(pick(0...4))], bootedAt: time,
          clock: SiteClock(node: id), timeline: Timeline(boot: Identity(high: 1, low: 1))))
    }
    // The first founds it, and the others join.
    feed(0, .counted(isAlone: true))
    feed(0, .counted(isAlone: false))
    for index in 1..<count { exchange(0, index) }
  }

  private mutating func pick(_ range: ClosedRange<Int64>) -> Int64 {
    .random(in: range, using: &random)
  }

  @discardableResult
  private mutating func feed(_ node: Int, _ input: SiteClock.Input) -> [SiteClock.Directive] {
    let reading = nodes[node].reading(time)
    let directives = nodes[node].clock.receive(input, at: reading)
    if let founding = nodes[node].clock.course?.founding { tally.foundings.insert(founding.id) }
    return directives
  }

  mutating func run(steps: Int, _ fate: Fate) {
    for _ in 0..<steps {
      time += pick(1...120) * Self.minute
      let node = Int(pick(0...Int64(nodes.count - 1)))
      let chance = pick(0...999)
      switch chance {
      case ..<450: edit(node)
      case ..<500: setClock(node)
      case ..<530: reboot(node)
      case ..<535:
        guard fate.hasCuts else { continue }
        time += pick(0...2) * Self.day
        for index in nodes.indices { reboot(index) }
      case ..<560: for index in parts.indices { parts[index] = Int(pick(0...1)) }
      default:
        let other = Int(pick(0...Int64(nodes.count - 1)))
        if other != node, parts[other] == parts[node] { exchange(node, other) }
      }
    }
  }

  private mutating func edit(_ index: Int) {
    // A node that runs looks every two seconds.
    time -= 1_000
    look(index)
    time += 1_000
    let row = Int(pick(0...19))
    edits += 1
    let old = nodes[index].rows[row]
    nodes[index].journal.append((row, nodes[index].reading(time).wall))
    nodes[index].rows[row] = Row(
      stamp: old?.stamp ?? .zero, madeAt: time, id: edits,
      seen: (old?.seen ?? []).union(old.map { [$0.id] } ?? []), author: index, over: old?.stamp)
    look(index)
  }

  /// Looks at the clocks, and folds what waits if that can be.
  private mutating func look(_ index: Int) {
    feed(index, .looked)
    let now = nodes[index].clock.instant(nodes[index].reading(time))
    nodes[index].timeline.look(at: now)
    guard let site = now.site else { return }
    var dating = nodes[index].timeline.dating(at: now)
    for (entry, (row, wall)) in nodes[index].journal.enumerated() {
      let moment = dating.place(wall, entry: Int64(entry) + 1)
      guard let old = nodes[index].rows[row] else { continue }
      nodes[index].rows[row]?.stamp = .placing(moment.at, over: old.over)
      if moment.at > site { tally.future += 1 }
    }
    nodes[index].journal = []
    nodes[index].timeline.settle(at: now)
  }

  /// A user sets the clock; one in five does so while the node does not run.
  private mutating func setClock(_ index: Int) {
    let steps = [Self.year, -Self.year, 60 * Self.minute, -60 * Self.minute]
    nodes[index].offset += steps[Int(pick(0...3))]
    if pick(0...4) == 0 { start(index, isBoot: false) }
    look(index)
  }

  private mutating func reboot(_ index: Int) { start(index, isBoot: true) }

  /// The node starts, from what it has kept.
  private mutating func start(_ index: Int, isBoot: Bool) {
    let before = nodes[index]
    let bytes = before.clock.bytes(
      boot: Identity(high: 1, low: before.boot), at: before.reading(time))
    if isBoot {
      nodes[index].boot += 1
      nodes[index].bootedAt = time - 30_000
      if !before.hasBattery { nodes[index].offset = -time }
    }
    let boot = Identity(high: 1, low: nodes[index].boot)
    nodes[index].clock = SiteClock(
      node: before.id, bytes, boot: boot, at: nodes[index].reading(time))
    nodes[index].timeline = Timeline(
      before.timeline.bytes, boot: boot, last: Int64(before.journal.count))
    feed(index, .counted(isAlone: false))
  }

  private mutating func exchange(_ one: Int, _ other: Int) {
    for pair in [(one, other), (other, one)] { tell(pair.0, of: pair.1) }
    if nodes[one].clock.course == nil, nodes[other].clock.course == nil {
      time += SiteClock.grace + 2_000
      let first = nodes[one].id < nodes[other].id ? one : other
      feed(first, .looked)
      tell(one, of: other)
      tell(other, of: one)
    }
    for pair in [(one, other), (other, one), (one, other)] { tell(pair.0, of: pair.1) }
    for index in [one, other] { look(index) }
    merge(one, other)
    feed(one, .lost(nodes[other].id))
    feed(other, .lost(nodes[one].id))
  }

  /// What one node tells is heard by another, which asks if it should.
  private mutating func tell(_ index: Int, of other: Int) {
    let view = self.view(other)
    guard feed(index, .heard(nodes[other].id, view)).contains(.ask(nodes[other].id)) else { return }
    let (there, back) = (pick(0...20), pick(0...20))
    time += there
    let answer = self.view(other)
    time += back
    let uptime = nodes[index].reading(time).uptime
    feed(index, .measured(nodes[other].id, answer, roundTrip: there + back, at: uptime))
  }

  private func view(_ index: Int) -> ClockView {
    let reading = nodes[index].reading(time)
    let clock = nodes[index].clock
    return clock.standing(at: reading).view(at: clock.instant(reading))
  }

  private mutating func merge(_ one: Int, _ other: Int) {
    guard nodes[one].journal.isEmpty, nodes[other].journal.isEmpty else { return }
    for row in 0..<20 {
      let (a, b) = (nodes[one].rows[row], nodes[other].rows[row])
      guard let a, let b else {
        nodes[one].rows[row] = a ?? b
        nodes[other].rows[row] = a ?? b
        continue
      }
      guard a.id != b.id else { continue }
      var winner = (a.stamp, a.author) > (b.stamp, b.author) ? a : b
      let loser = winner.id == a.id ? b : a
      if a.seen.contains(b.id) {
        winner = a
      } else if b.seen.contains(a.id) {
        winner = b
      } else if abs(a.madeAt - b.madeAt) > 10 * Self.minute {
        tally.conflicts += 1
        if loser.madeAt > winner.madeAt { tally.wrong += 1 }
      }
      nodes[one].rows[row] = winner
      nodes[other].rows[row] = winner
    }
  }
}
