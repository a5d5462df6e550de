import Replication
import Store

extension Store {
  /// Looks after deleted versions; cuts get an id that a test knows.
  func tend(
    members: Set<Identity>, id: UInt64, retention: Int64 = Stability.retention, pause: Int64,
    at now: Instant
  ) throws(StoreError) -> Tending {
    try tend(
      members: members, naming: { _ in Identity(high: 0, low: id) }, retention: retention,
      pause: pause, at: now)
  }
}
