/// Tells a first copy that goes on, however slowly, from one that stands still.
struct CopyWatch: Sendable {
  /// A copy that stands still for so long is given up, in ms.
  static let patience: Int64 = 30_000
  /// Fewer bytes than that are no progress: sessions at rest ping each other.
  static let trickle = 16 << 10

  private var rows: UInt64 = 0
  private var bytes = 0
  private var lastAdvance: Int64

  init(at now: Int64) { self.lastAdvance = now }

  /// Notes what has come so far, at an uptime in ms; true if the copy stands still.
  mutating func isStalled(rows: UInt64, bytes: Int, at now: Int64) -> Bool {
    // A connection that is gone has taken its count along.
    self.bytes = min(self.bytes, bytes)
    if rows != self.rows || bytes - self.bytes >= Self.trickle {
      (self.rows, self.bytes, lastAdvance) = (rows, bytes, now)
    }
    return now - lastAdvance >= Self.patience
  }
}
