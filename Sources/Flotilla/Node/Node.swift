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
  let identity: NodeIdentity
  let options: RunOptions
  let mode: Mode
  let log: @Sendable (String) -> Void
  private let lock: FileLock

  var mesh: Mesh
  var peers: [Identity: PeerRecord] = [:]
  var sessions: [Mesh.ConnectionID: PeerSession] = [:]
  /// Peers whose turn to be asked has not come yet, and the one that is being asked.
  var waitingToPull: [PeerSession] = []
  var pulling: (session: Mesh.ConnectionID, since: Int64)?
  var nextConnection: Mesh.ConnectionID = 1
  var position: Position
  var listener: Listener?
  var discovery: Discovery?
  var control: ControlServer?
  var notice = WriteNotice()
  /// Long-lived loops; ended by `stop`.
  var loops: [Task<Void, Never>] = []
  var sessionTasks: [Mesh.ConnectionID: Task<Void, Never>] = [:]
  var dials: [String: Task<Void, Never>] = [:]
  /// The series of looks after a sign of writing, and its present pause.
  var looker: Task<Void, Never>?
  var pause: Task<Void, Never>?
  var meshTimer: Task<Void, Never>?
  /// Syncs under way, by peer.
  var syncs: [Identity: SyncProgress] = [:]
  var isStopping = false
  private var hasStopped = false
  /// Why connections that never were a member's ended, by their other end: told once.
  var lastReasons: [String: String] = [:]
  /// Why the last rows from a peer could not be merged.
  var mergeFailure: FlotillaError?
  /// Why the node gave up by itself.
  var failure: FlotillaError?
  var wantsStop = false
  var stopRequest: Bye?
  var stopWaiters: [CheckedContinuation<Void, Never>] = []
  /// Set in a process that only serves an invitation.
  var servesInvitationOnly = false
  /// The name of the last node that was let in.
  var admitted: String?
  var stopped: [CheckedContinuation<Void, Never>] = []
  let serviceName = RandomNumbers.serviceName()
  let run = UInt64.random(in: 0 ... .max)
  var lastAwakeGap = Uptime.now - Uptime.awake
  let fileIdentity: FileIdentity
  /// Rows and bytes received so far, for the progress of a first copy.
  var receivedRows: UInt64 = 0
  var expectedRows: UInt64 = 0

  /// Opens the replica and takes its lock.
  init(
    path: String, mode: Mode, options: RunOptions, log: @escaping @Sendable (String) -> Void
  ) async throws(FlotillaError) {
    let sidecar = Sidecar(database: path)
    let checked = try OpeningCheck(path: path, sidecar: sidecar).check()
    guard let lock = try sidecar.lock() else {
      throw FlotillaError(
        .node, "another Flotilla process works on \(path)",
        remedy: "See: flotilla status \(shellWord(path)); stop a running node with: flotilla "
          + "stop \(shellWord(path))")
    }
    let store: StoreActor
    do {
      store = try StoreActor(path: checked)
    } catch {
      throw FlotillaError(error, path: path)
    }
    self.fileIdentity = FileIdentity(path: checked)
    self.path = path
    self.sidecar = sidecar
    self.lock = lock
    self.store = store
    self.options = options
    self.mode = mode
    self.log = log
    let (identity, known, position) = try await reporting(path) { () async throws(StoreError) in
      try await store.run { (store) throws(StoreError) in
        (NodeIdentity(store), try store.knownPeers(), store.position)
      }
    }
    self.identity = identity
    self.position = position
    self.mesh = Mesh(node: identity.node)
    for peer in known { peers[peer.node] = PeerRecord(peer) }
  }

  /// Ends everything; returns when it has ended.
  func stop(_ bye: Bye = Bye(.stopping, "the node was stopped")) async {
    if isStopping {
      if !hasStopped { await withCheckedContinuation { stopped.append($0) } }
      return
    }
    isStopping = true
    for loop in loops { loop.cancel() }
    meshTimer?.cancel()
    looker?.cancel()
    pause?.cancel()
    listener?.close()
    for session in sessions.values { await session.feed(.close(bye)) }
    await discovery?.stop()
    await waitForSessions()
    for task in Array(sessionTasks.values) + Array(dials.values) { task.cancel() }
    for loop in loops { await loop.value }
    await savePeers()
    await control?.stop()
    hasStopped = true
    for continuation in stopped { continuation.resume() }
    stopped = []
  }

  private func waitForSessions() async {
    for _ in 0..<150 where !sessions.isEmpty {
      try? await Task.sleep(for: .milliseconds(10))
    }
  }

  func savePeers() async {
    let known = peers.values.map(\.known)
    do {
      try await store.run { (store) throws(StoreError) in
        for peer in known { try store.save(peer) }
      }
    } catch {
      log("could not remember the peers: \(error.message)")
    }
  }
}

/// Who a node is, as it says Hello.
struct NodeIdentity: Sendable {
  let site: Identity
  let siteName: String
  let node: Identity
  let name: String

  init(_ store: Store) {
    self.site = store.site
    self.siteName = store.siteName
    self.node = store.node
    self.name = store.nodeName
  }
}
