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
        Audit.Sums(try DigestTable(snapshot.connection))
      }
      verification.begin(
        Audit(
          snapshot: opened.id, frontier: origins.frontier, held: Audit.Sums(digests),
          stored: stored),
        as: opened.id)
      return (opened.id, opened.fold)
    } catch {
      try closeExport(opened.id)
      throw StoreError.wrapping(error)
    }
  }

  /// Lets the snapshot go; `renewAudit` opens another one.
  package func restAudit(_ id: Int64) throws(StoreError) {
    if let audit = verification.audits[id] { try closeExport(audit.snapshot) }
  }

  /// Goes on in a snapshot of today; the sums, which are of one moment, begin anew.
  package func renewAudit(_ id: Int64, at now: Instant) throws(StoreError) -> FoldResult {
    let audit = try verification.audit(id)
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
      snapshot: opened.id, frontier: origins.frontier, held: Audit.Sums(digests),
      stored: try reporting { () throws(SQLiteError) in try storedDigest(opened.id) })
    again.restarts = audit.restarts + 1
    verification.begin(again, as: id)
    return opened.fold
  }

  private static let mostRestarts = 3

  private func storedDigest(_ snapshot: Int64) throws(SQLiteError) -> Audit.Sums {
    guard let connection = exports[snapshot]?.connection else { return Audit.Sums(digests) }
    return Audit.Sums(try DigestTable(connection))
  }

  /// Looks at one slice.
  package func auditStep(_ id: Int64, at now: Instant) throws(StoreError) -> AuditStep {
    let audit = try verification.audit(id)
    guard let snapshot = exports[audit.snapshot] else {
      throw StoreError(.closed, "the audit is closed")
    }
    let look = try reporting { () throws(SQLiteError) in
      try audit.look(
        in: snapshot, versions.on(snapshot.connection), rights, pace, at: now)
    }
    if let (table, finding) = audit.damage {
      throw StoreError.damaged(table, in: path, finding)
    }
    return switch look {
    // Each row is looked at as a version and as what its table shows.
    case .more: .more(rows: audit.seen / 2, of: versionFigures.live(besides: []) ?? 0)
    case .spent: .spent
    case .done: .done(audit.result)
    }
  }

  /// Puts right what an audit has found: tables are compared with their versions in the folds that
  /// follow, so that what stands becomes an edit; and the sums are those of the versions.
  package func repair(after id: Int64) throws(StoreError) {
    let audit = try verification.audit(id)
    // What has happened since has changed true sums and wrong ones alike.
    func missing(_ sums: KeyPath<Audit.Sums, Digest>) -> [UInt64] {
      zip(audit.versions[keyPath: sums].buckets, audit.held[keyPath: sums].buckets)
        .map { $0 &- $1 }
    }
    let (leading, here) = (missing(\.leading), missing(\.here))
    try transaction {
      tables.damaged = [:]
      for table in audit.wrong where tables.byID[table]?.isHere == true { try compare(table) }
      try digests.correct(by: leading, here: here)
      // They are noted where the sums are, and it takes a walk through all versions.
      if (leading + here).contains(where: { $0 != 0 }) { try versionFigures.recount() }
    }
  }

  /// Lets the snapshot go; what was found is forgotten.
  package func closeAudit(_ id: Int64) throws(StoreError) {
    guard let audit = verification.endAudit(id) else { return }
    try closeExport(audit.snapshot)
  }
}

extension StoreError.Code {
  /// More is written than this can keep up with.
  package static let busy = StoreError.Code("busy")
}
