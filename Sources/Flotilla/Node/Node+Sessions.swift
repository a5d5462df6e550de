import Network
import Replication
import Store

/// Sessions come and go; what they tell.
extension Node {
  /// A session tells something that concerns the node.
  func session(_ session: PeerSession, did directive: Session.Directive) async {
    switch directive {
    case .opened(let hello): await opened(session, hello)
    case .peerHolds(let frontier): await hears(session, holds: frontier)
    case .exchanged(let sent, let rows): await exchanged(session, sent: sent, rows: rows)
    case .catchingUp(let passage):
      copy.receive(passage)
      pullTurns.hear(session.id, at: Uptime.now)
      update(session) {
        $0.isExchanging = true
        $0.coming = CatchUp($0.coming, passage, at: Uptime.now)
      }
    case .sending(let passage):
      update(session) { $0.going = CatchUp($0.going, passage, at: Uptime.now) }
    case .program(let name): update(session) { $0.program = name }
    case .dialBack: await dialBack(for: session)
    case .knocked(let answer): note(answer, of: session)
    case .members(let members): await hear(members, from: session)
    case .statements(let statements): await hear(statements, from: session)
    case .heardClock(let view): await hear(view, from: session)
    case .measuredClock(let view, let roundTrip, let moment):
      await measure(view, roundTrip: roundTrip, at: moment, from: session)
    case .judge(let join): await judge(join, session)
    case .inspected(let content): await inspected(session, content)
    case .describe: await describe(to: session)
    case .described(let objects): questions.tell(objects, session.id)
    case .contradicted(let have): await examine(have, of: session)
    case .doubted(let reach): await doubt(reach, from: session)
    case .stability(let news): await hear(news, from: session)
    case .fellBehind(let standing): await fallBehind(standing, as: session)
    default: break
    }
  }

  private func opened(_ session: PeerSession, _ hello: Hello) async {
    // A joiner keeps its place until it is done: who knows a code may say Hello again and again.
    guard hello.purpose == .member else { return await receive(joiner: session) }
    strangers.leave(session.id)
    // It was one in the handshake, and may have been shut out or have left since.
    guard roster.roll.member(hello.node) != nil else {
      return await session.feed(.close(Bye(.revoked, "\(hello.name) is no member any more")))
    }
    guard hasRightsOfToday(session, with: hello.node) else {
      return await session.feed(.close(Bye(.other, "rights have changed meanwhile")))
    }
    guard mayLive(hello) else {
      return await session.feed(.close(Bye(.notAllowed, "\(hello.name) has had too many lives")))
    }
    // It may have ended while this was on its way: nobody would tell again that it is gone.
    guard sessions[session.id] != nil else { return }
    let before = peers[hello.node]
    var record = before ?? PeerRecord(hello.node, name: hello.name)
    let drops = mesh.receive(
      .opened(session.id, hello, dialled: session.dialled), at: .now)
    let isDropped = drops.contains { directive in
      if case .drop(session.id, _) = directive { true } else { false }
    }
    if drops.contains(where: \.isForTwin) { record.twinAt = Uptime.now }
    // It has reached the port of this node, whichever of two connections stays.
    if session.dialled == nil { record.note(.reached, from: session.link.remote.host) }
    peers[hello.node]?.noteArrival(as: record)
    if !isDropped {
      record.name = roster.roll.member(hello.node).map(\.name) ?? hello.name
      record.session = session
      // What it says in either of two connections is its word; one that gives way to this one
      // brings nothing any more.
      if mesh.connection(besides: session.id) == nil { record.beginAnew() }
      record.seen = Uptime.wall
      record.note(hello, origin: Origin.of(hello.node, life: hello.life, .openSSL))
      peers[hello.node] = record
    }
    await perform(drops)
    guard !isDropped else { return }
    // Also of the connection that has just given way.
    if let record = peers[hello.node] {
      // The session goes on with it, and gives it back.
      peers[hello.node]?.supply = Supply()
      await session.feed(.owes(record.toll, record.supply))
    }
    await noteMet()
    if !isTwinOfLate(hello.node), before?.failures.isKnown != true {
      tell("connected with \(hello.name)\(place(session))", of: hello.node)
    }
    if let address = session.peerAddress(port: hello.port) {
      remember(address, of: hello.node)
      await perform(mesh.receive(.met(node: hello.node, address: address), at: .now))
    }
    let isNewLife = authors[hello.node]?.contains(hello.life) != true
    await note([Member(node: hello.node, name: hello.name, addresses: [], lives: [hello.life])])
    await compareMembers(session, hello)
    if rights(of: hello.node).isWhole { await askForRows(session) }
    await tellMembers(session)
    if isNewLife || peers[hello.node]?.address != before?.address {
      await tell(of: [hello.node], besides: session.id)
    }
    pullTurns.enter(session.id)
    await pullNext()
    await followSessions()
    if times.takePeers(isNews: true, at: Uptime.now) { await savePeers() }
  }

