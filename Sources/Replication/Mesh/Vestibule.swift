/// Who waits at the door: connections whose other end has not shown yet who it is, or has not said
/// Hello.
///
/// A pure machine. Strangers get few places, little time, and no way to keep others out: at a full
/// door the one that has waited longest makes room, first of the address that has the most.
package struct Vestibule: Sendable {
  /// Strangers at a time, at most, ...
  package static let places = 16
  /// ... of one address.
  package static let placesOfOne = 8

  private struct Stranger {
    let id: UInt64
    let host: String
  }

  /// Of one address 64 begin at once, then 20 a second: a handshake takes a core for 1 to 2 ms.
  private static let handshakes = Allowance(most: 64, pause: 50)
  /// Addresses of which that is remembered.
  private static let mostKnown = 1_024

  private var allowances: [String: Allowance] = [:]
  /// Of all addresses together: 128, then 25 a second. So many others come back at one moment, say
  /// when the power does, and none of them waits.
  private var all = Allowance(most: 128, pause: 40)

  /// In the order in which they came.
  private var strangers: [Stranger] = []

  package init() {}

  package var count: Int { strangers.count }

  /// Lets a stranger in; gives the one that must go for it.
  package mutating func enter(_ id: UInt64, from host: String) -> UInt64? {
    var counts: [String: Int] = [:]
    for stranger in strangers { counts[stranger.host, default: 0] += 1 }
    var leaver: UInt64?
    if counts[host, default: 0] >= Self.placesOfOne {
      leaver = strangers.first { $0.host == host }?.id
    } else if strangers.count >= Self.places {
      let most = counts.values.max() ?? 0
      leaver = strangers.first { counts[$0.host] == most }?.id
    }
    if let leaver { leave(leaver) }
    strangers.append(Stranger(id: id, host: host))
    return leaver
  }

  /// For how many ms a stranger has to wait before its handshake; then it asks again.
  package mutating func pause(from host: String, at now: Instant) -> Int64 {
    if allowances[host] == nil, allowances.count >= Self.mostKnown { allowances = [:] }
    var allowance = allowances[host] ?? Self.handshakes
    guard allowance.take(at: now) else { return allowance.rest }
    guard all.take(at: now) else { return all.rest }
    // Who waits for others has taken nothing of its own.
    allowances[host] = allowance
    return 0
  }

  /// Whether a stranger has had to make room for nobody yet.
  package func holds(_ id: UInt64) -> Bool { strangers.contains { $0.id == id } }

  /// It has shown who it is, or is gone.
  package mutating func leave(_ id: UInt64) { strangers.removeAll { $0.id == id } }
}
