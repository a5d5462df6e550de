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
    /// While the snapshot is being opened: rows and check of what was sent before it is.
    var early: End?
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
    /// The node has let us ask, and we may not yet: how far an earlier catch-up came.
    var pullWaits: Frontier?
    /// Our frontier when the export under way was opened.
    var offering = Frontier()
    /// What was sent to its end in this session, though the peer may not count all as held.
    var offered = Frontier()
    /// Something that was lost here has come again, and was not offered yet.
    var hasRegained = false
    /// Rows that the peer has asked for, to be sent when nothing else is.
    var wanted: Set<RowName> = []
    /// How long their names and keys are together.
    var wantedBytes = 0
    /// The peer's frontier hash and root digest, as it told them last.
    var peerDigest: (hash: UInt64, root: UInt64)?
    /// Rows have changed at one frontier, which the peer has not heard of.
    var isRepaired = false
    /// Buckets that the peer lacks something of, to be sent when nothing else is.
    var repair: [Int] = []
    /// Whether the first exchange of this session was sent, or there was nothing to send.
    var hasSent = false
    var wantsRoom = false
    /// The peer takes less than we have for it: it gets no pushes, and an exchange afterwards.
    var isCrowded = false
    /// Rows that were sent of the exchange under way, of about how many.
    var rows: UInt64 = 0
    var total: UInt64 = 0
    var check: UInt64 = 0
    /// Exchanges begun so far, pushes included.
    var exchanges: UInt64 = 0
    /// What we have told the peer of our own frontier.
    var told = Frontier()
    var hasTold = false
    /// Whether the peer was shown all that owners have signed since it told its whole frontier.
    var hasShownReaches = false
    /// Of these origins there was no signature when the peer was sent their edits.
    var unshown: Set<Origin> = []
    /// Whether what is being sent answers a peer that has asked.
    var isAnswer = false
    /// What the last answer covered; who asks for it again has to wait.
    var answered = Frontier()
    var answerRest = Rest()
    /// When a peer is sent rows that has come again, by uptime; nil until there are some.
    var supplyDue: Int64?
  }

  package var isPeerKnown: Bool { outgoing.isPeerKnown }

  /// True while nothing is on its way in either direction.
  package var isIdle: Bool { outgoing.phase == .idle && incoming.phase == .idle }

  /// The peer has shown that it holds this.
  mutating func peerHolds(_ frontier: Frontier, _ directives: inout [Directive]) {
    guard outgoing.peerFrontier.fits(beside: frontier) else {
      return fail(Bye(.badMessage, "a frontier of too many origins"), &directives)
    }
    outgoing.peerFrontier.join(frontier)
    outgoing.confirmed.join(frontier)
    directives.append(.peerHolds(outgoing.confirmed))
  }

  mutating func advance(
    to position: Position, _ directives: inout [Directive], _ now: Instant
  ) {
    guard position.age >= self.position.age else { return }
    if position.lost < self.position.lost || position.wanted < self.position.wanted {
      outgoing.hasRegained = true
    }
    let before = self.position.stability
    let isRepaired = position.repairs != self.position.repairs
    // What a version before counted is taken back: what the peer leaves out by it is void.
    let isLess = !position.frontier.covers(self.position.frontier)
    let reaches = self.position.reaches
    self.position = position
    noteFirstReaches(before: reaches)
    if isRepaired, outgoing.hasTold {
      outgoing.isRepaired = true
      timers.haveDue = timers.haveDue ?? now.uptime + Timers.gathering
    }
    if outgoing.hasTold, isLess, position.stability.fetching == nil {
      return fail(Bye(.other, "less counts as held here than was said"), &directives)
    }
    lookAtLeftOut(&directives)
    if position.stability != before { followStability(since: before, &directives, now) }
    guard state == .open else { return }
    if outgoing.hasRegained { offerAgain(now) }
    if outgoing.hasTold, !outgoing.told.covers(position.frontier) {
      timers.haveDue = timers.haveDue ?? now.uptime + Timers.gathering
    }
    considerExport(&directives, now)
  }

  /// Sends fresh edits of our own at once, if the peer holds all that came before them.
  ///
  /// Every version of the range is in it: else the frontier that the receiver moves to would hide
  /// what has superseded one of them elsewhere.
  mutating func push(_ push: Push, _ directives: inout [Directive], _ now: Instant) {
    guard outgoing.isPeerKnown, outgoing.phase == .idle, !outgoing.isCrowded, mayGiveRows,
      configuration.peerRights.readsAll, mayGive, push.batch.count <= Limits.piece,
      outgoing.peerFrontier[push.origin] == push.from,
      push.reach != nil || configuration.surety == nil
    else { return }
    let kind = Begin.Kind.push(origin: push.origin, from: push.from, to: push.to)
    let begin = Begin(kind, rows: push.rows, number: order.sent, judged: push.judged)
    send(.begin(begin), &directives, now)
    if let reach = push.reach { send(.reaches(number: order.sent, [reach]), &directives, now) }
    send(.rows(number: order.sent, push.batch), &directives, now)
    let check = nextCheck(begin) &+ push.check
    send(.end(End(rows: push.rows, check: check)), &directives, now)
    outgoing.peerFrontier.raise(push.origin, to: push.to)
    outgoing.told.raise(push.origin, to: push.to)
    directives.append(.exchanged(sent: true, rows: push.rows))
  }

  /// Sends fresh edits of our own while more are folded, before the export that is to follow.
  ///
  /// They go as an exchange that covers nothing new and ends with Pause; the export goes on from
  /// there. So it needs all of the stretch, and the next one to begin where this one ends.
  mutating func send(
    _ stretch: Stretch, _ directives: inout [Directive], _ now: Instant
  ) {
    guard outgoing.phase == .opening, case .above(var sent) = outgoing.scope,
      sent[stretch.origin] == stretch.from, !outgoing.isCrowded, mayGiveRows,
      configuration.peerRights.readsAll, configuration.ownRights.isWhole
    else { return }
    if outgoing.early == nil {
      // What it covers the peer holds already, or has worked through.
      let begin = Begin(
        .full(covers: sent), rows: stretch.waiting, number: order.sent, judged: nil)
      outgoing.early = End(rows: 0, check: nextCheck(begin))
      send(.begin(begin), &directives, now)
    }
    if let reach = position.reaches[stretch.origin] {
      send(.reaches(number: order.sent, [reach]), &directives, now)
    }
    for batch in stretch.batches {
      send(.rows(number: order.sent, batch.bytes), &directives, now)
      outgoing.early?.rows += batch.rows
      outgoing.early?.check &+= batch.check
    }
    sent.raise(stretch.origin, to: stretch.to)
    outgoing.resume.raise(stretch.origin, to: stretch.to)
    outgoing.scope = .above(sent)
    directives.append(.narrowExport(outgoing.scope))
  }

  /// Opens an export if the peer lacks something and it is time to send it.
  mutating func considerExport(_ directives: inout [Directive], _ now: Instant) {
    guard outgoing.isPeerKnown, outgoing.phase == .idle, mayGiveRows else { return }
    guard !outgoing.isCrowded else {
      timers.relayDue = nil
      return
    }
    if outgoing.isAsked, !outgoing.answerRest.isOver(at: now),
      !outgoing.confirmed.covers(outgoing.answered)
    {
      timers.relayDue = outgoing.answerRest.end
      return
    }
    var lacking = position.frontier.beyond(outgoing.peerFrontier.joined(outgoing.offered))
    if !configuration.ownRights.isWhole {
      lacking = mayGive ? lacking.only(position.own) : Frontier()
    }
    if lacking.isEmpty, !outgoing.isAsked {
      timers.relayDue = nil
      outgoing.hasSent = true
      return
    }
    let supplyDue = outgoing.supplyDue ?? supply.due(at: now)
    outgoing.supplyDue = supplyDue
    guard supplyDue <= now.uptime else {
      timers.relayDue = supplyDue
      return
    }
    // What others wrote is passed on a little later: in a full mesh its author sends it itself.
    let isRelay = lacking[position.own] == 0 && outgoing.hasSent && !outgoing.isAsked
    if isRelay {
      let due = timers.relayDue ?? now.uptime + configuration.relayDelay
      timers.relayDue = due
      guard due <= now.uptime else { return }
    }
    outgoing.isAnswer = outgoing.isAsked
    outgoing.isAsked = false
    let held = outgoing.peerFrontier.joined(outgoing.resume)
    let sent = held.joined(outgoing.offered)
    open(sent == held ? .above(held) : .unsent(above: sent, holds: held), &directives)
  }

  mutating func open(_ scope: ExportScope, _ directives: inout [Directive]) {
    outgoing.phase = .opening
    outgoing.scope = scope
    outgoing.offering = position.frontier
    outgoing.hasSent = true
    timers.relayDue = nil
    outgoing.rows = 0
    outgoing.check = 0
    directives.append(.openExport(scope))
  }

  mutating func beginSending(
    covers: Frontier, rows: UInt64, _ judged: Judged?, _ directives: inout [Directive],
    _ now: Instant
  ) {
    guard outgoing.phase == .opening else { return }
    if let early = outgoing.early.take() { send(.pause(early), &directives, now) }
    outgoing.phase = .sending(covers: covers)
    let kind: Begin.Kind =
      switch outgoing.scope {
      case .above, .unsent: .full(covers: covers)
      case .buckets, .bucket, .rows: .repair
      }
    let begin = Begin(
      kind, rows: rows, number: order.sent, judged: kind == .repair ? nil : judged)
    outgoing.check = nextCheck(begin)
    outgoing.total = rows
    send(.begin(begin), &directives, now)
    showReaches(isFull: kind != .repair, &directives, now)
    directives.append(.readExport)
  }

  /// Sends one batch, or the end of one that went in pieces.
  mutating func sendBatch(
    _ batch: [UInt8], rows: UInt64, check: UInt64, _ directives: inout [Directive],
    _ now: Instant
  ) {
    guard case .sending(let covers) = outgoing.phase else { return }
    send(.rows(number: order.sent, batch), &directives, now)
    outgoing.rows += rows
    if outgoing.scope.start != nil { supply.note(rows, at: now) }
    outgoing.check &+= check
    outgoing.wantsRoom = true
    guard outgoing.total > Limits.wholeRows else { return }
    let passage = Passage(rows: outgoing.rows, total: outgoing.total, covers: covers)
    directives.append(.sending(passage))
  }

  /// Sends a piece of a long batch; the next one is read when there is room for it.
  mutating func sendPart(
    _ bytes: [UInt8], _ directives: inout [Directive], _ now: Instant
  ) {
    guard case .sending = outgoing.phase else { return }
    send(.part(number: order.sent, bytes), &directives, now)
    outgoing.wantsRoom = true
  }

  /// There is room: the export goes on, or what was held back from a slow peer begins.
  mutating func drained(_ directives: inout [Directive], _ now: Instant) {
    if outgoing.wantsRoom {
      outgoing.wantsRoom = false
      directives.append(.readExport)
    }
    goOnAccounting(&directives, now)
    guard outgoing.isCrowded else { return }
    outgoing.isCrowded = false
    considerExport(&directives, now)
  }

  /// What the check of the next exchange begins with.
  private mutating func nextCheck(_ begin: Begin) -> UInt64 {
    outgoing.exchanges += 1
    return begin.check(outgoing.exchanges)
  }

  mutating func endSending(_ directives: inout [Directive], _ now: Instant) {
    guard case .sending(let covers) = outgoing.phase else { return }
    send(.end(End(rows: outgoing.rows, check: outgoing.check)), &directives, now)
    outgoing.phase = .idle
    outgoing.wantsRoom = false
    directives.append(.closeExport)
    directives.append(.exchanged(sent: true, rows: outgoing.rows))
    rest(after: covers, now)
    switch outgoing.scope {
    case .above, .unsent:
      outgoing.resume = Frontier()
      outgoing.peerFrontier.join(covers)
      outgoing.told.join(covers)
      // To send again what does not count would send it for ever. That is so while something is
      // lost, a leaf may not send all that it wrote, or rows wait to be put back.
      let mayLack = position.lost > 0 || position.wanted > 0 || !configuration.ownRights.isWhole
      if mayLack && !covers.covers(outgoing.offering) {
        outgoing.offered.join(outgoing.offering)
      }
    case .buckets, .bucket, .rows: break
    }
    considerExport(&directives, now)
    openWanted(&directives)
    openRepair(&directives)
  }

  /// Ends the exchange for now and opens the next, which goes on where this one stopped.
  ///
  /// A repair goes on in halves, the second one when the first is done: its progress says nothing
  /// about the versions of other buckets. What is left of a single bucket follows at once.
  mutating func pauseSending(
    _ progress: Frontier, _ directives: inout [Directive], _ now: Instant
  ) {
    guard case .sending(let covers) = outgoing.phase else { return }
    send(.pause(End(rows: outgoing.rows, check: outgoing.check)), &directives, now)
    rest(after: nil, now)
    outgoing.phase = .idle
    outgoing.wantsRoom = false
    directives.append(.closeExport)
    switch outgoing.scope {
    case .above(let frontier):
      goOn(above: frontier, holds: frontier, progress, covers, &directives)
    case .unsent(let sent, let holds):
      goOn(above: sent, holds: holds, progress, covers, &directives)
    case .buckets(let buckets):
      let half = buckets.count / 2
      if half > 0 {
        outgoing.repair = outgoing.repair + buckets[half...]
        open(.buckets(Array(buckets[..<half])), &directives)
      } else if let bucket = buckets.first {
        open(.bucket(bucket, above: progress), &directives)
      }
    case .bucket(let bucket, let sent) where !sent.covers(progress):
      open(.bucket(bucket, above: sent.joined(progress)), &directives)
    case .bucket, .rows:
      // Nothing of it counts as sent: the next comparison finds what is still amiss, and rows that
      // were asked for and did not come are asked for again.
      considerExport(&directives, now)
      openWanted(&directives)
      openRepair(&directives)
    }
  }

  /// Goes on with an exchange; of what was sent the peer may count only what is covered.
  private mutating func goOn(
    above sent: Frontier, holds: Frontier, _ progress: Frontier, _ covers: Frontier,
    _ directives: inout [Directive]
  ) {
    let counted = progress.capped(by: covers)
    outgoing.resume.join(counted)
    let (sent, holds) = (sent.joined(progress), holds.joined(counted))
    open(sent == holds ? .above(sent) : .unsent(above: sent, holds: holds), &directives)
  }

  /// Something that was lost here has come again, so more can be given than was.
  ///
  /// It mostly comes bit by bit: it is offered when all of it is here, or now and then.
  private mutating func offerAgain(_ now: Instant) {
    let isDue = timers.lastRegain.map { now.uptime - $0 >= Timers.repairPause } ?? true
    guard position.lost == 0 && position.wanted == 0 || isDue else { return }
    timers.lastRegain = now.uptime
    outgoing.hasRegained = false
    outgoing.offered = Frontier()
  }
}
