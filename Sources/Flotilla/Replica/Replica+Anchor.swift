import Replication
import Store

/// The anchor, and edits whose verdict is awaited.
extension Replica {
  /// The names of the merge rules that a table can have.
  public static let mergeRules = MergeRules.all.map { $0.name }

  /// Who is the anchor of the site.
  public func anchor() async throws(FlotillaError) -> AnchorReport {
    try await perform(.office, mode: .brief) { node async throws(FlotillaError) in
      await node.untilConnected(within: .seconds(2))
      return try await node.office()
    }
  }

  /// Makes a member the anchor, or ends that there is one.
  ///
  /// At the first appointment tables whose rule nobody has set get `rule`, or `server-wins`.
  public func appoint(
    _ choice: AnchorChoice, isForced: Bool = false, rule: String? = nil
  ) async throws(FlotillaError) -> AnchorReport {
    var name: String?
    if case .node(let node) = choice { name = node }
    let request = ControlRequest.appoint(
      node: name, isHere: choice == .here, isForced: isForced, rule: rule)
    return try await perform(request, mode: .brief) { node async throws(FlotillaError) in
      await node.untilConnected(within: .seconds(2))
      let report = try await node.appoint(choice, isForced: isForced, rule: rule)
      await node.untilConnected(within: .seconds(2))
      return report
    }
  }

  /// Runs a statement here and waits for what the anchor says of it, until `timeout` is over; what
  /// it did here is told at once.
  ///
  /// The edit stays if the anchor is not in reach: then it is judged when it gets there. Of a query
  /// the rows here, and those after an exchange with the anchor.
  public func sqlOnline(
    _ statement: String, timeout: Duration, local tell: (SQLReport) -> Void = { _ in }
  ) async throws(FlotillaError) -> OnlineReport {
    try await check()
    let end = Uptime.now + timeout.milliseconds
    let prepare = ControlRequest.prepareEdit(milliseconds: Int(timeout.milliseconds))
    switch try await reach(prepare, as: PreparedEdit.self, within: timeout) {
    case .answer(let prepared):
      let judge = Judge(prepared: prepared, end: end) { (rest) async throws(FlotillaError) in
        let request = ControlRequest.verdicts(
          after: prepared.seq, through: nil, milliseconds: Int(rest.milliseconds))
        return try await askNode(request, as: Mark.self, within: rest)
      } refresh: { (rest) async throws(FlotillaError) in
        let request = ControlRequest.sync(
          peer: prepared.anchor, milliseconds: Int(rest.milliseconds))
        return try await askNode(request, as: SyncReport.self, within: rest)
      }
      return try await run(statement, judge, tell)
    case .lock(let lock):
      return try await withNode(mode: .brief, lock: lock, within: timeout) {
        node async throws(FlotillaError) in
        let rest = Duration.milliseconds(max(0, end - Uptime.now))
        let prepared = try await node.prepareEdit(timeout: rest)
        let judge = Judge(prepared: prepared, end: end) { (rest) async throws(FlotillaError) in
          try await node.awaitVerdicts(after: prepared.seq, timeout: rest)
        } refresh: { (rest) async throws(FlotillaError) in
          try await node.sync(with: prepared.anchor, timeout: rest)
        }
        return try await run(statement, judge, tell)
      }
    }
  }

  func askNode<Body: Codable & Sendable>(
    _ request: ControlRequest, as type: Body.Type, within timeout: Duration
  ) async throws(FlotillaError) -> Body {
    guard case .answer(let body) = try await reach(request, as: type, within: timeout) else {
      throw FlotillaError(
        .node, "the node of \(path) was stopped", cause: "the node was stopped")
    }
    return body
  }

  private func run(
    _ statement: String, _ judge: Judge, _ tell: (SQLReport) -> Void
  ) async throws(FlotillaError) -> OnlineReport {
    let local = try await write(statement, patience: judge.rest)
    tell(local)
    let touched = local.touched.filter { !$0.isKeyless }
    guard !touched.isEmpty else { return try await runQuery(statement, local, judge) }
    let (verdicts, mark) = try await verdicts(on: touched, judge)
    let standing = try await standing(touched)
    let rows = zip(touched, zip(verdicts, standing)).map { row, after in
      OnlineReport.Row(
        local: row, verdict: after.0, server: after.0 == .pending ? nil : after.1)
    }
    let worst =
      ["rejected", "pending", "unknown", "superseded"].first { name in
        verdicts.contains { $0.verdict == name }
      } ?? "accepted"
    let isAsLeft = worst == "accepted" && local.returnedRows && standing == touched
    return OnlineReport(
      verdict: worst, rows: rows, local: local, server: isAsLeft ? local : nil,
      obstacle: worst == "pending" ? mark.obstacle : nil,
      away: worst == "pending" ? mark.away : nil)
  }

  /// The edit is committed by now: if the node ends it has no verdict yet.
  private func verdicts(
    on rows: [TouchedRow], _ judge: Judge
  ) async throws(FlotillaError) -> (verdicts: [RowVerdict], mark: Mark) {
    do {
      return try await verdicts(
        on: rows, after: judge.prepared.seq, within: judge.rest, wait: judge.wait)
    } catch {
      guard error.code == .node else { throw error }
      let mark = Mark(seq: judge.prepared.seq, obstacle: error.message)
      return (rows.map { _ in .pending }, mark)
    }
  }

  /// A statement that touched nothing: what it gives after an exchange with the anchor.
  private func runQuery(
    _ statement: String, _ local: SQLReport, _ judge: Judge
  ) async throws(FlotillaError) -> OnlineReport {
    guard local.returnedRows, local.isQuery else {
      return OnlineReport(verdict: nil, rows: [], local: local, server: nil)
    }
    let prepared = judge.prepared
    // The anchor itself has nobody to ask.
    let errors = prepared.isHere ? [] : try await judge.refresh(judge.rest).peers.map(\.error)
    let isReached = prepared.isHere ? prepared.obstacle == nil : errors.allSatisfy { $0 == nil }
    guard !isReached else {
      return OnlineReport(
        verdict: "accepted", rows: [], local: local, server: try await write(statement))
    }
    let late = "the exchange with the anchor was not done in time"
    return OnlineReport(
      verdict: "pending", rows: [], local: local, server: nil,
      obstacle: prepared.obstacle ?? (errors.contains(Node.late) ? late : nil))
  }
}

/// How a statement that is run online gets its verdict, from a running node or one for the moment.
private struct Judge {
  let prepared: PreparedEdit
  /// When the time is over, by uptime.
  let end: Int64
  /// Waits for verdicts.
  let wait: (Duration) async throws(FlotillaError) -> Mark
  /// One exchange with the anchor.
  let refresh: (Duration) async throws(FlotillaError) -> SyncReport

  init(
    prepared: PreparedEdit, end: Int64,
    wait: @escaping (Duration) async throws(FlotillaError) -> Mark,
    refresh: @escaping (Duration) async throws(FlotillaError) -> SyncReport
  ) {
    (self.prepared, self.end, self.wait, self.refresh) = (prepared, end, wait, refresh)
  }

  var rest: Duration { .milliseconds(max(0, end - Uptime.now)) }
}
