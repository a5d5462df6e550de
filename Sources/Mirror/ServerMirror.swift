import Flotilla
import FoundationEssentials
import SQLite

/// Keeps tables of a replica equal with those of a MariaDB or MySQL database (docs/mirror.md).
///
/// What is here sets it up, looks at it and takes it down. `watch` runs it, beside the node.
public struct ServerMirror: Sendable {
  public let replica: Replica
  let folder: MirrorFolder

  public init(_ replica: Replica) {
    self.replica = replica
    folder = MirrorFolder(replica: replica)
  }

  /// Runs the mirrors of these replicas as their settings come, change and go, until it is
  /// cancelled. A replica without one costs a look at the name of a file every two seconds.
  public static func watch(
    _ replicas: [Replica], log: @escaping @Sendable (String) -> Void
  ) async {
    await withTaskGroup(of: Void.self) { group in
      for replica in replicas {
        let prefix = replicas.count > 1 ? "\(replica.path): " : ""
        group.addTask { await ServerMirror(replica).watch { log(prefix + $0) } }
      }
    }
  }

  private func watch(log: @escaping @Sendable (String) -> Void) async {
    var mark: [Int64]?
    var work: Task<Void, Never>?
    var lastRead: ContinuousClock.Instant?
    while !Task.isCancelled {
      var now = folder.mark
      // A database that cannot be served is not mirrored before it is.
      if now != nil, now != mark, !(await replica.isServed()) { now = nil }
      if now != nil, lastRead.map({ ContinuousClock.now - $0 > Self.readInterval }) ?? true {
        await keepFeed()
        lastRead = .now
      }
      if now != mark {
        work?.cancel()
        await work?.value
        (mark, work) = (now, nil)
        do throws(FlotillaError) {
          if let settings = try folder.settings(), !settings.isPaused {
            let engine = MirrorEngine(replica, settings, log: log)
            work = Task { await engine.run() }
          }
        } catch {
          log("the mirror does not run: \(error.message)")
        }
      }
      let pause = mark == nil ? Duration.seconds(2) : .milliseconds(500)
      guard (try? await Task.sleep(for: pause)) != nil else { break }
    }
    work?.cancel()
    await work?.value
  }

  /// So often the feed is read, whether or not the mirror gets to the server.
  private static let readInterval = Duration.seconds(3_600)

  /// A feed that nobody reads for a week ends, and a server may be away for longer.
  private func keepFeed() async {
    guard let place = folder.state()?.place else { return }
    _ = try? await replica.changedKeys(since: place, tables: [], isExact: false, within: .zero)
  }

  /// Lets it rest; what changes on both sides waits. When this returns its place on the server is
  /// free, so that another node may take it, unless what it works on takes longer than 20 s.
  public func pause() async throws(FlotillaError) {
    try await change { $0.isPaused = true }
    let deadline = ContinuousClock.now + .seconds(20)
    while let state = folder.state(), state.isAlive, state.phase != .stopped,
      ContinuousClock.now < deadline
    {
      guard (try? await Task.sleep(for: .milliseconds(50))) != nil else { return }
    }
  }

  public func resume() async throws(FlotillaError) { try await change { $0.isPaused = false } }

  private func change(
    _ body: @Sendable (inout MirrorSettings) -> Void
  ) async throws(FlotillaError) {
    var settings = try folder.required()
    body(&settings)
    try folder.write(settings)
  }

  /// Has all rows compared, and waits for the end of it. Nil if the time was over. However many
  /// rows differ, those of a side stand.
  public func verify(
    within limit: Duration, for side: MirrorSide? = nil
  ) async throws(FlotillaError) -> MirrorReport? {
    var settings = try folder.required()
    guard !settings.isPaused else {
      throw FlotillaError(
        .refused, "the mirror is paused",
        remedy: "Go on with: flotilla mirror \(shellWord(replica.path)) resume")
    }
    settings.comparisons = max(settings.comparisons, folder.state()?.comparison ?? 0) + 1
    settings.decision = side.map {
      MirrorSettings.Decision(side: $0, comparison: settings.comparisons)
    }
    try folder.write(settings)
    let deadline = ContinuousClock.now + limit
    while ContinuousClock.now < deadline {
      if let state = folder.state(), state.comparison >= settings.comparisons,
        state.phase == .following
      {
        return try await report()
      }
      guard (try? await Task.sleep(for: .milliseconds(100))) != nil else { break }
    }
    return nil
  }
}

/// A password that somebody has typed, or the file where it is.
public enum MirrorPassword: Sendable {
  case file(String)
  case typed(String)
}
