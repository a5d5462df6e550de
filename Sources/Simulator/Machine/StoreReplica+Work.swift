import Replication
import Store

/// What the store does for sessions.
extension StoreReplica {
  func begin(_ now: Instant) throws -> Store {
    process.wall = now.wall
    witness.note(site: now.site)
    witness.compareClocks(at: now)
    application.setClock(now.wall)
    mischief.begin()
    return try store()
  }

  func fold(at now: Instant) throws -> FoldResult {
    let result = try begin(now).fold(at: now)
    spared.folded(hasMore: result.hasMore)
    return result
  }

  /// Not beside an anchor, which parks what it judges, nor where files and tables are exchanged.
  func lookAtParking(_ history: inout History) throws {
    spared.check(
      standing: try application.standingBadges(), parked: try application.parkedBadges(),
      isFolded: try application.isFolded(), &history, at: name)
  }

  func openExport(
    _ scope: Session.ExportScope, _ filter: ExportFilter, at now: Instant
  ) throws -> OpenedSource {
    let opened = try begin(now).openExport(scope, filter: filter, at: now)
    return OpenedSource(
      id: opened.id, covers: opened.covers, rows: opened.rows, fold: opened.fold,
      judged: opened.judged)
  }

  func readExport(_ id: Int64, at now: Instant) throws -> SourceStep {
    switch try begin(now).readExport(id, at: now) {
    case .batch(let batch): .batch(bytes: batch.bytes, rows: batch.rows, check: batch.check)
    case .part(let bytes): .part(bytes)
    case .paused(let progress): .paused(progress: progress)
    case .done: .done
    }
  }

  func closeExport(_ id: Int64) {
    mischief.begin()
    // What fails here is found by the comparison of digests.
    try? store().closeExport(id)
  }

  func merge(_ merge: Merge, at now: Instant) throws -> (MergeResult, FoldResult) {
    // Also of what a program writes before the merge has the lock.
    defer { spared.merged() }
    let outcome = try begin(now).merge(merge, at: now)
    return (outcome.result, outcome.fold)
  }

  func allow(
    _ rights: Rights, delivered: UInt64, at now: Instant, _ history: inout History
  ) throws {
    self.delivered = delivered
    isFollowing = true
    try begin(now).allow(rights, delivered: delivered, at: now)
    try lookAtRights(&history)
  }

  func letGoOfFormer(by node: Identity, keys: [TableKey], at now: Instant) throws -> Int {
    let number = Int(node.low) - 1
    let author = KnownAuthor(
      origin: Templates.origin(of: number), node: node, name: "node-\(number)", life: 0)
    let store = try begin(now)
    try store.members.note([author])
    return try store.letGoOfFormer(by: node, keys: keys)
  }

  func wantedRows() throws -> [RowName] { try store().wantedRows() }

  func keep(_ statements: [SignedStatement]) throws {
    mischief.begin()
    try store().members.add(statements)
  }

  func statements() throws -> [SignedStatement] { try store().members.statements() }

  func progress(of sender: Identity, edition: UInt64) throws -> Frontier {
    try store().progress.frontier(of: sender, edition: edition)
  }
}
