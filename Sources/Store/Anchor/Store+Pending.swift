import Replication
import SQLite

/// What becomes of a version that does not stand.
extension Store {
  /// The version that stood gives way to a row that came.
  func leave(
    _ old: Version, to fate: Encounter.Fate, _ row: ShapedRow, _ table: ReplicaTable, _ key: Key,
    at now: Instant
  ) throws {
    if row.row.version.collides(with: old) {
      let isKept = try noteCollision(
        old, contents.content(of: old, table, key), under: row.row.version, table, key, at: now
      ) { row.entry.map { ConflictSide(row.row.version, $0) } }
      if isKept { return try supersede(by: row.row.version, table, key) }
    }
    switch fate {
    case .history: break
    case .waits: try hold(old, contents.content(of: old, table, key), table, key)
    case .conflict:
      let winner = row.entry.map { ConflictSide(row.row.version, $0) }
      try logLoser(
        old, contents.content(of: old, table, key), table, key, winner,
        isTold: !row.row.version.isApart(from: old), at: now)
    }
    try supersede(by: row.row.version, table, key)
  }

  /// Keeps a version that an anchor may still have to judge.
  func hold(
    _ version: Version, _ entry: Shelf.Entry?, _ table: ReplicaTable, _ key: Key
  ) throws {
    guard try pending.put(version, entry, table: table.id, key: key) else { return }
    if entry != nil {
      anchor.deferral.retry(DueEdit(dot: version.dot, stamp: version.stamp, hasContent: true))
    }
    recent.touch(version.dot, table: table.id, key)
  }

  /// An application has written over what another node wrote and no anchor has judged yet: who made
  /// it wants to know what became of it. Its content is gone here, unless it was beside its table;
  /// its author has it whole.
  func holdOverwritten(
    _ old: Version, _ hidden: Shelf.Entry?, _ table: ReplicaTable, _ key: Key
  ) throws {
    guard old.dot.origin != own, viewpoint.isUndecided(old) else { return }
    try hold(old, old.isDeleted ? contents.content(of: old, table, key) : hidden, table, key)
  }

  /// An author that writes a row again does not want its earlier edit judged.
  func supersede(by version: Version, _ table: ReplicaTable, _ key: Key) throws(SQLiteError) {
    guard version.isTentative,
      let earlier = try pending.version(
        table: table.id, key: key, origin: version.dot.origin),
      earlier.dot < version.dot, earlier.isTentative
    else { return }
    try pending.remove(PendingTable.Item(table: table.id, key: key, version: earlier))
  }

  /// This node's earlier edit had given way to what another one wrote before the row was written
  /// again here: the new edit was made on that, so the earlier one is lost, and no anchor will see
  /// it. So is one that was certified in an earlier term: an anchor takes the later of two edits of
  /// one author for one that has seen the other. Of what stood in between the name is known alone,
  /// its content was written over.
  func logOverwritten(
    _ waiting: [PendingTable.Item], under standing: Version, by version: Version,
    _ table: ReplicaTable, _ key: Key, at moment: Int64
  ) throws {
    let last = waiting.map(\.version.edit).filter { $0.origin == own }.map(\.seq).max()
    for item in waiting where item.version.hash != version.hash {
      let (edit, isMade) = (item.version.edit, item.version.dot.origin == own)
      guard isMade || edit.origin == own && edit.seq == last,
        viewpoint.isLost(item.version, to: standing)
      else { continue }
      let entry = try pending.entry(item)
      guard entry != nil || item.version.isDeleted else { continue }
      try logLoser(
        item.version, entry, table, key,
        contents.content(of: nil, table, key).map { ConflictSide(standing, $0) },
        at: Instant(at: moment))
    }
  }

  /// Notes an edit of this node that lost without having been seen.
  func logLoser(
    _ version: Version, _ entry: Shelf.Entry?, _ table: ReplicaTable, _ key: Key,
    _ winner: ConflictSide?, isTold: Bool = true, at now: Instant
  ) throws {
    let ruling =
      try rulings.about(version, table: table.id, key) ?? verdicts.ruling(on: version.edit)
    let rule = try anchor.actingRule(of: table)
    // What was here before its table became the site's ranks lowest, whenever it was made; other
    // rules than newest-wins do not ask when that was; and what an anchor has certified stands
    // above what it has not seen, though nobody is the anchor any more.
    let isFromBefore = version.stamp == Stamp.beforeSite
    let isOlder =
      rule == NewestWins.self && !isFromBefore
      && winner?.stamp.map { version.stamp <= $0 } != false
    let reason: Reason =
      if case .rejected(let reason)? = ruling?.ruling.kind { reason } else {
        isOlder ? .older : .unseen
      }
    try verdicts.rejectUnjudged(
      version.edit, table, key, reason, rule: ruling?.ruling.rule ?? NewestWins.name, at: now)
    // What is here by name alone nobody could show.
    guard isTold, entry != nil || version.isDeleted else { return }
    // What was here before may count otherwise, for columns were dropped since, and say the same.
    if isFromBefore, let entry, winner?.says(all: entry.values) == true { return }
    try conflicts.put(
      table.name, key, at: now.moment, reason, rule: ruling?.ruling.rule ?? rule.name,
      loser: entry.map { ConflictSide(version, $0) }, winner: winner)
  }

  /// A table goes from the site, and with it what is parked beside it and was in no table. Authors
  /// keep theirs in the conflict log, under `name`.
  func logParked(_ table: ReplicaTable, as name: String) throws {
    let rule = try anchor.actingRule(of: table).name
    try shelf.walk(
      table.id, why: [.constraint, .reference, .parent], limit: pace.comparedRows
    ) { key in
      guard let version = try versions.version(table: table.id, key: key), !version.isDeleted,
        isOwn(version.edit.origin) || departed.contains(version.edit.origin),
        let entry = try shelf.entry(table: table.id, key: key)
      else { return }
      try conflicts.put(
        name, key, at: version.stamp.millisecondsSince1970, .parked, rule: rule,
        loser: ConflictSide(version, entry), winner: nil)
    }
  }

  /// What stands of a row, for the log: who wrote it is known also where its content is not here.
  func standingSide(_ table: ReplicaTable, _ key: Key) throws -> ConflictSide? {
    guard let version = try versions.version(table: table.id, key: key) else { return nil }
    return ConflictSide(
      version, try contents.content(of: version, table, key) ?? table.keyEntry(key))
  }

  /// Takes note of what an anchor has ruled.
  func take(
    _ ruling: Ruling, _ row: ShapedRow, _ table: ReplicaTable, _ key: Key,
    _ application: inout Application
  ) throws {
    if ruling.isAboutOffice {
      // Whatever else is in it nobody says of an office.
      guard table.isSettings, key == officeKey(table), ruling.rule.utf8.count <= 32 else { return }
      application.speakers.insert(row.row.version.dot.origin)
    }
    try rulings.put(
      RulingTable.Item(table: table.id, key: key, version: row.row.version, ruling: ruling))
    if ruling.kind == .rejected(.keyCollision) { try moved.noteRejected(ruling.edit, table, key) }
    recent.touch(row.row.version.dot, table: table.id, key)
  }
}
