import Replication
import Store

/// What the store was told last of the anchor: who was appointed, and which sessions count.
///
/// A pure value. At the anchor the sessions with authors count, elsewhere the one with the anchor,
/// once it has brought all that the anchor has. What is written in that one is online.
struct AnchorContact: Sendable {
  /// The last appointment that the store knows of.
  private(set) var appointment: Governance?
  /// The session with the anchor in which edits count as online; 0 if there is none.
  private(set) var session: UInt64 = 0
  /// At the anchor: the sessions with authors.
  private var authors: [UInt64: Origin] = [:]

  var isOnline: Bool { session != 0 }

  /// The store knows of an appointment.
  mutating func note(_ appointment: Governance) { self.appointment = appointment }

  /// The sessions with authors that count at the anchor, if they are others than before.
  mutating func authors(
    among peers: Dictionary<Identity, PeerRecord>.Values, isAnchor: Bool
  ) -> [UInt64: Origin]? {
    var now: [UInt64: Origin] = [:]
    for peer in peers where isAnchor {
      guard let session = peer.session, let origin = peer.origin else { continue }
      now[session.nonce] = origin
    }
    guard now != authors else { return nil }
    authors = now
    return now
  }

  /// The session that counts from now on, 0 for none; nil if that stays as it is.
  ///
  /// In touch once, in touch until the session ends: what comes from the anchor meanwhile is seen
  /// or not, and the rules ask for that by themselves.
  func next(with anchor: PeerRecord?, here: Frontier) -> UInt64? {
    let open = anchor?.session?.nonce
    var next: UInt64 = 0
    if let anchor, let open, anchor.hasSpoken, here.covers(anchor.holds) { next = open }
    return next == session || next == 0 && open == session ? nil : next
  }

  mutating func goOnline(_ session: UInt64) { self.session = session }

  /// The store could not follow.
  mutating func goOffline() { session = 0 }
}
