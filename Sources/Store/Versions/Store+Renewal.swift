import Replication
import SQLite

/// Coming back after deleted versions were collected: all of others is fetched anew, and what does
/// not come again was deleted (docs/collection.md).
extension Store {
  /// Looks after deleted versions (`DeletedVersions.tend`), unless a table may be read again since
  /// a moment ago: what is in it was not compared yet.
  package func tend(
    members: Set<Identity>, everybody: Set<Identity>? = nil,
    naming digest: ([UInt8]) -> Identity, proposes: Bool = true,
    retention: Int64 = Stability.retention, pause: Int64 = 6 * 3_600_000, at now: Instant
  ) throws(StoreError) -> Tending {
    guard ownRights.regained.isEmpty else { return Tending() }
    return try deletions.tend(
      members: members, everybody: everybody ?? members, naming: digest, proposes: proposes,
      retention: retention, pause: pause, limit: pace.comparedRows, at: now)
  }

  /// Begins to fetch everything, for a replica that holds nothing of others and has given nothing.
  ///
  /// Any other one begins a life first (`beginLife`): others know its own rows by its old dots.
  package func renewAsNew(to mark: Mark) throws(StoreError) {
    try transaction { try beginRenewal(to: mark) }
  }

  /// Goes on with what is here, for nobody is left who could give the rest.
  package func giveUpRenewal(at now: Instant) throws(StoreError) -> FoldResult {
    try afterFolding(at: now) { _ in
      try deletions.giveUpRenewal()
    }
  }

  /// Whether this replica holds nothing of others, and nothing of it is known elsewhere.
  package func isNew() throws(StoreError) -> Bool {
    let hasGiven = try lives.delivered() > 0
    return origins.frontier.without(own).isEmpty && !hasGiven
  }

  /// In the open transaction.
  func beginRenewal(to mark: Mark) throws {
    try deletions.beginRenewal(to: mark)
    officeRecord.office.postpone()
    try origins.forgetOthers(but: own)
    try progress.clear()
    recent.requireScan()
  }

  /// Tells what others have deleted and forgotten from what they never had, a slice at a time,
  /// after all has come.
  func sweepSlice(_ edits: inout Edits, at now: Instant) throws {
    guard deletions.isSweeping else { return }
    let (items, next) = try deletions.nextToSweep(limit: pace.comparedRows)
    var application = Application()
    for item in items {
      guard let table = tables.byID[item.table], !table.isSettings else { continue }
      try sweep(
        item, try deletions.fresh(item.table, item.key), table, &edits, at: now, &application)
    }
    try settlement.settle(&application)
    deletions.sweep(from: next)
    guard next == nil else { return }
    try sweepPending(&edits, at: now)
    try verdicts.settleUnsent(beyond: origins.frontier.without(own), at: now)
    try standDownAgain(&edits, at: now)
    try deletions.endRenewal()
  }

  private func sweep(
    _ item: PendingTable.Item, _ fresh: Dot?, _ table: ReplicaTable, _ edits: inout Edits,
    at now: Instant, _ application: inout Application
  ) throws {
    let version = item.version
    let floor = deletions.stability.floors[table: table.seed, key: item.key]
    let known = origins.frontier.without(own)
    switch deletions.stability.fate(
      of: version, cameAs: fresh, known: known, own: own, floor: floor, isJudged: office.isHeld)
    {
    case .stays: break
    case .isAdopted(let changed):
      edits.addLong()
      let adopted = changed.adopted(as: Dot(own, edits.next()))
      try verdicts.handOn(of: version, as: adopted.dot, known: known)
      try giveWay(to: adopted, table, item.key, at: now)
      try rowVersions.keep(adopted, table, item.key, old: version)
    case .isGone(let isLost):
      if isLost {
        try logDeleted(
          version, contents.content(of: version, table, item.key), table, item.key, at: now)
      }
      try verdicts.agree(on: version, table, at: now)
      for waiting in try pending.all(table: item.table, key: item.key) {
        let edit = waiting.version
        let isHere = isOwn(edit.edit.origin) || !known.covers(edit.dot)
        if isHere, !edit.isDeleted, let entry = try pending.entry(waiting) {
          try logDeleted(edit, entry, table, item.key, at: now)
        }
        try verdicts.agree(on: edit, table, at: now)
        try pending.remove(waiting)
      }
      try forget(item, table, &application)
    }
  }

  /// An edit of this life that waits gives way to what is handed on under a later number, which no
  /// anchor could tell from one that was made over it.
  private func giveWay(
    to version: Version, _ table: ReplicaTable, _ key: Key, at now: Instant
  ) throws {
    guard let waiting = try pending.version(table: table.id, key: key, origin: own) else { return }
    let item = PendingTable.Item(table: table.id, key: key, version: waiting)
    try logBeside(waiting, pending.entry(item), table, key, at: now)
    try verdicts.supersede(version.dot.seq, table, key)
    try pending.remove(item)
  }

