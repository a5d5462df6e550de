import Replication
import Store

/// What a site does about deleted versions, drawn by itself.
struct Collecting {
  var random: Seeded
  /// For how long they are kept at least, in ms.
  let retention: Int64
  /// The lives of nodes that the site was told not to wait for.
  var forgotten: [Int: UInt64] = [:]
  /// When a node does something about what it has heard.
  var lateness: Seeded
  /// An end of a link whose frames stay on their way for now.
  var stalled: (link: Int, side: Int)?

  init(_ random: Seeded) {
    var random = random
    lateness = random
    self.random = random.fork()
    retention = self.random.pick([0, 0, 1_000, 60_000])
  }
}

/// Letting go of deleted versions, and coming back after that.
extension World {
  var hasCollection: Bool { faults[.collection] > 0 }

  /// Who is waited for.
  private var members: Set<Identity> {
    Set(nodes.indices.filter { !isForgotten($0) }.map { nodes[$0].replica.id })
  }

  private func isForgotten(_ node: Int) -> Bool {
    collecting.forgotten[identity(node)] == nodes[identity(node)].lives
  }

  mutating func liveCollecting() {
    guard hasCollection, collecting.random.chance(faults[.collection]) else { return }
    switch collecting.random.below(5) {
    case 0: goAway(collecting.random.below(nodes.count))
    case 1: for node in nodes.indices where nodes[node].isUp { tend(node) }
    default: season()
    }
  }

  /// A node is off for a while, and perhaps given up.
  private mutating func goAway(_ node: Int) {
    guard nodes[node].isUp else { return }
    tell("\(Words.node(node)) is off for a while")
    kill(node, startsAfter: Int64(collecting.random.below(8_000)))
    if collecting.random.chance(800) { forget(node) }
  }

  /// Those who are there meet, and let go of what was deleted.
  private mutating func season() {
    if collecting.random.chance(400) { stall() }
    defer { collecting.stalled = nil }
    for _ in 0..<4 {
      for link in links.indices { connect(link) }
      work(rounds: 20)
      // Some look later than others whether anything can go.
      for node in nodes.indices where nodes[node].isUp && !collecting.lateness.chance(200) {
        tend(node)
      }
      pass(Int64(collecting.random.below(200)))
    }
  }

  /// What one end has sent waits somewhere between the two, while everybody else goes on.
  private mutating func stall() {
    let link = collecting.random.below(links.count)
    let side = collecting.random.below(2)
    for node in links[link].nodes where nodes[node].isUp {
      write(node)
      fold(node)
    }
    work(rounds: 1 + collecting.random.below(6))
    collecting.stalled = (link, side)
    if collecting.lateness.chance(700) { overwrite(beside: links[link].nodes[side]) }
  }

  /// Others write and delete what may be on its way from this node, and everybody gets that.
  private mutating func overwrite(beside author: Int) {
    let drawn = random
    random = collecting.lateness.fork()
    defer { random = drawn }
    pass(Int64(1 + collecting.lateness.below(20)))
    for _ in 0..<(2 + collecting.lateness.below(6)) {
      let node = collecting.lateness.below(nodes.count)
      guard node != author, nodes[node].isUp else { continue }
      write(node)
      fold(node)
    }
  }

  /// A person says that a node will not return.
  private mutating func forget(_ node: Int) {
    guard !isForgotten(node) else { return }
    tell("nobody waits for \(Words.node(node)) any more")
    collecting.forgotten[identity(node)] = nodes[identity(node)].lives
  }

  /// A node that was given up is there: it goes on as a new one, and is waited for again.
  mutating func comeBack(_ node: Int) {
    guard hasCollection, nodes[node].isUp, let life = collecting.forgotten[identity(node)],
      (0...life).contains(where: {
        Templates.origin(of: identity(node), life: $0) == nodes[node].replica.own
      })
    else { return }
    attempt(node, nil, 0) { world in
      try world.beginLife(node, .forgotten, isLate: false)
      world.meetAnew(node)
    }
  }

  private mutating func tend(_ node: Int) {
    // What others have signed came since.
    if let standing = nodes[node].doubted {
      nodes[node].doubted = nil
      fallBehind(node, standing, nil, 0)
    }
    let before = nodes[node].replica.stability
    defer {
      let after = nodes[node].replica.stability
      if after.cut?.mark != before.cut?.mark {
        tell("\(Words.node(node)) makes cut \(after.cut?.mark.number ?? 0)")
      } else if after.whole != before.whole {
        tell("\(Words.node(node)) holds cut \(after.whole.number)")
      }
    }
    let (members, retention) = (members, collecting.retention)
    // Ids of cuts were drawn once; what is drawn after that stays as it was.
    _ = collecting.random.next()
    let everybody = Set(nodes.indices.map { nodes[$0].replica.id })
    attempt(node, nil, 0) { world in
      while true {
        let done = try world.use(node) {
          try $0.tend(
            members: members, everybody: everybody, retention: retention, at: $1)
        }
        if done.collected > 0 {
          world.tell("\(Words.node(node)) lets go of \(done.collected) deleted versions")
          world.noteParting()
        }
        guard done.hasMore else { break }
      }
      world.feed(node: node, .advanced(world.nodes[node].replica.position))
    }
  }

