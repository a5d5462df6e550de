import Replication
import SQLite

/// Looking at everything that this replica holds, and putting right what is found.
extension Store {
  /// What a step of an audit gives.
  package enum AuditStep: Sendable {
    /// It has looked at so many rows, of about how many.
    case more(rows: Int, of: Int)
    /// The snapshot was held for too long: `renewAudit` opens another one.
    case spent
    case done(AuditResult)
  }

  /// Opens an audit; gives its number, and what was folded on the way.
  package func openAudit(at now: Instant) throws(StoreError) -> (id: Int64, fold: FoldResult) {
    let opened = try openExport(.rows([]), at: now)
    do {
      guard let snapshot = exports[opened.id] else { throw StoreError(.closed, "no snapshot") }
      let stored = try reporting { () throws(SQLiteError) in
        try DigestTable(snapshot.connection).digest
      }
      audits[opened.id] = Audit(
        snapshot: opened.id, frontier: origins.frontier, held: digests.digest, stored: stored)
      return (opened.id, opened.fold)
    } catch {
      try closeExport(opened.id)
      throw StoreError.wrapping(error)
    }
  }

  /// Lets the snapshot go; `renewAudit` opens another one.
  package func restAudit(_ id: Int64) throws(StoreError) {
    if let audit = audits[id] { try closeExport(audit.snapshot) }
  }

  /// Goes on in a snapshot of today; the sums, which are of one moment, begin anew.
  package func renewAudit(_ id: Int64, at now: Instant) throws(StoreError) -> FoldResult {
    guard let audit = audits[id] else { throw StoreError(.closed, "the audit is closed") }
    try closeExport(audit.snapshot)
    let opened = try openExport(.rows([]), at: now)
    guard case .versions = audit.phase else {
      audit.snapshot = opened.id
      return opened.fold
    }
    guard audit.restarts < Self.mostRestarts else {
      try closeExport(opened.id)
      throw StoreError(
        .busy, "so much is written to \(path) that its sums could not be taken",
        remedy: "Try again when less is written.")
    }
    let again = Audit(
      snapshot: opened.id, frontier: origins.frontier, held: digests.digest,
      stored: try reporting { () throws(SQLiteError) in try storedDigest(opened.id) })
    again.restarts = audit.restarts + 1
    audits[id] = again
    return opened.fold
  }

  private static let mostRestarts = 3

  private func storedDigest(_ snapshot: Int64) throws(SQLiteError) -> Digest {
    guard let connection = exports[snapshot]?.connection else { return digests.digest }
    return try DigestTable(connection).digest
  }

  /// Looks at one slice.
  package func auditStep(_ id: Int64, at now: Instant) throws(StoreError) -> AuditStep {
    guard let audit = audits[id], let snapshot = exports[audit.snapshot] else {
      throw StoreError(.closed, "the audit is closed")
    }
    do {
      switch audit.phase {
      case .versions(let table, let key):
        // The sums are of one moment; they alone may take longer than a snapshot is kept.
        if snapshot.hasPinnedMost(pace) { return .spent }
        try auditVersions(audit, snapshot, table, key)
      case .rows(let table, let key):
        if snapshot.isSpent(at: now, pace) { return .spent }
        try auditRows(audit, snapshot, table, key)
      case .done:
        return .done(try conclude(audit, snapshot))
      }
      // Each row is looked at as a version and as what its table shows.
      return .more(rows: audit.seen / 2, of: versionFigures.live(besides: []) ?? 0)
    } catch {
      throw StoreError.wrapping(error)
    }
  }

  private func conclude(_ audit: Audit, _ snapshot: Export) throws(SQLiteError) -> AuditResult {
    audit.result.digest = audit.standing
    let wrong = audit.versions.differing(from: audit.held)
    audit.result.wrongSums = Set(wrong + audit.versions.differing(from: audit.stored)).count
    audit.result.parked = Int(
      try snapshot.connection.scalar(
        "SELECT count(*) FROM _flotilla_shelf WHERE why <> 'columns'"
      ).integer ?? 0)
    audit.result.strays.sort { $0.place < $1.place }
    return audit.result
  }

  /// Puts right what an audit has found: tables are compared with their versions in the folds that
  /// follow, so that what stands becomes an edit; and the sums are those of the versions.
  package func repair(after id: Int64) throws(StoreError) {
    guard let audit = audits[id] else { throw StoreError(.closed, "the audit is closed") }
    // What has happened since has changed true sums and wrong ones alike.
    let missing = zip(audit.versions.buckets, audit.held.buckets).map { $0 &- $1 }
    try transaction {
      for table in audit.wrong where tables.byID[table]?.schema != nil { try compare(table) }
      try digests.correct(by: missing)
      // They are noted where the sums are, and it takes a walk through all versions.
      if missing.contains(where: { $0 != 0 }) { try versionFigures.recount() }
    }
  }

  /// Lets the snapshot go; what was found is forgotten.
  package func closeAudit(_ id: Int64) throws(StoreError) {
    guard let audit = audits.removeValue(forKey: id) else { return }
    try closeExport(audit.snapshot)
  }
}

extension StoreError.Code {
  /// More is written than this can keep up with.
  package static let busy = StoreError.Code("busy")
}
