import Flotilla

/// Reads the changes of one database once, for all clients that follow them.
///
/// A client that is at the end gets what was read for all; one that is behind reads for itself
/// until it has come there.
actor ChangeHub {
  /// Changes that follow each other, as texts.
  struct Page: Sendable {
    var changes: [Told]
    /// Behind the last of them, or behind others that nobody is told of.
    var end: String
  }

  struct Told: Sendable {
    var cursor: String
    var table: String
    /// How the site called the table first.
    var first: String
    /// One JSON object.
    var text: [UInt8]
  }

  enum News: Sendable {
    case page(Page)
    /// What came before cannot be told; the log goes on here.
    case reset(String)
    /// The time is over.
    case nothing
  }

  /// So many pages, and bytes of changes, are kept for those who are a little behind.
  private static let mostPages = 64
  private static let mostBytes = 4 << 20
  /// So long it goes on reading while nobody waits, in seconds.
  private static let patience: Duration = .seconds(30)

  private struct Kept {
    var start: String
    var page: Page
    var bytes: Int
  }

  /// So many clients that are behind read for themselves at a time: each opens the file once more.
  private static let mostAsking = 4

  private let replica: Replica
  private var asking = 0
  private var turns: [CheckedContinuation<Void, Never>] = []
  private var kept: [Kept] = []
  /// Where the reader is; nil while there is none.
  private var end: String?
  private var reader: Task<Void, Never>?
  /// How often something was read for all.
  private var readings = 0
  private var waiting: [Int: CheckedContinuation<Void, Never>] = [:]
  private var nextWaiter = 0
  private var lastWait = ContinuousClock.now
  private var isStopped = false

  init(_ replica: Replica) { self.replica = replica }

  /// Where what changes from now on begins.
  func begin() async throws(FlotillaError) -> String {
    // Who reads the tables later than that misses nothing.
    if let end { return end }
    let cursor = try await replica.changes(since: nil, within: .zero).cursor
    read(from: cursor)
    return cursor
  }

  /// What follows a cursor; waits so long for something. `isLast` asks for rows as they are now:
  /// what was read for others a while ago is read again.
  func next(
    after cursor: String, within limit: Duration, isLast: Bool = false
  ) async throws(FlotillaError) -> News {
    let deadline = ContinuousClock.now + limit
    while !Task.isCancelled {
      if let page = page(after: cursor), !isLast || page.end == end { return .page(page) }
      if cursor != end {
        let before = readings
        let news = try await ask(after: cursor)
        if news.reset { return .reset(news.cursor) }
        if news.cursor != cursor { return .page(Self.page(news)) }
        read(from: cursor)
        // What was read for all meanwhile woke nobody here, and may be too large to be kept.
        if readings != before { continue }
      }
      guard await wait(until: deadline) else { return .nothing }
    }
    return .nothing
  }

  private func ask(after cursor: String) async throws(FlotillaError) -> OpenReplica.Changes {
    if asking < Self.mostAsking {
      asking += 1
    } else {
      await withCheckedContinuation { turns.append($0) }
    }
    defer { if turns.isEmpty { asking -= 1 } else { turns.removeFirst().resume() } }
    return try await replica.changes(since: cursor, within: .zero)
  }

  private static func page(_ news: OpenReplica.Changes) -> Page {
    let told = news.changes.map {
      Told(
        cursor: $0.cursor, table: $0.table, first: $0.first, text: Array(JSON($0).description.utf8))
    }
    return Page(changes: told, end: news.cursor)
  }

  /// The rest of a page that was read for all.
  private func page(after cursor: String) -> Page? {
    for one in kept {
      if one.start == cursor { return one.page }
      if let index = one.page.changes.firstIndex(where: { $0.cursor == cursor }) {
        guard index + 1 < one.page.changes.count || one.page.end != cursor else { continue }
        return Page(changes: Array(one.page.changes[(index + 1)...]), end: one.page.end)
      }
    }
    return nil
  }

  private func read(from cursor: String) {
    guard reader == nil, !isStopped else { return }
    end = cursor
    reader = Task { [weak self] in
      while !Task.isCancelled, let self, await self.readOn() {}
    }
  }

  /// False if nobody waits any more.
  private func readOn() async -> Bool {
    guard let start = end, !waiting.isEmpty || .now - lastWait < Self.patience else {
      (reader, end, kept) = (nil, nil, [])
      return false
    }
    do {
      let news = try await replica.changes(since: start)
      if news.reset {
        kept = []
      } else if news.cursor != start {
        keep(Self.page(news), from: start)
      }
      end = news.cursor
      if news.cursor != start { wake() }
    } catch {
      // The node is busy or starts anew; clients that ask for themselves are told why.
      try? await Task.sleep(for: .seconds(1))
    }
    return true
  }

  private func keep(_ page: Page, from start: String) {
    kept.append(
      Kept(start: start, page: page, bytes: page.changes.reduce(0) { $0 + $1.text.count }))
    while kept.count > Self.mostPages || kept.reduce(0, { $0 + $1.bytes }) > Self.mostBytes {
      kept.removeFirst()
    }
  }

  private func wake() {
    readings += 1
    for continuation in waiting.values { continuation.resume() }
    waiting = [:]
  }

  /// True if something was read before the time was over.
  private func wait(until deadline: ContinuousClock.Instant) async -> Bool {
    guard ContinuousClock.now < deadline, !Task.isCancelled else { return false }
    nextWaiter += 1
    let number = nextWaiter
    lastWait = .now
    let alarm = Task { [weak self] in
      try? await Task.sleep(until: deadline)
      await self?.giveUp(number)
    }
    await withTaskCancellationHandler {
      await withCheckedContinuation { waiting[number] = $0 }
    } onCancel: {
      alarm.cancel()
    }
    alarm.cancel()
    return ContinuousClock.now < deadline && !Task.isCancelled
  }

  private func giveUp(_ number: Int) { waiting.removeValue(forKey: number)?.resume() }

  /// Nobody is served any more.
  func stop() {
    isStopped = true
    reader?.cancel()
    wake()
  }
}
