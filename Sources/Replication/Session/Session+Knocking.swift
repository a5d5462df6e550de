/// What two members tell each other of themselves: which program each runs, and whether its port is
/// reached from where the other one is.
extension Session {
  /// A peer is dialled at its wish at most this often, in ms.
  package static let knockPause: Int64 = 60_000

  struct Knocking: Sendable {
    /// The peer has told its program.
    var hasProgram = false
    /// The peer was asked, and has not answered.
    var isAsking = false
    /// The shell dials the peer because it has asked.
    var isDialling = false
    /// When it was dialled last, by uptime.
    var dialledAt: Int64?
  }

  mutating func tellProgram(_ directives: inout [Directive], _ now: Instant) {
    guard ProgramName.isReadable(configuration.program) else { return }
    send(.program(configuration.program), &directives, now)
  }

  /// Asks the peer to dial this node, unless its answer is on its way.
  mutating func knock(_ directives: inout [Directive], _ now: Instant) {
    guard !knocking.isAsking else { return }
    knocking.isAsking = true
    send(.knock, &directives, now)
  }

  /// The shell has tried what the peer asked for.
  mutating func dialledBack(
    _ answer: Knocked, _ directives: inout [Directive], _ now: Instant
  ) {
    guard knocking.isDialling else { return }
    knocking.isDialling = false
    send(.knocked(answer), &directives, now)
  }

  /// One of these messages of the peer.
  mutating func hearKnocking(
    _ message: Message, _ directives: inout [Directive], _ now: Instant
  ) {
    switch message {
    case .program(let name) where !knocking.hasProgram:
      knocking.hasProgram = true
      directives.append(.program(name))
    case .knock: hearKnock(&directives, now)
    case .knocked(let answer) where knocking.isAsking:
      knocking.isAsking = false
      directives.append(.knocked(answer))
    default: fail(Bye(.badMessage, "a message out of place"), &directives)
    }
  }

  /// The peer asks; who asks often is told each time that nothing was tried.
  private mutating func hearKnock(_ directives: inout [Directive], _ now: Instant) {
    let isEarly = knocking.dialledAt.map { now.uptime - $0 < Self.knockPause } ?? false
    guard !knocking.isDialling, !isEarly, peer?.port ?? 0 > 0 else {
      return send(.knocked(.untried), &directives, now)
    }
    knocking.isDialling = true
    knocking.dialledAt = now.uptime
    directives.append(.dialBack)
  }
}
