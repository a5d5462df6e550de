import Replication

/// What happens to the machines that the nodes run on, and to their clocks.
extension World {
  /// The process is gone; peers may notice late.
  mutating func kill(_ node: Int, startsAfter pause: Int64 = 0) {
    nodes[node].replica.kill()
    leave(node, after: pause)
  }

  /// The machine loses power.
  mutating func cutPower(_ node: Int, startsAfter pause: Int64 = 0) {
    nodes[node].replica.cutPower(&random)
    nodes[node].hadPower = false
    leave(node, after: pause)
  }

  mutating func leave(_ node: Int, after pause: Int64) {
    nodes[node].startsAt = time + pause
    (nodes[node].online, nodes[node].hasWork, nodes[node].behind) = (0, false, nil)
    nodes[node].doubted = nil
    (nodes[node].mesh, nodes[node].wasTwin) = (Mesh(node: nodes[node].replica.id), false)
    for link in links.indices {
      for side in 0...1 where links[link].nodes[side] == node {
        // Sessions are memory: they are gone with their exports, without a last word.
        links[link].sides[side].close()
        links[link].sides[side].merge = nil
        links[link].sides[side].export = nil
        cut(link)
      }
    }
    if pause == 0 { start(node) }
  }

  /// The process starts, perhaps on a machine that was just booted.
  mutating func start(_ node: Int) {
    guard !nodes[node].isDead else { return }
    let hadPower = nodes[node].hadPower
    if !hadPower { nodes[node].clock.boot(time, losesTime: losesTime(node)) }
    do {
      let now = now(node)
      try nodes[node].replica.restart(at: now, hadPower: hadPower, &history)
      nodes[node].startsAt = nil
      nodes[node].starts += 1
      nodes[node].hadPower = true
      nodes[node].keyMark = nodes[node].replica.position.keyMark
      tell("\(Words.node(node)) starts")
      if hasSiteTime { try beginTime(node) }
      if hasLives { try beginRun(node) }
      if hasRights { try remember(node) }
      govern(node)
      // As the shell does; while things may fail, this comes late enough.
      if isCalm, knowsTime(node) { fold(node) }
    } catch {
      // A disk that fails now may work a moment later.
      nodes[node].startsAt = time + 100
      nodes[node].hadPower = true
      tell("\(Words.node(node)) cannot start: \(error)")
      if !nodes[node].replica.hasTrouble, !nodes[node].replica.isGone {
        history.blame("\(Words.node(node)) cannot start: \(error)")
      }
    }
  }

  mutating func pass(_ milliseconds: Int64) {
    time += milliseconds
    for node in nodes.indices {
      if let start = nodes[node].startsAt, start <= time { self.start(node) }
    }
    // What failed at a bad disk is tried again.
    if hasRights { for node in nodes.indices where nodes[node].isUp { follow(node) } }
    if hasSiteTime { lookAtTime() }
    for link in links.indices { for side in 0...1 { feed(link, side, .tick) } }
  }

  /// Whether a boot finds the wall clock at 1970.
  private mutating func losesTime(_ node: Int) -> Bool {
    hasSiteTime ? !nodes[node].clock.hasBattery : happens(.noClock)
  }

  mutating func stepClock(_ node: Int) {
    if hasSiteTime, random.chance(300) {
      tell("the clock of \(Words.node(node)) is set right")
      return nodes[node].clock.correct()
    }
    let far: [Int64] = [1_000, 60_000, 3_600_000, 86_400_000, 31_536_000_000]
    let step = random.pick(far) * (random.chance(500) ? 1 : -1)
    tell("the clock of \(Words.node(node)) is set by \(step) ms")
    nodes[node].clock.step(by: step)
  }

  /// Two groups of nodes lose each other.
  mutating func part() {
    let group = (0..<nodes.count).filter { _ in random.chance(500) }
    tell("nodes \(group) are parted from the rest")
    for link in links.indices {
      let ends = links[link].nodes
      links[link].isParted = group.contains(ends[0]) != group.contains(ends[1])
      if links[link].isParted { cut(link) }
    }
  }
}
