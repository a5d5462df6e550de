import Replication

/// A schedule: random life, then everything heals.
extension World {
  mutating func live(steps count: Int) {
    for _ in 0..<count {
      liveOffice()
      goOnWorking(chance: 300)
      goOnFallingBehind()
      liveCollecting()
      if hasCopies { dialCopies() }
      if faults[.swap] > 0, random.chance(60) { contend() }
      let node = random.below(nodes.count)
      switch random.below(100) {
      case 0..<9: write(node)
      case 9..<14: if nodes[node].isUp { fold(node) }
      case 14..<20: connect(random.below(links.count))
      case 20..<26: pass(Int64(random.below(40)))
      case 26: pass(Int64(random.below(6_000)))
      case 27: if nodes[node].isUp { feed(node: node, .ask) }
      case 28..<34: misfortune(node)
      default:
        // Some ends have nothing to do.
        for _ in 0..<4 where step(random.below(links.count), random.below(2)) { break }
      }
    }
  }

  /// The application needs no running node.
  mutating func write(_ node: Int) {
    guard !nodes[node].isDead else { return }
    let now = now(node)
    attempt(node, nil, 0) { world in
      try world.nodes[node].replica.write(&world.random, at: now, &world.story)
    }
  }

  /// Perhaps something goes wrong.
  private mutating func misfortune(_ node: Int) {
    if happens(.interruption) { cut(random.below(links.count)) }
    if happens(.partition) { part() }
    if random.chance(100) { for link in links.indices { links[link].isParted = false } }
    if happens(.clockStep) { stepClock(node) }
    if happens(.diskFull) || happens(.ioError) { nodes[node].replica.spoilDisk(&random) }
    if happens(.rights) { grant() }
    if happens(.siteTime) { blackOut() }
    if happens(.strangers) { introduce() }
    if faults[.unique] > 0, random.chance(500) { writeAlone(node) }
    guard nodes[node].isUp else { return }
    if happens(.migration) {
      let now = now(node)
      attempt(node, nil, 0) { world in
        try world.nodes[node].replica.migrate(&world.random, at: now, &world.story)
      }
    }
    if happens(.removal) {
      let now = now(node)
      attempt(node, nil, 0) { world in
        try world.nodes[node].replica.remove(&world.random, at: now, &world.story)
      }
    }
    if happens(.restore) { restore(node) }
    if happens(.clone) { copy(node) }
    let pause = Int64(random.chance(500) ? 0 : random.below(20_000))
    if happens(.crash) {
      tell("kill \(Words.node(node))")
      kill(node, startsAfter: pause)
    } else if happens(.powerCut) {
      tell("\(Words.node(node)) loses power")
      cutPower(node, startsAfter: pause)
    } else if happens(.absence) {
      let days = Int64(1 + random.below(300))
      tell("\(Words.node(node)) is away for \(days) days")
      kill(node, startsAfter: days * 86_400_000)
    } else if happens(.death), canLose {
      tell("\(Words.node(node)) is lost for good")
      kill(node, startsAfter: .max / 2)
      nodes[node].isDead = true
    }
  }

  /// A node is off for a while, and its application writes meanwhile.
  private mutating func writeAlone(_ node: Int) {
    if nodes[node].isUp { kill(node, startsAfter: Int64(1 + random.below(5_000))) }
    for _ in 0...random.below(3) { write(node) }
  }

  /// Whether those who are left still reach each other without one more.
  private var canLose: Bool {
    let isMesh = links.count == nodes.count * (nodes.count - 1) / 2
    return isMesh && nodes.indices.count(where: { !nodes[$0].isDead && !isLiar($0) }) > 2
  }

  /// Everything heals; true once nothing but pings is said for ten seconds.
  mutating func settle() -> Bool {
    revokeLiar()
    isCalm = true
    guard settleCopies() else { return false }
    introduceAll()
    heal()
    guard fallsSilent() else { return false }
    if hasCollection, !collectAll() { return false }
    if plan != nil, appointAgain(), !fallsSilent() { return false }
    guard hasRights else { return true }
    // Rows that nobody knew are asked for once more after a minute.
    for node in nodes.indices where nodes[node].isUp {
      nodes[node].lastWanted = 0
      askForRows(node)
    }
    return fallsSilent()
  }

