import Replication
import Store

/// Two copies of one node at work at once: under one key, each with a file of its own.
extension World {
  var hasCopies: Bool { faults[.clone] > 0 }

  /// The node whose key a node has: its own, or that of its original.
  func identity(_ node: Int) -> Int { nodes[node].original ?? node }

  /// Copies all that a machine has to another one, where it is started; that may look the same.
  mutating func copy(_ node: Int) {
    guard !nodes.all.contains(where: { $0.original != nil }), !nodes[node].isDead else { return }
    let number = nodes.count
    do {
      var copy = Node(
        replica: try nodes[node].replica.copied(as: number, &random), clock: nodes[node].clock)
      copy.original = node
      if hasSiteTime {
        copy.clock = SimulatedClock(
          of: number, hasBattery: random.chance(600), like: copy.clock, at: time)
      }
      copy.record = nodes[node].record
      copy.appointments = nodes[node].appointments
      copy.isMoved = random.chance(600)
      nodes.append(copy)
      if !copy.isMoved { try noteFork(number) }
      history.copies = [Words.node(node), Words.node(number)]
      let other = copy.isMoved ? "another machine" : "a machine that looks the same"
      tell("\(Words.node(node)) is copied to \(other), as \(Words.node(number))")
      for link in links.all where link.nodes.contains(node) {
        links.append(Link(nodes: [link.nodes[0] == node ? link.nodes[1] : link.nodes[0], number]))
      }
      leave(number, after: Int64(random.chance(500) ? 0 : random.below(20_000)))
    } catch {
      // A disk that fails at that moment is not copied.
      if !nodes[node].replica.hasTrouble, !nodes[node].replica.isGone {
        history.blame("\(Words.node(node)) cannot be copied: \(error)")
      }
    }
  }

  /// A session is up: of two connections with one node the machine keeps one.
  mutating func meet(_ hello: Hello, _ link: Int, _ side: Int) {
    let node = links[link].nodes[side]
    let input = Mesh.Input.opened(links[link].id, hello, dialled: nil)
    for case .drop(let id, let bye) in nodes[node].mesh.receive(input, at: now(node)) {
      let other = links.indices.first { links[$0].id == id && links[$0].nodes.contains(node) }
      guard let other else { continue }
      feed(other, links[other].nodes[0] == node ? 0 : 1, .close(bye))
    }
  }

  /// Both copies soon dial again whoever has ended a connection with them.
  mutating func dialCopies() {
    guard let original = nodes[nodes.count - 1].original, random.chance(200) else { return }
    let ends = links.indices.filter { link in
      links[link].nodes.contains { identity($0) == original } && links[link].isDown
    }
    if let link = ends.randomElement(using: &random) { connect(link) }
  }

  /// A member has this node twice.
  mutating func meetTwin(_ node: Int) {
    guard nodes[node].isUp, !nodes[node].wasTwin else { return }
    nodes[node].wasTwin = true
    attempt(node, nil, 0) { try $0.beginLifeLate(node, .twin) }
  }

  /// Of two copies one is stopped, as both advise, until all have what the other one has; then that
  /// one is stopped for good.
  mutating func settleCopies() -> Bool {
    guard let copy = nodes.indices.last, let original = nodes[copy].original,
      !nodes[copy].isDead, !nodes[original].isDead
    else { return true }
    let (first, second) = random.chance(500) ? (copy, original) : (original, copy)
    stop(second)
    heal()
    guard fallsSilent() else { return false }
    stop(first)
    (nodes[second].isDead, nodes[second].startsAt) = (false, time)
    return true
  }

  private mutating func stop(_ node: Int) {
    tell("\(Words.node(node)) is stopped")
    kill(node, startsAfter: 1)
    (nodes[node].isDead, nodes[node].startsAt) = (true, nil)
  }
}
