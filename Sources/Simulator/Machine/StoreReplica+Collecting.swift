import Replication
import Store

/// What the store does about deleted versions.
extension StoreReplica {
  func hear(_ news: StabilityNews, from peer: Identity, at now: Instant) throws {
    mischief.begin()
    try store().deletions.hear(news, from: peer, isLeaf: false, at: now.moment)
  }

  func tend(
    members: Set<Identity>, everybody: Set<Identity>, retention: Int64, at now: Instant
  ) throws -> Tending {
    try begin(now).tend(
      members: members, everybody: everybody, naming: SimulatedSite.notary.digest,
      retention: retention, pause: 0, at: now)
  }

  func giveUpRenewal(at now: Instant) throws -> FoldResult {
    try begin(now).giveUpRenewal(at: now)
  }

  func renewAsNew(to mark: Mark) throws -> Bool {
    mischief.begin()
    guard try store().isNew() else { return false }
    try store().renewAsNew(to: mark)
    return true
  }
}
