import FoundationEssentials
import Glibc
import Network
import Replication
import Store

/// The joiner's side of a first copy by pages: fetches the file of its inviter, checks it, and puts
/// it in the place of the empty replica that pairing has made.
struct PageFetch: Sendable {
  enum Outcome: Sendable, Equatable {
    /// The replica has come; so many bytes were received.
    case adopted(bytes: Int)
    /// It comes by rows, for this reason: the inviter says so, or something is not so here.
    case rows(String)
    /// The inviter sends no copy, or none that would end: rows come from whoever has them.
    case failed(String)
    /// The connection broke; what is here of the file is good for another try.
    case cut(String)
  }

  /// For so long a cut copy is taken up again, from the last bytes that came, in ms.
  static let persistence: Int64 = 30_000
  /// What must stay free on the disk.
  private static let reserve: UInt64 = 64 << 20

  let sidecar: Sidecar
  let copy: FirstCopy
  let address: String
  /// Told of the bytes that are here, and of how many.
  let progress: @Sendable (Int, Int) -> Void

  /// Fetches until it is here, or there is no use in it. With `persists` a connection that breaks
  /// is made again; without, only while each brings something.
  func run(persists: Bool) async throws(FlotillaError) -> Outcome {
    let watch = PageWatch()
    var (received, last) = (0, Uptime.now)
    while true {
      let reason: String
      do throws(FlotillaError) {
        let got = try await fetch(watch)
        return .adopted(bytes: received + got)
      } catch {
        reason = error.message
        guard error.code == .peer, watch.refusal == nil else {
          removeFiles()
          if let why = watch.refusal { return .failed("no pages from \(copy.name): \(why)") }
          return error.code == .noCopy ? .rows(reason) : .failed(reason)
        }
      }
      let size = files.reduce(0) { $0 + FileSize.of($1) }
      let hasMore = size > received
      // Who says something now and then is in reach; how long that is borne is counted.
      if hasMore || watch.isDripping { (received, last) = (max(size, received), Uptime.now) }
      guard persists ? Uptime.now - last < Self.persistence : hasMore,
        (try? await Task.sleep(for: .milliseconds(500))) != nil
      else { return .cut(reason) }
    }
  }

  // MARK: Files

  private static let prefix = "pages-"

  /// What is here of copies, by the copy's name.
  private var files: [String] { Self.files(in: sidecar) }