  /// What waits for the anchor here and nobody else has is handed on like what stands.
  ///
  /// What others have is not: those who have written over it have not seen it under another name,
  /// and would lose to it. So what comes in an exchange that has not ended goes on to wait. An
  /// earlier anchor's word on an edit that they know is forgotten, unless its author is here: they
  /// may have let go of it, for an author keeps what is lost.
  private func sweepPending(_ edits: inout Edits, at now: Instant) throws {
    let known = origins.frontier.without(own)
    let coming = try known.joined(progress.all())
    var application = Application()
    for item in try pending.all().sorted(by: { $0.version.dot < $1.version.dot }) {
      let (version, key) = (item.version, item.key)
      guard version.dot.origin != own, !coming.covers(version.dot),
        let table = tables.byID[item.table]
      else { continue }
      let entry = try pending.entry(item)
      try pending.remove(item)
      if known.covers(version.edit), !viewpoint.isKeptHere(version.edit) { continue }
      if let later = try ownEdit(table, key) {
        if isOwn(version.edit.origin) { try verdicts.supersede(later, table, key) }
        try logBeside(version, entry, table, key, at: now)
        continue
      }
      guard version.isDeleted || entry != nil else { continue }
      edits.addLong()
      let dot = Dot(own, edits.next())
      try verdicts.handOn(of: version, as: dot, known: known)
      let row = table.shaped(version.adopted(as: dot), entry, key)
      try apply(row, table, key, at: now, &application)
    }
    try settlement.settle(&application)
  }

  /// What is not handed on is lost, unless what stands has seen it. What is here by name alone was
  /// written over here, by an edit that has.
  private func logBeside(
    _ version: Version, _ entry: Shelf.Entry?, _ table: ReplicaTable, _ key: Key, at now: Instant
  ) throws {
    guard let entry, !version.isDeleted else { return }
    let standing = try versions.version(table: table.id, key: key)
    guard standing.map({ viewpoint.isLost(version, to: $0) }) ?? true else { return }
    try logLoser(version, entry, table, key, standingSide(table, key), at: now)
  }

  /// The own edit of this life that waits or stands, by its number. Of one row one edit waits for
  /// each origin, and a later one of the same origin passes for one that has seen it: so an edit
  /// that was not made on this one is not handed on beside it.
  private func ownEdit(_ table: ReplicaTable, _ key: Key) throws -> UInt64? {
    if let waiting = try pending.version(table: table.id, key: key, origin: own) {
      return waiting.dot.seq
    }
    let standing = try versions.version(table: table.id, key: key)
    return standing?.dot.origin == own ? standing?.dot.seq : nil
  }

  /// That this node stood down may be known to nobody else, and a successor waits to hear it.
  func standDownAgain(_ edits: inout Edits, at now: Instant) throws {
    let known = origins.frontier.without(own)
    let isUnheard = try rulings.standDowns().contains {
      $0.ruling.rule == node.description && $0.version.dot.origin != own
        && !known.covers($0.version.dot)
    }
    if isUnheard { try rule(.stoodDown, &edits, at: now) }
  }

  /// An edit that nobody else has seen loses to a delete that nobody remembers.
  private func logDeleted(
    _ version: Version, _ entry: Shelf.Entry?, _ table: ReplicaTable, _ key: Key, at now: Instant
  ) throws {
    let rule = try anchor.actingRule(of: table).name
    try verdicts.reject(version.edit, table, key, .alreadyDeleted, rule: rule, at: now)
    try conflicts.put(
      table.name, key, at: now.moment, .alreadyDeleted, rule: rule,
      loser: entry.map { ConflictSide(version, $0) }, winner: nil)
  }

  /// As if the row had never been here.
  private func forget(
    _ item: PendingTable.Item, _ table: ReplicaTable, _ application: inout Application
  ) throws {
    let shelved = try shelf.entry(table: item.table, key: item.key)
    try shelf.remove(table: item.table, key: item.key)
    if let statements = table.statements, !item.version.isDeleted, shelved?.why.isWhole != true {
      _ = try contents.writing(table, item.key) { () throws(SQLiteError) in
        try connection.run(statements.deleteByKey, (item.key.values ?? []).map(\.sqlite))
      }
      settlement.changed(table, item.key)
      application.changed.insert(table.id)
    }
    try versions.remove(table: item.table, key: item.key)
    rowVersions.count(table, item.key, old: item.version, new: nil)
  }
}
