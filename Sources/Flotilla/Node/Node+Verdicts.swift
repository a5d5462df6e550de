import Replication
import SQLite
import Store

/// What the anchor says of edits that are made here.
extension Node {
  /// So long an edit waits for contact with the anchor at a node that has none, and that long
  /// after a node was started, in ms.
  private static let grace: (always: Int64, atStart: Int64) = (300, 2_000)

  /// Before an edit whose verdict is awaited: is there somebody to judge it, and what was made
  /// before?
  func prepareEdit(timeout: Duration) async throws(FlotillaError) -> PreparedEdit {
    guard let anchor else {
      throw FlotillaError(
        .noAnchor, "there is no anchor, so nobody can judge the edit; nothing was run",
        remedy: "Leave out --online to run it here, or \(appointing("appoint one", "--here"))")
    }
    if !isAnchor {
      let grace = max(Uptime.now + Self.grace.always, born + Self.grace.atStart)
      _ = await until(min(grace, Uptime.now + timeout.milliseconds)) { contact.isOnline }
    }
    try await foldNow(within: Uptime.now + timeout.milliseconds)
    return PreparedEdit(
      anchor: anchor.name, isHere: isAnchor, seq: position.frontier[position.own],
      obstacle: await verdictObstacle())
  }

  /// Why nobody judges what is written here, although there is an anchor; nil if it is only away.
  private func verdictObstacle() async -> String? {
    if let standing { return standing.remark }
    return await standDownRemark()
  }

  /// The anchor, if it is another node and not in reach.
  private var anchorAbsence: AnchorAbsence? {
    guard let anchor, !isAnchor, peers[anchor.node]?.session == nil else { return nil }
    return AnchorAbsence(
      anchor: anchor.name, since: peers[anchor.node]?.seen.map(Self.text))
  }

  /// Waits until the anchor has judged the edits that were made here since, or the time is over;
  /// gives the last of them.
  func awaitVerdicts(
    after seq: UInt64, through last: UInt64? = nil, timeout: Duration
  ) async throws(FlotillaError) -> Mark {
    guard anchor != nil else {
      throw FlotillaError(
        .noAnchor, "there is no anchor, so nobody judges the edit; it stands",
        remedy: appointing("Appoint one", "--here"))
    }
    let deadline = Uptime.now + timeout.milliseconds
    try await foldNow(within: deadline)
    let last = last ?? position.frontier[position.own]
    while true {
      let age = position.age
      let isAwaiting = try await reporting(path) { () async throws(StoreError) in
        try await store.run { (store) throws(StoreError) in
          try store.verdicts.isAwaited(after: seq, through: last)
        }
      }
      guard isAwaiting, await until(deadline, { position.age != age }) else {
        return Mark(seq: last, obstacle: await verdictObstacle(), away: anchorAbsence)
      }
    }
  }

  /// Waits until the anchor holds what was committed here before the call.
  func anchorForWaiting() throws(FlotillaError) -> Identity? {
    guard let anchor else {
      throw FlotillaError(
        .noAnchor, "this site has no anchor", remedy: "Wait for a node, or for all.")
    }
    return isAnchor ? nil : anchor.node
  }
}
