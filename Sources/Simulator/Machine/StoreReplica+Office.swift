import Replication
import Store

/// What the store does about the anchor.
extension StoreReplica {
  func govern(_ governance: Governance, at now: Instant) throws -> FoldResult {
    let store = try begin(now)
    var result = try store.govern(governance, at: now)
    while store.currentOffice.term < governance.term {
      _ = try store.fold(at: now)
      result = try store.govern(governance, at: now)
    }
    return result
  }

  /// Where nobody judges any more a row stays parked that its author made in the place of one which
  /// the anchor has put back. So does one whose value its author gave to another row in an earlier
  /// state, or in a copy.
  func observeEnd(mayClash: Bool) throws -> Observation {
    var shown = try observe()
    guard mayClash || shown.office?.isHeld == false, !shown.shelved.isEmpty else { return shown }
    shown.standing = try application.standingBadges()
    shown.parked = try application.parkedBadges()
    return shown
  }

  func goOnline(_ session: UInt64, at now: Instant) throws -> FoldResult {
    try begin(now).goOnline(session, at: now)
  }

  func setLiveSessions(_ sessions: [UInt64: Origin]) { try? store().setLiveSessions(sessions) }

  func becomeSure(at now: Instant) throws -> FoldResult? { try begin(now).becomeSure(at: now) }

  func setRule(_ rule: String, ofTable number: Int, at now: Instant) throws {
    let table = tables[number % tables.count]
    // Only a node that has the site's settings may.
    guard try application.isCaptured(table.name) else { return }
    try begin(now).track([table.name], rule: rule, at: now)
  }
}
