import Replication
import Store

/// What the store keeps of the time of the site.
extension StoreReplica {
  func begin(boot: Identity, at now: Instant) throws -> [UInt8]? {
    witness.beginTime()
    return try begin(now).begin(boot: boot)
  }

  func keep(clock: [UInt8], at now: Instant) throws { try begin(now).save(clock: clock, at: now) }

  func look(at now: Instant) throws {
    try begin(now).journal.settleIfEmpty(at: now)
    if let site = now.site, try application.isFolded() { witness.settleTime(at: site) }
  }
}
