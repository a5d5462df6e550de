extension Session {
  /// What is being sent, and what the peer holds as far as we know.
  struct Outgoing: Sendable {
    enum Phase: Sendable, Equatable {
      /// Nothing is being sent. Next: opening.
      case idle
      /// The snapshot is being opened. Next: sending.
      case opening
      /// Batches go out. Next: idle.
      case sending(covers: Frontier)
    }

    var phase = Phase.idle
    var scope = ExportScope.above(Frontier())
    /// What the peer said that it holds, joined with what we have sent since.
    var peerFrontier = Frontier()
    /// What the peer itself said that it holds.
    var confirmed = Frontier()
    /// How far the peer worked through an interrupted catch-up from us.
    var resume = Frontier()
    /// False until the peer's first Have.
    var isPeerKnown = false
    /// The peer wants an exchange now, even an empty one.
    var isAsked = false
    /// We were told to ask before the node let us.
    var mustAsk = false
    /// Buckets that the peer lacks something of, to be sent when nothing else is.
    var repair: [Int] = []
    /// Whether the first exchange of this session was sent, or there was nothing to send.
    var hasSent = false
    var wantsRoom = false
    /// The peer takes less than we have for it: it gets no pushes, and an exchange afterwards.
    var isCrowded = false
    var rows: UInt64 = 0
    var check: UInt64 = 0
    /// What we have told the peer of our own frontier.
    var told = Frontier()
    var hasTold = false
  }

  package var isPeerKnown: Bool { outgoing.isPeerKnown }

  /// True while nothing is on its way in either direction.
  package var isIdle: Bool { outgoing.phase == .idle && incoming.phase == .idle }

  /// The peer has shown that it holds this.
  mutating func peerHolds(_ frontier: Frontier, _ directives: inout [Directive]) {
    outgoing.peerFrontier.join(frontier)
    outgoing.confirmed.join(frontier)
    directives.append(.peerHolds(outgoing.confirmed))
  }

  mutating func advance(
    to position: Position, _ directives: inout [Directive], _ now: Instant
  ) {
    guard position.age >= self.position.age else { return }
    self.position = position
    if outgoing.hasTold, !outgoing.told.covers(position.frontier) {
      timers.haveDue = timers.haveDue ?? now.uptime + Timers.gathering
    }
    considerExport(&directives, now)
  }

  /// Sends fresh edits of our own at once, if the peer holds all that came before them.
  ///
  /// All dots of the range are live, for one fold gives each row one version: else the frontier
  /// that the receiver moves to would hide what has superseded them elsewhere.
  mutating func push(_ push: Push, _ directives: inout [Directive], _ now: Instant) {
    guard outgoing.isPeerKnown, outgoing.phase == .idle, !outgoing.isCrowded,
      push.batch.count < Limits.frame, outgoing.peerFrontier[push.origin] == push.from
    else { return }
    let kind = Begin.Kind.push(origin: push.origin, from: push.from, to: push.to)
    send(.begin(Begin(kind, rows: push.rows)), &directives, now)
    send(.rows(push.batch), &directives, now)
    send(.end(End(rows: push.rows, check: push.check)), &directives, now)
    outgoing.peerFrontier.raise(push.origin, to: push.to)
    outgoing.told.raise(push.origin, to: push.to)
    directives.append(.exchanged(sent: true, rows: push.rows))
  }

  /// Opens an export if the peer lacks something and it is time to send it.
  mutating func considerExport(_ directives: inout [Directive], _ now: Instant) {
    guard outgoing.isPeerKnown, outgoing.phase == .idle else { return }
    guard !outgoing.isCrowded else {
      timers.relayDue = nil
      return
    }
    let lacking = position.frontier.beyond(outgoing.peerFrontier)
    if lacking.isEmpty, !outgoing.isAsked {
      timers.relayDue = nil
      outgoing.hasSent = true
      return
    }
    // What others wrote is passed on a little later: in a full mesh its author sends it itself.
    let isRelay = lacking[position.own] == 0 && outgoing.hasSent && !outgoing.isAsked
    if isRelay {
      let due = timers.relayDue ?? now.uptime + configuration.relayDelay
      timers.relayDue = due
      guard due <= now.uptime else { return }
    }
    outgoing.isAsked = false
    open(.above(outgoing.peerFrontier.joined(outgoing.resume)), &directives)
  }

  mutating func open(_ scope: ExportScope, _ directives: inout [Directive]) {
    outgoing.phase = .opening
    outgoing.scope = scope
    outgoing.hasSent = true
    timers.relayDue = nil
    outgoing.rows = 0
    outgoing.check = 0
    directives.append(.openExport(scope))
  }

  mutating func beginSending(
    covers: Frontier, rows: UInt64, _ directives: inout [Directive], _ now: Instant
  ) {
    guard outgoing.phase == .opening else { return }
    outgoing.phase = .sending(covers: covers)
    let kind: Begin.Kind =
      if case .buckets = outgoing.scope { .repair } else { .full(covers: covers) }
    send(.begin(Begin(kind, rows: rows)), &directives, now)
    directives.append(.readExport)
  }

  /// Sends one batch, in pieces if it is longer than a frame.
  mutating func sendBatch(
    _ batch: [UInt8], rows: UInt64, check: UInt64, _ directives: inout [Directive],
    _ now: Instant
  ) {
    guard case .sending = outgoing.phase else { return }
    let longest = Limits.frame - 16
    var start = 0
    while batch.count - start > longest {
      send(.part(Array(batch[start..<start + longest])), &directives, now)
      start += longest
    }
    send(.rows(start == 0 ? batch : Array(batch[start...])), &directives, now)
    outgoing.rows += rows
    outgoing.check &+= check
    outgoing.wantsRoom = true
  }

  /// There is room: the export goes on, or what was held back from a slow peer begins.
  mutating func drained(_ directives: inout [Directive], _ now: Instant) {
    if outgoing.wantsRoom {
      outgoing.wantsRoom = false
      directives.append(.readExport)
    }
    guard outgoing.isCrowded else { return }
    outgoing.isCrowded = false
    considerExport(&directives, now)
  }

  mutating func endSending(_ directives: inout [Directive], _ now: Instant) {
    guard case .sending(let covers) = outgoing.phase else { return }
    send(.end(End(rows: outgoing.rows, check: outgoing.check)), &directives, now)
    outgoing.phase = .idle
    outgoing.wantsRoom = false
    directives.append(.closeExport)
    directives.append(.exchanged(sent: true, rows: outgoing.rows))
    if case .above = outgoing.scope {
      outgoing.resume = Frontier()
      outgoing.peerFrontier.join(covers)
      outgoing.told.join(covers)
    }
    considerExport(&directives, now)
    openRepair(&directives)
  }

  /// Ends the exchange for now and opens the next, which goes on where this one stopped.
  ///
  /// A repair knows no order to go on in: it goes on in halves, the second one when the first is
  /// done; its progress says nothing about the versions of other buckets.
  mutating func pauseSending(
    _ progress: Frontier, _ directives: inout [Directive], _ now: Instant
  ) {
    guard case .sending = outgoing.phase else { return }
    send(.pause(End(rows: outgoing.rows, check: outgoing.check)), &directives, now)
    outgoing.phase = .idle
    outgoing.wantsRoom = false
    directives.append(.closeExport)
    switch outgoing.scope {
    case .above(let frontier):
      outgoing.resume.join(progress)
      open(.above(frontier.joined(progress)), &directives)
    case .buckets(let buckets):
      let half = buckets.count / 2
      if half > 0 {
        outgoing.repair = outgoing.repair + buckets[half...]
        open(.buckets(Array(buckets[..<half])), &directives)
      } else {
        considerExport(&directives, now)
        openRepair(&directives)
      }
    }
  }
}
