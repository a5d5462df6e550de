extension Session {
  /// What is being received.
  struct Incoming: Sendable {
    enum Phase: Sendable, Equatable {
      /// Next: receiving, skipping.
      case idle
      /// Rows are staged, or merged in slices; the frontier moves at End only. Next: idle.
      case receiving(Begin)
      /// A push that leaves a gap, or that we have already: read and dropped. Next: idle.
      case skipping(Begin, isGap: Bool)
    }

    /// Exchanges begun so far, pushes included.
    var exchanges: UInt64 = 0
    var phase = Phase.idle
    /// Pieces of a batch that is longer than a frame.
    var pieces: [[UInt8]] = []
    var pieceBytes = 0
    var staged: [[UInt8]] = []
    var stagedBytes = 0
    /// Rows and check of the slices merged so far.
    var rows: UInt64 = 0
    var check: UInt64 = 0
    /// Rows that changed nothing here, and were counted so.
    var known: UInt64 = 0
    /// What owners have signed, and came with this exchange; how many origins of each node are new.
    private(set) var reaches: [Origin: Reach] = [:]
    private(set) var lives: [Identity: Int] = [:]
    /// What counted as held when it began.
    var base = Frontier()
    var isMerging = false
    var isLast = false
    var isPause = false

    mutating func keep(_ reach: Reach, isNew: Bool) {
      if reaches.updateValue(reach, forKey: reach.origin) == nil, isNew {
        lives[reach.node, default: 0] += 1
      }
    }

    /// Takes in the next piece. Short ones are put together, for each takes more room than it has
    /// bytes: 20 million of one byte took a gigabyte.
    mutating func add(_ piece: [UInt8]) {
      pieceBytes += piece.count
      if let last = pieces.indices.last, pieces[last].count + piece.count <= Self.joined {
        pieces[last].append(contentsOf: piece)
      } else {
        pieces.append(piece)
      }
    }

    private static let joined = 128 << 10

    /// True while what comes is dropped.
    var isSkipping: Bool { if case .skipping = phase { true } else { false } }

    /// The pieces so far and the last one, joined without more room than they need.
    mutating func whole(with last: [UInt8]) -> [UInt8] {
      guard !pieces.isEmpty else { return last }
      var batch: [UInt8] = []
      batch.reserveCapacity(pieceBytes + last.count)
      for piece in pieces { batch.append(contentsOf: piece) }
      batch.append(contentsOf: last)
      pieces = []
      pieceBytes = 0
      return batch
    }
  }

  /// True while a merge is under way: the shell keeps what arrives until it is done.
  package var isMerging: Bool { incoming.isMerging }

  /// True while rows of a catch-up arrive.
  package var isReceiving: Bool {
    if case .receiving = incoming.phase { true } else { false }
  }

  mutating func beginReceiving(_ begin: Begin, _ directives: inout [Directive]) {
    guard incoming.phase == .idle else {
      return fail(Bye(.badMessage, "Begin inside an exchange"), &directives)
    }
    guard knowsFloors else {
      return fail(Bye(.badMessage, "Begin before Stability"), &directives)
    }
    guard licence?.allows(begin.kind) ?? true else {
      let name = peer?.name ?? "the peer"
      return fail(
        Bye(.notAllowed, "\(name) sends what it may not: it is no whole member"), &directives)
    }
    guard position.frontier.joined(merged).fits(beside: begin.kind.covers) else {
      return fail(Bye(.badMessage, "Begin with too many origins"), &directives)
    }
    incoming = Incoming(exchanges: incoming.exchanges + 1)
    incoming.phase = .receiving(begin)
    incoming.check = begin.check(incoming.exchanges)
    incoming.base = position.frontier.joined(merged)
    if case .push(let origin, let from, let to) = begin.kind {
      let held = max(position.frontier[origin], merged[origin])
      if held < from || held >= to { incoming.phase = .skipping(begin, isGap: held < from) }
    }
  }

  mutating func receivePart(
    _ bytes: [UInt8], _ directives: inout [Directive], _ now: Instant
  ) {
    guard incoming.phase != .idle else {
      return fail(Bye(.badMessage, "Part outside an exchange"), &directives)
    }
    if incoming.isSkipping { return toll.charge(Int64(bytes.count) / Toll.bytes, at: now) }
    guard !bytes.isEmpty else {
      return fail(Bye(.badMessage, "a Part of nothing"), &directives)
    }
    if bytes.count < Toll.longPiece { toll.charge(Toll.frame, at: now) }
    guard !incoming.pieces.isEmpty || mayStage(bytes, &directives) else { return }
    guard incoming.pieceBytes + bytes.count <= Limits.row + Limits.frame else {
      return fail(Bye(.badMessage, "a row of more than \(Limits.row) bytes"), &directives)
    }
    incoming.add(bytes)
  }

  mutating func receiveBatch(
    _ bytes: [UInt8], _ directives: inout [Directive], _ now: Instant
  ) {
    switch incoming.phase {
    case .idle: fail(Bye(.badMessage, "Rows outside an exchange"), &directives)
    case .skipping: toll.charge(Int64(bytes.count) / Toll.bytes, at: now)
    case .receiving:
      toll.charge(Toll.frame, at: now)
      guard !incoming.pieces.isEmpty || mayStage(bytes, &directives) else { return }
      let batch = incoming.whole(with: bytes)
      incoming.staged.append(batch)
      incoming.stagedBytes += batch.count
    }
  }

  /// Merges what has gathered of a long exchange, once nothing more is here or it is enough; a
  /// small exchange is merged whole, at End.
  ///
  /// The store sorts what it gets: so rows that were edited in any order cost little more than such
  /// that were edited in the order of their keys.
  mutating func mergeGathered(isFollowed: Bool, _ directives: inout [Directive]) {
    guard state == .open, case .receiving(let begin) = incoming.phase, !incoming.isMerging,
      !incoming.staged.isEmpty
    else { return }
    let isSmall =
      begin.rows <= Limits.wholeRows && incoming.stagedBytes <= Limits.wholeBytes
      && incoming.staged.count <= Limits.wholeRows && incoming.rows == 0
    let isEnough =
      incoming.stagedBytes >= Limits.gatheredBytes
      || incoming.staged.count >= Limits.gatheredBatches
    if !isSmall, isEnough || !isFollowed { merge(begin, end: nil, &directives) }
  }

  mutating func endReceiving(
    _ end: End, isPause: Bool, _ directives: inout [Directive], _ now: Instant
  ) {
    switch incoming.phase {
    case .idle: fail(Bye(.badMessage, "End outside an exchange"), &directives)
    case .skipping(let begin, let isGap):
      incoming.phase = .idle
      toll.charge(isGap ? Toll.question : Toll.dropped, at: now)
      // Tell the sender what we really hold; it answers with a full exchange.
      if isGap { return sendHave(asks: true, &directives, now) }
      // Others were faster. The author tells only by its push that it holds this itself.
      if case .push(let origin, _, let to) = begin.kind {
        peerHolds(Frontier([origin: to]), &directives)
      }
    case .receiving(let begin):
      guard incoming.pieces.isEmpty else {
        return fail(Bye(.badMessage, "End inside a batch"), &directives)
      }
      incoming.isPause = isPause
      merge(begin, end: end, &directives)
    }
  }

  private mutating func merge(
    _ begin: Begin, end: End?, _ directives: inout [Directive]
  ) {
    guard let peer else { preconditionFailure("rows before Hello in state \(state)") }
    let sealed = sealed
    guard let begin = counted(begin, sealed, isEnd: end != nil, &directives) else { return }
    var merge = Merge(
      sender: peer.node, kind: begin.kind, batches: incoming.staged,
      rowsBefore: incoming.rows, checkBefore: incoming.check, end: end,
      movesFrontier: end != nil && !incoming.isPause && begin.kind != .repair)
    merge.edition = peer.edition
    merge.licence = licence
    // A leaf may hold less than it says, and speaks for nobody but itself.
    merge.judged = licence == nil ? counted(begin.judged, sealed) : nil
    merge.reader = configuration.ownRights
    if begin.kind == .repair, licence == nil { merge.held = outgoing.confirmed }
    merge.standing = peerStanding
    merge.asked = position.stability.fetching
    merge.sealed = sealed
    merge.reaches = incoming.reaches.values.sorted { $0.origin < $1.origin }
    merge.base = incoming.base
    merge.leaveOut(leftOut.rows)
    incoming.staged = []
    incoming.stagedBytes = 0
    incoming.isMerging = true
    incoming.isLast = end != nil
    directives.append(.merge(merge))
  }

  /// Verdicts of a term that somebody was appointed for, and of own edits those that were made. An
  /// anchor would stand down for another term, and what is written next would be judged already.
  private mutating func counted(_ judged: Judged?, _ sealed: Sealed?) -> Judged? {
    guard var judged, let sealed else { return judged }
    guard sealed.appointees?.knows(judged.term) != false else {
      leftOut.note(judged.term)
      return nil
    }
    judged.frontier = judged.frontier.limited(sealed.own, to: sealed.last)
    return judged
  }

  /// What counts of the claim of an exchange; nil if the session ends over it.
  private mutating func counted(
    _ begin: Begin, _ sealed: Sealed?, isEnd: Bool, _ directives: inout [Directive]
  ) -> Begin? {
    guard let sealed else { return begin }
    var begin = begin
    switch begin.kind {
    case .full(let covers):
      let counted = sealed.limit(covers)
      if isEnd { leftOut.add(covers, countedAs: counted) }
      begin.kind = .full(covers: counted)
    case .push(let origin, _, let to) where isEnd && !sealed.holds(Dot(origin, to)):
      fail(Bye(.badMessage, "a push for which its author has not signed"), &directives)
      return nil
    case .push, .repair: break
    }
    if isEnd { incoming.phase = .receiving(begin) }
    return begin
  }

  /// A long merge goes on.
  mutating func merging(_ rows: UInt64, _ directives: inout [Directive]) {
    guard incoming.isMerging, case .receiving(let begin) = incoming.phase else { return }
    let passage = Passage(
      rows: incoming.rows &+ rows, total: begin.rows, covers: begin.kind.covers)
    directives.append(.catchingUp(passage))
  }

  mutating func merged(
    _ result: MergeResult, _ directives: inout [Directive], _ now: Instant
  ) {
    guard incoming.isMerging, case .receiving(let begin) = incoming.phase else { return }
    incoming.isMerging = false
    incoming.rows += result.rows
    if result.known >= result.rows { chargeForNothing(rows: result.rows, now) }
    incoming.check &+= result.check
    leftOut.add(result.leftOut)
    guard !leftOut.isTooMuch else {
      return fail(Bye(.badMessage, "too much for which nobody has signed"), &directives)
    }
    lookAtLeftOut(&directives)
    guard state == .open else { return }
    guard incoming.isLast else {
      let passage = Passage(rows: incoming.rows, total: begin.rows, covers: begin.kind.covers)
      directives.append(.catchingUp(passage))
      return
    }
    incoming.phase = .idle
    guard !incoming.isPause else { return }
    switch begin.kind {
    case .full(let covers):
      merged.join(covers.keeping { leftOut.rows[$0] == nil })
      peerHolds(covers, &directives)
    case .push(let origin, _, let to):
      if leftOut.rows[origin] == nil { merged.raise(origin, to: to) }
      peerHolds(Frontier([origin: to]), &directives)
    case .repair: break
    }
    guard state == .open else { return }
    directives.append(.exchanged(sent: false, rows: incoming.rows))
  }
}
