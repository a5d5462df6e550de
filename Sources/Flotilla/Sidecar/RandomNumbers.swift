import Replication

/// Everything that is drawn by chance.
enum RandomNumbers {
  static func inviteCode() -> InviteCode {
    InviteCode(random: (0..<20).map { _ in .random(in: 0...31) })
  }

  /// The name of a service on the air: random, so that it tells nothing.
  static func serviceName() -> String {
    String(UInt64.random(in: 0 ... .max), radix: 36)
  }
}
