import Replication
import Store

/// Live contact with the anchor: who is in touch, in which session.
extension Node {
  /// Tells the store which sessions count: at the anchor those with authors, elsewhere the one
  /// with the anchor once it has brought all that the anchor has.
  func followSessions() async {
    guard !isStopping else { return }
    var live: [UInt64: Origin] = [:]
    var online: UInt64 = 0
    for peer in peers.values {
      guard let session = peer.session else { continue }
      if isAnchor, let origin = peer.origin { live[session.nonce] = origin }
      if peer.node == anchor?.node, peer.hasSpoken, position.frontier.covers(peer.holds) {
        online = session.nonce
      }
    }
    if live != liveSessions {
      liveSessions = live
      let news = live
      await store.tell { $0.setLiveSessions(news) }
    }
    await goOnline(online)
  }

  private func goOnline(_ session: UInt64) async {
    // In touch once, in touch until the session ends: what comes from the anchor meanwhile is seen
    // or not, and the rules ask for that by themselves.
    guard session != onlineSession, session != 0 || !isOnlineSessionOpen else { return }
    // What waits to be stamped was written out of touch.
    guard clock.now.site != nil else { return }
    onlineSession = session
    do {
      let (result, position) = try await store.patiently { (store) throws(StoreError) in
        (try store.goOnline(session, at: self.clock.now), store.position)
      }
      await folded(result, position)
    } catch {
      onlineSession = 0
      if !note(error) { warn("could not take in what was written: \(error.message)") }
    }
  }

  private var isOnlineSessionOpen: Bool {
    peers.values.contains {
      $0.node == anchor?.node && $0.session != nil && $0.session?.nonce == onlineSession
    }
  }
}
