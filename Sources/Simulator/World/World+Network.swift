import Replication

/// Connections, and what happens to the frames on them.
extension World {
  mutating func connect(_ link: Int) {
    let ends = links[link].nodes
    guard !links[link].isParted, ends.allSatisfy({ nodes[$0].isUp }) else { return }
    guard (0...1).contains(where: { !links[link].sides[$0].isConnected }) else { return }
    for node in ends { comeBack(node) }
    for node in ends where !nodes[node].isGoverned { govern(node) }
    // Who does not know the time takes nothing yet, and learns it in sessions alone.
    guard ends.allSatisfy({ nodes[$0].isUp && (nodes[$0].isGoverned || !knowsTime($0)) }) else {
      return
    }
    // One end may not have noticed yet that the last connection is gone.
    for side in 0...1 { drop(link, side) }
    tell("\(Words.node(ends[0])) and \(Words.node(ends[1])) connect")
    links[link].isSpoilt = false
    connections += 1
    links[link].id = connections
    links[link].nonce = plan?.random.next() ?? 0
    for side in 0...1 {
      let (node, replica) = (ends[side], nodes[ends[side]].replica)
      let now = now(node)
      if !hasLives { _ = random.next() }
      let hello = Hello(
        version: Session.versions.upperBound, purpose: .member, site: replica.site,
        node: replica.id, name: replica.name,
        run: hasLives ? nodes[node].run : nodes[node].starts, clock: now.wall, port: 0,
        schema: replica.schemaHash, statements: nodes[node].membership?.hash ?? 0,
        life: hasLives ? replica.life : 0)
      var configuration = Session.Configuration(
        hello: hello, position: replica.position, relayDelay: Int64(30 + random.below(60)))
      configuration.surety = surety(of: node)
      if hasLives { configuration.runs = replica.runLog }
      if hasSiteTime {
        configuration.clock = nodes[node].time.standing(at: nodes[node].clock.reading(time))
      }
      if hasRights {
        configuration.notary = SimulatedSite.notary
        configuration.ownRights = nodes[node].rights
        configuration.peerRights = rights(of: ends[1 - side], at: node)
      }
      links[link].sides[side] = Link.Side(session: Session(configuration, at: now))
      links[link].sides[side].ownRights = configuration.ownRights
      links[link].sides[side].peerRights = configuration.peerRights
      links[link].sides[side].isBlocked = happens(.oneWay)
      if !isCalm { links[link].sides[side].slowness = random.below(faults[.slowness] + 1) }
    }
    meetEachOther(ends)
    for side in 0...1 { feed(link, side, .connected) }
  }

  mutating func send(_ message: Message, _ link: Int, _ side: Int) {
    switch message {
    case .ping, .pong: break
    default:
      lastMessage = time
      messages += 1
    }
    // On what was said about rights rests what a peer leaves out: no rule of ours mends its loss.
    let isStatement = if case .statements = message { true } else { false }
    let isInBurst = links[link].sides[side].isLosing && happens(.burst)
    let isLosing = (isInBurst || happens(.loss)) && !isStatement
    links[link].sides[side].isLosing = isLosing
    if isLosing {
      links[link].isSpoilt = true
      let name = Words.node(links[link].nodes[side])
      return tell("a frame from \(name) is lost")
    }
    if isLiar(links[link].nodes[side]), !isCalm { return lie(message, link, side) }
    let frame = Link.Frame(message)
    links[link].sides[side].queue.append(frame)
    if happens(.duplication) {
      links[link].isSpoilt = true
      links[link].sides[side].queue.append(frame)
    }
    if links[link].sides[side].queue.count > 1, happens(.reordering), !hasRights || !isStatement {
      links[link].isSpoilt = true
      reorder(link, side)
    }
    minds(link, side)
  }

  /// What the liar says instead.
  private mutating func lie(_ message: Message, _ link: Int, _ side: Int) {
    let own = nodes[links[link].nodes[side]].replica.own
    let said = liar?.twist(message, by: own, on: links[link].id) ?? []
    for word in liar?.takeWords() ?? [] { tell("it lies: \(word)") }
    for message in said { links[link].sides[side].queue.append(Link.Frame(message)) }
    minds(link, side)
  }

  /// The last frame overtakes: any other one, or, as an end, mostly what follows a beginning, for
  /// one exchange may then be taken for another.
  private mutating func reorder(_ link: Int, _ side: Int) {
    let queue = links[link].sides[side].queue
    let last = queue.count - 1
    let seams = queue.indices.dropLast().filter { $0 > 0 && queue[$0 - 1].opens }
    let isSeam = queue[last].closes && !seams.isEmpty && random.chance(700)
    links[link].sides[side].queue.swapAt(
      last, isSeam ? random.pick(seams) : random.below(last))
  }

