import Replication

/// One session under test, fed by hand; time passes only when told.
struct Conversation {
  static let own = Samples.origin(10)
  static let peerOrigin = Samples.origin(20)
  static let node = Identity(high: 0, low: 10)
  static let peerNode = Identity(high: 0, low: 20)
  static let relayDelay: Int64 = 50

  var session: Session
  /// Frames of exchanges that the peer has sent.
  private var frames: UInt64 = 0
  var now = Instant(uptime: 100_000, wall: 1_700_000_000_000)

  init(
    holding frontier: Frontier = Frontier(), digest: Digest = Digest(),
    shown: Session.Shown? = nil, own: Rights = .all, peer: Rights = .all,
    change: (inout Session.Configuration) -> Void = { _ in }
  ) {
    var configuration = Session.Configuration(
      hello: Samples.hello(node: Self.node, name: "here", clock: now.wall),
      position: Position(frontier: frontier, digest: digest, own: Self.own),
      relayDelay: Self.relayDelay, shown: shown)
    configuration.ownRights = own
    configuration.peerRights = peer
    configuration.notary = PlainNotary.notary
    change(&configuration)
    session = Session(configuration, at: now)
  }

  /// A session that is open, with the first pings behind it.
  static func open(holding frontier: Frontier = Frontier(), digest: Digest = Digest()) -> Self {
    var conversation = Conversation(holding: frontier, digest: digest)
    conversation.feed(.connected)
    conversation.hear(.hello(conversation.peerHello()))
    return conversation
  }

  /// A session in which both sides have said what they hold.
  static func known(
    holding frontier: Frontier = Frontier(), peer: Frontier = Frontier(), digest: Digest = Digest()
  ) -> Self {
    var conversation = open(holding: frontier, digest: digest)
    conversation.feed(.mayPull(resume: Frontier()))
    conversation.hear(.have(conversation.have(peer, root: digest.root)))
    return conversation
  }

  /// What a side without site time asks now.
  var ping: Message { .ping(sent: now.uptime, ClockView(wall: now.wall)) }

  @discardableResult
  mutating func feed(_ input: Session.Input) -> [Session.Directive] {
    session.receive(input, at: now)
  }

  @discardableResult
  mutating func hear(_ message: Message, isFollowed: Bool = false) -> [Session.Directive] {
    defer {
      switch message {
      case .begin, .rows, .part, .reaches, .end, .pause: frames += 1
      default: break
      }
    }
    feed(.heard)
    guard case .begin(var begin) = message else {
      return feed(.received(message, isFollowed: isFollowed))
    }
    begin.number = frames
    return feed(.received(.begin(begin)))
  }

  /// Feeds a batch with the number that it must have.
  @discardableResult
  mutating func hear(rows: [UInt8], isFollowed: Bool = false) -> [Session.Directive] {
    hear(.rows(number: frames, rows), isFollowed: isFollowed)
  }

  @discardableResult
  mutating func hear(reaches: [Reach]) -> [Session.Directive] {
    hear(.reaches(number: frames, reaches))
  }

  @discardableResult
  mutating func hear(part: [UInt8]) -> [Session.Directive] {
    hear(.part(number: frames, part))
  }

  /// Lets time pass and ticks.
  @discardableResult
  mutating func wait(_ milliseconds: Int64) -> [Session.Directive] {
    now.uptime += milliseconds
    now.wall += milliseconds
    return feed(.tick)
  }

  mutating func advance(
    _ frontier: Frontier, digest: Digest = Digest(), lost: Int = 0
  ) -> [Session.Directive] {
    feed(.advanced(Position(frontier: frontier, digest: digest, own: Self.own, lost: lost)))
  }

  func peerHello(
    version: UInt64 = Session.versions.upperBound, purpose: Hello.Purpose = .member,
    site: Identity = Samples.site, node: Identity = peerNode
  ) -> Hello {
    Samples.hello(
      version: version, purpose: purpose, site: site, node: node, name: "there",
      clock: now.wall + 250)
  }

  func have(_ frontier: Frontier, asks: Bool = false, root: UInt64 = 0) -> Have {
    Have(frontier: frontier, frontierHash: frontier.hash, rootDigest: root, asks: asks)
  }

  /// Feeds a whole exchange; gives the directives of its last message.
  mutating func hear(_ kind: Begin.Kind, batches: [[UInt8]], rows: UInt64) -> [Session.Directive] {
    hear(.begin(Begin(kind, rows: rows)))
    for batch in batches { hear(rows: batch) }
    return hear(.end(End(rows: rows, check: 9)))
  }
}

extension [Session.Directive] {
  var sent: [Message] {
    compactMap { if case .send(let message) = $0 { message } else { nil } }
  }
  var merges: [Merge] {
    compactMap { if case .merge(let merge) = $0 { merge } else { nil } }
  }
  /// The code of the Bye that was sent, if the session closed with one.
  var bye: Bye.Code? {
    guard case .closed(let bye, false) = last, sent.last == .bye(bye) else { return nil }
    return bye.code
  }
}
