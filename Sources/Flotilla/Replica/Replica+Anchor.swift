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
    let rest = { Duration.milliseconds(max(0, end - Uptime.now)) }
    let prepare = ControlRequest.prepareEdit(milliseconds: Int(timeout.milliseconds))
    switch try await reach(prepare, as: PreparedEdit.self) {
    case .answer(let prepared):
      return try await run(statement, tell) { rows async throws(FlotillaError) in
        try await verdicts(on: rows, after: prepared.seq, within: rest()) {
          (rest) async throws(FlotillaError) in
          let request = ControlRequest.verdicts(
            after: prepared.seq, through: nil, milliseconds: Int(rest.milliseconds))
          return try await askNode(request, as: Mark.self)
        }
      } refresh: { () async throws(FlotillaError) in
        let request = ControlRequest.sync(
          peer: prepared.anchor, milliseconds: Int(rest().milliseconds))
        return try await askNode(request, as: SyncReport.self)
      }
    case .lock(let lock):
      return try await withNode(mode: .brief, lock: lock) { node async throws(FlotillaError) in
        let prepared = try await node.prepareEdit(timeout: timeout)
        return try await run(statement, tell) { rows async throws(FlotillaError) in
          try await verdicts(on: rows, after: prepared.seq, within: rest()) {
            (rest) async throws(FlotillaError) in
            try await node.awaitVerdicts(after: prepared.seq, timeout: rest)
          }
        } refresh: { () async throws(FlotillaError) in
          try await node.sync(with: prepared.anchor, timeout: rest())
        }
      }
    }
  }

  private func askNode<Body: Codable & Sendable>(
    _ request: ControlRequest, as type: Body.Type
  ) async throws(FlotillaError) -> Body {
    guard case .answer(let body) = try await reach(request, as: type) else {
      throw FlotillaError(.node, "the node of \(path) was stopped; the edit stays")
    }
    return body
  }

  private func run(
    _ statement: String, _ tell: (SQLReport) -> Void,
    judge: ([TouchedRow]) async throws(FlotillaError) -> [RowVerdict],
    refresh: () async throws(FlotillaError) -> SyncReport
  ) async throws(FlotillaError) -> OnlineReport {
    let local = try await write(statement)
    tell(local)
    guard !local.touched.isEmpty else { return try await runQuery(statement, local, refresh) }
    let verdicts = try await judge(local.touched)
    let server = try await standing(local.touched)
    let rows = zip(local.touched, zip(verdicts, server)).map { row, after in
      OnlineReport.Row(local: row, verdict: after.0, server: after.1)
    }
    let worst = ["rejected", "pending", "unknown", "superseded"].first { name in
      verdicts.contains { $0.verdict == name }
    }
    return OnlineReport(verdict: worst ?? "accepted", rows: rows, local: local, server: nil)
  }

  /// A statement that touched nothing: what it gives after an exchange with the anchor.
  private func runQuery(
    _ statement: String, _ local: SQLReport,
    _ refresh: () async throws(FlotillaError) -> SyncReport
  ) async throws(FlotillaError) -> OnlineReport {
    guard local.returnedRows, !StatementKind(statement).isEdit else {
      return OnlineReport(verdict: "accepted", rows: [], local: local, server: nil)
    }
    // The anchor itself has nobody to ask.
    let isHere = try await anchor().isOfThisNode
    let isReached = isHere ? true : try await refresh().peers.allSatisfy { $0.error == nil }
    return OnlineReport(
      verdict: isReached ? "accepted" : "pending", rows: [], local: local,
      server: isReached ? try await write(statement) : nil)
  }
}
