extension Session {
  /// How many signatures of reaches a session checks: as many at once as a frontier has entries,
  /// then one each millisecond.
  ///
  /// A reach has 120 bytes, and its check takes 70 µs. A member that signs ever more of its own
  /// would keep a core busy with two megabytes a second.
  struct Checks: Sendable {
    private static let most = Int64(Limits.frontierEntries)

    private var recent: Int64 = 0
    private var last: Int64 = 0

    mutating func mayCheck(at now: Instant) -> Bool {
      recent = max(0, recent - max(0, now.uptime - last))
      last = now.uptime
      guard recent < Self.most else { return false }
      recent += 1
      return true
    }
  }

  /// Whether the owner has signed a reach; nil if nobody here knows its key, or the session ends
  /// over too many.
  mutating func check(
    _ reach: Reach, by surety: Surety, _ directives: inout [Directive], _ now: Instant
  ) -> Bool? {
    guard checks.mayCheck(at: now) else {
      let text = "\(peer?.name ?? "the peer") shows more signatures than can be checked"
      fail(Bye(.badMessage, text), &directives)
      return nil
    }
    return surety.isSigned(reach)
  }
}
