import Network
import Replication
import Store

/// The shell of one session: feeds its machine from the stream and the store, and carries out
/// what the machine says.
actor PeerSession {
  let id: Mesh.ConnectionID
  /// The address that this side dialled; nil if the peer did.
  let dialled: String?
  nonisolated let link: TLSChannel
  /// The rights with which it began.
  nonisolated let ownRights: Rights
  nonisolated let peerRights: Rights
  /// Known to the two ends of this connection alone.
  nonisolated let nonce: UInt64
  let store: StoreActor
  private(set) weak var owner: Node?
  private(set) var machine: Session
  private(set) var outbox: Outbox
  private var pace = LinkPace()
  private var export: Int64?
  /// What the export that is to be opened takes.
  private var exportScope = Session.ExportScope.above(Frontier())
  private var exportTask: Task<Void, Never>?
  private var timer: Task<Void, Never>?
  private var timerDeadline = Int64.max
  private(set) var isClosed = false
  /// What is told to the peer of the rows here, when it asks.
  var accounting = Accounting()
  /// Closes the channel if the peer does not hang up after the last words.
  private var hangUp: Task<Void, Never>?
  private var inbox = Inbox()
  /// Bytes of long rows that were taken and sent since memory was given back.
  private var longBytes = 0

  init(
    id: Mesh.ConnectionID, link: TLSChannel, dialled: String?, store: StoreActor,
    owner: Node, configuration: Session.Configuration
  ) {
    self.id = id
    self.link = link
    self.ownRights = configuration.ownRights
    self.peerRights = configuration.peerRights
    self.dialled = dialled
    self.nonce = link.exported("EXPORTER-flotilla-session", length: 8)
      .reduce(0) { $0 << 8 | UInt64($1) }
    self.store = store
    self.owner = owner
    self.machine = Session(configuration, at: store.clock.now)
    self.outbox = Outbox(channel: link)
  }

  /// Talks until the session is over and the channel is closed.
  func run() async {
    await feed(.connected)
    let work = Task { await self.work() }
    await read()
    await work.value
    await finish()
  }

  /// Reads until the stream ends, beside the work on what was read: a long merge must not look
  /// like a peer that is silent.
  private func read() async {
    while true {
      do {
        let bytes = try await link.read(upTo: 64 << 10)
        guard !bytes.isEmpty else { return inbox.finish("the peer closed the connection") }
        // Our last words are on their way: only waits for the peer to hang up.
        if isClosed { continue }
        await feed(.heard)
        inbox.append(bytes)
        while inbox.isFull, !isClosed {
          await feed(.stoppedReading)
          await withCheckedContinuation { inbox.waitForRoom($0) }
          await feed(.heard)
        }
      } catch {
        await owner?.noteRefusal(error)
        return inbox.finish("\(error)")
      }
    }
  }

  /// Works through what was read, one message after another, to its end.
  private func work() async {
    while true {
      do {
        while !isClosed, let frame = try inbox.next() {
          var message = try Message(frame: frame)
          if machine.state == .open { message = try message.unpacked() }
          await waitForTurn(of: message)
          if case .part(_, let bytes) = message { longBytes += bytes.count }
          await feed(.received(message, isFollowed: inbox.isReady))
          if message.bordersExchange { await giveBack() }
          if machine.state == .open { inbox.acceptLongFrames() }
        }
      } catch {
        await feed(.close(Bye(.badMessage, reason(error))))
      }
      if isClosed { inbox.clear() }
      if let end = inbox.end { return await feed(.disconnected(end)) }
      await withCheckedContinuation { inbox.waitForMore($0) }
    }
  }

  /// Who keeps the node busy for nothing waits, and its stream with it. It looks now and then
  /// whether the session has ended meanwhile.
  private func waitForTurn(of message: Message) async {
    while !isClosed {
      let pause = machine.pause(before: message, at: store.clock.now)
      guard pause > 0,
        (try? await Task.sleep(for: .milliseconds(min(100, pause)))) != nil
      else { return }
    }
  }

  /// Who the peer has said to be.
  var announced: Identity? { machine.peer?.node }

  /// Who the peer is, and on which port it says that it listens; nil if it does not.
  var whereabouts: (node: Identity, port: UInt16)? {
    machine.peer.flatMap { $0.port > 0 ? ($0.node, $0.port) : nil }
  }

  /// Why bytes were refused; before the Hello another program may be at the other end.
  private func reason(_ error: WireError) -> String {
    machine.peer == nil ? "the peer is no Flotilla node (\(error))" : error.description
  }

  /// The address at which a peer that dialled us listens; nil if we dialled it, or it does not.
  nonisolated func peerAddress(port: UInt16) -> String? {
    guard dialled == nil, port > 0 else { return nil }
    return (try? Endpoint(host: link.remote.host, port: port))?.description
  }

  /// Feeds one input from outside: news of the store, a wish of the node.
  func feed(_ input: Session.Input) async {
    await perform(machine.receive(input, at: store.clock.now))
    schedule()
  }

  private func perform(_ directives: [Session.Directive]) async {
    for directive in directives {
      switch directive {
      case .send(let message):
        send(message)
        if outbox.isFull { await perform(machine.receive(.crowded, at: store.clock.now)) }
        // It asks and asks, and takes nothing.
        if outbox.isOverfull { link.close() }
      case .merge(let merge): await self.merge(merge)
      case .openExport(let scope):
        exportScope = scope
        startExport { await $0.openExport() }
      case .narrowExport(let scope): exportScope = scope
      case .readExport: startExport { await $0.readExport() }
      case .closeExport: await closeExport()
      case .openAccount(let buckets): startAccount { await $0.openAccount(buckets) }
      case .readAccount: startAccount { await $0.readAccount() }
      case .closeAccount: startAccount { await $0.closeWalk() }
      case .closed(let bye, let byPeer):
        close(byPeer: byPeer)
        await owner?.closed(
          self, bye, byPeer: byPeer, owing: machine.toll, machine.supply)
      default: await owner?.session(self, did: directive)
      }
    }
  }

  private func send(_ message: Message) {
    let frame = message.frame
    guard Message.isSendable(frame) else { return refuse(frame) }
    outbox.append(frame)
    guard !outbox.isWriting else { return }
    outbox.isWriting = true
    outbox.task = Task { await self.drain() }
  }

  /// What is too long for any peer ends the connection, not the node; a person is told.
  private func refuse(_ frame: [UInt8]) {
    let text = "a message of \(frame.count) bytes, of type \(frame[4]), is too long to be sent"
    Task {
      await owner?.couldNotSend(text, to: machine.peer?.name ?? "a peer")
      await feed(.close(Bye(.other, text)))
    }
  }

  private func drain() async {
    while let bytes = outbox.take(packs: packs) {
      let start = Uptime.now
      do {
        try await link.write(bytes)
        pace.note(bytes.count, from: start, to: Uptime.now)
      } catch {
        outbox.isWriting = false
        outbox.clear()
        await feed(.disconnected("\(error)"))
        return
      }
      if outbox.hasRoom { await feed(.drained) }
    }
    outbox.isWriting = false
  }

  /// Whether frames of rows go packed: only if the peer knows that, and they would have to wait.
  private var packs: Bool {
    (machine.peer?.version ?? 0) >= Packed.version && pace.isSlow(at: Uptime.now)
  }

  private func merge(_ merge: Merge) async {
    if let owner, await !owner.mayPush(merge) {
      return await feed(.mergeFailed(Bye(.badMessage, "a push of what another node wrote")))
    }
    do {
      var result = MergeResult(rows: 0, check: 0)
      for var slice in try await store.slices(of: merge) {
        slice.follow(result)
        // The rest comes again: how far all has been worked through is noted with the last slice.
        if isClosed { return }
        let (outcome, position) = try await persisting { [slice] () async throws(StoreError) in
          try await store.merge(slice, told)
        }
        result.add(outcome.result)
        await feed(slice.isLast ? .merged(result) : .merging(rows: result.rows))
        await owner?.merged(outcome, position, sender: machine.peer?.name ?? "a peer")
        await feed(.advanced(position))
      }
    } catch {
      let code: Bye.Code =
        switch error.code {
        case .wire: .badMessage
        case .behind: .other
        default: .storage
        }
      await owner?.couldNotMerge(
        error, from: machine.peer?.name ?? "a peer", isTold: error.code != .behind)
      await feed(.mergeFailed(Bye(code, error.message)))
    }
  }

  /// Works on the file until it succeeds: a full disk or a lock is no reason to leave the peer.
  private func persisting<Result: Sendable>(
    _ work: () async throws(StoreError) -> Result
  ) async throws(StoreError) -> Result {
    var isHeldUp = false
    while true {
      do {
        let result = try await work()
        if isHeldUp { await owner?.goOn(id) }
        return result
      } catch {
        guard let owner, await owner.rest(after: error, of: id) else { throw error }
        isHeldUp = true
      }
    }
  }

  private func startExport(_ step: @escaping @Sendable (PeerSession) async -> Void) {
    let before = exportTask
    exportTask = Task {
      await before?.value
      await step(self)
    }
  }

  private func openExport() async {
    guard !isClosed else { return }
    let (filter, clock) = (machine.exportFilter, store.clock)
    // What was written here may have to be placed before it is given to anybody.
    await owner?.untilTimeIsKnown(for: id)
    guard !isClosed else { return }
    do {
      // A backlog is folded in slices that leave the applications their share of the lock.
      let (opened, position) = try await persisting { () async throws(StoreError) in
        try await owner?.foldBacklog()
        await store.makeRoom()
        let scope = exportScope
        return try await store.patiently { (store) throws(StoreError) in
          (try store.openExport(scope, filter: filter, at: clock.now), store.position)
        }
      }
      export = opened.id
      await owner?.leftToFold(opened.fold, position)
      // What it covers this session has a signature for, whatever the node tells it when.
      await feed(.advanced(position))
      await feed(
        .exportOpened(covers: opened.covers, rows: opened.rows, judged: opened.judged))
    } catch {
      await feed(.exportFailed(error.message))
    }
  }

  private func readExport() async {
    guard !isClosed, let export else { return }
    let clock = store.clock
    do {
      let step = try await persisting { () async throws(StoreError) in
        try await store.run { (store) throws(StoreError) in
          try store.readExport(export, at: clock.now)
        }
      }
      switch step {
      case .batch(let batch):
        await feed(.exported(batch: batch.bytes, rows: batch.rows, check: batch.check))
        if outbox.hasRoom { await feed(.drained) }
      case .part(let bytes):
        longBytes += bytes.count
        await feed(.exportedPart(bytes))
        if outbox.hasRoom { await feed(.drained) }
      case .paused(let progress): await feed(.exportPaused(progress: progress))
      case .done: await feed(.exportDone)
      }
    } catch {
      await feed(.exportFailed(error.message))
    }
  }

  private func closeExport() async {
    guard let export else { return }
    self.export = nil
    do {
      try await store.run { (store) throws(StoreError) in try store.closeExport(export) }
    } catch {
      await owner?.couldNotMerge(error, from: machine.peer?.name ?? "a peer")
    }
    await giveBack()
  }

  /// A long row is in memory several times, in pieces. The heap would keep them.
  private func giveBack() async {
    guard longBytes >= Self.muchMemory else { return }
    longBytes = 0
    await offPool { ProcessMemory.giveBack() }
  }

  private static let muchMemory = 8 << 20

  /// Sees to it that the machine gets its tick in time.
  private func schedule() {
    guard !isClosed else { return }
    let deadline = machine.deadline
    if timer != nil, timerDeadline <= deadline { return }
    timer?.cancel()
    timerDeadline = deadline
    timer = Task {
      let pause = max(1, deadline - store.clock.now.uptime)
      guard (try? await Task.sleep(for: .milliseconds(pause))) != nil else { return }
      await self.tick()
    }
  }

  private func tick() async {
    timer = nil
    timerDeadline = .max
    await feed(.tick)
  }

  /// Ends the reading: at once if the peer said so, else when it has hung up after our last words.
  ///
  /// A socket that is closed with unread bytes in it resets the connection, and a reset can
  /// overtake the last words. So they get a moment, and what still comes is read and dropped.
  private func close(byPeer: Bool) {
    isClosed = true
    timer?.cancel()
    if byPeer { return link.close() }
    hangUp = Task { [link] in
      guard (try? await Task.sleep(for: .seconds(1))) != nil else { return }
      link.close()
    }
  }

  /// Lets go of everything.
  private func finish() async {
    hangUp?.cancel()
    link.close()
    await outbox.task?.value
    await exportTask?.value
    await closeExport()
    await accounting.task?.value
    await closeWalk()
    await giveBack()
  }
}
