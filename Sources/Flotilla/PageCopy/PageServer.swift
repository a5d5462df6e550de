import CLinux
import FoundationEssentials
import Glibc
import Network
import Replication
import Store

/// The inviter's side of first copies by pages: makes one file at a time, and sends it to whoever
/// may read everything (docs/decisions/0048).
///
/// The file has no name once it is made, so a process that is killed leaves none behind.
actor PageServer {
  /// For how long a snapshot is held, in ms, and by how much the write-ahead log may grow until
  /// then.
  static let holdLimit: Int64 = 30_000
  static let logLimit = 64 << 20
  /// For how long a file is kept for a joiner that was cut off, and for how long it is given to
  /// others, in ms: they get what is newer by rows. So no member can have one made all the time.
  static let keepLimit: Int64 = 300_000
  static let shareLimit: Int64 = 60_000
  /// For how long a joiner may say nothing, or take nothing of what it is sent, in ms.
  static let patience: Int64 = 10_000
  /// How long a joiner may take to check its copy, in ms: 5 minutes, and 1 s for each 4 MiB.
  private static func checkLimit(_ bytes: Int) -> Int64 { keepLimit + Int64(bytes) >> 12 }
  /// So many are served at a time.
  private static let mostJoiners = 4
  /// What must stay free beside the file.
  private static let reserve: UInt64 = 64 << 20

  /// A file, and the last cut of which it has everything.
  private struct Made: Sendable {
    var file: PageFile
    var whole: Replication.Mark
  }

  private struct Kept {
    var file: PageFile
    var whole: Replication.Mark
    var madeAt: Int64
    var users = 0
    /// Whether somebody has all of it; until then its joiner may come again.
    var isTaken = false

    init(_ made: Made, at madeAt: Int64) {
      (file, whole, self.madeAt) = (made.file, made.whole, madeAt)
    }

    var end: Int64 { madeAt + (isTaken ? shareLimit : keepLimit) }
  }

  /// A connection, and whether it may have more.
  struct Joiner {
    let link: CopyLink
    let mayRead: @Sendable () -> Bool
  }

  private let store: StoreActor
  private let database: String
  private let path: String
  private let folded: @Sendable (FoldResult, Position) async -> Void
  private let log: @Sendable (String) -> Void
  private var kept: Kept?
  /// How many are being sent the file that is kept.
  var users: Int { kept?.users ?? 0 }
  private var making: Task<Result<Made, FlotillaError>, Never>?
  /// Ends a copy that is being made.
  private let isStopping = Locked(false)
  /// Who is served: one connection of a member, so that nobody holds the places of others.
  private(set) var joiners: [Identity: Joiner] = [:]
  private var rations = CopyRations()
  private var ending: Task<Void, Never>?

  /// `folded` is told what is folded before a snapshot is opened.
  init(
    _ store: StoreActor, _ sidecar: Sidecar, log: @escaping @Sendable (String) -> Void,
    folded: @escaping @Sendable (FoldResult, Position) async -> Void
  ) {
    (self.store, self.folded, self.log) = (store, folded, log)
    (database, path) = (sidecar.database, sidecar.folder + "/copy.new")
    // What a process left that was killed while it made one.
    unlink(path)
  }

  /// Talks with one joiner until it has its copy or hangs up; true if it has said that it has all.
  /// `mayRead` is asked before each chunk. An older connection of the same member gives way.
  func serve(
    _ link: CopyLink, of member: Identity, mayRead: @escaping @Sendable () -> Bool
  ) async -> Bool {
    joiners[member]?.link.close()
    guard joiners[member] != nil || joiners.count < Self.mostJoiners else {
      return await refuse(link, "others are being served")
    }
    joiners[member] = Joiner(link: link, mayRead: mayRead)
    defer { if joiners[member]?.link === link { joiners[member] = nil } }
    do throws(FlotillaError) {
      guard case .ask(let ask) = try await link.receive(within: Self.patience) else {
        return false
      }
      guard mayRead() else { return await refuse(link, "not every table may be read") }
      guard ask.format == UInt64(Store.tableFormat) else {
        return await refuse(link, "the two have different versions of Flotilla")
      }
      guard let (copy, bytes) = try await give(ask, to: link, of: member, mayRead),
        case .done = try await link.receive(within: Self.checkLimit(bytes))
      else { return false }
      noteTaken(copy)
      return true
    } catch {
      log("a first copy by pages ended: \(error.message)")
      return false
    }
  }

  /// Cuts those who may not read everything any more.
  func review() {
    for joiner in joiners.values where !joiner.mayRead() { joiner.link.close() }
  }

  /// Sends a file, and does not hold it while its joiner checks what has come; gives its name and
  /// its length.
  private func give(
    _ ask: CopyMessage.Ask, to link: CopyLink, of member: Identity, _ mayRead: () -> Bool
  ) async throws(FlotillaError) -> (copy: Identity, bytes: Int)? {
    guard rations.mayHave(FileSize.of(database), member, at: Uptime.now) else {
      _ = await refuse(link, "it has had several copies as pages a moment ago")
      return nil
    }
    let file: PageFile
    do throws(FlotillaError) {
      file = try await self.file(for: ask, link, of: member)
    } catch {
      log("the first copy goes row by row: \(error.message)")
      _ = await refuse(link, error.message)
      return nil
    }
    defer { release(file) }
    try await send(file, ask, link, of: member, mayRead)
    return (file.copy, await file.bytes)
  }

  /// Lets go of what is kept.
  func stop() async {
    isStopping.withLock { $0 = true }
    ending?.cancel()
    _ = await making?.value
    kept = nil
  }

  private func refuse(_ link: CopyLink, _ reason: String) async -> Bool {
    // Who does not hear it goes by rows as well.
    try? await link.send(.rows(reason: reason), within: Self.patience)
    return false
  }

  private func send(
    _ file: PageFile, _ ask: CopyMessage.Ask, _ link: CopyLink, of member: Identity,
    _ mayRead: () -> Bool
  ) async throws(FlotillaError) {
    var first = 0
    let (bytes, count) = (await file.bytes, await file.chunkCount)
    if ask.copy == file.copy, ask.chunks > 0, ask.chunks <= UInt64(count) {
      let held = try await file.hashes(upTo: Int(ask.chunks))
      if held.count == Int(ask.chunks), PageReceiver.check(held) == ask.check { first = held.count }
    }
    try await link.send(
      .head(
        CopyMessage.Head(
          copy: file.copy, format: ask.format, pageSize: 4_096, bytes: UInt64(bytes),
          first: UInt64(first))), within: Self.patience)
    var next = Self.chunk(first, of: file)
    for number in first..<count {
      let read = await next.value
      if number + 1 < count { next = Self.chunk(number + 1, of: file) }
      let chunk = try read.get()
      guard mayRead() else {
        link.close()
        throw FlotillaError(.notAllowed, "the joiner may not read everything any more")
      }
      rations.note(chunk.bytes.count, of: bytes, member, at: Uptime.now)
      try await link.send(
        .chunk(number: UInt64(number), hash: chunk.hash, bytes: chunk.bytes),
        within: Self.patience)
    }
    let check = PageReceiver.check(try await file.allHashes())
    try await link.send(.end(check: check), within: Self.patience)
  }

  private typealias Chunk = Result<(hash: [UInt8], bytes: [UInt8]), FlotillaError>

  /// Reads a chunk while the one before it is on its way.
  private static func chunk(_ number: Int, of file: PageFile) -> Task<Chunk, Never> {
    Task {
      do throws(FlotillaError) {
        return .success(try await file.chunk(number))
      } catch {
        return .failure(error)
      }
    }
  }

  /// The file that a joiner gets: the one that it has begun to fetch, one that was made a moment
  /// ago, or a new one. None goes out without rows whose delete has been let go of since.
  private func file(
    for ask: CopyMessage.Ask, _ link: CopyLink, of member: Identity
  ) async throws(FlotillaError) -> PageFile {
    let cleared = try await reporting(database) { () async throws(StoreError) in
      try await store.run { (store) throws(StoreError) in store.stability.standing.cleared }
    }
    if let kept, kept.whole >= cleared {
      let isFresh = Uptime.now - kept.madeAt < Self.shareLimit
      if kept.file.copy == ask.copy || isFresh || kept.users > 0 {
        self.kept?.users += 1
        return kept.file
      }
    }
    if making == nil {
      let bytes = FileSize.of(database)
      rations.note(bytes, of: bytes, member, at: Uptime.now)
    }
    let task = making ?? Task { await self.make() }
    making = task
    let news = Task {
      while (try? await Task.sleep(for: .seconds(1))) != nil {
        try? await link.send(.making(bytes: 0), within: Self.patience)
      }
    }
    let result = await task.value
    // Whoever wakes first: another one may be under way when the last of them does.
    if making == task {
      making = nil
      kept = try? Kept(result.get(), at: Uptime.now)
    }
    if let made = try? result.get(), kept?.file.copy == made.file.copy { kept?.users += 1 }
    news.cancel()
    await news.value
    return try result.get().file
  }

  private func release(_ file: PageFile) {
    guard kept?.file.copy == file.copy else { return }
    kept?.users -= 1
    endInTime()
  }

  private func noteTaken(_ copy: Identity) {
    guard kept?.file.copy == copy else { return }
    kept?.isTaken = true
    endInTime()
  }

  /// Lets go of the file when nobody has come for it for long enough.
  private func endInTime() {
    ending?.cancel()
    ending = Task {
      while let kept, kept.users == 0 {
        let rest = kept.end - Uptime.now
        guard rest > 0 else { return self.kept = nil }
        guard (try? await Task.sleep(for: .milliseconds(rest))) != nil else { return }
      }
    }
  }

  private func make() async -> Result<Made, FlotillaError> {
    do throws(FlotillaError) {
      return .success(try await makeFile())
    } catch {
      unlink(path)
      return .failure(error)
    }
  }

  private func makeFile() async throws(FlotillaError) -> Made {
    unlink(path)
    let (path, clock) = (path, store.clock)
    try requireRoom()
    let (source, whole) = try await reporting(path) {
      () async throws(StoreError) -> (Locked<PageSource?>, Replication.Mark) in
      try await store.foldBacklog(folded)
      await store.makeRoom()
      let (source, fold, position) = try await store.patiently { (store) throws(StoreError) in
        let source = try store.openPages(to: path, at: clock.now)
        return (Locked<PageSource?>(source), source.fold, store.position)
      }
      await folded(fold, position)
      return (source, position.stability.standing.whole)
    }
    let (isStopping, log) = (isStopping, database + "-wal")
    let made = try await offPool { () throws(FlotillaError) -> PageSource.Made in
      // Nobody else has it from here on.
      guard let source = source.withLock({ $0.take() }) else {
        throw FlotillaError(.node, "the copy was given up")
      }
      let (start, length) = (Uptime.now, FileSize.of(log))
      return try reporting(path) { () throws(StoreError) in
        try source.make {
          !isStopping.withLock { $0 } && Uptime.now - start < Self.holdLimit
            && FileSize.of(log) - length < Self.logLimit
        }
      }
    }
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw FlotillaError.file("cannot open \(path)") }
    unlink(path)
    let copy = Identity(high: .random(in: 1 ... .max), low: .random(in: 0 ... .max))
    return Made(file: PageFile(owning: descriptor, copy, bytes: made.bytes), whole: whole)
  }

  private func requireRoom() throws(FlotillaError) {
    let size = UInt64(max(0, FileSize.of(database) + FileSize.of(database + "-wal")))
    guard DiskRoom.free(at: path) >= size + Self.reserve else {
      throw FlotillaError(.diskFull, "there is no room for a copy of \(size) bytes beside the file")
    }
  }
}