  /// Nothing happens but what machines do by themselves.
  mutating func idle(for milliseconds: Int64) {
    let end = time + milliseconds
    while time < end {
      work()
      pass(min(3_000, max(1, nextDeadline ?? 0)))
      for link in links.indices { connect(link) }
    }
  }

  mutating func fallsSilent() -> Bool {
    lastMessage = time
    let start = time
    let said = messages
    while time - lastMessage < 10_000 || nodes.indices.contains(where: { isWaitingForTime($0) }) {
      guard time - start < 900_000, messages - said < 200_000 else { return false }
      work()
      for node in nodes.indices where nodes[node].hasWork && nodes[node].isUp {
        nodes[node].hasWork = false
        fold(node)
      }
      pass(min(5_000, max(1, (nextDeadline ?? 0))))
      for link in links.indices { connect(link) }
    }
    return true
  }

  private func isWaitingForTime(_ node: Int) -> Bool { nodes[node].isUp && !knowsTime(node) }

  /// Does what can be done, until nothing is left or it goes on for too long.
  mutating func work(rounds: Int = 2_000) {
    for _ in 0..<rounds {
      var isBusy = false
      let first = random.below(links.count)
      for offset in links.indices {
        let link = (first + offset) % links.count
        let side = random.below(2)
        if step(link, side) { isBusy = true }
        if step(link, 1 - side) { isBusy = true }
      }
      goOnWorking(chance: 1_000)
      goOnFallingBehind()
      guard isBusy else { return }
    }
  }

  /// Everybody gets to know everybody and has the tables, before anything fails.
  mutating func meet() {
    isCalm = true
    for node in nodes.indices { fold(node) }
    for link in links.indices { connect(link) }
    work(rounds: 60)
    isCalm = false
  }

  /// Connects everybody anew until all hold the same: what was lost with a table comes again when
  /// two sessions meet at one frontier.
  mutating func repair() -> Bool {
    for _ in 0..<8 {
      let digests = nodes.indices.filter { !nodes[$0].isDead }
        .map { nodes[$0].replica.position.digest }
      guard !digests.allSatisfy({ $0 == digests[0] }) else { return true }
      for link in links.indices {
        for side in 0...1 { drop(link, side) }
        connect(link)
      }
      guard settle() else { return false }
    }
    return true
  }

  mutating func heal() {
    let starts = nodes.all.filter { !$0.isDead }.compactMap { $0.startsAt }
    if let latest = starts.max(), latest > time {
      tell("everybody comes back")
      time = latest
    }
    for node in nodes.indices where !nodes[node].isDead {
      nodes[node].replica.calmDisk(true)
      if nodes[node].startsAt != nil { start(node) }
    }
    let alive = nodes.indices.filter { !nodes[$0].isDead }
    let additions = alive.reduce(into: Set()) { $0.formUnion(nodes[$1].replica.additions) }
    for node in alive {
      let now = now(node)
      attempt(node, nil, 0) { world in
        try world.nodes[node].replica.catchUp(with: additions, at: now, &world.story)
      }
      fold(node)
    }
    if hasRights { grantInTheEnd() }
    for link in links.indices {
      links[link].isParted = false
      let isBroken =
        links[link].isSpoilt
        || (0...1).contains {
          links[link].sides[$0].isBlocked || !links[link].sides[$0].isConnected
        }
      if isBroken { for side in 0...1 { drop(link, side) } }
      connect(link)
    }
    healOffice()
  }

  /// In how many ms the next session wants its tick.
  private var nextDeadline: Int64? {
    var next = nextLook
    for link in links.indices {
      for side in 0...1 {
        guard links[link].sides[side].isConnected else { continue }
        let left = links[link].sides[side].deadline - now(links[link].nodes[side]).uptime
        next = min(next ?? left, left)
      }
    }
    return next
  }
}
