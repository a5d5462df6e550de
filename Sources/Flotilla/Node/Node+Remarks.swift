import Replication
import Store

/// What a person should know beside the figures of `status`.
extension Node {
  func remarks(
    _ figures: Store.Figures, _ waiting: [WaitingTable], _ new: [UntrackedTable]
  ) -> [String] {
    var remarks = standing.map { [$0] } ?? []
    remarks += waiting.map(remark)
    remarks += new.compactMap(remark)
    for table in figures.tables where table.rowsWithoutKey > 0 {
      remarks.append(
        table.rowsWithoutKey == 1
          ? "1 row of \(table.name) has NULL in its key and stays here"
          : "\(table.rowsWithoutKey) rows of \(table.name) have NULL in their key and stay here")
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
          : "\(figures.unfolded) edits wait for the node to run")
    }
    return remarks
  }

  /// That this node is no member any more, or that others say so.
  var standing: String? {
    let again =
      "the data stays; to come back: flotilla leave \(shellWord(path)) --force, then join again"
    switch ownEntry?.ending {
    case .revoked(let by, _)?:
      let admin = roster.roll.entries[by]?.name ?? "the site key"
      return "this node was shut out of the site by \(admin); \(again)"
    case .left?: return "this node has left the site; \(again)"
    case nil: break
    }
    guard isShutOut else { return nil }
    return "a member of the site refuses this node as one that was shut out; \(again)"
  }

  /// A table that the site tracks and whose rows cannot be seen here.
  private func remark(on table: WaitingTable) -> String {
    if let question = table.question { return remark(on: table, question) }
    var text = "table \(table.name) is tracked, but not here: \(table.reason); "
    text += table.rows == 1 ? "1 row waits for it" : "\(table.rows) rows wait for it"
    if table.lost > 0 {
      text += ", and \(table.lost) that went with it are to come from other nodes again"
    }
    return text
      + " (create it with the site's primary key, or: flotilla schema \(shellWord(path)) --adopt "
      + "NODE; if it was renamed: track the new name, untrack this one)"
  }
}
