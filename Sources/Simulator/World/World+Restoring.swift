import Replication
import Store

/// Files that are put back to an earlier state, and what the shell does about lives.
extension World {
  /// Whether nodes may go on under new origins.
  var hasLives: Bool { faults[.restore] > 0 || hasCopies || hasCollection }

  /// Keeps a copy of a file, or puts the last one in its place: the file alone, so that what stands
  /// beside it shows that, or all that the machine has.
  mutating func restore(_ node: Int) {
    guard let record = nodes[node].backup, random.chance(600) else {
      tell("the file of \(Words.node(node)) is copied")
      nodes[node].backup = .some(nodes[node].record)
      nodes[node].knownThen = nodes[node].appointments
      return nodes[node].replica.backUp()
    }
    let isAlone = random.chance(600)
    let what = isAlone ? "the file" : "the machine"
    tell("\(what) of \(Words.node(node)) is put back to an earlier state")
    do {
      guard try nodes[node].replica.putBack() else { return }
      history.wasPutBack = true
      history.bringNothing(from: nodes[node].replica.name)
      nodes[node].appointments = nodes[node].knownThen
      if isAlone {
        nodes[node].isReplaced = random.chance(500)
        if random.chance(100) { nodes[node].record = nil }
      } else {
        nodes[node].record = record
        try noteFork(node)
      }
      leave(node, after: Int64(random.chance(500) ? 0 : random.below(20_000)))
    } catch {
      history.blame("\(Words.node(node)) cannot be put back: \(error)")
    }
  }

  /// What a machine writes from now on may have the name of something else.
  mutating func noteFork(_ node: Int) throws {
    let own = nodes[node].replica.own
    history.fork(own, above: try nodes[node].replica.observe().frontier[own])
  }

  /// Before anything is written: a new life if the file is in doubt, else a new run.
  mutating func beginRun(_ node: Int) throws {
    let mark = nodes[node].replica.lifeMark
    nodes[node].run = random.next()
    let doubt = LifeRecord.doubt(
      nodes[node].record, database: mark, isSameMachine: !nodes[node].isMoved,
      isSameFile: !nodes[node].isReplaced)
    if let doubt {
      try beginLife(node, doubt, isLate: false)
    } else {
      let next = LifeMark(origin: mark.origin, run: nodes[node].run, seq: mark.seq)
      nodes[node].record = LifeRecord(mark: next, previousRun: mark.run)
      try nodes[node].replica.beginRun(nodes[node].run)
    }
    (nodes[node].isMoved, nodes[node].isReplaced) = (false, false)
  }

  mutating func beginLife(
    _ node: Int, _ doubt: Doubt, isLate: Bool, renewingTo mark: Mark? = nil
  ) throws {
    let now = now(node)
    let before = isLate ? try nodes[node].replica.observe().versions : [:]
    nodes[identity(node)].lives += 1
    try nodes[node].replica.beginLife(
      doubt, life: nodes[identity(node)].lives, run: nodes[node].run, isLate: isLate,
      renewingTo: mark, at: now, &history)
    if isLate {
      let after = try nodes[node].replica.observe().versions
      history.renumber(before, as: after, at: nodes[node].replica.name)
    }
    nodes[node].record = LifeRecord(
      mark: nodes[node].replica.lifeMark, previousRun: nodes[node].run)
    tell("\(Words.node(node)) goes on under a new origin: \(doubt)")
  }

  /// After each commit, and before anything of it can be sent.
  func isNewer(_ mark: LifeMark, than record: LifeRecord) -> Bool {
    mark.run == record.mark.run && mark.seq > record.mark.seq
  }

  mutating func noteLife(_ node: Int) {
    let mark = nodes[node].replica.lifeMark
    guard let record = nodes[node].record, isNewer(mark, than: record) else { return }
    nodes[node].record?.mark = mark
  }

  /// A peer shows that this node has signed for edits that its session does not know of.
  mutating func examine(_ have: Have, _ link: Int, _ side: Int) {
    guard let reach = have.testimony else { return }
    doubt(reach, link, side) { world in
      let position = world.nodes[world.links[link].nodes[side]].replica.position
      world.feed(link, side, .confirmed(have, position))
    }
  }

  /// The same, beside rows of an exchange.
  mutating func doubt(
    _ reach: Reach, _ link: Int, _ side: Int, otherwise: (inout World) -> Void = { _ in }
  ) {
    let node = links[link].nodes[side]
    attempt(node, link, side) { world in
      guard try world.nodes[node].replica.isContradicted(by: reach) else {
        return otherwise(&world)
      }
      try world.beginLifeLate(node, .unknown)
    }
  }

  /// A new life of a node that has sessions: it meets everybody anew.
  mutating func beginLifeLate(_ node: Int, _ doubt: Doubt) throws {
    try beginLife(node, doubt, isLate: true)
    meetAnew(node)
  }

  /// Ends the sessions of a node that goes on under a new origin.
  mutating func meetAnew(_ node: Int) {
    for link in links.indices {
      for side in 0...1 where links[link].nodes[side] == node {
        feed(link, side, .close(Bye(.other, "this node goes on under a new origin")))
      }
    }
  }

  mutating func hears(_ link: Int, _ side: Int, holds frontier: Frontier) {
    links[link].sides[side].holds = frontier
    let node = links[link].nodes[side]
    let own = nodes[node].replica.own
    if nodes[node].replica.frontier.covers(frontier) { becomeSure(node) }
    guard frontier[own] > 0 else { return }
    attempt(node, link, side) { try $0.nodes[node].replica.noteDelivered(frontier[own]) }
  }

  /// Nobody can tell of an office that the file knows nothing of.
  mutating func becomeSure(_ node: Int) {
    guard plan != nil, hasLives, nodes[node].isUp, knowsTime(node) else { return }
    attempt(node, nil, 0) { world in
      guard let fold = try world.use(node, { try $0.becomeSure(at: $1) }) else { return }
      world.folded(node, fold)
    }
  }

  /// Lives of others that are over: no author is left to keep what is lost of them.
  mutating func noteMet(_ hello: Hello, _ link: Int, _ side: Int) {
    let ends = links[link].nodes
    let (node, peer) = (ends[side], identity(ends[1 - side]))
    guard nodes[node].metLives[peer]?.last != hello.life else { return }
    nodes[node].metLives[peer, default: []].removeAll { $0 == hello.life }
    nodes[node].metLives[peer, default: []].append(hello.life)
    nodes[node].replica.departed = nodes[node].metLives.reduce(into: []) { departed, met in
      let over = met.value.dropLast()
      departed.formUnion(over.map { Templates.origin(of: met.key, life: $0) })
    }
  }
}
