/// What programs do at a node where rows are parked.
extension World {
  /// All meet, so that rows are parked. Then one is alone: its program writes while it is off and
  /// while it runs, and what it folds is cut short again and again.
  mutating func contend() {
    gather()
    let node = random.below(nodes.count)
    guard nodes[node].isUp else { return }
    kill(node, startsAfter: 1)
    for _ in 0...random.below(4) { write(node) }
    pass(Int64(1 + random.below(20)))
    for _ in 0..<(3 + random.below(6)) {
      guard nodes[node].isUp else {
        pass(200)
        continue
      }
      if random.chance(300) { write(node) }
      foldInPieces(node)
    }
  }

  /// Folds slice by slice; after each the disk may begin to fail, or the process be killed.
  private mutating func foldInPieces(_ node: Int) {
    var (hasMore, slices) = (true, 0)
    while hasMore, nodes[node].isUp, isPatient(node, after: slices) {
      slices += 1
      hasMore = false
      attempt(node, nil, 0) { hasMore = try $0.foldSlice(node) }
      if faults[.diskFull] + faults[.ioError] > 0, random.chance(300) {
        nodes[node].replica.spoilDisk(&random)
      }
      if faults[.crash] > 0, random.chance(100) {
        tell("kill \(Words.node(node))")
        kill(node, startsAfter: 1)
      }
    }
  }

  /// Nothing fails for a moment, and whoever is there hears of all others.
  private mutating func gather() {
    isCalm = true
    for node in nodes.indices where !nodes[node].isDead {
      nodes[node].replica.calmDisk(true)
      if nodes[node].startsAt != nil { start(node) }
    }
    for link in links.indices {
      links[link].isParted = false
      for side in 0...1 { drop(link, side) }
      connect(link)
    }
    work(rounds: 60)
    isCalm = false
    for node in nodes.indices where !nodes[node].isDead {
      nodes[node].replica.calmDisk(false)
    }
  }
}
