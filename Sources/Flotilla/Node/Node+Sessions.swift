import Network
import Replication
import Store

/// Sessions come and go; what they tell.
extension Node {
  /// Unauthenticated connections at a time, at most.
  static let greetings = 16

  /// Takes a new stream; `dialled` is the address if this side dialled.
  func begin(_ channel: any ByteChannel, dialled: String?) async {
    guard !isStopping, dialled != nil || sessions.count < Self.greetings + peers.count + 16 else {
      channel.close()
      return
    }
    let id = nextConnection
    nextConnection += 1
    let hello = await hello()
    let session = PeerSession(
      id: id, channel: channel, dialled: dialled, store: store, owner: self,
      configuration: Session.Configuration(
        hello: hello, position: position, relayDelay: .random(in: 60...200)))
    sessions[id] = session
    sessionTasks[id] = Task {
      await session.run()
      self.sessionTasks[id] = nil
    }
  }

  private func hello() async -> Hello {
    let schema = await store.schemaHash()
    return Hello(
      version: Session.versions.upperBound, purpose: .member, site: identity.site,
      node: identity.node, name: identity.name, run: run, clock: Uptime.wall,
      port: listener?.port ?? 0, schema: schema)
  }

  /// A session tells something that concerns the node.
  func session(_ session: PeerSession, did directive: Session.Directive) async {
    switch directive {
    case .opened(let hello): await opened(session, hello)
    case .peerHolds(let frontier): await hears(session, holds: frontier)
    case .exchanged(let sent, let rows): await exchanged(session, sent: sent, rows: rows)
    case .catchingUp(let rows, let total):
      receivedRows = rows
      expectedRows = total
      update(session) {
        $0.isReceiving = true
        $0.expected = total > rows ? total - rows : 0
      }
    case .members(let members): await hear(members)
    case .clockOffset(let offset): update(session) { $0.clockOffset = offset }
    case .judge(let join): await judge(join, session)
    default: break
    }
  }

  private func opened(_ session: PeerSession, _ hello: Hello) async {
    guard hello.purpose == .member else { return }
    let before = peers[hello.node]
    var record =
      before
      ?? PeerRecord(
        KnownPeer(
          node: hello.node, name: hello.name, address: nil, seen: nil, clockOffset: 0,
          frontier: Frontier()))
    let drops = mesh.receive(
      .opened(session.id, hello, dialled: session.dialled), at: .now)
    let isDropped = drops.contains { directive in
      if case .drop(session.id, _) = directive { true } else { false }
    }
    if !isDropped {
      record.name = hello.name
      record.session = session
      record.seen = Uptime.wall
      peers[hello.node] = record
    }
    await perform(drops)
    guard !isDropped else { return }
    log("connected with \(hello.name)\(session.dialled.map { " at \($0)" } ?? "")")
    if let address = session.peerAddress(port: hello.port) {
      peers[hello.node]?.address = address
      await perform(mesh.receive(.heard(node: hello.node, address: address), at: .now))
    }
    await tellMembers(session)
    waitingToPull.append(session)
    await pullNext()
    await savePeers()
  }

  /// One peer at a time is asked for what is missing, so that a newcomer does not get every row
  /// from every member.
  func pullNext() async {
    if let pulling, sessions[pulling.session] != nil, Uptime.now - pulling.since < 5_000 { return }
    pulling = nil
    while !waitingToPull.isEmpty {
      let session = waitingToPull.removeFirst()
      guard sessions[session.id] != nil, let peer = peer(of: session) else { continue }
      pulling = (session.id, Uptime.now)
      let progress =
        (try? await store.run { (store) throws(StoreError) in
          try store.progress(of: peer.node)
        }) ?? Frontier()
      await session.feed(.mayPull(resume: progress))
      return
    }
  }

  private func settle(_ session: PeerSession) async {
    guard pulling?.session == session.id else { return }
    pulling = nil
    await pullNext()
  }

  private func hears(_ session: PeerSession, holds frontier: Frontier) async {
    update(session) { $0.holds = frontier }
    noteEqual(session)
    if position.frontier.covers(frontier) { await settle(session) }
  }

  private func exchanged(_ session: PeerSession, sent: Bool, rows: UInt64) async {
    if let peer = peer(of: session) {
      syncs[peer.node]?.exchanged(sent: sent, rows: Int(rows))
    }
    if !sent {
      receivedRows = max(receivedRows, rows)
      update(session) {
        $0.isReceiving = false
        $0.expected = 0
      }
      noteEqual(session)
      await settle(session)
    }
  }

  func closed(_ session: PeerSession, _ bye: Bye, byPeer: Bool) async {
    sessions[session.id] = nil
    waitingToPull.removeAll { $0.id == session.id }
    let isMember = peer(of: session) != nil
    if let peer = peer(of: session) {
      peers[peer.node]?.session = nil
      peers[peer.node]?.isReceiving = false
      peers[peer.node]?.seen = Uptime.wall
      syncs[peer.node]?.error = bye.reason
      if bye.code != .duplicate {
        log("connection with \(peer.name) ended: \(bye.reason)")
      }
    } else if bye.code == .oneself, let address = session.dialled {
      await perform(mesh.receive(.isSelf(address: address), at: .now))
    } else if bye.code != .duplicate, bye.code != .oneself {
      tellOnce(session, bye.reason)
    }
    if !isMember, let address = session.dialled {
      await perform(mesh.receive(.dialFailed(address: address), at: .now))
    }
    await perform(mesh.receive(.closed(session.id), at: .now))
    if pulling?.session == session.id { pulling = nil }
    await pullNext()
  }

  /// An address that is dialled again and again gets its line when something about it is new.
  private func tellOnce(_ session: PeerSession, _ reason: String) {
    let end = session.dialled.map { "to \($0)" } ?? "from \(session.channel.remote.host)"
    guard lastReasons[end] != reason else { return }
    if lastReasons.count >= 256 { lastReasons = [:] }
    lastReasons[end] = reason
    log("a connection \(end) ended: \(reason)")
  }

  func peer(of session: PeerSession) -> PeerRecord? {
    peers.values.first { $0.session?.id == session.id }
  }

  private func update(_ session: PeerSession, _ change: (inout PeerRecord) -> Void) {
    guard let peer = peer(of: session), var record = peers[peer.node] else { return }
    change(&record)
    record.seen = Uptime.wall
    peers[peer.node] = record
  }

  private func noteEqual(_ session: PeerSession) {
    let frontier = position.frontier
    update(session) { if $0.holds.covers(frontier) { $0.equalAt = Uptime.now } }
  }
}
