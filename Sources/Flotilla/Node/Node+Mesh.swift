import Network
import Replication
import Store

/// Finding peers and dialling them.
extension Node {
  /// So many addresses of one member are taken from one message.
  static let mostAddresses = 4

  /// Carries out what the mesh says.
  func perform(_ directives: [Mesh.Directive]) async {
    for directive in directives {
      switch directive {
      case .dial(let address): dial(address)
      case .drop(let id, let bye): await sessions[id]?.feed(.close(bye))
      case .remember(let node, let name, let address):
        remember(address, of: node)
        peers[node]?.name = name
      }
    }
    scheduleMesh()
  }

  /// Where a member was met; who was there before is there no more, and nobody is told that it is.
  func remember(_ address: String, of node: Identity) {
    for (other, peer) in peers where other != node && peer.address == address {
      peers[other]?.address = nil
    }
    peers[node]?.address = address
  }

  private func dial(_ address: String) {
    guard !isStopping else { return }
    work.begin(
      .dial(address),
      Task {
        defer { work.end(.dial(address)) }
        do {
          let endpoint = try Endpoint(parsing: address, defaultPort: Endpoint.defaultPort)
          let channel = try await SocketChannel.connect(to: endpoint, timeout: .seconds(2))
          await begin(channel, dialled: address)
        } catch {
          // Nobody listens there: who named the address need not wait.
          if (error as? NetworkError)?.code == .refused {
            connectionEnds.refuse(address)
            changed()
          }
          noteOutOfReach(address)
          await perform(mesh.receive(.dialFailed(address: address), at: .now))
        }
      })
  }

  /// Sees to it that the mesh gets its tick in time.
  private func scheduleMesh() {
    work.cancel(.meshTick)
    guard !isStopping, let deadline = mesh.deadline else { return }
    work.begin(
      .meshTick,
      Task {
        let pause = max(10, deadline - Uptime.now)
        guard (try? await Task.sleep(for: .milliseconds(pause))) != nil else { return }
        await self.perform(self.mesh.receive(.tick, at: .now))
      })
  }

  /// Starts from what is known: remembered members and the operator's addresses.
  func startMesh() async {
    await perform(mesh.receive(.configured(options.peers), at: .now))
    for peer in peers.values {
      guard let address = peer.address else { continue }
      await perform(mesh.receive(.remembered(node: peer.node, address: address), at: .now))
    }
  }

  func startDiscovery() {
    guard options.discovery else { return }
    let events = announcement.start()
    work.loop(
      Task {
        for await event in events { await self.hear(event) }
      })
  }

  /// Announces this node; while an invitation is open also its hint, so that a joiner finds us.
  func advertise() async {
    guard options.discovery, let port = listener?.port else { return }
    let come = Set(peers.values.filter(\.hasCome).map(\.node.description))
    do {
      try announcement.show(port: port, hints: admissions.hints(besides: come, at: .now))
    } catch {
      warn("cannot announce this node: \(error)")
    }
  }

  private func hear(_ event: DiscoveryEvent) async {
    switch event {
    case .found(let service):
      guard announcement.isOfSite(service) else { return }
      let input = Mesh.Input.discovered(
        service: service.name, address: service.endpoint.description)
      await perform(mesh.receive(input, at: .now))
    case .lost(let name): await perform(mesh.receive(.lost(service: name), at: .now))
    case .available: log("discovery works: Avahi answers")
    case .unavailable(let reason):
      log("no discovery: \(reason); remembered and given addresses are used")
    }
  }

  /// Tells a peer where the other members were found, and who has written what.
  func tellMembers(_ session: PeerSession) async {
    let known = Set(peers.keys).union(authors.nodes)
    let members = known.compactMap { peers[$0]?.session?.id == session.id ? nil : member($0) }
      // Of too many those that can be found go first.
      .sorted { $0.addresses.count > $1.addresses.count }
    guard !members.isEmpty else { return }
    await session.feed(.introduce(Array(members.prefix(Limits.members))))
  }

  /// What there is to tell about a node.
  private func member(_ node: Identity) -> Member? {
    let member = Member(
      node: node, name: peers[node]?.name ?? roster.roll.entries[node]?.name ?? "",
      addresses: peers[node]?.address.map { [$0] } ?? [], lives: authors[node] ?? [])
    return member.addresses.isEmpty && member.lives.isEmpty ? nil : member
  }

  /// A peer tells where members were found; who is one, it cannot tell.
  func hear(_ members: [Member], from session: PeerSession) async {
    var news = await note(members.filter { $0.node != identity.node }, byHearsay: true)
    let networks = LocalNetworks.here
    for member in members where member.node != identity.node {
      guard roster.roll.member(member.node) != nil else { continue }
      let addresses = member.addresses.prefix(Self.mostAddresses).filter {
        (try? Endpoint(parsing: $0)).map(networks.contain) ?? false
      }
      // Where it was met itself is known better.
      if peers[member.node]?.address == nil,
        let address = addresses.first(where: { !mesh.isHeld($0, byOtherThan: member.node) })
      {
        peers[member.node]?.address = address
        news.insert(member.node)
      }
      for address in addresses {
        await perform(mesh.receive(.heard(node: member.node, address: address), at: .now))
      }
    }
    guard !news.isEmpty else { return }
    await tell(of: news, besides: session.id)
    // Who told it may be gone for ever before they have met.
    await savePeers()
  }

  /// Tells the connected peers where members are found of whom this node could not tell before:
  /// those who have only this node in common need each other when it is gone.
  func tell(of news: Set<Identity>, besides: Mesh.ConnectionID) async {
    let members = news.compactMap { member($0) }
    guard !members.isEmpty else { return }
    // An address is believed of members alone, so who it is goes first.
    let credentials = members.flatMap { roster.membership.credential(of: $0.node) }
    for (id, session) in sessions where id != besides {
      guard let peer = peer(of: session) else { continue }
      let others = members.filter { $0.node != peer.node }
      guard !others.isEmpty else { continue }
      await session.feed(.tell(credentials))
      await session.feed(.introduce(others))
    }
  }
}
