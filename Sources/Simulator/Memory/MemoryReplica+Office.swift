import Replication
import Store

/// There is no anchor here yet.
extension MemoryReplica {
  mutating func govern(_ governance: Governance, at now: Instant) -> FoldResult {
    FoldResult(versions: 0, push: nil, hasMore: false)
  }

  mutating func goOnline(_ session: UInt64, at now: Instant) -> FoldResult {
    FoldResult(versions: 0, push: nil, hasMore: false)
  }

  mutating func setLiveSessions(_ sessions: [UInt64: Origin]) {}
  mutating func setRule(_ rule: String, ofTable number: Int, at now: Instant) {}
}
