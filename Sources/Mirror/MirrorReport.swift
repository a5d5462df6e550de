import Flotilla
import FoundationEssentials
import Glibc

/// How a mirror is. JSON: `{server, state, since, trouble, trouble_since, tables,
/// stopped:[{table, reason}], behind_rows, behind_seconds, takes_in, sent, taken, retries,
/// held_count, held:[{table, key, direction, reason, at}], waiting:[…], compared, rows_compared,
/// differences, in_sync}`.
public struct MirrorReport: Codable, Sendable, Equatable {
  /// A table that is not mirrored at present, and why.
  public struct Stopped: Codable, Sendable, Equatable {
    public var table: String
    public var reason: String
  }

  /// A row that does not go over, and why.
  public struct Held: Codable, Sendable, Equatable {
    public var table: String
    public var key: String
    /// `out` if the server does not take it, `in` if the site does not.
    public var direction: String
    public var reason: String
    public var at: String
  }

  public var server: String
  /// `starting`, `connecting`, `comparing`, `following`, `stopped`, `paused`, or `off` if no node
  /// runs.
  public var state: String
  /// ISO 8601 in UTC, as the others.
  public var since: String?
  /// What is in the way.
  public var trouble: String?
  public var trouble_since: String?
  public var tables: [String]
  public var stopped: [Stopped]
  /// Rows that have changed here and not gone out; nil if nobody knows.
  public var behind_rows: Int?
  public var behind_seconds: Int
  /// Whether the server's programs have changed more than was read so far: how much nobody counts.
  public var takes_in: Bool
  /// Rows that went out and came in since the node was started, and transactions done again.
  public var sent: Int
  public var taken: Int
  public var retries: Int
  public var held_count: Int
  /// The latest of them.
  public var held: [Held]
  /// The same of rows that cannot go out at present, and are tried again: some of them.
  public var waiting: [Held]
  /// When all rows were compared last, how many, and how many differed.
  public var compared: String?
  public var rows_compared: Int
  public var differences: Int
  /// Rows that were looked at in a comparison that goes on.
  public var progress: Int
  /// It follows, nothing waits on either side, nothing is held, no table is stopped.
  public var in_sync: Bool
}

extension MirrorReport {
  /// What is in the way of both sides being equal, in words; nil if nothing is.
  public var obstacle: String? {
    switch state {
    case "paused": return "is paused"
    case "off": return "does nothing, for no node runs"
    default: break
    }
    if let trouble { return "stands still: \(trouble)" }
    if let table = stopped.first {
      return "leaves \(stopped.count) of its tables out; \(table.table): \(table.reason)"
    }
    return held_count > 0 ? "holds \(held_count) rows that do not fit on the other side" : nil
  }
}

extension MirrorState {
  /// Whether the process that wrote this is at work: it writes each second, but waits for a server
  /// up to a minute.
  var isAlive: Bool {
    process > 0 && kill(process, 0) == 0 && MirrorEngine.now - written < 90_000
  }
}

extension MirrorState {
  /// So old, in ms, what is said each second may be: a large transaction may take a while.
  private static let oldest: Int64 = 15_000

  /// What is in the way, and since when. A state that is old was not written: it may say that
  /// nothing waits while nobody can tell.
  fileprivate func obstacle(
    at now: Int64, in folder: String
  ) -> (words: String?, since: Int64?) {
    guard phase == .following, trouble == nil, now - written > Self.oldest else {
      return (trouble, troubleSince)
    }
    let words = "it has told nothing of how far it is: it works on since, or finds no room in "
    return (words + folder, written)
  }
}

extension ServerMirror {
  /// The same as `report`, without counting what waits; nil if nothing is mirrored.
  public func briefReport() async throws(FlotillaError) -> MirrorReport? {
    guard try folder.settings() != nil else { return nil }
    return try await report(counts: false)
  }

  /// How it is, by what it has said of itself.
  public func report() async throws(FlotillaError) -> MirrorReport {
    try await report(counts: true)
  }

  private func report(counts: Bool) async throws(FlotillaError) -> MirrorReport {
    let settings = try folder.required()
    let state = folder.state() ?? MirrorState()
    let now = MirrorEngine.now
    let isAlive = state.isAlive
    var phase = isAlive ? state.phase.rawValue : "off"
    let isStarting = isAlive && state.phase == .stopped && folder.isSettled(after: state.written)
    if isStarting { phase = "starting" }
    if settings.isPaused { phase = "paused" }
    let isAtHand = isAlive && !settings.isPaused && !isStarting
    let isAtWork = ["following", "comparing"].contains(phase)
    var behind: Int? = isAtWork ? state.behind : nil
    if !isAtWork, counts { behind = await waiting(settings, state) }
    let seconds = isAtWork ? state.behindSince.map { max(0, Int((now - $0) / 1_000)) } ?? 0 : 0
    let address = try ServerAddress(settings.url)
    let obstacle = state.obstacle(at: now, in: replica.folder)
    return MirrorReport(
      server: address.text, state: phase, since: Self.text(state.since == 0 ? nil : state.since),
      trouble: isAtHand ? obstacle.words : nil,
      trouble_since: isAtHand ? Self.text(obstacle.since) : nil,
      tables: Self.names(settings, state),
      stopped: state.stopped.map { MirrorReport.Stopped(table: $0.table, reason: $0.reason) },
      behind_rows: behind, behind_seconds: seconds,
      takes_in: isAtWork && state.takesIn == true, sent: state.sent, taken: state.taken,
      retries: state.retries, held_count: state.heldCount,
      held: state.held.map(Self.held), waiting: isAtWork ? (state.owed ?? []).map(Self.held) : [],
      compared: Self.text(state.compared), rows_compared: state.rowsCompared,
      differences: state.differences, progress: state.progress,
      in_sync: phase == MirrorState.Phase.following.rawValue && state.behind == 0
        && state.takesIn != true && state.heldCount == 0 && state.stopped.isEmpty
        && obstacle.words == nil)
  }

  /// What the tables are called here by now.
  private static func names(_ settings: MirrorSettings, _ state: MirrorState) -> [String] {
    settings.tables.map { state.names?[$0.number] ?? $0.table }
  }

  /// So many pages of the feed are counted.
  private static let mostPages = 25

  /// How many rows have changed since the mirror read the feed last; nil if that cannot be told.
  private func waiting(_ settings: MirrorSettings, _ state: MirrorState) async -> Int? {
    guard var place = state.place else { return nil }
    var count = 0
    for _ in 0..<Self.mostPages {
      let page = try? await replica.changedKeys(
        since: place, tables: Self.names(settings, state), isExact: true, within: .zero)
      guard let page, !page.reset else { return nil }
      count += page.rows.count
      place = page.cursor
      if !page.more { return count }
    }
    return nil
  }

  private static func held(_ row: MirrorState.Held) -> MirrorReport.Held {
    MirrorReport.Held(
      table: row.table, key: row.key, direction: row.direction, reason: row.reason,
      at: text(row.at) ?? "")
  }

  private static func text(_ moment: Int64?) -> String? {
    moment.map {
      Date(timeIntervalSince1970: Double($0) / 1_000).formatted(
        Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }
  }
}
