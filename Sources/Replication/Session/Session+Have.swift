extension Session {
  /// The node lets us ask: the first Have goes out, with the progress of an earlier catch-up.
  mutating func pull(resume: Frontier, _ directives: inout [Directive], _ now: Instant) {
    guard !outgoing.hasTold else { return }
    guard mayAsk else { return outgoing.pullWaits = resume }
    // All has come with the end of an exchange alone. Who holds nothing that is lacked here begins
    // none by itself.
    let isFetching = position.stability.fetching != nil
    sendHave(asks: outgoing.mustAsk || isFetching || lacksReaches, resume: resume, &directives, now)
  }

  /// A person wants an exchange now: we ask for theirs and send ours, even if it is empty.
  mutating func ask(_ directives: inout [Directive], _ now: Instant) {
    if outgoing.hasTold {
      sendHave(asks: true, &directives, now)
    } else {
      // The node does not let us ask yet; the first Have will.
      outgoing.mustAsk = true
    }
    outgoing.isAsked = true
    considerExport(&directives, now)
  }

  /// Tells the peer what we hold: everything at first and when asking, else what changed.
  mutating func sendHave(
    asks: Bool, resume: Frontier = Frontier(), _ directives: inout [Directive], _ now: Instant
  ) {
    timers.haveDue = nil
    let isFirst = !outgoing.hasTold
    let isWhole = asks || isFirst
    let news = isWhole ? position.frontier : position.frontier.beyond(outgoing.told)
    guard isWhole || !news.isEmpty || outgoing.isRepaired else { return }
    outgoing.hasTold = true
    outgoing.isRepaired = false
    outgoing.told.join(position.frontier)
    // Whenever this tells of edits of the peer, it shows its signature for them.
    let reach = reachOfPeer.flatMap { isFirst || news[$0.origin] > 0 ? $0 : nil }
    let have = Have(
      frontier: news, frontierHash: position.isJudging ? 0 : position.frontier.hash,
      rootDigest: sharesDigests ? digest.root : 0, resume: resume, asks: asks,
      testimony: reach)
    send(.have(have), &directives, now)
    guard isFirst, let reach else { return }
    // Only those of runs before may tell it that its machine was put back.
    for earlier in position.reaches.earlier[reach.origin] ?? [] {
      let have = Have(
        frontier: Frontier(), frontierHash: have.frontierHash, rootDigest: have.rootDigest,
        testimony: earlier)
      send(.have(have), &directives, now)
    }
  }

  mutating func hear(_ have: Have, _ directives: inout [Directive], _ now: Instant) {
    guard let reach = have.testimony, isOwn(reach), contradicts(reach) else {
      return take(have, &directives, now)
    }
    // What is said without a signature of this node is no reason to doubt its file. News of our own
    // edits may be on their way here, so the node looks into the file.
    let isSigned =
      configuration.surety.map { check(reach, by: $0, &directives, now) ?? false } ?? true
    if isSigned {
      directives.append(.contradicted(have))
    } else {
      fail(Bye(.badMessage, "a testimony that this node has not signed"), &directives)
    }
  }

  /// What the peer has signed in its present life.
  private var reachOfPeer: Reach? {
    guard let peer else { return nil }
    return position.reaches.values.first { $0.node == peer.node && $0.life == peer.life }
  }

  /// Goes by what the peer has told, once it is known to be no contradiction.
  mutating func take(_ have: Have, _ directives: inout [Directive], _ now: Instant) {
    var have = have
    have.frontier = have.frontier.limited(position.own, to: knownLast)
    if have.asks || !outgoing.isPeerKnown {
      // A whole frontier: it replaces what we assumed.
      outgoing.peerFrontier = have.frontier
      outgoing.confirmed = have.frontier
      outgoing.resume = have.resume
      outgoing.offered = Frontier()
      outgoing.hasShownReaches = false
    }
    shows(have.frontier.joined(have.resume), now)
    outgoing.isPeerKnown = true
    if have.asks { outgoing.isAsked = true }
    peerHolds(have.frontier, &directives)
    guard state == .open else { return }
    considerExport(&directives, now)
    outgoing.peerDigest = (have.frontierHash, have.rootDigest)
    considerRepair(&directives, now)
  }

  /// Equal frontiers with different digests: something was lost that no frontier shows.
  mutating func considerRepair(_ directives: inout [Directive], _ now: Instant) {
    guard sharesDigests, !position.isJudging, let (hash, root) = outgoing.peerDigest,
      hash == position.frontier.hash, root != digest.root
    else { return }
    compare(with: root, &directives, now)
  }

  /// Shows our buckets, at most once a minute, and less and less often while nothing comes of it.
  private mutating func compare(
    with root: UInt64, _ directives: inout [Directive], _ now: Instant
  ) {
    // To show ours is to be sent rows, which the node may not be able to take yet.
    guard outgoing.hasTold else { return }
    // Digests are sums: what no repair can mend is the same difference at every frontier.
    let difference = digest.root &- root
    let isFutile = timers.difference == difference
    let pause = isFutile ? timers.comparePause : Timers.repairPause
    if let last = timers.lastRepair, now.uptime - last < pause {
      timers.repairDue = last + pause
      return
    }
    timers.comparePause =
      isFutile ? min(2 * pause, Timers.longestRepairPause) : Timers.repairPause
    timers.difference = difference
    timers.lastRepair = now.uptime
    timers.repairDue = now.uptime + timers.comparePause
    let hash = position.frontier.hash
    send(.buckets(Buckets(frontierHash: hash, digest: digest)), &directives, now)
  }

  /// Sends every version of the buckets that differ; the peer, who gets ours, does the same.
  mutating func hear(_ buckets: Buckets, _ directives: inout [Directive], _ now: Instant) {
    guard sharesDigests, !position.isJudging, buckets.frontierHash == position.frontier.hash
    else { return }
    let differing = digest.differing(from: buckets.digest)
    guard !differing.isEmpty, mayGiveRows, supply.repair.isOver(at: now) else { return }
    compare(with: buckets.digest.root, &directives, now)
    guard configuration.ownRights.isWhole else { return }
    outgoing.repair = differing
    openRepair(&directives)
  }

  /// Opens the export of the buckets that wait, once nothing else is being sent.
  mutating func openRepair(_ directives: inout [Directive]) {
    guard outgoing.phase == .idle, !outgoing.repair.isEmpty, mayGiveRows else { return }
    open(.buckets(outgoing.repair), &directives)
    outgoing.repair = []
  }
}