  private static func files(in sidecar: Sidecar) -> [String] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: sidecar.folder)) ?? []
    return names.filter { $0.hasPrefix(prefix) }.sorted().map { sidecar.folder + "/" + $0 }
  }

  private func path(of copy: Identity) -> String {
    sidecar.folder + "/" + Self.prefix + copy.description
  }

  private static func copy(at path: String) -> Identity? {
    let name = path.split(separator: "/").last ?? ""
    return name.hasPrefix(prefix) ? Identity(String(name.dropFirst(prefix.count))) : nil
  }

  private func removeFiles(but kept: String? = nil) {
    for file in files where file != kept { unlink(file) }
  }

  /// Takes away what was begun of a copy.
  static func removeFiles(in sidecar: Sidecar) {
    for file in files(in: sidecar) { unlink(file) }
  }

  // MARK: Talking

  private func fetch(_ watch: PageWatch) async throws(FlotillaError) -> Int {
    // To read what is here may take longer than an inviter waits for a question.
    let begun = try await held()
    let channel = try await connect()
    let link = CopyLink(channel, limit: Limits.frame)
    watch.connect()
    let alarm = Task { await watch.close(link) }
    defer {
      alarm.cancel()
      link.close()
    }
    let (path, bytes) = try await receive(link, begun, watch)
    alarm.cancel()
    try await adopt(path)
    // Who does not hear it keeps a place for this node a while longer.
    try? await link.send(.done, within: PageServer.patience)
    return bytes
  }

  /// Who belongs to the site, as the empty replica has it from pairing.
  private func membership() throws(FlotillaError) -> Membership {
    let (rootKey, statements) = try reporting(sidecar.database) { () throws(StoreError) in
      let store = try Store(path: sidecar.database, inspects: false)
      return (try store.members.rootKey(), try store.members.statements())
    }
    var membership = Membership(rootKey: rootKey, notary: .openSSL)
    _ = membership.unite(statements)
    return membership
  }

  private func connect() async throws(FlotillaError) -> TLSChannel {
    let door = try Door(try KeyFolder(sidecar).keys(), Roster(try membership()))
    let channel: TLSChannel
    do throws(NetworkError) {
      let endpoint = try Endpoint(parsing: address, defaultPort: Endpoint.defaultPort)
      let socket = try await SocketChannel.connect(to: endpoint, timeout: .seconds(5))
      channel = try await TLSChannel.dial(
        over: socket, door.dialling, for: .packedCopying, timeout: Door.dialPatience)
    } catch {
      let code: FlotillaError.Code =
        switch error.code {
        // Who does not know what this is for refuses the handshake.
        case .untrusted, .refusedByPeer, .notTLS, .invalidAddress: .noCopy
        default: .peer
        }
      throw FlotillaError(code, "no copy from \(address): \(error)")
    }
    guard case .member(let key) = channel.peer, Notary.openSSL.digest(key) == copy.inviter else {
      channel.close()
      throw FlotillaError(.noCopy, "\(address) is not \(copy.name)")
    }
    return channel
  }

  /// Receives the file; gives its path, and how many bytes have come.
  private func receive(
    _ link: CopyLink, _ begun: PageReceiver.Begun, _ watch: PageWatch
  ) async throws(FlotillaError) -> (String, Int) {
    let held = FileSize.of(path(of: begun.copy))
    let room = DiskRoom.free(at: sidecar.ledgerPath) + UInt64(max(0, held))
    var receiver = PageReceiver(
      format: UInt64(Store.tableFormat), room: room > Self.reserve ? room - Self.reserve : 0,
      begun: begun)
    try await link.send(receiver.ask, within: PageServer.patience)
    var writer = PageWriter()
    var next = Self.message(link, watch)
    while true {
      let message: CopyMessage
      let step: PageReceiver.Step
      do throws(FlotillaError) {
        message = try await next.value.get()
        if case .end = message {} else { next = Self.message(link, watch) }
        step = try receive(message, by: &receiver)
      } catch {
        // What has come is written, so that the next try knows of it.
        _ = await writer.writing?.value
        throw error
      }
      switch step {
      case .wait: break
      case .begin(let copy, let kept):
        watch.begin(keeping: kept)
        removeFiles(but: path(of: copy))
        try await writer.begin(path(of: copy), copy, keeping: kept)
      case .write(let bytes):
        watch.receive(bytes.count)
        try await writer.write(bytes)
        progress(writer.received, Int(clamping: receiver.bytes))
      case .whole:
        try await writer.writing?.value.get()
        guard let file = writer.file else {
          throw FlotillaError(.wrongCopy, "the copy is empty")
        }
        return (path(of: file.copy), writer.received)
      }
    }
  }

  private func receive(
    _ message: CopyMessage, by receiver: inout PageReceiver
  ) throws(FlotillaError) -> PageReceiver.Step {
    if case .rows(let reason) = message { throw FlotillaError(.noCopy, reason) }
    do throws(WireError) {
      return try receiver.receive(message)
    } catch {
      throw FlotillaError(.wrongCopy, "\(copy.name) sends no copy: \(error)")
    }
  }

  /// Reads the next message while the one before it is looked at.
  private static func message(
    _ link: CopyLink, _ watch: PageWatch
  ) -> Task<Result<CopyMessage, FlotillaError>, Never> {
    Task {
      watch.await()
      do throws(FlotillaError) {
        let message = try await link.receive()
        watch.stop(message)
        return .success(message)
      } catch {
        watch.stop(nil)
        return .failure(error)
      }
    }
  }

  /// What an earlier try has left, by its hashes: a power cut may have taken some of it.
  private func held() async throws(FlotillaError) -> PageReceiver.Begun {
    guard let path = files.first, let copy = Self.copy(at: path) else { return .init() }
    let file = try PageFile(path: path, copy)
    return PageReceiver.Begun(copy: copy, hashes: try await file.hashes())
  }

  // MARK: Adopting

  /// Checks the file, on threads of their own, and makes the replica of it.
  private func adopt(_ path: String) async throws(FlotillaError) {
    let replica = sidecar.database
    let finding = Finding()
    let pages = ReceivedPages(path: path) { finding.first == nil }
    let (holder, paired, moment) = (GraftHolder(), try membership(), Uptime.wall)
    let sealed = try await holder.run(replica) { (holder) throws(StoreError) in
      let graft = try PageGraft(pages, into: replica)
      let sealed = try graft.takeOver(at: moment) { statements in
        var membership = paired
        _ = membership.hear(statements)
        return (membership.all, Roster(membership).surety)
      }
      holder.graft = graft
      return sealed
    }
    async let rows = finding.checked(replica) { () throws(StoreError) in try pages.checkRows() }
    async let versions = finding.checked(replica) { () throws(StoreError) in
      try pages.checkVersions(by: sealed, at: moment)
    }
    async let indexes = finding.checked(replica) { () throws(StoreError) in
      try pages.checkPages()
      return try pages.checkIndexes()
    }
    guard let shown = await rows, let known = await versions, let held = await indexes else {
      throw finding.first ?? FlotillaError(.wrongCopy, "the copy cannot be read")
    }
    try await holder.run(replica) { (holder) throws(StoreError) in
      try pages.compare(shown, known, held)
      try holder.graft?.finish(known)
      holder.graft = nil
    }
  }
}

/// What is wrong with a copy: the first check that fails ends the others.
private final class Finding: Sendable {
  private let found = Locked<FlotillaError?>(nil)

  var first: FlotillaError? { found.withLock { $0 } }

  /// What a check gives that runs on a thread of its own; nil if it fails.
  func checked<Sums: Sendable>(
    _ path: String, _ check: @escaping @Sendable () throws(StoreError) -> Sums
  ) async -> Sums? {
    await offPool {
      do throws(StoreError) {
        return try check()
      } catch {
        self.found.withLock { $0 = $0 ?? FlotillaError(error, path: path) }
        return nil
      }
    }
  }
}

/// Holds the lock on the empty replica, on a queue of its own.
private actor GraftHolder {
  private let executor = QueueExecutor("flotilla.graft")
  var graft: PageGraft?

  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  func run<Result: Sendable>(
    _ path: String, _ body: @Sendable (isolated GraftHolder) throws(StoreError) -> Result
  ) throws(FlotillaError) -> Result {
    try reporting(path) { () throws(StoreError) in try body(self) }
  }
}