  /// The shell tells a session when its peer is slow, and when there is room again.
  private mutating func minds(_ link: Int, _ side: Int) {
    let count = links[link].sides[side].queue.count
    if count > 12, !links[link].sides[side].isCrowded {
      links[link].sides[side].isCrowded = true
      feed(link, side, .crowded)
    } else if count < 4, links[link].sides[side].isCrowded {
      links[link].sides[side].isCrowded = false
      feed(link, side, .drained)
    }
  }

  /// The next frame from this side arrives; or the end of the connection.
  mutating func deliver(_ link: Int, from side: Int) {
    guard !links[link].sides[side].queue.isEmpty else {
      links[link].sides[side].hasHungUp = false
      return feed(link, 1 - side, .disconnected("the peer has hung up"))
    }
    let frame = links[link].sides[side].queue.removeFirst()
    defer { minds(link, side) }
    guard links[link].sides[1 - side].isConnected else { return }
    guard let body = try? links[link].sides[1 - side].arrive(frame.bytes),
      let message = try? Message(frame: body)
    else {
      if liar != nil {
        if !hasLiar(link) {
          history.blame("\(Words.node(links[link].nodes[side])) says what nobody can read")
        }
        return feed(link, 1 - side, .close(Bye(.badMessage, "a frame that cannot be read")))
      }
      preconditionFailure("a frame that was sent cannot be read")
    }
    feed(link, 1 - side, .heard)
    if !hasLiar(link) {
      let name = Words.node(links[link].nodes[side])
      let now = now(links[link].nodes[1 - side])
      AnytimePrompt.check(message, &links[link].sides[1 - side], from: name, at: now, &history)
    }
    let isFollowed = !links[link].sides[side].queue.isEmpty && gatherings.chance(500)
    feed(link, 1 - side, .received(message, isFollowed: isFollowed))
    if hasLives, case .have(let have) = message, links[link].sides[1 - side].isConnected,
      !hasLiar(link)
    {
      let replica = nodes[links[link].nodes[1 - side]].replica
      AnytimeLife.check(have, replica.lifeMark, &history, at: replica.name)
    }
  }

  /// The connection breaks, for both ends or for one that does not notice; frames under way are
  /// lost, the first perhaps after some of its bytes arrived.
  mutating func cut(_ link: Int) {
    guard !links[link].isDown else { return }
    let names = links[link].nodes.map(Words.node)
    tell("the cable between \(names[0]) and \(names[1]) breaks")
    let deaf = random.chance(300) ? random.below(2) : nil
    for side in 0...1 {
      if let frame = links[link].sides[1 - side].queue.first, random.chance(500) {
        tear(frame, link, side)
      }
      if side == deaf {
        links[link].sides[side].isBlocked = true
      } else {
        drop(link, side)
      }
    }
    for side in 0...1 { links[link].sides[side].queue = [] }
  }

  /// Some bytes of a frame arrive at this end, which shows that the peer is there, and no more.
  private mutating func tear(_ frame: Link.Frame, _ link: Int, _ side: Int) {
    feed(link, side, .heard)
    guard links[link].sides[side].isConnected else { return }
    let count = 1 + tears.below(frame.bytes.count - 1)
    let body = try? links[link].sides[side].arrive(Array(frame.bytes.prefix(count)))
    if body != nil { history.blame("\(count) bytes of a longer frame were taken for one") }
  }

  /// This end of the connection is gone.
  mutating func drop(_ link: Int, _ side: Int) {
    feed(link, side, .disconnected("the connection broke"))
    end(link, side)
    links[link].sides[side] = Link.Side()
  }

  /// The session at this end is over; what it has sent still arrives.
  mutating func end(_ link: Int, _ side: Int) {
    guard links[link].sides[side].isConnected else { return }
    closeExport(link, side)
    // The shell hands a merge over; it may be done although the session is gone.
    let merge = links[link].sides[side].merge
    links[link].sides[side].close()
    links[link].sides[side].merge = nil
    links[link].sides[side].mayPull = false
    links[link].sides[side].hasHungUp = true
    loseContact(link, side)
    let node = links[link].nodes[side]
    if hasSiteTime { loseTime(link, side) }
    if hasCopies { _ = nodes[node].mesh.receive(.closed(links[link].id), at: now(node)) }
    if let merge, nodes[node].isUp, random.chance(500) { commit(merge, at: node, link, side) }
  }

  mutating func closeExport(_ link: Int, _ side: Int) {
    if let id = links[link].sides[side].export?.id {
      nodes[links[link].nodes[side]].replica.closeExport(id)
    }
    links[link].sides[side].export = nil
  }
}
