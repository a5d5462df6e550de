import Replication
import Store

/// The time of the site: the world reads clocks and hands on words, the product's machines decide.
extension World {
  /// A node looks at its clocks at least this often, and keeps what it knows, in ms.
  private static var lookDue: Int64 { 2_000 }
  private static var saveDue: Int64 { 60_000 }

  var hasSiteTime: Bool { faults[.siteTime] > 0 }

  func knowsTime(_ node: Int) -> Bool { !hasSiteTime || nodes[node].time.course != nil }

  /// What each node that runs goes by.
  var times: [(name: String, founding: Founding?, site: Int64?)] {
    nodes.indices.filter { nodes[$0].isUp }.map { node in
      (Words.node(node), nodes[node].time.founding, now(node).site)
    }
  }

  /// Whether all go by the same time by now.
  var isTimed: Bool {
    var history = History()
    EventuallyTimed.check(times, &history)
    return history.faults.isEmpty
  }

  /// The first node founds the time of the site; the others take it over when they meet it.
  mutating func foundTime() {
    history.isDated = true
    for node in nodes.indices {
      nodes[node].clock = SimulatedClock(
        of: node, hasBattery: random.chance(600), like: nodes[node].clock, at: time)
      attempt(node, nil, 0) { try $0.beginTime(node) }
    }
    feedClock(0, .counted(isAlone: true))
    feedClock(0, .counted(isAlone: false))
  }

  /// A process starts, in the same boot or another.
  mutating func beginTime(_ node: Int) throws {
    let (boot, reading) = (nodes[node].clock.boot, nodes[node].clock.reading(time))
    let (id, now) = (nodes[node].replica.id, nodes[node].clock.now(time))
    let kept = try nodes[node].replica.begin(boot: boot, at: now)
    nodes[node].time =
      kept.map { SiteClock(node: id, $0, boot: boot, at: reading) } ?? SiteClock(node: id)
    (nodes[node].lastLook, nodes[node].lastSave) = (reading.uptime, reading.uptime)
    feedClock(node, .looked)
  }

  /// Feeds the clock, and does what it says.
  mutating func feedClock(_ node: Int, _ input: SiteClock.Input) {
    guard nodes[node].isUp else { return }
    let wasKnown = knowsTime(node)
    for directive in nodes[node].time.receive(input, at: nodes[node].clock.reading(time)) {
      switch directive {
      case .ask(let peer):
        for (link, side) in ends(of: node) where nodes[peerOf(link, side)].replica.id == peer {
          feed(link, side, .compareClocks)
        }
      case .changed:
        let founding = nodes[node].time.founding?.generation ?? 0
        tell("\(Words.node(node)) knows the time by founding \(founding)")
        saveClock(node)
        tellOfTime(node)
        feed(node: node, .compareClocks)
        if !wasKnown {
          fold(node)
          govern(node)
        }
      case .stepped: tellOfTime(node)
      case .refused: break
      }
    }
  }

  private func ends(of node: Int) -> [(Int, Int)] {
    links.indices.flatMap { link in
      (0...1).filter { links[link].nodes[$0] == node }.map { (link, $0) }
    }
  }

  private func peerOf(_ link: Int, _ side: Int) -> Int { links[link].nodes[1 - side] }

  private mutating func tellOfTime(_ node: Int) {
    feed(node: node, .clock(nodes[node].time.standing(at: nodes[node].clock.reading(time))))
  }

  private mutating func saveClock(_ node: Int) {
    let (reading, now) = (nodes[node].clock.reading(time), now(node))
    nodes[node].lastSave = reading.uptime
    let bytes = nodes[node].time.bytes(boot: nodes[node].clock.boot, at: reading)
    attempt(node, nil, 0) { try $0.nodes[node].replica.keep(clock: bytes, at: now) }
  }

  /// The last session with a peer is over.
  mutating func loseTime(_ link: Int, _ side: Int) {
    let (node, id) = (links[link].nodes[side], nodes[peerOf(link, side)].replica.id)
    let isThere = ends(of: node).contains { link, side in
      links[link].sides[side].isConnected && nodes[peerOf(link, side)].replica.id == id
    }
    if !isThere { feedClock(node, .lost(id)) }
  }

  /// What nodes do every few seconds.
  mutating func lookAtTime() {
    for node in nodes.indices where nodes[node].isUp {
      feedClock(node, .looked)
      let uptime = nodes[node].clock.reading(time).uptime
      guard uptime - nodes[node].lastLook >= Self.lookDue else { continue }
      nodes[node].lastLook = uptime
      let now = now(node)
      attempt(node, nil, 0) { try $0.nodes[node].replica.look(at: now) }
      if nodes[node].isUp, uptime - nodes[node].lastSave >= Self.saveDue { saveClock(node) }
    }
  }

  /// In how many ms the next clock wants to look.
  var nextLook: Int64? {
    guard hasSiteTime else { return nil }
    return nodes.indices.compactMap { node in
      guard nodes[node].isUp, let deadline = nodes[node].time.deadline else { return nil }
      return deadline - nodes[node].clock.reading(time).uptime
    }.min()
  }

  /// Everybody loses power, for hours or days.
  mutating func blackOut() {
    tell("the whole site loses power")
    let pause = Int64(random.below(200_000_000))
    for node in nodes.indices where nodes[node].isUp {
      cutPower(node, startsAfter: pause + Int64(random.below(20_000)))
    }
  }
}
