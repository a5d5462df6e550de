import Replication
import SQLite

/// Coming back after deleted versions were collected: all of others is fetched anew, and what does
/// not come again was deleted (docs/collection.md).
extension Store {
  /// Begins to fetch everything, for a replica that holds nothing of others and has given nothing.
  ///
  /// Any other one begins a life first (`beginLife`): others know its own rows by its old dots.
  package func renewAsNew(to mark: Mark) throws(StoreError) {
    try transaction { try beginRenewal(to: mark) }
  }

  /// Whether this replica holds nothing of others, and nothing of it is known elsewhere.
  package func isNew() throws(StoreError) -> Bool {
    let hasGiven = try delivered() > 0
    return origins.frontier.without(own).isEmpty && !hasGiven
  }

  /// In the open transaction.
  func beginRenewal(to mark: Mark) throws {
    stability.beginRenewal(at: mark)
    try saveStability()
    try connection.execute("DELETE FROM _flotilla_fresh")
    try origins.forgetOthers(but: own)
    try clearAllProgress()
    recent.requireScan()
    sweepCursor = nil
  }

  /// What a sender that lacks what was collected here sends may have been deleted; while all is
  /// fetched anew, only who lacks nothing is listened to.
  func checkStanding(of merge: Merge) throws(StoreError) {
    guard !stability.mayMerge(merge.standing) else { return }
    throw StoreError(.behind, "one of the two has been away while deleted rows were forgotten")
  }

  /// A full exchange has come to its end.
  func noteReceived(from sender: CutStanding) throws(SQLiteError) {
    let before = stability
    stability.received(from: sender)
    if stability != before { try saveStability() }
  }

  /// A row that others hold.
  func noteFresh(_ table: ReplicaTable, _ key: Key, _ row: ShapedRow) throws(SQLiteError) {
    guard row.row.content.ruling == nil else { return }
    try connection.run(
      "INSERT OR IGNORE INTO _flotilla_fresh(tbl, key) VALUES (?, ?)",
      [.integer(table.id), .blob(key.bytes)])
  }

  var isSweeping: Bool {
    if case .sweeping? = stability.renewal { true } else { false }
  }

  /// Removes what others have deleted and forgotten, a slice at a time, after all has come.
  func sweepSlice(_ edits: inout Edits, at now: Instant) throws {
    guard isSweeping else { return }
    let (items, isDone) = try nextUnfresh()
    var application = Application()
    for item in items {
      guard let table = tables.byID[item.table], table.name != Tables.settings else { continue }
      try sweep(item, table, at: now, &application)
    }
    try settle(&application)
    guard isDone else { return }
    sweepCursor = nil
    try connection.execute("DELETE FROM _flotilla_fresh")
    stability.endRenewal()
    try saveStability()
  }

  /// Versions of rows that did not come, of the next ones, and whether they were the last ones.
  private func nextUnfresh() throws(SQLiteError) -> ([PendingTable.Item], isDone: Bool) {
    var items: [PendingTable.Item] = []
    var seen = 0
    let after = sweepCursor
    try connection.with(
      """
      SELECT v.tbl, v.key, f.key IS NULL, \(VersionTable.columns(of: "v"))
      FROM _flotilla_version AS v LEFT JOIN _flotilla_fresh AS f ON f.tbl = v.tbl AND f.key = v.key
      WHERE (v.tbl, v.key) > (?, ?) ORDER BY v.tbl, v.key LIMIT \(pace.comparedRows)
      """, [.integer(after?.table ?? -1), .blob(after?.key.bytes ?? [])]
    ) { (statement) throws(SQLiteError) in
      while try statement.step() {
        seen += 1
        let (table, key) = (statement.integer(0), Key(bytes: statement.bytes(1)))
        sweepCursor = (table, key)
        guard statement.integer(2) == 1, let version = versions.version(from: statement, at: 3)
        else { continue }
        items.append(PendingTable.Item(table: table, key: key, version: version))
      }
    }
    return (items, seen < pace.comparedRows)
  }

  /// A row that nobody else has: it is new, or was deleted.
  private func sweep(
    _ item: PendingTable.Item, _ table: ReplicaTable, at now: Instant,
    _ application: inout Application
  ) throws {
    let (version, key) = (item.version, item.key)
    let floor = stability.floors[table: table.seed, key: key]
    let isOwn = version.dot.origin == own
    if isOwn, version.created.origin == own {
      // Under the floor only rows that were here before their table became the site's stay.
      guard version.stamp != Stamp.zero.successor else { return }
      let raised = version.raised(above: floor)
      if raised != version { try keep(raised, table, key, old: version) }
      return
    }
    // A later edit of a row that was deleted makes it anew, as it would if the delete were known.
    if isOwn, !version.isDeleted, !office.isHeld, floor.map({ $0.stamp < version.stamp }) ?? false {
      let anew = version.madeAnew.raised(above: floor)
      return try keep(anew, table, key, old: version)
    }
    try logDeleted(item, table, at: now)
    try forget(item, table, &application)
  }

  /// This node's edits of the row lose to a delete that nobody remembers; they were not seen.
  private func logDeleted(
    _ item: PendingTable.Item, _ table: ReplicaTable, at now: Instant
  ) throws {
    var lost: [(Version, Shelf.Entry?)] = []
    if item.version.dot.origin == own, !item.version.isDeleted {
      lost.append((item.version, try content(of: item.version, table, item.key)))
    }
    if let waiting = try pending.version(table: item.table, key: item.key, origin: own),
      !waiting.isDeleted
    {
      let entry = try pending.entry(
        PendingTable.Item(table: item.table, key: item.key, version: waiting))
      lost.append((waiting, entry))
    }
    let rule = try actingRule(of: table).name
    for (version, entry) in lost {
      try rejectUnjudged(version.edit, .alreadyDeleted, at: now)
      try conflicts.put(
        table.name, item.key, at: now.moment, .alreadyDeleted, rule: rule,
        loser: entry.map { ConflictSide(version, $0) }, winner: nil)
    }
  }

  /// As if the row had never been here.
  private func forget(
    _ item: PendingTable.Item, _ table: ReplicaTable, _ application: inout Application
  ) throws {
    let shelved = try shelf.entry(table: item.table, key: item.key)
    try shelf.remove(table: item.table, key: item.key)
    if let statements = table.statements, !item.version.isDeleted, shelved?.why.isWhole != true {
      _ = try writing { () throws(SQLiteError) in
        try connection.run(statements.deleteByKey, (item.key.values ?? []).map(\.sqlite))
      }
      application.changed.insert(table.id)
    }
    try pending.removeAll(table: item.table, key: item.key)
    try versions.remove(table: item.table, key: item.key)
    digests.replace(table: table.seed, key: item.key, old: item.version, new: nil)
  }
}

extension StoreError.Code {
  /// One of two replicas has been away while deleted versions were collected; nothing was changed.
  package static let behind = StoreError.Code("behind")
}