  /// Asks the next peer for what is missing, if it is its turn.
  ///
  /// To ask is to tell what we hold. A peer that has nothing for us is told so without a turn: it
  /// may itself wait for our word, and nodes that wait for each other in a ring would do so for
  /// ever.
  func pullNext() async {
    pullTurns.look(at: Uptime.now)
    // To ask is to be sent rows, and before those come what was written here must be placed.
    guard clock.now.site != nil else { return }
    while let id = pullTurns.next() {
      guard let session = sessions[id], let peer = peer(of: session) else { continue }
      // A leaf gives little of what it holds, and nobody waits for it.
      if rights(of: peer.node).isWhole,
        !peer.hasSpoken || !position.frontier.covers(peer.holds)
      {
        pullTurns.begin(id, at: Uptime.now)
      }
      let progress =
        (try? await store.run { (store) throws(StoreError) in
          try store.progress.frontier(of: peer.node, edition: peer.edition)
        }) ?? Frontier()
      await session.feed(.mayPull(resume: progress))
    }
  }

  private func settle(_ session: PeerSession) async {
    if pullTurns.end(session.id) { await pullNext() }
  }

  private func hears(_ session: PeerSession, holds frontier: Frontier) async {
    // Two connections may bring its words in another order than it said them.
    let isOnly = mesh.connection(besides: session.id) == nil
    update(session) {
      if isOnly { $0.holds = frontier } else { $0.holds.join(frontier) }
      $0.hasSpoken = true
      if let going = $0.going, $0.holds.covers(going.passage.covers) { $0.going = nil }
    }
    if let peer = peer(of: session) {
      note(.holds(frontier, here: position.frontier), of: peer.node)
    }
    noteEqual(session)
    noteDelivery()
    guard position.frontier.covers(frontier) else { return }
    await letGoOfFormer(by: session)
    await becomeSure()
    if pullTurns.waiting.contains(session.id) {
      guard clock.now.site != nil else { return }
      pullTurns.skip(session.id)
      await session.feed(.mayPull(resume: Frontier()))
    }
    await settle(session)
    await followSessions()
  }

  private func exchanged(_ session: PeerSession, sent: Bool, rows: UInt64) async {
    update(session) {
      $0.traffic.count(sent: sent, rows: Int(clamping: rows))
      if sent { $0.going?.end() }
    }
    if !sent {
      if let peer = peer(of: session) { note(.received, of: peer.node) }
      copy.receive(rows: rows)
      update(session) {
        $0.isExchanging = false
        $0.coming = nil
      }
      noteEqual(session)
      await settle(session)
      await followSessions()
    }
  }

