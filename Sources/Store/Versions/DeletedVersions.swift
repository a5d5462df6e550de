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
package final class DeletedVersions: FilePart {
  private unowned let file: ReplicaFile
  private let connection: Connection
  private let meta: Meta
  private let versions: VersionTable
  private let tables: Tables
  private let lives: Lives
  private let viewpoint: PresentViewpoint
  /// What is known of what everybody holds.
  package private(set) var stability = Stability()
  private var search = DeletionSearch()
  /// How far it had come when the last transaction began.
  private var searchBefore = DeletionSearch()

  init(
    _ file: ReplicaFile, _ meta: Meta, _ versions: VersionTable, _ tables: Tables, _ lives: Lives,
    _ viewpoint: PresentViewpoint
  ) {
    (self.file, connection, self.meta) = (file, file.connection, meta)
    (self.versions, self.tables, self.lives) = (versions, tables, lives)
    self.viewpoint = viewpoint
  }

  /// Takes in what a peer has told; what it says is signed was checked.
  package func hear(
    _ news: StabilityNews, from peer: Identity, isLeaf: Bool, at moment: Int64? = nil
  ) throws(StoreError) {
    var heard = stability
    heard.hear(news, from: peer, isLeaf: isLeaf, as: lives.node, at: moment)
    try change(to: heard)
  }

  /// Acknowledges what is held and, now and then, looks at a slice of the versions for deleted ones
  /// that can go. `members` are all that are waited for, this node among them; of `everybody` some
  /// may not be. `proposes` is false while it may be behind somebody. `limit` is how many versions
  /// are looked at, `retention` and `pause` are in ms.
  func tend(
    members: Set<Identity>, everybody: Set<Identity>, naming digest: ([UInt8]) -> Identity,
    proposes: Bool, retention: Int64, pause: Int64, limit: Int, at now: Instant
  ) throws(StoreError) -> Tending {
    guard let site = now.site, let ageing = now.ageing, !stability.standing.isBehind
    else { return Tending() }
    let frontier = lives.origins.frontier
    var next = stability
    acknowledge(&next)
    next.rejoin(everybody, as: lives.own)
    if proposes, search.waits(beyond: next.releasable(members: members)) {
      next.propose(naming: digest, frontier: frontier, members: members, at: site)
      acknowledge(&next)
    }
    try change(to: next)
    let stable = stability.releasable(members: members)
    guard search.begin(stable, pause: pause, at: now.uptime) else { return Tending() }
    let end = Stamp(millisecondsSince1970: ageing - retention)
    return try collectSlice(upTo: stable, before: end, limit: limit)
  }

  /// Signs for the present cut, if all of it is here.
  private func acknowledge(_ stability: inout Stability) {
    let frontier = lives.origins.frontier
    let said = stability.acknowledgement(
      as: lives.node, own: Dot(lives.own, frontier[lives.own]), frontier: frontier)
    guard var said else { return }
    said.signature = lives.signer?(said) ?? []
    stability.acknowledge(said)
  }

  private func change(to next: Stability) throws(StoreError) {
    guard next != stability else { return }
    try file.transaction {
      stability = next
      try keep()
    }
  }

  private func keep() throws(SQLiteError) { try meta.set(.stability, .blob(stability.bytes)) }

  func begin() { searchBefore = search }

  func rolledBack() { search = searchBefore }

  func reload() throws(SQLiteError) {
    let bytes = try meta.blob(.stability)
    stability = bytes.flatMap { try? Stability($0) } ?? Stability()
  }

  /// Looks at some versions, and lets go of those that are deleted, old enough and stable.
  private func collectSlice(
    upTo stable: Frontier?, before end: Stamp, limit: Int
  ) throws(StoreError) -> Tending {
    let start = search
    let due = try reporting { () throws(SQLiteError) in try nextDeletions(before: end, limit) }
    let going = due.filter { stable?.covers($0.version.dot) ?? false }
    if going.count < due.count { search.holdUp() }
    guard !going.isEmpty else { return Tending(collected: 0, hasMore: search.isRunning) }
    do {
      return Tending(collected: try letGo(of: going), hasMore: search.isRunning)
    } catch {
      // The same ones are looked at again.
      search = start
      throw error
    }
  }

  /// Gives how many have gone.
  private func letGo(of going: [PendingTable.Item]) throws(StoreError) -> Int {
    try file.transaction {
      var collected = 0
      for item in going where try mayGo(item) {
        guard let table = tables.byID[item.table] else { continue }
        stability.clear()
        try versions.remove(table: item.table, key: item.key)
        stability.floors.raise(table: table.seed, key: item.key, over: item.version)
        collected += 1
      }
      if collected > 0 { try keep() }
      return collected
    }
  }

  /// The deleted versions among the next ones that are older than a stamp, the site's settings left
  /// out.
  private func nextDeletions(
    before end: Stamp, _ limit: Int
  ) throws(SQLiteError) -> [PendingTable.Item] {
    let settings = Set(tables.settings.map(\.id))
    let (items, next) = try versions.slice(after: search.after, limit: limit)
    search.goOn(after: next)
    return items.filter {
      $0.version.isDeleted && $0.version.stamp < end && !settings.contains($0.table)
    }
  }

  /// Whether a deleted version can go: it stands still, and nobody waits for a word on its row.
  private func mayGo(_ item: PendingTable.Item) throws -> Bool {
    guard try versions.version(table: item.table, key: item.key) == item.version,
      !viewpoint.value.isUndecided(item.version)
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

/// Coming back after deleted versions were let go of: all of others is fetched anew, and what does
/// not come again was deleted (docs/collection.md).
extension DeletedVersions {
  /// The file may lack deletes that others know of.
  func miss() throws(SQLiteError) {
    stability.miss()
    try keep()
  }

  /// Begins to fetch everything, in the open transaction.
  func beginRenewal(to mark: Mark) throws(SQLiteError) {
    stability.beginRenewal(at: mark)
    try keep()
    try forgetFresh()
    search.sweptTo = nil
  }

  /// All has come, and what did not was swept away.
  func endRenewal() throws(SQLiteError) {
    try forgetFresh()
    stability.endRenewal()
    try keep()
  }

  /// Nobody is left who could give the rest.
  func giveUpRenewal() throws(SQLiteError) {
    guard stability.standing.isBehind else { return }
    stability.giveUp()
    try keep()
  }

  var isRenewing: Bool { stability.renewal != nil }

  var isSweeping: Bool {
    if case .sweeping? = stability.renewal { true } else { false }
  }

  /// The next versions to be swept, and where that goes on; nowhere after the last ones.
  func nextToSweep(
    limit: Int
  ) throws(SQLiteError) -> (items: [PendingTable.Item], next: VersionTable.Place?) {
    try versions.slice(after: search.sweptTo, limit: limit)
  }

  func sweep(from next: VersionTable.Place?) { search.sweptTo = next }

  /// What a sender that lacks what was collected here sends may have been deleted; while all is
  /// fetched anew, only who lacks nothing is listened to.
  func checkStanding(of merge: Merge) throws(StoreError) {
    guard !stability.mayMerge(merge.standing, asked: merge.asked) else { return }
    throw StoreError(.behind, "one of the two has been away while deleted rows were forgotten")
  }

  /// Whether a row was here, was deleted and let go of.
  @_optimize(speed)
  func hasForgotten(_ row: WireRow, _ table: ReplicaTable, _ key: Key) throws(SQLiteError) -> Bool {
    guard row.content.ruling == nil,
      stability.hasForgotten(
        row.version, table: table.seed, key: key, held: lives.origins.frontier)
    else { return false }
    return try versions.version(table: table.id, key: key) == nil
  }

  /// A full exchange has come to its end.
  func noteReceived(from sender: CutStanding) throws(SQLiteError) {
    let before = stability
    stability.received(from: sender)
    if stability != before { try keep() }
  }

  /// A row that others hold, and the version in which it came: the one that stands, if it did.
  func noteFresh(_ table: ReplicaTable, _ key: Key, _ row: WireRow) throws(SQLiteError) {
    guard row.content.ruling == nil else { return }
    let dot = row.version.dot
    if let standing = try versions.version(table: table.id, key: key),
      standing.rank > row.version.rank, try fresh(table.id, key) == standing.dot
    {
      return
    }
    try connection.run(
      "INSERT OR REPLACE INTO _flotilla_fresh(tbl, key, origin, seq) VALUES (?, ?, ?, ?)",
      [
        .integer(table.id), .blob(key.bytes), .integer(try lives.origins.number(of: dot.origin)),
        .integer(Int64(dot.seq)),
      ])
  }

  /// The dot under which a row came, if it did.
  func fresh(_ table: Int64, _ key: Key) throws(SQLiteError) -> Dot? {
    let row = try connection.row(
      "SELECT origin, seq FROM _flotilla_fresh WHERE tbl = ? AND key = ?",
      [.integer(table), .blob(key.bytes)])
    guard let row, let origin = row[0].integer.flatMap({ lives.origins.origin(of: $0) }) else {
      return nil
    }
    return Dot(origin, UInt64(clamping: row[1].integer ?? 0))
  }

  private func forgetFresh() throws(SQLiteError) {
    try connection.execute("DELETE FROM _flotilla_fresh")
  }
}

extension StoreError.Code {
  /// One of two replicas has been away while deleted versions were collected; nothing was changed.
  package static let behind = StoreError.Code("behind")
}
