/// How often a peer is listened to, so that none keeps the node and its file busy.
extension Session {
  /// When word of what everybody holds is taken, and told.
  ///
  /// All that is taken is a commit here, and is told to all peers, who commit it as well. Each word
  /// holds all of those before, so the last one of a second is enough. A new standing does not
  /// wait, for rows may follow it, and their floors must be here before they are.
  struct StabilityPace: Sendable {
    private static let pause: Int64 = 1_000

    var taking = Allowance(most: 1, pause: pause)
    /// New standings come with cuts, of which there are few a day.
    var turns = Allowance(most: 16, pause: pause)
    var telling = Allowance(most: 1, pause: pause)
    /// The last word that has not had its turn.
    var waiting: StabilityNews?
    /// The standings that were taken and told last.
    var taken: CutStanding?
    var told: CutStanding?
    var takeDue: Int64?
    var tellDue: Int64?

    var due: Int64 { min(takeDue ?? .max, tellDue ?? .max) }
  }

  /// A peer tells what it holds 50 times a second at most, and asks the rest now and then.
  static let questions = Allowance(most: 256, pause: 10)

  /// For how many ms a message has to wait, with all that comes after it from this peer: whoever
  /// asks and asks gets its answers in turn with others.
  package mutating func pause(before message: Message, at now: Instant) -> Int64 {
    guard state == .open, message.isQuestion, !questions.take(at: now) else { return 0 }
    return questions.rest
  }
}

extension Message {
  /// Whether it is none of an exchange or an answer, which are bounded by what they bring.
  fileprivate var isQuestion: Bool {
    switch self {
    case .have, .want, .ping, .members, .statements, .buckets, .stability, .inspect, .describe:
      true
    default: false
    }
  }
}
