/// Whether the port of a node is reached by the members that are connected.
struct PortReport: Codable, Sendable, Equatable {
  /// One connected member.
  struct Peer: Codable, Sendable, Equatable {
    enum Outcome: String, Codable, Sendable {
      case reached
      case refused
      case silent
      case another
      /// It has not tried lately, or not said what became of it.
      case untried
    }

    var node: String
    /// The address from which it is connected.
    var host: String
    /// It runs on this very machine, so it says nothing of what others reach.
    var isHere: Bool
    var outcome: Outcome
    /// When that was, ISO 8601 in UTC, if it was not just now.
    var at: String?
  }

  /// So long members are waited for that try the port, in ms: longer than one needs.
  static let patience = 6_000

  var port: Int
  /// The one that it takes when that is free; nil with `--listen`.
  var own: Int?
  /// The host of `--listen`, if one was given.
  var listen: String?
  var peers: [Peer]

  /// The host of `--listen` if no other machine gets there.
  var ownHost: String? { listen.flatMap { ListenAddress.isOfThisMachine($0) ? $0 : nil } }
}
