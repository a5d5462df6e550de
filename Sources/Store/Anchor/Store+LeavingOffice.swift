import Replication
import SQLite

/// What becomes of versions that wait to be judged where this replica does not judge, or nobody
/// does, or somebody has.
extension Store {
  /// Judges no more, and shows what waited for that as everybody does.
  func leaveOffice(at now: Instant) throws {
    officeRecord.office.part = .none
    anchor.deferral = Deferral()
    due.forget()
    try unveilPending(at: now)
  }

  /// What waited to be judged here stands now where it outranks what does: a former anchor shows
  /// what everybody shows, and its frontier covers these versions, or soon will. Of much, the rest
  /// is shown in the next commits.
  func unveilPending(at now: Instant) throws {
    officeRecord.work = OfficeRecord.Work(task: .unveiling)
    try unveilSlice(at: now)
  }

  /// One slice of that, if it is under way.
  func unveilSlice(at now: Instant) throws {
    guard let work = officeRecord.work, work.task == .unveiling else { return }
    let (items, next) = try pending.slice(after: work.after, limit: pace.comparedRows)
    var application = Application()
    for item in items.sorted(by: { $0.version.rank < $1.version.rank }) {
      guard let table = tables.byID[item.table],
        case let standing = try standing(table, item.key),
        case .gives = viewpoint.meeting(item.version, standing)
      else { continue }
      let row = table.shaped(item.version, try pending.entry(item), item.key)
      try pending.remove(item)
      try apply(row, table, item.key, at: now, &application)
      if table.isSettings { try applySettings(isLocal: false) }
    }
    try settlement.settle(&application)
    officeRecord.work =
      if let next {
        OfficeRecord.Work(task: .unveiling, after: next)
      } else {
        office.isHeld ? nil : OfficeRecord.Work(task: .dissolving)
      }
  }

  /// What stands, or stood when its table was dropped: it comes back.
  private func standing(_ table: ReplicaTable, _ key: Key) throws -> Version? {
    try versions.version(table: table.id, key: key) ?? lost.version(table, key)
  }

  /// Whether this replica has still to show or to give up what waits.
  var isLeavingOffice: Bool {
    [.unveiling, .dissolving].contains(officeRecord.work?.task)
  }

  /// Without an anchor nobody judges any more: what waits has lost to what stands, unless it was
  /// made on that. A slice of it, if that is under way; of a row all is in one.
  func dissolveSlice(_ edits: inout Edits, at now: Instant) throws {
    guard let work = officeRecord.work, work.task == .dissolving else { return }
    let (items, next) = try pending.slice(after: work.after, limit: pace.comparedRows)
    var application = Application()
    for item in items.sorted(by: { $0.version.rank > $1.version.rank })
    where try !editAgain(waiting: item, &edits, at: now, &application) {
      try release(item, at: now)
    }
    try settlement.settle(&application)
    officeRecord.work = next.map { OfficeRecord.Work(task: .dissolving, after: $0) }
  }

  /// Lets go of a version that waits no more; if it is this node's and has lost, it is logged.
  func release(_ item: PendingTable.Item, at now: Instant) throws {
    let entry = try pending.entry(item)
    try pending.remove(item)
    guard isOwn(item.version.edit.origin), let table = tables.byID[item.table] else { return }
    let standing = try standing(table, item.key)
    guard let standing, viewpoint.isLost(item.version, to: standing) else { return }
    if viewpoint.isSpent(item.version, under: standing),
      try verdicts.ruling(on: item.version.edit) == nil
    {
      return
    }
    guard entry != nil || item.version.isDeleted else {
      // Of an earlier life, and written over here since.
      guard !office.isHeld, lives.made(item.version.edit) else { return }
      return try verdicts.settle(Int64(item.version.edit.seq), .superseded, nil, rule: nil, at: now)
    }
    try logLoser(
      item.version, entry, table, item.key, standingSide(table, item.key), at: now)
    // It goes on as soon as it is known where its parent is.
    if let entry,
      case .rejected(.keyCollision)? = try verdicts.ruling(on: item.version.edit)?.ruling.kind,
      !item.version.numbering.parents.isEmpty
    {
      try kinship.moving.put(
        MovingRows.Item(table: item.table, key: item.key, version: item.version), entry)
    }
  }
}
