import FoundationEssentials
import Replication
import Store

extension Node {
  func status(all: Bool) async throws(FlotillaError) -> StatusReport {
    let (figures, waiting, new, keys, changed) = try await reporting(path) {
      () async throws(StoreError) in
      try await store.run { (store) throws(StoreError) in
        (
          try store.survey.figures(), try store.tableSurvey.waitingTables(),
          try store.untracked.areTakenIn() ? try store.untracked.new() : nil,
          try store.tableSurvey.waitingKeys(),
          store.tableSurvey.changedTables()
        )
      }
    }
    let copy = try await firstCopyReport()
    let time = try await clockState(waiting: figures.unfolded)
    let trouble = await troubleReport()
    let undecided = undecidedRemark(withoutVerdict: figures.withoutVerdict)
    let life = await [lifeRemark(), twinsRemark, renewalRemark, standDownRemark(), undecided]
    let words = remarks
    let isConnected = peers.values.contains { $0.session != nil }
    let first = copy.map { words.remark(on: $0, isConnected: isConnected) }
    let clocks = [words.remark(onTime: time.waiting), words.remark(onFuture: time.future)]
    let told = ([first] + life + clocks).compactMap { $0 }
    let shown = peers.values.filter { $0.session != nil || !isForgotten($0.node) }
    let reports = shown.map(report).sorted { ($0.node, $0.id) < ($1.node, $1.id) }
    let connected = reports.filter {
      $0.state == .inSync || $0.state == .catchingUp || $0.state == .failing
    }
    let others = reports.filter { $0.state != .revoked }
    let counted = all ? others : connected
    // What is parked is held; what went with a dropped table is not, until it has come again.
    let canTell = position.lost == 0 && time.site_time != nil
    let hasAll = copy == nil && (others.isEmpty || canTell)
    let isEqual =
      counted.allSatisfy { $0.state == .inSync } && figures.unfolded == 0
      && figures.unjudged == 0
    return StatusReport(
      site: identity.siteName, node: identity.name, role: roleName,
      anchor: anchor?.name, anchor_state: (try? await office())?.state,
      tables: figures.tables.map {
        StatusReport.Table(
          name: $0.name, rule: $0.rule, acting_rule: actingRule($0.rule), rows: $0.rows)
      },
      takes_new_tables: new != nil, new_tables: new?.map(\.name) ?? [],
      asked_tables: waiting.compactMap(StatusReport.AskedTable.init),
      peers: reports, forgotten_members: peers.count - shown.count,
      conflicts: figures.conflicts, parked: figures.parked,
      unjudged: figures.unjudged, edits: position.frontier.edits,
      in_sync: hasAll && isEqual && (others.isEmpty || !connected.isEmpty),
      not_in_sync: words.lacks(
        figures, others.isEmpty ? [] : waiting, hasOthers: !others.isEmpty,
        hasTime: time.site_time != nil, lost: position.lost),
      first_copy: copy, running: mode == .lasting,
      stopped: mode == .lasting ? nil : sidecar.stopped.map(Self.text),
      port: mode == .lasting ? port.map(Int.init) : nil,
      standing: standing, trouble: trouble,
      clock: time,
      remarks: told + keyRemarks(keys, changed) + (standing.map { [$0.remark] } ?? [])
        + words.remarks(figures, waiting, new ?? []),
      program: ProgramVersion.current, protocol: Int(Session.versions.upperBound))
  }

  /// What decides about a table whose rule is this one.
  func actingRule(_ rule: String) -> String {
    MergeRules.acting(for: rule, hasAnchor: anchor != nil).name
  }

  /// So long after the start it is not known yet whether a member is away.
  private static let firstLook: Int64 = 2_000

  private func isStillStarting(_ peer: PeerRecord) -> Bool {
    mode == .lasting && peer.address != nil && Uptime.now - born < Self.firstLook
  }

  /// What a peer and this node lack of each other, in rows.
  struct Gap {
    var there: UInt64
    var here: UInt64

    var isNone: Bool { there == 0 && here == 0 }
  }

  /// What of a long exchange came already does not count, though the frontier moves at its end.
  func gap(to peer: PeerRecord) -> Gap {
    let ours = rights.writes ? position.frontier : position.frontier.without(position.own)
    var gap = Gap(there: ours.distance(above: peer.holds), here: 0)
    if gap.there > 0, let going = peer.going {
      gap.there = max(1, min(gap.there, going.rows(of: ours, above: peer.holds)))
    }
    // A leaf sends only what it may write, so what else it counts is not waited for.
    guard rights(of: peer.node).isWhole else { return gap }
    gap.here = peer.holds.distance(above: position.frontier)
    if let coming = peer.coming {
      gap.here = max(1, coming.rows(of: peer.holds, above: position.frontier))
    }
    return gap
  }

  private func report(_ peer: PeerRecord) -> PeerReport {
    let gap = gap(to: peer)
    let state: PeerReport.State
    let failure = peer.isRevoked ? nil : peer.failure(path)
    if peer.isRevoked {
      state = .revoked
    } else if failure != nil {
      state = .failing
    } else if peer.session == nil {
      state = mesh.isDialling(peer.node) || isStillStarting(peer) ? .connecting : .away
    } else {
      let isEqual = peer.hasSpoken && gap.isNone
      state = isEqual && !peer.isReceiving ? .inSync : .catchingUp
    }
    let since = peer.behindSince.map { Double(Uptime.now - $0) / 1_000 } ?? 0
    let left = [peer.coming, peer.going].compactMap { $0?.secondsLeft }.max()
    return PeerReport(
      node: peer.name, id: peer.node.description, state: state,
      behind_rows: state == .inSync ? 0 : Int(clamping: max(gap.there, gap.here)),
      behind_seconds: state == .inSync ? 0 : since,
      seconds_left: state == .catchingUp ? left : nil,
      last_seen: (peer.session == nil ? peer.seen : Uptime.wall).map(Self.text),
      clock_offset_ms: Int(clamping: peer.clockOffset),
      clock_corrected: peer.session != nil && peer.clockView?.site != nil, address: peer.address,
      error: failure?.error, remedy: failure?.remedy,
      program: peer.session == nil ? nil : peer.program,
      protocol: peer.session == nil ? nil : Int(clamping: peer.speaks))
  }

  /// A moment in ms since 1970 as ISO 8601 in UTC.
  static func text(_ milliseconds: Int64) -> String {
    Date(timeIntervalSince1970: Double(milliseconds) / 1_000)
      .formatted(.iso8601)
  }

  /// The same to the thousandth of a second: stamps that differ look different.
  static func fineText(_ milliseconds: Int64) -> String {
    let fraction = String(milliseconds % 1_000 + 1_000).dropFirst()
    return "\(text(milliseconds - milliseconds % 1_000).dropLast()).\(fraction)Z"
  }
}
