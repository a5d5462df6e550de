import Synchronization

/// Why requests failed, for the log: what names files and processes of this machine, which clients
/// are not told.
final class UntoldCauses: Sendable {
  /// So long a cause is not told again: clients ask again and again.
  static let pause: Duration = .seconds(60)
  /// So many of them in that time; others are not told.
  static let most = 16

  private let told = Mutex<[String: ContinuousClock.Instant]>([:])

  init() {}

  /// The line for a cause; nil if the log has it already, or has enough.
  func line(_ cause: String, at now: ContinuousClock.Instant) -> String? {
    let isNew = told.withLock { told in
      told = told.filter { now - $0.value < Self.pause }
      guard told[cause] == nil, told.count < Self.most else { return false }
      told[cause] = now
      return true
    }
    return isNew ? "the gateway could not do what a client asked for: \(cause)" : nil
  }
}
