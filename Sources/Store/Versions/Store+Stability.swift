import Replication
import SQLite

/// What one look after deleted versions has done.
package struct Tending: Sendable, Equatable {
  /// Deleted versions that were let go.
  package var collected = 0
  /// True if there is more to look at now.
  package var hasMore = false

  package init(collected: Int = 0, hasMore: Bool = false) {
    self.collected = collected
    self.hasMore = hasMore
  }
}

/// Letting go of deleted versions that everybody has (docs/collection.md).
extension Store {
  /// Takes in what a peer has told; what it says is signed was checked.
  package func hear(
    _ news: StabilityNews, from peer: Identity, isLeaf: Bool, at moment: Int64? = nil
  ) throws(StoreError) {
    var heard = stability
    heard.hear(news, from: peer, isLeaf: isLeaf, as: node, at: moment)
    try change(to: heard)
  }

  /// Acknowledges what is held and, now and then, looks at a slice of the versions for deleted ones
  /// that can go. `members` are all that are waited for, this node among them; of `everybody` some
  /// may not be. `proposes` is false while it may be behind somebody.
  package func tend(
    members: Set<Identity>, everybody: Set<Identity>? = nil,
    naming digest: ([UInt8]) -> Identity, proposes: Bool = true,
    retention: Int64 = Stability.retention, pause: Int64 = 6 * 3_600_000, at now: Instant
  ) throws(StoreError) -> Tending {
    guard let site = now.site, !stability.standing.isBehind, regained.isEmpty else {
      return Tending()
    }
    let frontier = origins.frontier
    var next = stability
    acknowledge(&next)
    next.rejoin(everybody ?? members, as: own)
    if proposes, search.waits(beyond: next.releasable(members: members)) {
      next.propose(naming: digest, frontier: frontier, members: members, at: site)
      acknowledge(&next)
    }
    try change(to: next)
    let stable = stability.releasable(members: members)
    guard search.begin(stable, pause: pause, at: now.uptime) else { return Tending() }
    let limit = Stamp(millisecondsSince1970: min(site, now.ageing) - retention)
    return try collectSlice(upTo: stable, before: limit, at: now)
  }

  /// Signs for the present cut, if all of it is here.
  private func acknowledge(_ stability: inout Stability) {
    let frontier = origins.frontier
    let said = stability.acknowledgement(
      as: node, own: Dot(own, frontier[own]), frontier: frontier)
    guard var said else { return }
    said.signature = signer?(said) ?? []
    stability.acknowledge(said)
  }

  private func change(to next: Stability) throws(StoreError) {
    guard next != stability else { return }
    try transaction {
      stability = next
      try saveStability()
    }
  }

  func saveStability() throws(SQLiteError) { try meta.set(.stability, .blob(stability.bytes)) }

  /// Reads it again, for instance after a transaction was rolled back.
  func reloadStability() throws(SQLiteError) {
    let bytes = try meta.blob(.stability)
    stability = bytes.flatMap { try? Stability($0) } ?? Stability()
  }

  /// Looks at some versions, and lets go of those that are deleted, old enough and stable.
  private func collectSlice(
    upTo stable: Frontier?, before limit: Stamp, at now: Instant
  ) throws(StoreError) -> Tending {
    let due = try reporting { () throws(SQLiteError) in try nextDeletions(before: limit) }
    let going = due.filter { stable?.covers($0.version.dot) ?? false }
    if going.count < due.count { search.holdUp() }
    var tending = Tending(collected: 0, hasMore: search.isRunning)
    guard !going.isEmpty else { return tending }
    try transaction {
      for item in going where try mayGo(item) {
        guard let table = tables.byID[item.table] else { continue }
        stability.clear()
        try versions.remove(table: item.table, key: item.key)
        stability.floors.raise(table: table.seed, key: item.key, over: item.version)
        tending.collected += 1
      }
      if tending.collected > 0 { try saveStability() }
    }
    return tending
  }

  /// The deleted versions among the next ones that are older than a stamp, the site's settings left
  /// out.
  private func nextDeletions(
    before limit: Stamp
  ) throws(SQLiteError) -> [PendingTable.Item] {
    let settings = Set(tables.settings.map(\.id))
    let (items, next) = try versions.slice(after: search.after, limit: pace.comparedRows)
    search.goOn(after: next)
    return items.filter {
      $0.version.isDeleted && $0.version.stamp < limit && !settings.contains($0.table)
    }
  }

  /// Whether a deleted version can go: it stands still, and nobody waits for a word on its row.
  private func mayGo(_ item: PendingTable.Item) throws -> Bool {
    guard try versions.version(table: item.table, key: item.key) == item.version,
      !viewpoint.isUndecided(item.version)
    else { return false }
    let parameters: [SQLite.Value] = [.integer(item.table), .blob(item.key.bytes)]
    for table in ["_flotilla_pending", "_flotilla_putback"] {
      let waits = try connection.row(
        "SELECT 1 FROM \(table) WHERE tbl = ? AND key = ? LIMIT 1", parameters)
      if waits != nil { return false }
    }
    return true
  }
}