  /// Whether two have cleared marks of which neither knows the other's.
  private mutating func noteParting() {
    let cleared = stabilities.filter { $0.cleared != .none }
    for one in cleared {
      for other in cleared where !one.knows(other.cleared) && !other.knows(one.cleared) {
        history.hasParted = true
      }
    }
  }

  mutating func hear(_ news: StabilityNews, _ link: Int, _ side: Int) {
    let node = links[link].nodes[side]
    let peer = nodes[links[link].nodes[1 - side]].replica.id
    attempt(node, link, side) { world in
      try world.use(node) { try $0.hear(news, from: peer, at: $1) }
      world.feed(node: node, .advanced(world.nodes[node].replica.position))
    }
  }

  /// Others have forgotten what was deleted while this node was away.
  ///
  /// It begins to fetch everything a moment later: an exchange that is under way may end before.
  mutating func fallBehind(_ standing: CutStanding, _ link: Int, _ side: Int) {
    let node = links[link].nodes[side]
    if !isCalm, collecting.lateness.chance(500) { return nodes[node].behind = standing }
    fallBehind(node, standing, link, side)
  }

  mutating func goOnFallingBehind() {
    guard hasCollection else { return }
    for node in nodes.indices {
      guard let standing = nodes[node].behind, isCalm || collecting.lateness.chance(100) else {
        continue
      }
      nodes[node].behind = nil
      fallBehind(node, standing, nil, 0)
    }
  }

  /// Who dies before it has begun to fetch everything knows that it must from its file alone.
  mutating func dieBehind(_ node: Int) {
    guard nodes[node].behind != nil, collecting.lateness.chance(300) else { return }
    tell("\(Words.node(node)) dies before it fetches everything")
    kill(node, startsAfter: Int64(collecting.lateness.below(8_000)))
  }

  private mutating func fallBehind(
    _ node: Int, _ standing: CutStanding, _ link: Int?, _ side: Int
  ) {
    attempt(node, link, side) { world in
      // Another peer may have said so a moment ago.
      guard world.nodes[node].replica.stability.mustRenew(for: standing) else { return }
      world.history.bring(world.nodes[node].replica.frontier, from: world.nodes[node].replica.name)
      let teller = link.map { world.nodes[world.links[$0].nodes[1 - side]].replica.id }
      if world.isShown(standing.cleared, besides: teller, to: node),
        try world.use(node, { replica, _ in try replica.renewAsNew(to: standing.cleared) })
      {
        world.feed(node: node, .advanced(world.nodes[node].replica.position))
      } else if let cut = world.renewal(for: standing.cleared, at: node) {
        try world.beginLife(node, .behind, isLate: false, renewingTo: cut)
        world.meetAnew(node)
      } else {
        world.tell("\(Words.node(node)) does not believe that it was away")
        world.nodes[node].doubted = standing
        world.doAsTold(node)
      }
    }
  }

  /// Whether somebody else has signed that it holds it, if there is anybody else.
  private func isShown(_ mark: Mark, besides teller: Identity?, to node: Int) -> Bool {
    let all = Set(nodes.indices.map { nodes[$0].replica.id })
    let others = all.subtracting([nodes[node].replica.id])
    return nodes[node].replica.stability.isShown(mark, by: others, besides: teller)
  }

  private func renewal(for mark: Mark, at node: Int) -> Mark? {
    let others = nodes.indices.filter {
      identity($0) != identity(node) && collecting.forgotten[identity($0)] == nil
    }
    return nodes[node].replica.stability.renewal(
      for: mark, held: others.map { nodes[$0].replica.id })
  }

  /// A person does what the node says: to wait for it no more, and to start it again.
  ///
  /// Two machines that run as one node say for each other what they hold. Nothing but a person can
  /// tell then that one of them was away.
  private mutating func doAsTold(_ node: Int) {
    guard isCalm, nodes.all.contains(where: { $0.original != nil }),
      !nodes[node].replica.stability.mayHaveMissed
    else { return }
    forget(node)
    comeBack(node)
  }

  /// Nobody is left who could tell a node what was deleted while it was away.
  private mutating func giveUpRenewals() {
    let alive = nodes.indices.filter { !nodes[$0].isDead }
    let standings = alive.map { nodes[$0].replica.stability.standing }
    for node in alive {
      let stability = nodes[node].replica.stability
      guard stability.standing.isBehind, !stability.isHelped(by: standings) else { continue }
      tell("\(Words.node(node)) goes on with what it has")
      attempt(node, nil, 0) { world in
        let fold = try world.use(node) { try $0.giveUpRenewal(at: $1) }
        world.folded(node, fold)
      }
      fold(node)
      return
    }
  }

  private var stabilities: [Stability] {
    nodes.indices.map { nodes[$0].replica.stability }
  }

  /// Nothing fails any more: all that can go goes.
  mutating func collectAll() -> Bool {
    for _ in 0..<6 {
      let before = stabilities
      giveUpRenewals()
      for node in nodes.indices where nodes[node].isUp { tend(node) }
      guard fallsSilent() else { return false }
      // What is kept for longer than a round becomes due in one of the next.
      let isDone = stabilities == before
      if isDone, collecting.retention < 10_000 { break }
    }
    return true
  }
}
