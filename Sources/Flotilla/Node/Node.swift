import Network
import Replication
import Store

/// One replica at work: notices writes, talks to peers, answers the commands.
actor Node {
  /// How much of a node is wanted.
  enum Mode: Sendable, Equatable {
    /// Until it is stopped.
    case lasting
    /// For one command: dials and is dialled, but says nothing on the control socket.
    case brief
    /// Only the file: for commands that need no peer.
    case offline
  }

  let path: String
  let sidecar: Sidecar
  let store: StoreActor
  /// The time of the site.
  nonisolated let clock: NodeClock
  let identity: NodeIdentity
  var keys: NodeKeys
  let roster: Roster
  let door: Door
  /// Gives joiners their first copies as pages.
  private(set) lazy var pages = makePageServer()
  var admissions: Admissions
  var life: OwnLife
  /// What this node may do, as its store goes by it.
  var rights: Rights
  let options: RunOptions
  let mode: Mode
  let log: NodeLog
  private let lock: FileLock

  // What `until` asks about tells of its changes.
  var mesh: Mesh { didSet { changed() } }
  var peers: [Identity: PeerRecord] = [:] { didSet { changed() } }
  var sessions: [Mesh.ConnectionID: PeerSession] = [:]
  var authors = AuthorBook()
  /// How much of what was written here is kept as delivered.
  var savedDelivery: UInt64 = 0
  var pullTurns = PullTurns()
  /// What others have said about members.
  var heard = HeardStatements()
  /// What this node says itself about members, the last time that it does.
  var lastWord: Task<Result<[SignedStatement], FlotillaError>, Never>?
  /// Streams whose other end has not shown yet who it is, or not said Hello.
  var strangers = Strangers()
  var position: Position { didSet { changed() } }
  var listener: Listener?
  var announcement: Announcement
  var control: ControlServer?
  var notice = WriteNotice()
  /// What keeps this node from its file at present.
  var trouble = FileTrouble() { didSet { changed() } }
  var rowLines: RowLines
  var work = NodeWork()
  var syncs = SyncRounds() { didSet { changed() } }
  var questions = Questions() { didSet { changed() } }
  /// The end of this node, once it is wanted.
  private var ending: Task<Void, Never>? { didSet { changed() } }
  var isStopping: Bool { ending != nil }
  /// A member has refused this node as one that was revoked.
  var isShutOut = false
  var connectionEnds = ConnectionEnds()
  var stopRequest = StopRequest()
  var contact = AnchorContact() { didSet { changed() } }
  var changeWaiters: [CheckedContinuation<Void, Never>] = []
  /// Set in a process that only serves an invitation.
  var servesInvitationOnly = false
  let run = UInt64.random(in: 0 ... .max)
  /// When this node was made, by uptime.
  let born = Uptime.now
  var times = PatrolTimes(asleep: Uptime.now - Uptime.awake)
  let fileIdentity: FileIdentity
  var copy: CopyProgress { didSet { changed() } }

  /// Opens the replica and takes its lock, unless the caller has it already. If another program
  /// has the write lock, that is waited for no longer than `timeout`.
  init(
    path: String, mode: Mode, options: RunOptions, lock: FileLock? = nil,
    within timeout: Duration? = nil, machine: MachineClock = .here,
    log: @escaping @Sendable (LogEntry) -> Void
  ) async throws(FlotillaError) {
    let sidecar = Sidecar(database: path)
    let (store, lock) = try await offPool {
      () throws(FlotillaError) -> (StoreActor, FileLock) in
      try Self.open(path, sidecar, lock, machine)
    }
    self.clock = store.clock
    self.fileIdentity = FileIdentity(path: sidecar.database)
    self.path = path
    self.rowLines = RowLines(path: path)
    self.sidecar = sidecar
    self.lock = lock
    self.store = store
    self.options = options
    self.mode = mode
    self.log = NodeLog(log)
    let folder = KeyFolder(sidecar)
    let keys = try folder.keys()
    await store.sign(with: keys)
    let isRunNoted = try await LifeFiles(store: store, sidecar: sidecar, keys: keys).settle(
      run: mode == .offline ? nil : run, isLasting: mode == .lasting, within: timeout
    ) { log(LogEntry($0)) }
    let (identity, known, position, copy, rights) = try await reporting(path) {
      () async throws(StoreError) in
      try await store.run { (store) throws(StoreError) in
        (
          NodeIdentity(store), try store.members.peers(), store.position, try store.firstCopy(),
          store.rights
        )
      }
    }
    self.identity = identity
    self.position = position
    self.rights = rights
    self.copy = CopyProgress(copy)
    self.mesh = Mesh(node: identity.node)
    let (life, runs) = try await reporting(path) { () async throws(StoreError) in
      try await store.run { (store) throws(StoreError) in (try store.lives.life(), store.lives.log)
      }
    }
    self.life = OwnLife(life, runs, isRunNoted: isRunNoted)
    self.keys = keys
    self.roster = try await Roster.read(from: store, identity, keys, path)
    self.announcement = Announcement(rootKey: roster.membership.rootKey)
    self.door = try Door(keys, roster)
    self.admissions = try Admissions(folder, roster)
    try await loadAuthors()
    let inviter = copy?.inviter
    for peer in known where roster.roll.member(peer.node) != nil || peer.node == inviter {
      peers[peer.node] = PeerRecord(peer)
    }
    await countMembers()
    await followRoll()
  }

  private static func open(
    _ path: String, _ sidecar: Sidecar, _ lock: FileLock?, _ machine: MachineClock
  ) throws(FlotillaError) -> (StoreActor, FileLock) {
    let checked = try OpeningCheck(path: path, sidecar: sidecar).check()
    let taken = if let lock { lock } else { try sidecar.lock() }
    guard let taken else {
      throw sidecar.occupied(path)
    }
    let store = try reporting(path) { () throws(StoreError) in
      try StoreActor(path: checked, machine: machine)
    }
    return (store, taken)
  }

  /// Ends everything; returns when it has ended, the file is closed and the lock is free.
  func stop(_ bye: Bye = Bye(.stopping, "the node was stopped")) async {
    if let ending { return await ending.value }
    let ending = Task { await self.end(bye) }
    self.ending = ending
    await ending.value
  }

  private func end(_ bye: Bye) async {
    work.stop()
    listener?.close()
    if bye.code == .leaving { await sayLeaving() }
    strangers.close { sessions[$0] != nil }
    if mode == .lasting { await pages.stop() }
    for task in strangers.tasks { await task.value }
    for session in sessions.values { await session.feed(.close(bye)) }
    // Each ends when its peer has hung up, or a second later.
    for task in work.connections { await task.value }
    await announcement.stop()
    for task in work.others { await task.value }
    await saveUnsaved()
    if mode != .offline {
      await savePeers()
      await saveDelivery()
      await saveClock()
    }
    if let control {
      sidecar.forgetSocket()
      await control.stop()
    }
    await store.close()
    lock.release()
    requestStop()
  }

  func savePeers() async {
    // Hints alone, which nobody has to wait for.
    guard trouble.current == nil else { return }
    let known = peers.values.map(\.known)
    do {
      try await store.patiently { (store) throws(StoreError) in try store.members.save(known) }
    } catch {
      if note(error) { return }
      warn("could not remember the peers: \(error.message)")
    }
  }
}
