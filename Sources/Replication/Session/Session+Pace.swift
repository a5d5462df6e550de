/// How often a peer is listened to, so that none keeps the node and its file busy.
extension Session {
  /// When word of what everybody holds is taken, and told.
  ///
  /// All that is taken is a commit here, and is told to all peers, who commit it as well. Each word
  /// holds all of those before, so the last one of a second is enough. It does not wait where an
  /// exchange begins or ends: floors must be here before the rows that were sent after them, and
  /// before a frontier that counts with them.
  struct StabilityPace: Sendable {
    private static let pause: Int64 = 1_000

    var taking = Allowance(most: 1, pause: pause)
    var telling = Allowance(most: 1, pause: pause)
    /// The last word that has not had its turn.
    var waiting: StabilityNews?
    var takeDue: Int64?
    var tellDue: Int64?

    var due: Int64 { min(takeDue ?? .max, tellDue ?? .max) }
  }

  /// How long a peer waits that asks again for what it was sent: 1 ms for each row of the last
  /// answer beyond the first 1,000, a minute at most.
  struct Rest: Sendable, Equatable {
    private static let most: UInt64 = 60_000 + UInt64(Limits.wholeRows)

    /// By uptime, in ms.
    private(set) var end: Int64 = 0
    private var rows: UInt64 = 0

    func isOver(at now: Instant) -> Bool { end <= now.uptime }

    /// So many rows went; `isWhole`: with that all of the answer has.
    mutating func note(_ rows: UInt64, isWhole: Bool, at now: Instant) {
      self.rows = min(Self.most, self.rows + min(Self.most, rows))
      guard isWhole else { return }
      end = now.uptime + max(0, Int64(self.rows) - Int64(Limits.wholeRows))
      self.rows = 0
    }
  }

  /// An exchange has ended or was cut off, or pauses if it covers nothing yet.
  mutating func rest(after covers: Frontier?, _ now: Instant) {
    switch outgoing.scope {
    case .above, .unsent:
      guard outgoing.isAnswer else { return }
      outgoing.answerRest.note(outgoing.rows, isWhole: covers != nil, at: now)
      guard let covers else { return }
      outgoing.isAnswer = false
      outgoing.answered = covers
    case .buckets, .bucket:
      supply.repair.note(outgoing.rows, isWhole: covers != nil, at: now)
    case .rows: break
    }
  }

  /// For how many ms a message has to wait, with all that comes after it from this peer: whoever
  /// keeps the node busy for nothing gets its turn among others.
  package mutating func pause(before message: Message, at now: Instant) -> Int64 {
    guard state == .open else { return 0 }
    let cost = Toll.cost(of: message)
    let rest = toll.rest(before: cost, at: now)
    if rest == 0 { toll.charge(cost, at: now) }
    return rest
  }

  /// An exchange, or a step of it, has brought nothing that was not here.
  mutating func chargeForNothing(rows: UInt64, _ now: Instant) {
    // Who fetches everything anew has most of it.
    guard position.stability.fetching == nil else { return }
    var rows = rows
    if case .receiving(let begin) = incoming.phase, begin.kind == .repair {
      rows = min(rows, Toll.mostRows - min(Toll.mostRows, incoming.known))
      incoming.known += rows
    }
    let cost = min(Toll.most, Int64(clamping: rows)) * Toll.row
    toll.charge(Toll.exchange + cost, at: now)
  }
}

extension Message {
  /// Whether an exchange begins or ends with it.
  package var bordersExchange: Bool {
    switch self {
    case .begin, .end, .pause: true
    default: false
    }
  }

  /// Whether it tells what is held here, or asks for the rest.
  var tellsWhatIsHeld: Bool {
    if case .have = self { true } else { bordersExchange }
  }
}
