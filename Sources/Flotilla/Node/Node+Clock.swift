import Replication
import Store

/// The time of the site: taken over from peers, founded, kept, and what waits for it.
extension Node {
  /// Feeds the clock, and does what it says.
  func time(_ input: SiteClock.Input) async {
    let before = clock.now
    let wasKnown = before.site != nil
    let directives = clock.receive(input)
    logStep(from: before, input)
    for directive in directives {
      switch directive {
      case .ask(let peer): await peers[peer]?.session?.feed(.compareClocks)
      case .changed: await timeHasChanged(wasKnown: wasKnown)
      case .stepped(let milliseconds):
        let way = milliseconds > 0 ? "ahead" : "back"
        log(
          "the clock of this machine was set \(way) by \(abs(milliseconds) / 1_000) s; the time of "
            + "the site goes on as before")
        await tellOfTime()
      case .refused(let peer, let ahead): tellOfRefused(peer, by: ahead)
      }
    }
  }

  /// What a member says of the time of the site is told once; it may say so every second.
  private func tellOfRefused(_ peer: Identity, by ahead: Int64?) {
    guard peers[peer]?.isUntimely != true else { return }
    peers[peer]?.isUntimely = true
    let name = peers[peer]?.name ?? "a member"
    let what = ahead.map { "\($0 / 86_400_000) days ahead" } ?? "none that can be"
    log(
      "the time of the site that \(name) tells is \(what), and not taken over; an admin can set "
        + "it: flotilla clock \(shellWord(path)) --set TIME")
  }

  /// A step of the time of the site that somebody else has made.
  private func logStep(from before: Instant, _ input: SiteClock.Input) {
    let now = clock.now
    let peer: Identity
    switch input {
    case .measured(let node, _, _, _), .heard(let node, _): peer = node
    default: return
    }
    guard let old = before.site, let new = now.site else { return }
    let step = (new - old - (now.uptime - before.uptime)) / 1_000
    guard abs(step) >= 10 else { return }
    log(
      "the time of the site was set \(step > 0 ? "ahead" : "back") by \(abs(step)) s, as "
        + "\(peers[peer]?.name ?? "a member") says: it is \(Self.text(now.moment))")
  }

  /// Whether this node is alone in its site, so that its time is the site's.
  func countMembers() async {
    let members = roster.roll.members
    await time(.trusted(Set(members.filter { $0.role == .admin }.map(\.node))))
    let others = members.contains { $0.node != identity.node }
    await time(.counted(isAlone: !others))
  }

  private func timeHasChanged(wasKnown: Bool) async {
    await saveClock()
    await tellOfTime()
    for session in sessions.values { await session.feed(.compareClocks) }
    guard !wasKnown, !isStopping else { return }
    changed()
    log("the time of the site is known: \(Self.text(clock.now.moment))")
    await followWhatWaited()
  }

  /// What was written while nothing could be stamped is placed, before anything else comes.
  private func followWhatWaited() async {
    do throws(StoreError) {
      try await foldAll()
    } catch {
      if !note(error) { warn("could not take in what was written: \(error.message)") }
    }
    await followRights()
    await followOffice()
    await pullNext()
  }

  private func tellOfTime() async {
    let standing = clock.standing
    for session in sessions.values { await session.feed(.clock(standing)) }
  }

  /// Every few seconds.
  func lookAtTime() async {
    await time(.looked)
    do {
      try await store.run { (store) throws(StoreError) in
        try store.journal.settleIfEmpty(at: self.clock.now)
      }
      guard times.isClockDue(at: Uptime.now) else { return }
      await saveClock()
      while clock.now.site == nil, !isStopping,
        try await store.patiently({ (store) throws(StoreError) in try store.compactJournal() })
      {
        try? await Task.sleep(for: .milliseconds(50))
      }
    } catch {
      if !note(error) { warn("could not look at the journal: \(error.message)") }
    }
  }

  func saveClock() async {
    times.saveClock(at: Uptime.now)
    guard trouble.current == nil else { return }
    let bytes = clock.bytes
    do {
      try await store.patiently { (store) throws(StoreError) in
        try store.save(clock: bytes, at: self.clock.now)
      }
    } catch {
      // It goes on all the same; after a restart of the machine a little more of it is lost.
      if !note(error) { warn("could not keep the time of the site: \(error.message)") }
    }
  }

  /// A peer tells of its clocks.
  func hear(_ view: ClockView, from session: PeerSession) async {
    guard let peer = peer(of: session) else { return }
    let offset = view.wall - clock.now.moment
    update(session) {
      $0.clockView = view
      if !$0.hasMeasuredClock { $0.clockOffset = offset }
    }
    await time(.heard(peer.node, view))
  }

  /// The same, with the time that question and answer took.
  func measure(
    _ view: ClockView, roundTrip: Int64, at moment: Int64, from session: PeerSession
  ) async {
    guard let peer = peer(of: session) else { return }
    await time(.measured(peer.node, view, roundTrip: roundTrip, at: moment))
    let now = clock.now
    let offset = view.wall + roundTrip / 2 + (now.uptime - moment) - now.moment
    update(session) {
      $0.clockView = view
      $0.hasMeasuredClock = true
      $0.clockOffset = offset
    }
  }

  /// Waits until what was written here can be placed, or the session is over.
  func untilTimeIsKnown(for session: Mesh.ConnectionID) async {
    while clock.now.site == nil, sessions[session] != nil, !isStopping {
      _ = await until(Uptime.now + 60_000) {
        clock.now.site != nil || sessions[session] == nil
      }
    }
  }
}
