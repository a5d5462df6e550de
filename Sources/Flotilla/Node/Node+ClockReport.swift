import Replication
import Store

/// What people are told about time, and what they may do about it.
extension Node {
  /// The beginning of time that can be stamped, in ms since 1970.
  private static let earliest = Stamp.epochMilliseconds

  func clockState(waiting: Int) async throws(FlotillaError) -> ClockState {
    let now = clock.now
    let machine = clock.state
    let future = try await reporting(path) { () async throws(StoreError) in
      try await store.run { (store) throws(StoreError) in try store.futureCount(at: now) }
    }
    return ClockState(machine, at: now, waiting: waiting, future: future)
  }

  /// The time of a site begins with 2020, and a step far ahead ages everything: records of
  /// conflicts go that are still wanted, and deleted rows are forgotten while nodes are away.
  private func check(_ time: Int64, isForced: Bool) throws(FlotillaError) {
    guard time >= Self.earliest, time < Self.earliest << 2 else {
      let isEarly = time < Self.earliest
      throw FlotillaError(
        .usage, isEarly ? "the time of a site begins with 2020" : "no site will see that time",
        remedy: isEarly ? "Give a later time." : "Give an earlier time.")
    }
    guard !isForced, let now = clock.now.site, time - now > Self.farAhead else { return }
    throw FlotillaError(
      .refused,
      "that is \((time - now) / 86_400_000) days after the time of the site: conflicts and deleted "
        + "rows would be taken for old, and let go of",
      remedy: "Look at the year. If it is right: --force")
  }

  private static let farAhead: Int64 = 31 * 86_400_000

  /// Shows the time of the site, having set it, marked this clock or repaired rows before.
  func clock(
    set time: Int64?, isGood: Bool?, repairs: Bool, isForced: Bool
  ) async throws(FlotillaError) -> ClockReport {
    if let time {
      try check(time, isForced: isForced)
      await self.time(.set(time))
      log("the time of the site was set to \(Self.text(time))")
    }
    if let isGood {
      guard !isGood || clock.now.wall >= Self.earliest else {
        throw FlotillaError(
          .refused, "the clock of this machine is before 2020, so it cannot be the good one",
          remedy: "Set it first, or give the time: flotilla clock \(shellWord(path)) --set TIME")
      }
      if isGood { try check(clock.now.wall, isForced: isForced) }
      await self.time(.marked(isGood: isGood))
    }
    let repaired = repairs ? try await repairFuture() : 0
    try await foldNow()
    let connected = peers.values.filter { $0.session != nil && $0.clockView != nil }
    return ClockReport(
      clock: try await clockState(waiting: try await waitingEdits()),
      peers: connected.map { peer in
        ClockReport.Peer(
          node: peer.name, clock_offset_ms: Int(clamping: peer.clockOffset),
          corrected: peer.clockView?.site != nil)
      }.sorted { $0.node < $1.node }, repaired: repaired)
  }

  private func repairFuture() async throws(FlotillaError) -> Int {
    if let anchor, !isAnchor {
      throw FlotillaError(
        .refused, "\(anchor.name) is the anchor, and certifies such rows with a time that is right",
        remedy: "Do it there: flotilla clock DB --repair")
    }
    guard clock.now.site != nil else {
      throw FlotillaError(
        .node, "the time of the site is not known yet, so nothing can be told from the future",
        remedy: "Start the node and let it meet another, or give the time: flotilla clock "
          + "\(shellWord(path)) --set TIME")
    }
    var count = 0
    while true {
      let (repaired, result, position) = try await reporting(path) { () async throws(StoreError) in
        try await store.patiently { (store) throws(StoreError) in
          let (count, result) = try store.repairFuture(at: self.clock.now)
          return (count, result, store.position)
        }
      }
      await folded(result, position)
      count += repaired
      guard repaired > 0 else { return count }
    }
  }
}
