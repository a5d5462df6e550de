import Replication

/// The cable between two nodes, and the connection over it while there is one.
struct Link {
  /// What was sent, and whether an exchange begins or ends with it.
  struct Frame {
    let bytes: [UInt8]
    let opens: Bool
    let closes: Bool

    init(_ message: Message) {
      bytes = message.frame
      opens = if case .begin = message { true } else { false }
      closes =
        switch message {
        case .pause, .end: true
        default: false
        }
    }
  }

  /// One end of the connection.
  struct Side {
    /// Nil if this end has no connection.
    private(set) var session: Session?
    /// Whether there is one: asked so often that a session should not be copied for it.
    private(set) var isConnected = false
    /// When the session wants its next tick; it is asked much more often than it changes.
    private(set) var deadline = Int64.max
    /// Frames on their way from here to the other end.
    var queue: [Frame] = []
    /// So much waits that the session was told.
    var isCrowded = false
    /// This end has hung up: the other one notices when the queue is empty.
    var hasHungUp = false
    /// Nothing that this end sends arrives.
    var isBlocked = false
    /// How often a frame of this end is not delivered yet, in a thousand.
    var slowness = 0
    /// The last frame from here was lost.
    var isLosing = false
    var merge: Merge?
    var export: Export?
    var mayPull = false
    /// What has arrived, up to the next whole frame.
    private var arrived = FrameBuffer(limit: Limits.frame)
    /// What the peer has said that it holds.
    var holds = Frontier()
    /// What this end goes by, for itself and for the peer.
    var ownRights = Rights.all
    var peerRights = Rights.all

    init() {}

    init(session: Session) {
      self.session = session
      isConnected = true
      deadline = session.deadline
    }

    /// Takes what arrives; gives a frame if one is whole.
    mutating func arrive(_ bytes: [UInt8]) throws(WireError) -> [UInt8]? {
      arrived.append(bytes)
      return try arrived.next()
    }

    mutating func close() { (session, isConnected) = (nil, false) }

    mutating func receive(_ input: Session.Input, at now: Instant) -> [Session.Directive]? {
      guard isConnected else { return nil }
      return Self.pass(input, to: &session!, at: now, &deadline)
    }

    /// Whether the peer of this end has to wait for what it has cost.
    mutating func hasToWait(with message: Message, at now: Instant) -> Bool {
      isConnected && session!.pause(before: message, at: now) > 0
    }

    /// Works on the session where it is, for it is long.
    private static func pass(
      _ input: Session.Input, to session: inout Session, at now: Instant, _ deadline: inout Int64
    ) -> [Session.Directive] {
      let directives = session.receive(input, at: now)
      deadline = session.deadline
      return directives
    }
  }

  /// What a session has asked its store for.
  struct Export {
    var scope: Session.ExportScope
    var id: Int64?
    var isWanted = false
  }

  /// The node at each end.
  let nodes: [Int]
  var sides: [2 of Side] = [Side(), Side()]
  /// No connection can be made.
  var isParted = false
  /// Frames were lost, doubled or swapped: such a connection proves nothing any more.
  var isSpoilt = false
  /// Counts connections: names this one to the two machines.
  var id: UInt64 = 0
  /// Names the connection to both ends, and to nobody else.
  var nonce: UInt64 = 0

  /// The two ends know different statements about what they may do: one of them may refuse what
  /// the other one sends in good faith.
  var isMisunderstood: Bool {
    (0...1).contains { sides[$0].ownRights != sides[1 - $0].peerRights }
  }

  var isDown: Bool { !sides[0].isConnected && !sides[1].isConnected }
}
