import FoundationEssentials
import Replication
import Store

/// What the commands ask of a node, running or opened for the moment.
extension Node {
  func answer(
    _ request: ControlRequest, telling listener: WorkProgress.Listener? = nil
  ) async -> Data {
    switch request {
    case .status(let all):
      return await controlReply { () async throws(FlotillaError) in try await status(all: all) }
    case .sync, .verify, .wait, .compareSchema, .port:
      return await answerWithPeers(request, listener)
    case .track, .untrack, .decline, .takeNewTables, .tables, .rule, .schema:
      return await answerAboutTables(request, listener)
    case .invite(let milliseconds, let role):
      return await controlReply { () async throws(FlotillaError) in
        try await invite(timeToLive: .milliseconds(milliseconds), role: role)
      }
    case .members:
      return await controlReply { () async throws(FlotillaError) in await members() }
    case .grant(let node, let table, let right):
      return await controlReply { () async throws(FlotillaError) in
        try await grant(node, table: table, right: right)
      }
    case .revoke(let node, let disowning):
      return await controlReply { () async throws(FlotillaError) in
        try await revoke(node, disowning: disowning)
      }
    case .forget(let node):
      return await controlReply { () async throws(FlotillaError) in try await forget(node) }
    case .importSiteKey(let seed):
      return await controlReply { () async throws(FlotillaError) in
        try await importSiteKey(seed: seed)
      }
    case .office, .appoint, .prepareEdit, .verdicts: return await answerAboutAnchor(request)
    case .clock(let time, let isGood, let repairs, let isForced):
      return await controlReply { () async throws(FlotillaError) in
        try await clock(set: time, isGood: isGood, repairs: repairs, isForced: isForced)
      }
    case .mark, .changes, .changedKeys, .settled, .peers: return await answerWithNews(request)
    case .unsent:
      return await controlReply { () async throws(FlotillaError) in try await unsent() }
    case .stop(let isLeaving):
      let bye =
        isLeaving
        ? Bye(.leaving, "\(identity.name) has left the site")
        : Bye(.stopping, "\(identity.name) was stopped")
      return await stopAnswering(bye)
    case .yield:
      return await controlReply { () async throws(FlotillaError) in
        guard yields else {
          throw Self.runsAlready(at: path)
        }
        requestStop()
        return Done()
      }
    }
  }

  static let runsAlready = "a node runs already"

  static func runsAlready(at path: String) -> FlotillaError {
    FlotillaError(
      .node, "\(runsAlready) for \(path)",
      remedy: "See: flotilla status \(shellWord(path)); stop it with: flotilla stop "
        + shellWord(path),
      cause: runsAlready)
  }

  /// Which tables are replicated, and by which rule.
  private func answerAboutTables(
    _ request: ControlRequest, _ listener: WorkProgress.Listener?
  ) async -> Data {
    switch request {
    case .track(let tables, let rule, let onCollision):
      return await controlReply { () async throws(FlotillaError) in
        try await track(
          tables.map(TableSelection.named) ?? .all, rule: rule, onCollision: onCollision,
          telling: listener)
      }
    case .untrack(let tables):
      return await controlReply { () async throws(FlotillaError) in
        try await untrack(tables)
      }
    case .decline(let tables):
      return await controlReply { () async throws(FlotillaError) in
        try await decline(tables)
      }
    case .takeNewTables(let isWanted):
      return await controlReply { () async throws(FlotillaError) in
        try await take(newTables: isWanted)
      }
    case .rule(let table, let rule):
      return await controlReply { () async throws(FlotillaError) in
        try await self.rule(table: table, rule: rule)
      }
    case .schema(let request):
      return await controlReply { () async throws(FlotillaError) in try await schema(request) }
    default:
      return await controlReply { () async throws(FlotillaError) in try await tables() }
    }
  }

  /// What is done together with other nodes, in a given time.
  private func answerWithPeers(
    _ request: ControlRequest, _ listener: WorkProgress.Listener?
  ) async -> Data {
    switch request {
    case .verify(let peer, let repairs, let milliseconds):
      return await controlReply { () async throws(FlotillaError) in
        try await verify(
          with: peer, repairs: repairs, timeout: .milliseconds(milliseconds), telling: listener)
      }
    case .wait(let target, let all, let anchor, let milliseconds):
      let whom: WaitTarget = anchor ? .anchor : all ? .all : .node(target ?? "")
      return await controlReply { () async throws(FlotillaError) in
        try await wait(for: whom, timeout: .milliseconds(milliseconds))
      }
    case .sync(let peer, let milliseconds):
      return await controlReply { () async throws(FlotillaError) in
        try await sync(
          with: peer, timeout: .milliseconds(milliseconds), telling: listener)
      }
    case .compareSchema(let peer, let adopts, let milliseconds):
      return await controlReply { () async throws(FlotillaError) in
        try await compareSchema(
          with: peer, adopts: adopts, timeout: .milliseconds(milliseconds))
      }
    case .port(let milliseconds):
      return await controlReply { () async throws(FlotillaError) in
        try await portReport(within: .milliseconds(milliseconds))
      }
    default: preconditionFailure("\(request) needs no peer")
    }
  }

