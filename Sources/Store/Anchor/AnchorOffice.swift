import Replication
import SQLite

/// The office of the anchor, as this file has it: who judges, and how far the work has come.
final class AnchorOffice: FilePart {
  private let connection: Connection
  private let meta: Meta
  private let viewpoint: PresentViewpoint
  /// Who judges, and what is yet to be done about it.
  var record = OfficeRecord() { didSet { viewpoint.value.office = record.office } }
  private var saved: [UInt8] = []
  /// What this anchor has accepted, and overruled since.
  let overruled: OverruledTable
  /// What this anchor has put off to judge last.
  var deferral = Deferral()
  /// Whether more waits than is judged in one commit, or the rest of so much does.
  var isLong = false
  /// Whether edits that came whole wait for a verdict here.
  var isJudging = false
  /// The session with the anchor in which programs write now; 0 if there is none.
  var onlineSession: UInt64 = 0
  /// The sessions of this anchor, and whose edits come in them.
  var liveSessions: [UInt64: Origin] = [:]

  /// The rules by which an edit can be judged here.
  var rules = MergeRules.all

  init(
    _ connection: Connection, _ meta: Meta, _ viewpoint: PresentViewpoint,
    _ overruled: OverruledTable
  ) {
    (self.connection, self.meta) = (connection, meta)
    (self.viewpoint, self.overruled) = (viewpoint, overruled)
  }

  func reload() throws(SQLiteError) {
    (record, saved, isLong, isJudging) = (OfficeRecord(), [], false, false)
    deferral = Deferral()
    viewpoint.value.judged = Judged()
    if let bytes = try meta.blob(.office), let read = try? OfficeRecord(bytes) {
      (record, saved) = (read, bytes)
    }
    if let bytes = try meta.blob(.judged), let read = try? Judged(bytes) {
      viewpoint.value.judged = read
    }
  }

  /// Keeps the record on disk, in the open transaction.
  func saveRecord() throws(SQLiteError) {
    guard record.bytes != saved else { return }
    saved = record.bytes
    try meta.set(.office, .blob(saved))
  }

  func saveJudged() throws(SQLiteError) {
    try meta.set(.judged, .blob(viewpoint.value.judged.bytes))
  }

  /// Epochs never go back, whoever gave those that this replica has seen.
  func nextEpoch(over versions: [Version?]) -> UInt64 {
    record.epoch = Epoch.next(after: record.epoch, over: versions)
    return record.epoch
  }

  /// The rule that decides about a table at present.
  func actingRule(of table: ReplicaTable) throws(SQLiteError) -> any MergeRule.Type {
    guard record.office.isHeld, !table.isSettings else { return MergeRules.standard }
    let name = try connection.scalar(
      "SELECT rule FROM _flotilla_table WHERE name = ?", [.string(table.name)]
    ).string
    return rules.first { $0.name == name } ?? MergeRules.standard
  }

  /// The session of an edit: none if an earlier one that it is made on was out of touch.
  func session(over old: Version?) -> UInt64 {
    viewpoint.value.session(onlineSession, over: old)
  }
}
