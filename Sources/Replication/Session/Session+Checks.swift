extension Session {
  /// How many signatures of reaches a session checks: as many at once as a frontier has entries,
  /// then one each millisecond.
  ///
  /// A reach has 120 bytes, and its check takes 70 µs. A member that signs ever more of its own
  /// would keep a core busy with two megabytes a second.
  static let checks = Allowance(most: Int64(Limits.frontierEntries), pause: 1)

  /// Whether the owner has signed a reach; nil if nobody here knows its key, or the session ends
  /// over too many.
  mutating func check(
    _ reach: Reach, by surety: Surety, _ directives: inout [Directive], _ now: Instant
  ) -> Bool? {
    guard checks.take(at: now) else {
      let text = "\(peer?.name ?? "the peer") shows more signatures than can be checked"
      fail(Bye(.badMessage, text), &directives)
      return nil
    }
    toll.charge(Toll.signature, at: now)
    return surety.isSigned(reach)
  }
}
