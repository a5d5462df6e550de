import Flotilla
import FoundationEssentials
import SQLite

/// What changes while all rows of a table are compared, or another table is filled.
extension MirrorEngine {
  /// So often it goes out and comes in meanwhile.
  private static let flowInterval = Duration.milliseconds(100)
  /// So often all rows are compared.
  private static let comparisonInterval: Int64 = 3_600_000

  var isComparisonDue: Bool {
    settings.comparisons > state.comparison
      || abs(Self.now - (state.compared ?? 0)) > Self.comparisonInterval
  }

  func compareAgain(_ session: MirrorSession) async throws(MirrorError) {
    if !(try install(session).isEmpty) {
      log("a trigger of the mirror was gone from the server, and is there again")
    }
    var policies: [Int: Policy] = [:]
    for number in session.byNumber.keys { policies[number] = whole(number) }
    try await compare(policies, session)
    enter(.following)
  }

  /// What is done where all rows of a table are compared. What the site has deleted since both were
  /// equal is not to come back.
  func whole(_ number: Int) -> Policy { isFilled(number) ? .reunion : .union }

  /// Whether all rows of a table were compared before: what differs now is worth telling.
  func isFilled(_ number: Int) -> Bool { state.filled?.contains(number) ?? false }

  /// Sends and takes in what there is when it begins: with a thousand writers there is always more.
  func drain(_ session: MirrorSession) async throws(MirrorError) {
    for _ in 0..<10_000 where !Task.isCancelled {
      let page = try await changes(session, within: .zero)
      if page.reset { throw .again(Self.cutFeed) }
      try send(page, session)
      let hasTaken = try await takeIn(session)
      if !page.more, !hasTaken || !session.hasMoreNews { return }
    }
  }

  /// Reads the feed up to now without tables that come to the mirror. What the site did to their
  /// rows before is no word about rows of the server that it never saw.
  func passOver(_ unmet: Set<Int>, _ session: MirrorSession) async throws(MirrorError) {
    guard !unmet.isEmpty, unmet.count < session.byNumber.count else { return }
    session.unmet = unmet
    defer { session.unmet = [] }
    for _ in 0..<10_000 where !Task.isCancelled {
      let page = try await changes(session, within: .zero)
      if page.reset { throw .again(Self.cutFeed) }
      try send(page, session)
      if !page.more { return }
    }
  }

  /// Sends and takes in some of what there is, now and then.
  func flow(_ session: MirrorSession) async throws(MirrorError) {
    guard ContinuousClock.now - session.lastFlow > Self.flowInterval else { return }
    try await renewIfDue(session)
    let page = try await changes(session, within: .zero)
    if page.reset { throw .again(Self.cutFeed) }
    try send(page, session)
    _ = try await takeIn(session)
    if !page.more { try pay(session) }
    note(session)
    publish()
    session.lastFlow = .now
  }

  /// Notes what the server has of a table. Another connection reads it, so all else flows on;
  /// where there is none to be had it waits.
  func readServer(
    _ comparison: Comparison, _ session: MirrorSession
  ) async throws(MirrorError) {
    let (reading, rows) = (session.reading, comparison.rows)
    let end = EndOfReading()
    async let answer = reading.read(rows, telling: end)
    var pause = Duration.milliseconds(1)
    var failure: MirrorError?
    while !end.isReached, failure == nil {
      if Task.isCancelled {
        failure = .again("it was ended")
      } else {
        do throws(MirrorError) { try await flow(session) } catch { failure = error }
      }
      if failure == nil, (try? await Task.sleep(for: pause)) == nil { continue }
      pause = min(pause * 2, .milliseconds(50))
    }
    if failure != nil { reading.cut() }
    let found = await answer
    if let failure { throw failure }
    switch found {
    case .read(let found): comparison.take(found)
    case .failed(let error): throw error
    case .unreachable: comparison.take(try rows.read(session.server))
    }
  }

  /// Keeps the place; an error if somebody else has it.
  func renewIfDue(_ session: MirrorSession) async throws(MirrorError) {
    try await lookIfDue(session)
    guard ContinuousClock.now - session.lastWord > .seconds(4) else { return }
    let isOurs = try serving { () throws(ServerError) in
      try session.ledger.renew(
        cursor: session.cursor, life: session.life, after: session.lastNumber)
    }
    guard isOurs else { throw .stopped(Self.lostPlace) }
    session.lastWord = .now
    try reading { () throws(SQLiteError) in try session.letGo() }
  }

  static let lostPlace = "another process or node has taken the mirror over"
}
