/// One connection to one peer: what is said, when, and what it means.
///
/// A pure machine: the shell feeds inputs and carries out the directives; nothing here waits,
/// reads a clock or throws a die.
package struct Session: Sendable {
  /// What a session is told about itself at the start.
  package struct Configuration: Sendable {
    package var hello: Hello
    package var position: Position
    /// How long to wait before passing on what others wrote, a few random ms per session.
    package var relayDelay: Int64
    /// Who the handshake has shown the peer to be; nil in a world without keys.
    package var shown: Shown?
    /// What the site calls the peer, if that is known: it may say another name.
    package var peerName: String?
    /// What this node may do, and what the peer may.
    package var ownRights = Rights.all
    package var peerRights = Rights.all
    package var notary: Notary?
    /// The runs of this file.
    package var runs = RunLog()
    /// Checks what owners have signed of their origins; nil in a world where nobody signs.
    package var surety: Surety?
    /// What this node has to say of the site's time, beside the time itself.
    package var clock = ClockStanding()
    /// The program that this node runs; not told if it is empty.
    package var program = ""

    package init(hello: Hello, position: Position, relayDelay: Int64, shown: Shown? = nil) {
      self.hello = hello
      self.position = position
      self.relayDelay = relayDelay
      self.shown = shown
    }
  }

  /// What a peer has proved before it said a word.
  package enum Shown: Sendable, Equatable {
    /// It has the key of this member.
    case member(Identity)
    /// It knows the code of an invitation.
    case joiner
  }

  package enum State: Sendable, Equatable {
    /// Hello is sent, the peer's is awaited. Next: open, pairing, closed.
    case greeting
    /// Members exchange rows. Next: closed.
    case open
    /// A joiner, who knows the code, gets an offer, agrees and is let in. Next: closed.
    case pairing
    case closed
  }

  /// Protocol versions that this code speaks.
  package static let versions: ClosedRange<UInt64> = 4...5

  package internal(set) var state = State.greeting
  package internal(set) var peer: Hello?
  let configuration: Configuration
  var clock: ClockStanding
  /// What the peer may send, if that is not everything; known from its Hello on.
  var licence: LeafLicence?
  /// How far the peer has come with the cuts of the site.
  var peerStanding = CutStanding()
  /// Whether the peer has told what goes with its standing, if that says anything.
  var knowsFloors = false
  var position: Position
  /// What came in this session; `position` may show it a moment later.
  var merged = Frontier()
  var timers: Timers
  var outgoing = Outgoing()
  var incoming = Incoming()
  var inspecting = Inspecting()
  var describing = Describing()
  var knocking = Knocking()
  var order = Order()
  var leftOut = LeftOut()
  var checks = Session.checks
  var pace = StabilityPace()
  /// What this node has told of all keys under which its tables are here.
  var keysTold: UInt64?
  /// What the peer has cost for nothing.
  package internal(set) var toll = Toll()
  /// What the peer was sent and has not shown to have.
  package internal(set) var supply = Supply()

  package init(_ configuration: Configuration, at now: Instant) {
    self.configuration = configuration
    self.clock = configuration.clock
    self.position = configuration.position
    self.timers = Timers(start: now.uptime)
  }

  /// Feeds one input and gives what is to be done, in order.
  package mutating func receive(_ input: Input, at now: Instant) -> [Directive] {
    var directives: [Directive] = []
    switch input {
    case .connected:
      var hello = configuration.hello
      hello.view = clock.view(at: now)
      hello.clock = now.wall
      hello.standing = position.stability.standing
      hello.keys = Array(position.keys.prefix(Limits.tableKeys))
      keysTold = hello.keysHere
      send(.hello(hello), &directives, now)
    case .heard: timers.heard(now.uptime)
    case .owes(let toll, let supply):
      self.toll = self.toll.joined(toll)
      self.supply = self.supply.joined(supply)
    case .stoppedReading: timers.isReading = false
    case .received(let message, let isFollowed):
      receive(message, &directives, now)
      mergeGathered(isFollowed: isFollowed, &directives)
    case .tick: tick(&directives, now)
    case .disconnected(let reason):
      close(Bye(.other, reason), byPeer: true, &directives)
    case .close(let bye):
      guard state != .closed else { break }
      directives.append(.send(.bye(bye)))
      close(bye, byPeer: false, &directives)
    case .offer(let offer, let objects): tell(offer, objects, &directives, now)
    case .admitted(let admit):
      if state == .pairing { send(.admit(admit), &directives, now) }
    default: receiveOpen(input, &directives, now)
    }
    if state == .closed { chargeForAccount(now) }
    return directives
  }

  /// Inputs that mean something only between members.
  private mutating func receiveOpen(
    _ input: Input, _ directives: inout [Directive], _ now: Instant
  ) {
    guard state == .open else {
      if case .advanced(let position) = input { self.position = position }
      if case .clock(let standing) = input { clock = standing }
      return
    }
    switch input {
    case .clock(let standing): clock = standing
    case .advanced(let position): advance(to: position, &directives, now)
    case .folded(let push): self.push(push, &directives, now)
    case .foldedStretch(let stretch): send(stretch, &directives, now)
    case .introduce(let members): send(.members(members), &directives, now)
    case .want(let names): want(names, &directives, now)
    case .tell(let statements):
      send(
        statements, most: Limits.statementsPerFrame, size: { $0.bytes.count + 2 },
        as: { .statements($0) }, &directives, now)
    case .mayPull(let resume): pull(resume: resume, &directives, now)
    case .ask: ask(&directives, now)
    case .inspect(let buckets): inspect(buckets, &directives, now)
    case .stopInspecting: inspecting.asking = .idle
    case .accounted(let content): accounted(content, &directives, now)
    case .describe: describe(&directives, now)
    case .knock: knock(&directives, now)
    case .dialledBack(let answer): dialledBack(answer, &directives, now)
    case .repair(let buckets): repair(buckets, &directives, now)
    case .confirmed(let have, let position):
      advance(to: position, &directives, now)
      if state == .open { take(have, &directives, now) }
    case .compareClocks: compareClocks(&directives, now)
    case .exportOpened(let covers, let rows, let judged):
      beginSending(covers: covers, rows: rows, judged, &directives, now)
    case .exported(let batch, let rows, let check):
      sendBatch(batch, rows: rows, check: check, &directives, now)
    case .exportedPart(let bytes): sendPart(bytes, &directives, now)
    case .exportDone: endSending(&directives, now)
    case .exportPaused(let progress): pauseSending(progress, &directives, now)
    case .exportFailed(let reason): fail(Bye(.storage, reason), &directives)
    case .crowded: outgoing.isCrowded = true
    case .drained: drained(&directives, now)
    case .merging(let rows): merging(rows, &directives)
    case .merged(let result): merged(result, &directives, now)
    case .mergeFailed(let bye): fail(bye, &directives)
    default: break
    }
  }

  private mutating func receive(
    _ message: Message, _ directives: inout [Directive], _ now: Instant
  ) {
    if case .bye(let bye) = message {
      close(bye, byPeer: true, &directives)
      return
    }
    switch state {
    case .greeting:
      if case .hello(let hello) = message {
        greet(hello, &directives, now)
      } else {
        fail(Bye(.badMessage, "the first message must be Hello"), &directives)
      }
    case .pairing:
      if case .join(let join) = message {
        directives.append(.judge(join))
      } else {
        fail(Bye(.badMessage, "a joiner may only send Join"), &directives)
      }
    case .open: receiveFromMember(message, &directives, now)
    case .closed: break
    }
  }

  private mutating func receiveFromMember(
    _ message: Message, _ directives: inout [Directive], _ now: Instant
  ) {
    guard order.isNext(message) else {
      let text = "a frame of an exchange that does not follow the one before it"
      return fail(Bye(.badMessage, text), &directives)
    }
    if message.bordersExchange { takeStability(atOnce: true, &directives, now) }
    switch message {
    case .have(let have): hear(have, &directives, now)
    case .begin(let begin): beginReceiving(begin, &directives)
    case .part(_, let bytes): receivePart(bytes, &directives, now)
    case .rows(_, let bytes): receiveBatch(bytes, &directives, now)
    case .reaches(_, let reaches): receiveReaches(reaches, &directives, now)
    case .end(let end): endReceiving(end, isPause: false, &directives, now)
    case .pause(let end): endReceiving(end, isPause: true, &directives, now)
    case .ping(let sent, let view):
      send(.pong(echo: sent, clock.view(at: now)), &directives, now)
      directives.append(.heardClock(view))
    case .pong(let echo, let view): hearPong(echo: echo, view, &directives, now)
    case .members(let members): directives.append(.members(members))
    case .statements(let statements): directives.append(.statements(statements))
    case .buckets(let buckets): hear(buckets, &directives, now)
    case .stability(let news): hear(news, &directives, now)
    case .inspect(let inspect): hear(inspect, &directives, now)
    case .account(let account): hear(account, &directives)
    case .describe: hearDescribe(&directives)
    case .offer(let offer): hear(offer, &directives)
    case .schema(let object): hear(object, &directives)
    case .want(let names): hear(names, &directives)
    case .program, .knock, .knocked: hearKnocking(message, &directives, now)
    default: fail(Bye(.badMessage, "a message out of place"), &directives)
    }
  }

  mutating func send(_ message: Message, _ directives: inout [Directive], _ now: Instant) {
    if message.tellsWhatIsHeld, pace.tellDue != nil {
      tellStability(atOnce: true, &directives, now)
    }
    timers.sent(now.uptime)
    order.note(message)
    directives.append(.send(message))
  }

  /// Says a list in messages that hold as many of its parts as fit a frame, at most `most`. What
  /// fits none is left out.
  mutating func send<Part>(
    _ parts: [Part], most: Int, size: (Part) -> Int, as message: ([Part]) -> Message,
    _ directives: inout [Directive], _ now: Instant
  ) {
    var frame: [Part] = []
    var room = Limits.frame - 16
    for part in parts {
      let size = size(part)
      guard size <= Limits.frame - 16 else { continue }
      if size > room || frame.count == most {
        send(message(frame), &directives, now)
        frame = []
        room = Limits.frame - 16
      }
      frame.append(part)
      room -= size
    }
    if !frame.isEmpty { send(message(frame), &directives, now) }
  }

  /// Ends the session for a reason of our own and tells the peer.
  mutating func fail(_ bye: Bye, _ directives: inout [Directive]) {
    guard state != .closed else { return }
    directives.append(.send(.bye(bye)))
    close(bye, byPeer: false, &directives)
  }

  mutating func close(_ bye: Bye, byPeer: Bool, _ directives: inout [Directive]) {
    guard state != .closed else { return }
    if outgoing.phase != .idle {
      rest(after: Frontier(), Instant(uptime: timers.lastSent, wall: 0))
      directives.append(.closeExport)
    }
    state = .closed
    // As much as a row of 64 MiB, of which nothing becomes any more.
    (incoming.pieces, incoming.staged) = ([], [])
    directives.append(.closed(bye, byPeer: byPeer))
  }
}
