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

  /// Runs a statement here and waits for what the anchor says of it.
  ///
  /// The edit stays if the anchor is not in reach: then it is judged when it gets there. Of a query
  /// the rows here, and those after an exchange with the anchor.
  public func sqlOnline(
    _ statement: String, timeout: Duration
  ) async throws(FlotillaError) -> OnlineReport {
    try await check()
    let milliseconds = Int(timeout.milliseconds)
    let prepare = ControlRequest.prepareEdit(milliseconds: milliseconds)
    switch try await reach(prepare, as: PreparedEdit.self) {
    case .answer(let prepared):
      return try await run(statement, prepared) { rows async throws(FlotillaError) in
        let request = ControlRequest.verdicts(
          after: prepared.seq, through: nil, rows: rows, milliseconds: milliseconds)
        return try await self.askNode(request, as: [RowVerdict].self)
      } refresh: { () async throws(FlotillaError) in
        let request = ControlRequest.sync(peer: prepared.anchor, milliseconds: milliseconds)
        return try await self.askNode(request, as: SyncReport.self)
      }
    case .lock(let lock):
      return try await withNode(mode: .brief, lock: lock) { node async throws(FlotillaError) in
        let prepared = try await node.prepareEdit(timeout: timeout)
        return try await run(statement, prepared) { rows async throws(FlotillaError) in
          try await node.verdicts(after: prepared.seq, rows: rows, timeout: timeout)
        } refresh: { () async throws(FlotillaError) in
          try await node.sync(with: prepared.anchor, timeout: timeout)
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
    _ statement: String, _ prepared: PreparedEdit,
    judge: ([EditedRow]) async throws(FlotillaError) -> [RowVerdict],
    refresh: () async throws(FlotillaError) -> SyncReport
  ) async throws(FlotillaError) -> OnlineReport {
    let local = try await sql(statement)
    guard !local.touched.isEmpty else {
      return try await runQuery(statement, local, prepared, refresh)
    }
    let verdicts = try await judge(
      local.touched.map { EditedRow(table: $0.table, key: $0.key) })
    var rows: [OnlineReport.Row] = []
    for (row, verdict) in zip(local.touched, verdicts) {
      rows.append(
        OnlineReport.Row(local: row, verdict: verdict, server: try await standing(row)))
    }
    let worst = ["rejected", "pending", "superseded"].first { name in
      verdicts.contains { $0.verdict == name }
    }
    return OnlineReport(verdict: worst ?? "accepted", rows: rows, local: local, server: nil)
  }

  /// A statement that touched nothing: what it gives after an exchange with the anchor.
  private func runQuery(
    _ statement: String, _ local: SQLReport, _ prepared: PreparedEdit,
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
      server: isReached ? try await sql(statement) : nil)
  }
}
