/// How often a node takes a new origin because a member says that rows were forgotten while the
/// node was away.
///
/// So it must where that is true. A member that lies would drive it from origin to origin, and each
/// is an entry of every frontier for good. So the word of one member counts twice, and that of all
/// eight times, then once an hour.
package struct LivesByWord: Sendable, Equatable {
  static let most = 8
  static let mostOfOne = 2
  static let pause: Int64 = 3_600_000

  package private(set) var count = 0
  private var ofOne: [Identity: Int] = [:]
  private var last: Int64?

  package init() {}

  /// Whether a life may begin by the word of a member; if so it is counted.
  package mutating func mayBegin(by member: Identity, at now: Instant) -> Bool {
    guard isBelieved(member) else { return false }
    if count >= Self.most, let last, now.uptime - last < Self.pause { return false }
    count += 1
    ofOne[member, default: 0] += 1
    last = now.uptime
    return true
  }

  /// Whether the word of a member still counts.
  package func isBelieved(_ member: Identity) -> Bool {
    ofOne[member, default: 0] < Self.mostOfOne
  }
}
