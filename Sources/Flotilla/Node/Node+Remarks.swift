import Replication
import Store

/// What a person should know beside the figures of `status`.
extension Node {
  func remarks(
    _ figures: Store.Figures, _ waiting: [WaitingTable], _ new: [UntrackedTable]
  ) -> [String] {
    var remarks = standing.map { [$0.remark] } ?? []
    if mode == .lasting, let remark = ProgramFile.remark(ProgramFile.fate(), path) {
      remarks.append(remark)
    }
    remarks += waiting.map(remark)
    remarks += new.compactMap(remark)
    for table in figures.tables where table.rowsWithoutKey > 0 {
      remarks.append(
        table.rowsWithoutKey == 1
          ? "1 row of \(table.name) has NULL in its key and stays here"
          : "\(thousands(table.rowsWithoutKey)) rows of \(table.name) have NULL in their key and "
            + "stay here")
    }
    if let trouble = figures.derivedTrouble {
      remarks.append(
        "a trigger that keeps an index or a cache failed (\(trouble)); what it keeps is stale here")
    }
    // Where they wait for the time of the site, another remark says so.
    if figures.unfolded > 0, mode == .offline, clock.now.site != nil {
      remarks.append(
        figures.unfolded == 1
          ? "1 edit waits for the node to run"
          : "\(thousands(figures.unfolded)) edits wait for the node to run")
    }
    return remarks
  }

  /// That this node is no member any more, or that others say so.
  var standing: StandingReport? {
    StandingReport(of: identity.node, in: roster.roll, isRefused: isShutOut, path)
  }

  /// What of this node itself keeps it from being in sync: rows that went with a table, a time that
  /// is not known, edits that wait.
  func lacks(
    _ figures: Store.Figures, _ waiting: [WaitingTable], hasOthers: Bool, _ time: ClockState
  ) -> [String] {
    var lacks: [String] = []
    let gone = waiting.filter { $0.lost > 0 }
    for table in gone {
      let rows = counted(table.lost, "row")
      lacks.append("table \(table.name) is not here on \(identity.name), and \(rows) went with it")
    }
    let others = position.lost - gone.reduce(0) { $0 + $1.lost }
    if hasOthers, others > 0 {
      lacks.append(
        "\(counted(others, "row")) that went with a table of \(identity.name) have not come again")
    }
    if hasOthers, time.site_time == nil { lacks.append("the time of the site is not known yet") }
    let edits = [
      (figures.unfolded, "not taken in yet"), (figures.unjudged, "not judged by the anchor yet"),
    ]
    for (count, state) in edits where count > 0 {
      lacks.append("\(counted(count, "edit")) \(count == 1 ? "is" : "are") \(state)")
    }
    return lacks
  }

  /// A table that the site tracks and whose rows cannot be seen here.
  private func remark(on table: WaitingTable) -> String {
    if let question = table.question { return remark(on: table, question) }
    var text = "table \(table.name) is tracked, but not here: \(table.reason); "
    text += "\(counted(table.rows, "row")) \(table.rows == 1 ? "waits" : "wait") for it"
    if table.lost > 0 {
      text += ", and \(table.lost) that went with it are to come from other nodes again"
    }
    return text
      + " (create it with the site's primary key, or: flotilla schema \(shellWord(path)) --adopt "
      + "NODE; if a table that holds its rows was renamed, then --map "
      + "\(shellWord(table.name))=NEW)"
  }
}

extension StandingReport {
  /// Nil for a member, as far as this replica knows; `isRefused`: a member has refused it.
  init?(of node: Identity, in roll: Roll, isRefused: Bool, _ path: String) {
    switch roll.entries[node]?.ending {
    case .revoked(let by, _)?:
      text = "this node was shut out of the site by \(roll.entries[by]?.name ?? "the site key")"
    case .left?: text = "this node has left the site"
    case nil:
      guard isRefused else { return nil }
      text = "a member of the site refuses this node as one that was shut out"
    }
    remedy =
      "the data stays; to come back: flotilla leave \(shellWord(path)) --force, then join again"
  }
}
