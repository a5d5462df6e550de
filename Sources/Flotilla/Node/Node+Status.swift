import Foundation
import Replication
import Store

extension Node {
  func status(all: Bool) async throws(FlotillaError) -> StatusReport {
    let (figures, waiting, new, keys, changed) = try await reporting(path) {
      () async throws(StoreError) in
      try await store.run { (store) throws(StoreError) in
        (
          try store.figures(), try store.waitingTables(),
          try store.takesNewTables() ? try store.newTables() : nil, try store.waitingKeys(),
          store.changedTables()
        )
      }
    }
    let copy = try await firstCopyReport()
    let time = try await clockState(waiting: figures.unfolded)
    let trouble = await troubleReport()
    let undecided = undecidedRemark(withoutVerdict: figures.withoutVerdict)
    let life = await [lifeRemark(), twinsRemark, renewalRemark, standDownRemark(), undecided]
      .compactMap { $0 }
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
      site: identity.siteName, node: identity.name, role: ownEntry?.role.name ?? "none",
      anchor: anchor?.name, anchor_state: (try? await office())?.state,
      tables: figures.tables.map {
        StatusReport.Table(
          name: $0.name, rule: $0.rule, acting_rule: actingRule($0.rule), rows: $0.rows)
      },
      takes_new_tables: new != nil, new_tables: new?.map(\.name) ?? [],
      asked_tables: waiting.compactMap(StatusReport.AskedTable.init),
      peers: reports, conflicts: figures.conflicts, parked: figures.parked,
      unjudged: figures.unjudged,
      in_sync: hasAll && isEqual && (others.isEmpty || !connected.isEmpty),
      first_copy: copy, running: mode == .lasting, trouble: trouble, clock: time,
      remarks: (copy.map { [remark(on: $0)] } ?? []) + life
        + [remark(onTime: time.waiting), remark(onFuture: time.future)].compactMap { $0 }
        + keyRemarks(keys, changed) + remarks(figures, waiting, new ?? []))
  }

  /// What decides about a table whose rule is this one: without an anchor nobody asks it.
  func actingRule(_ rule: String) -> String {
    anchor == nil ? MergeRules.standard.name : rule
  }

  /// So long after the start it is not known yet whether a member is away.
  private static let firstLook: Int64 = 2_000

  private func isStillStarting(_ peer: PeerRecord) -> Bool {
    mode == .lasting && peer.address != nil && Uptime.now - born < Self.firstLook
  }

  private func report(_ peer: PeerRecord) -> PeerReport {
    // A leaf sends only what it may write, so what else it counts is not waited for.
    let theirs = rights(of: peer.node)
    let ours = rights.writes ? position.frontier : position.frontier.without(position.own)
    let lacks = ours.distance(above: peer.holds)
    let ahead = theirs.isWhole ? peer.holds.distance(above: position.frontier) : 0
    let state: PeerReport.State
    let failure = peer.isRevoked ? nil : failure(of: peer)
    if peer.isRevoked {
      state = .revoked
    } else if failure != nil {
      state = .failing
    } else if peer.session == nil {
      state = mesh.isDialling(peer.node) || isStillStarting(peer) ? .connecting : .away
    } else {
      let isEqual = peer.hasSpoken && lacks == 0 && ahead == 0
      state = isEqual && !peer.isReceiving ? .inSync : .catchingUp
    }
    let behind = max(lacks, max(ahead, peer.expected))
    let since = peer.equalAt.map { Double(Uptime.now - $0) / 1_000 } ?? 0
    return PeerReport(
      node: peer.name, id: peer.node.description, state: state,
      behind_rows: state == .inSync ? 0 : Int(clamping: behind),
      behind_seconds: state == .inSync ? 0 : since,
      last_seen: (peer.session == nil ? peer.seen : Uptime.wall).map(Self.text),
      clock_offset_ms: Int(clamping: peer.clockOffset),
      clock_corrected: peer.session != nil && peer.clockView?.site != nil, address: peer.address,
      error: failure?.error, remedy: failure?.remedy)
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
