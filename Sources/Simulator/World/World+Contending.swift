/// What programs do at a node where rows are parked.
extension World {
  /// All meet, so that rows are parked. Then one is alone: its program writes while it is off and
  /// while it runs, and what it folds may be cut short as often as disks and processes fail.
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
      if happens(.diskFull) || happens(.ioError) { nodes[node].replica.spoilDisk(&random) }
      fold(node)
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
