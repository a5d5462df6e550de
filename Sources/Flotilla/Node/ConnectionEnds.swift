import Replication

/// Why connections that were no member's have ended, by their other end.
///
/// A pure machine. An address that is dialled again and again gets a line of the log when its
/// reason is a new one; strangers get so many lines a minute. Who names an address is told the last
/// reason.
struct ConnectionEnds: Sendable {
  /// Why nobody answers where no program listens.
  static let refused = "nobody listens there: the connection was refused"
  /// So many ends are remembered, and all are forgotten with the next one.
  static let most = 256

  private var reasons: [String: String] = [:]
  private var lines = StrangerLines()

  /// Notes why a connection ended, that we have dialled or that a host has opened. Gives the line
  /// of the log, if there is anything to say.
  mutating func note(
    _ reason: String, dialled address: String?, from host: String, at uptime: Int64
  ) -> String? {
    let end = address.map(Self.dialled) ?? "from \(host)"
    guard reasons[end] != reason else { return nil }
    if reasons.count >= Self.most { reasons = [:] }
    reasons[end] = reason
    guard let leftOut = address == nil ? lines.take(at: uptime) : 0 else { return nil }
    return "a connection \(end) ended: \(reason)\(StrangerLines.remark(leftOut))"
  }

  /// A host is there, and no program behind that port.
  mutating func refuse(_ address: String) { reasons[Self.dialled(address)] = Self.refused }

  /// What is learned of an address from now on counts.
  mutating func forget(_ address: String) { reasons[Self.dialled(address)] = nil }

  /// Why the last connection to an address ended, if that is known.
  func reason(_ address: String) -> String? { reasons[Self.dialled(address)] }

  private static func dialled(_ address: String) -> String { "to \(address)" }
}