  private func answerAboutAnchor(_ request: ControlRequest) async -> Data {
    switch request {
    case .appoint(let node, let isHere, let isForced, let rule):
      let choice = isHere ? AnchorChoice.here : node.map(AnchorChoice.node) ?? .none
      return await controlReply { () async throws(FlotillaError) in
        try await appoint(choice, isForced: isForced, rule: rule)
      }
    case .prepareEdit(let milliseconds):
      return await controlReply { () async throws(FlotillaError) in
        try await prepareEdit(timeout: .milliseconds(milliseconds))
      }
    case .verdicts(let seq, let last, let milliseconds):
      return await controlReply { () async throws(FlotillaError) in
        try await awaitVerdicts(
          after: seq, through: last, timeout: .milliseconds(milliseconds))
      }
    default:
      return await controlReply { () async throws(FlotillaError) in try await office() }
    }
  }

  private func answerWithNews(_ request: ControlRequest) async -> Data {
    switch request {
    case .changes(let cursor, let tables, let milliseconds):
      return await controlReply { () async throws(FlotillaError) in
        try await changes(since: cursor, tables: tables, within: .milliseconds(milliseconds))
      }
    case .changedKeys(let cursor, let tables, let isExact, let milliseconds):
      return await controlReply { () async throws(FlotillaError) in
        try await changedKeys(
          since: cursor, tables: tables, isExact: isExact, within: .milliseconds(milliseconds))
      }
    case .settled(let number, let milliseconds):
      return await controlReply { () async throws(FlotillaError) in
        try await settled(after: number, within: .milliseconds(milliseconds))
      }
    case .peers(let known, let milliseconds):
      return await controlReply { () async throws(FlotillaError) in
        try await peers(known: known, within: .milliseconds(milliseconds))
      }
    default:
      return await controlReply { () async throws(FlotillaError) in try await mark() }
    }
  }

  /// Says that it stops, then stops: the asker waits until the lock is free.
  private func stopAnswering(_ bye: Bye) async -> Data {
    // Before anybody hears of it: whoever finds no node any more looks for the note.
    do {
      try sidecar.noteStop()
    } catch {
      warn("a program that has the file open may start the node again: \(error.message)")
    }
    stopRequest.make(bye)
    return await controlReply { () async throws(FlotillaError) in Done() }
  }

  /// Lets whoever runs this node know that it should stop.
  func requestStop() {
    stopRequest.make()
  }

  /// Returns when somebody wants this node to stop.
  func untilStopIsWanted() async {
    await withCheckedContinuation { stopRequest.wait($0) }
  }

  func unsent() async throws(FlotillaError) -> UnsentReport {
    try await foldNow()
    let own = position.own
    let mine = position.frontier[own]
    // What a leaf holds it passes on to nobody.
    let held = peers.values.filter { self.rights(of: $0.node).isWhole }.map { $0.holds[own] }.max()
    // What cannot be stamped yet is nowhere else either.
    let waiting = clock.now.site == nil ? try await waitingEdits() : 0
    let rows = rights.writes ? held.map { mine > $0 ? Int(mine - $0) : 0 } ?? 0 : 0
    let others = roster.roll.members.filter { $0.node != identity.node }
    let parked = try await reporting(path) { () async throws(StoreError) in
      try await store.run { (store) throws(StoreError) in try store.survey.figures().parked }
    }
    return UnsentReport(
      rows: rows + waiting, site: identity.siteName, node: identity.name,
      others: standing == nil ? others.map(\.name).sorted() : [],
      connected: connectedMembers, loss: try loss(for: others), parked: parked,
      isOut: standing != nil)
  }

  /// What members lose that stay when this node leaves: who rules the site is never settled anew.
  private func loss(for others: [Roll.Entry]) throws(FlotillaError) -> LeaveReport.Loss? {
    let staying = others.filter { !isForgotten($0) }
    guard !staying.isEmpty, keys.site != nil || ownEntry?.role == .admin else { return nil }
    let isExported = try sidecar.record().isSiteKeyExported ?? false
    let isKept = keys.site == nil || isExported
    guard !staying.contains(where: { $0.role == .admin }) else { return isKept ? nil : .siteKey }
    return isKept ? .lastAdmin : .siteKeyAndLastAdmin
  }

  /// The members that hear at once what is said, by name.
  var connectedMembers: [String] {
    peers.values.filter { $0.session != nil && roster.roll.member($0.node) != nil }
      .map(\.name).sorted()
  }

  /// So long the lock of another program is waited for, however short the time, in ms.
  private static let foldPatience: Int64 = 1_000

  func foldNow(
    until deadline: Int64 = .max, telling: (Int) -> Void = { _ in }
  ) async throws(FlotillaError) {
    do {
      try await foldAll(until: deadline, telling: telling)
    } catch {
      // Nothing else is tried on a locked file by a node that ends with this.
      if mode == .brief { note(error) }
      throw FlotillaError(error, path: path)
    }
  }

  /// The same, but what waits for the time of the site is waited for; false if it still does.
  @discardableResult
  func foldNow(
    within deadline: Int64, telling: (Int) -> Void = { _ in }
  ) async throws(FlotillaError) -> Bool {
    if clock.now.site == nil, try await waitingEdits() > 0 {
      _ = await until(deadline) { clock.now.site != nil }
    }
    try await foldNow(until: max(deadline, Uptime.now + Self.foldPatience), telling: telling)
    if clock.now.site != nil { return true }
    return try await waitingEdits() == 0
  }

  func waitingEdits() async throws(FlotillaError) -> Int {
    try await reporting(path) { () async throws(StoreError) in
      try await store.run { (store) throws(StoreError) in try store.journal.waitingEdits() }
    }
  }
}
