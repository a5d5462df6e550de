import Replication
import SQLite
import Store

/// What the anchor says of edits that are made here.
extension Node {
  /// Before an edit whose verdict is awaited: is there somebody to judge it, and what was made
  /// before?
  func prepareEdit(timeout: Duration) async throws(FlotillaError) -> PreparedEdit {
    guard let anchor else {
      throw FlotillaError(
        .noAnchor, "there is no anchor, so nobody can judge the edit; nothing was run",
        remedy: "Leave out --online to run it here, or appoint one: flotilla anchor "
          + "\(shellWord(path)) --here")
    }
    if !isAnchor {
      _ = await until(Uptime.now + timeout.milliseconds) { onlineSession != 0 }
    }
    try await foldNow(within: Uptime.now + timeout.milliseconds)
    return PreparedEdit(
      anchor: anchor.name, isOnline: isAnchor || onlineSession != 0,
      seq: position.frontier[position.own])
  }

  /// Waits for the verdicts on the rows that were edited since.
  func verdicts(
    after seq: UInt64, through last: UInt64? = nil, rows: [EditedRow], timeout: Duration
  ) async throws(FlotillaError) -> [RowVerdict] {
    guard anchor != nil else {
      throw FlotillaError(
        .noAnchor, "there is no anchor, so nobody judges the edit; it stands",
        remedy: "Appoint one: flotilla anchor \(shellWord(path)) --here")
    }
    let deadline = Uptime.now + timeout.milliseconds
    try await foldNow()
    let last = last ?? position.frontier[position.own]
    while true {
      let verdicts = try await reporting(path) { () async throws(StoreError) in
        try await store.run { (store) throws(StoreError) in
          try rows.map { row throws(StoreError) in
            try store.verdict(onRow: row, after: seq, through: last)
          }
        }
      }
      guard verdicts.contains(where: { $0.verdict == RowVerdict.pending.verdict }) else {
        return verdicts
      }
      let age = position.age
      guard await until(deadline, { position.age != age }) else { return verdicts }
    }
  }

  /// Waits until the anchor holds what was committed here before the call.
  func anchorForWaiting() throws(FlotillaError) -> Identity? {
    guard let anchor else {
      throw FlotillaError(
        .usage, "this site has no anchor", remedy: "Wait for a node, or for all.")
    }
    return isAnchor ? nil : anchor.node
  }
}

extension Store {
  /// The verdict on the last edit of a row in a range of own edits.
  fileprivate func verdict(
    onRow row: EditedRow, after seq: UInt64, through last: UInt64
  ) throws(StoreError) -> RowVerdict {
    guard let key = try key(of: row.table, row.key.mapValues(\.travelling)) else {
      return .accepted
    }
    let found = try verdicts(after: seq, through: last)
      .last { isSameName($0.table, row.table) && $0.key == key }
    guard let found else {
      // Of what it may not write a replica makes no version that the anchor could judge.
      guard case .refused(let isPutBack) = try permission(toWrite: key, of: row.table) else {
        return .accepted
      }
      return isPutBack
        ? RowVerdict(verdict: EditVerdict.Outcome.rejected.rawValue, reason: Reason.notAllowed.name)
        : .pending
    }
    return RowVerdict(
      verdict: found.outcome.rawValue, reason: found.reason, rule: found.rule)
  }
}