  func closed(
    _ session: PeerSession, _ bye: Bye, byPeer: Bool, owing toll: Toll, _ supply: Supply
  ) async {
    sessions[session.id] = nil
    heard.leave(session.id)
    strangers.leave(session.id)
    pullTurns.leave(session.id)
    let isMember = peer(of: session) != nil
    if case .member(let node) = shown(by: session.link), let before = peers[node] {
      peers[node]?.toll = toll.joined(before.toll)
      peers[node]?.supply = supply.joined(before.supply)
    }
    if let peer = peer(of: session) {
      let left = mesh.connection(besides: session.id).flatMap { sessions[$0] }
      let silence = bye.code == .silent && !byPeer ? Session.silence : 0
      peers[peer.node]?.end(left, heard: Uptime.wall - silence)
      if left == nil {
        await time(.lost(peer.node))
      }
      if left == nil, let peer = peers[peer.node] {
        syncs.cut(peer, bye.reason, here: position.frontier)
      }
      // Two copies of one node take turns without end: one line tells it.
      note(
        .ended(bye, isOurs: !byPeer, holding: position.frontier), of: peer.node)
      let isKnown = peers[peer.node]?.failures.isKnown == true
      if bye.code != .duplicate, bye.code != .twin || !isTwinOfLate(peer.node), !isKnown {
        tell("connection with \(peer.name) ended: \(bye.reason)", of: peer.node)
      }
      if bye.code == .twin, byPeer {
        peers[peer.node]?.twinAt = Uptime.now
        await meetTwin(by: peer.name)
      }
      if bye.code == .leaving && byPeer || roster.roll.hasLeft(peer.node) {
        await forget(peer.node)
      }
    } else if bye.code == .oneself, let address = session.dialled {
      await perform(mesh.receive(.isSelf(address: address), at: .now))
    } else if bye.code == .stopping, byPeer, let node = await session.announced,
      let name = admissions.name(of: node)
    {
      log("\(name) has paired", about: name)
    } else if bye.code != .duplicate, bye.code != .oneself {
      noteEnd(session.dialled, session.link.remote, bye.reason)
    }
    if !isMember, let node = await session.announced, roster.roll.member(node) != nil {
      note(.ended(bye, isOurs: !byPeer, holding: position.frontier), of: node)
    }
    if !isMember, let address = session.dialled {
      await perform(mesh.receive(.dialFailed(address: address), at: .now))
    }
    await perform(mesh.receive(.closed(session.id), at: .now))
    await followSessions()
    await pullNext()
  }

  private func place(_ session: PeerSession) -> String {
    session.dialled.map { " at \($0)" } ?? ""
  }

  /// A line about the connections of a member, which may come again and again.
  private func tell(_ line: String, of node: Identity) {
    guard let peer = peers[node], let leftOut = peers[node]?.lines.take(at: Uptime.now)
    else { return }
    log(line + StrangerLines.remark(leftOut), about: peer.name)
  }

  /// A connection has ended that was no member's.
  func noteEnd(_ dialled: String?, _ remote: Endpoint, _ reason: String) {
    let line = connectionEnds.note(reason, dialled: dialled, from: remote.host, at: Uptime.now)
    if let line { log(line) }
  }

  /// A member has left the site: nobody waits for it any more.
  func forget(_ node: Identity) async {
    peers[node] = nil
    await perform(mesh.receive(.left(node), at: .now))
    await perform(mesh.receive(.configured(options.peers), at: .now))
    do {
      try await store.run { (store) throws(StoreError) in try store.members.forget(node) }
    } catch {
      warn("could not forget a member that left: \(error.message)")
    }
  }

  func peer(of session: PeerSession) -> PeerRecord? {
    mesh.node(of: session.id).flatMap { peers[$0] }
  }

  func update(_ session: PeerSession, _ change: (inout PeerRecord) -> Void) {
    guard let peer = peer(of: session), var record = peers[peer.node] else { return }
    change(&record)
    record.seen = Uptime.wall
    peers[peer.node] = record
  }

  private func noteEqual(_ session: PeerSession) {
    update(session) { peer in
      let isLevel = gap(to: peer).isNone
      peer.behindSince = isLevel ? nil : peer.behindSince ?? Uptime.now
    }
  }

  /// Something new is here that others may lack.
  func noteBehind() {
    for peer in peers.values where peer.session != nil && peer.behindSince == nil {
      if !gap(to: peer).isNone { peers[peer.node]?.behindSince = Uptime.now }
    }
  }
}

extension Mesh.Directive {
  /// Whether a connection gives way to that of another copy of the same node.
  fileprivate var isForTwin: Bool {
    if case .drop(_, let bye) = self { bye.code == .twin } else { false }
  }
}
