import Replication
import Store

/// Live contact with the anchor: who is in touch, in which session.
extension Node {
  /// Tells the store which sessions count: at the anchor those with authors, elsewhere the one
  /// with the anchor once it has brought all that the anchor has.
  func followSessions() async {
    guard !isStopping else { return }
    if let live = contact.authors(among: peers.values, isAnchor: isAnchor) {
      await store.tell { $0.setLiveSessions(live) }
    }
    let peer = anchor.flatMap { peers[$0.node] }
    if let next = contact.next(with: peer, here: position.frontier) { await goOnline(next) }
  }

  private func goOnline(_ session: UInt64) async {
    // What waits to be stamped was written out of touch.
    guard clock.now.site != nil else { return }
    contact.goOnline(session)
    do {
      let (result, position) = try await store.patiently { (store) throws(StoreError) in
        (try store.goOnline(session, at: self.clock.now), store.position)
      }
      await folded(result, position)
    } catch {
      contact.goOffline()
      if !note(error) { warn("could not take in what was written: \(error.message)") }
    }
  }
}
