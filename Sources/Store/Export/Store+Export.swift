import Replication
import SQLite

/// Reading what a peer lacks, in one snapshot.
extension Store {
  package struct OpenedExport: Sendable {
    package var id: Int64
    package var covers: Frontier
    package var rows: UInt64
    /// Own edits that were folded on the way, if any.
    package var fold: FoldResult
    /// What an anchor has judged, if all that belongs to it is given.
    package var judged: Judged?
  }

  /// Opens a snapshot in which every row has just the content of its version.
  ///
  /// The write lock is held while the journal is seen to be empty and the snapshot is opened on
  /// another connection: an edit in between would travel under the dot of what it replaced.
  package func openExport(
    _ scope: Session.ExportScope, filter: ExportFilter = .none, at now: Instant
  ) throws(StoreError) -> OpenedExport {
    try requireTime(at: now)
    _ = try foldWritten(at: now)
    let reader = try exports.reader()
    parking.crowd.rest()
    defer { parking.crowd.goOn() }
    var isRenewed = false
    let folded = try transaction {
      var edits = beginEdits()
      let before = tables.schemaVersion
      try foldRest(&edits, at: now)
      isRenewed = tables.schemaVersion != before
      try conclude(&edits, at: now)
      let result = try result(of: edits)
      if edits.count > 0 || isRenewed || result.isUnfolded { return result }
      try ExportPlan.openSnapshot(reader)
      return result
    }
    // What was folded just now is visible only after the commit: try once more.
    if folded.versions > 0 || isRenewed || folded.isUnfolded {
      exports.giveBack(reader)
      var opened = try openExport(scope, filter: filter, at: now)
      if opened.fold.versions == 0 { opened.fold = folded }
      return opened
    }
    let export = try reporting { () throws(SQLiteError) in
      let export = try exportPlan.export(scope, filter, reader, at: now)
      try export.shelf.locked()
      return export
    }
    export.start = scope.start
    export.filter = filter
    export.wrong = try reporting { () throws(SQLiteError) in try putBacks.rows() }
    export.own = own
    let id = exports.add(export)
    let isWhole = judged.term != .none && export.covers == origins.frontier
    return OpenedExport(
      id: id, covers: export.covers, rows: export.rows, fold: folded,
      judged: isWhole ? judged : nil)
  }

  /// Reads the next batch of an export.
  package func readExport(_ id: Int64, at now: Instant) throws(StoreError) -> ExportStep {
    try exports.read(id, pace, at: now)
  }

  /// Lets the snapshots go that were held for too long; their exports go on from new ones.
  package func cutSpentExports(at now: Instant) { exports.cutSpent(pace, at: now) }

  /// Lets the snapshot go; a table in which something was amiss is compared with its versions.
  package func closeExport(_ id: Int64) throws(StoreError) {
    guard let export = exports.close(id), !export.suspects.isEmpty else { return }
    try transaction {
      for table in export.suspects { try compare(table) }
    }
  }

  private var exportPlan: ExportPlan {
    ExportPlan(
      connection: connection, tables: tables, origins: origins, versions: versions,
      pending: pending, rulings: rulings, lost: lost, putBacks: putBacks, recent: recent,
      own: own, ownRights: ownRights)
  }
}
