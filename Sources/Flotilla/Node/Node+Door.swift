import Network
import Replication
import Store

/// Streams come in, and both ends show who they are before a word is said.
extension Node {
  /// A stream that this node has opened: looked after until it is a session or closed.
  func begin(_ channel: any ByteChannel, dialled: String) async {
    guard !isStopping, life.isRunNoted else {
      channel.close()
      guard !isStopping else { return }
      return await perform(mesh.receive(.dialFailed(address: dialled), at: .now))
    }
    await begin(channel, strangers.enter(channel, isDialled: true), dialled)
  }

  /// A stream that somebody else has opened: likewise, beside what else comes.
  func welcome(_ channel: any ByteChannel) {
    guard !isStopping, life.isRunNoted else { return channel.close() }
    let id = strangers.enter(channel, isDialled: false)
    let handshake = Task {
      if await hasTurn(id) {
        await begin(channel, id, nil)
      } else {
        strangers.leave(id)
        channel.close()
      }
      strangers.end(id)
    }
    strangers.begin(id, handshake)
  }

  private func begin(
    _ channel: any ByteChannel, _ id: Mesh.ConnectionID, _ dialled: String?
  ) async {
    let result: Result<TLSChannel, NetworkError>
    do throws(NetworkError) {
      result = .success(try await secure(channel, dialled: dialled))
    } catch {
      result = .failure(error)
    }
    switch result {
    case .success(let link): await open(link, id, dialled)
    case .failure(let error):
      strangers.leave(id)
      await couldNotOpen(channel, dialled, error)
    }
  }

  /// Who opens very many streams waits for their handshakes, and others do not. False if the stream
  /// had to make room meanwhile.
  private func hasTurn(_ id: Mesh.ConnectionID) async -> Bool {
    while !isStopping {
      guard let pause = strangers.pause(id, at: .now) else { return false }
      guard pause > 0, (try? await Task.sleep(for: .milliseconds(pause))) != nil else { break }
    }
    return true
  }

  private func secure(
    _ channel: any ByteChannel, dialled: String?
  ) async throws(NetworkError) -> TLSChannel {
    if dialled == nil {
      return try await TLSChannel.accept(
        over: channel, door.accepting, timeout: Door.patience)
    }
    return try await TLSChannel.dial(
      over: channel, door.dialling, for: .member, timeout: Door.dialPatience)
  }

  private func open(
    _ link: TLSChannel, _ id: Mesh.ConnectionID, _ dialled: String?
  ) async {
    await spread(roster.takeUnsaved(), besides: nil)
    if link.purpose.isCopying { return await serveCopy(link, id) }
    let hello = await hello()
    // Nothing may be waited for between this and `sessions[id]`: `stop` must see every session.
    guard !isStopping else {
      strangers.leave(id)
      return link.close()
    }
    let session = PeerSession(
      id: id, link: link, dialled: dialled, store: store, owner: self,
      configuration: configuration(link, hello))
    sessions[id] = session
    work.begin(
      .session(id),
      Task {
        await session.run()
        self.work.end(.session(id))
      })
  }

  /// A peer may tell only after the handshake that it does not let us in.
  func noteRefusal(_ error: NetworkError) {
    if error.code == .refusedByPeer(.revoked) { isShutOut = true }
  }

  private func configuration(_ link: TLSChannel, _ hello: Hello) -> Session.Configuration {
    let shown = shown(by: link)
    var configuration = Session.Configuration(
      hello: hello, position: position, relayDelay: .random(in: 60...200), shown: shown)
    configuration.notary = .openSSL
    configuration.ownRights = rights
    configuration.clock = clock.standing
    configuration.runs = life.runs
    configuration.surety = roster.surety
    configuration.program = ProgramVersion.current
    if case .member(let node) = shown {
      configuration.peerRights = rights(of: node)
      let name = roster.roll.entries[node]?.name ?? ""
      configuration.peerName = name.isEmpty ? nil : name
    }
    return configuration
  }

  func shown(by link: TLSChannel) -> Session.Shown {
    switch link.peer {
    case .member(let key): .member(Notary.openSSL.digest(key))
    case .pairing: .joiner
    }
  }

  private func couldNotOpen(
    _ channel: any ByteChannel, _ dialled: String?, _ error: NetworkError
  ) async {
    channel.close()
    guard !isStopping else { return }
    noteRefusal(error)
    if let dialled {
      await perform(mesh.receive(.dialFailed(address: dialled), at: .now))
    }
    noteEnd(dialled, channel.remote, error.message)
  }

  private func hello() async -> Hello {
    // Without it the peer has one hint less.
    let schema = (try? await store.run { (store) throws(StoreError) in store.schemaHash }) ?? 0
    // Where a command listens nobody is to look for this node later.
    let port = mode == .lasting ? listener?.port ?? 0 : 0
    return Hello(
      version: Session.versions.upperBound, purpose: .member, site: identity.site,
      node: identity.node, name: identity.name, run: run, clock: Uptime.wall,
      port: port, schema: schema, statements: roster.hash, life: life.number)
  }
}
