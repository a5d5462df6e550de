import Replication

/// Live contact between an author and the anchor.
extension Store {
  /// From now on edits are made in this session with the anchor; 0 ends that.
  ///
  /// What was written before is folded first: it was written out of touch.
  package func goOnline(_ session: UInt64, at now: Instant) throws(StoreError) -> FoldResult {
    guard session != anchor.onlineSession else {
      return FoldResult(versions: 0, push: nil, hasMore: false)
    }
    anchor.onlineSession = 0
    try requireTime(at: now)
    let last = try foldWritten(at: now)
    anchor.onlineSession = session
    return last
  }

  /// The sessions in which the anchor is in touch with authors now, by origin.
  package func setLiveSessions(_ sessions: [UInt64: Origin]) {
    anchor.liveSessions = sessions
  }
}
