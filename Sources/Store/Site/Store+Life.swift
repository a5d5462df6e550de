import Replication
import SQLite

/// A new life, and what becomes of edits of the one before.
extension Store {
  /// Goes on under a new origin. Everything in the file stays; what applications wrote and nobody
  /// has folded yet is folded under the new one.
  ///
  /// Seen at the start, nothing was folded since the file became doubtful, and what it holds under
  /// the old origin is what everybody knows by these dots. Seen later, edits may have been given
  /// numbers that others know for other edits: those above what surely is `common` are issued
  /// again.
  ///
  /// Edits are counted on from the last one here, or from `told`: of that number programs may have
  /// heard before the file was put back. So none means two edits to them.
  ///
  /// With a mark everything of others is fetched anew, from who has been there when deleted
  /// versions were collected at it.
  ///
  /// Who was the anchor is it no more: it may have forgotten what it has decided. Appoint it anew.
  package func beginLife(
    _ doubt: Doubt, origin: Origin, life: UInt64, run: UInt64, reissuingAbove common: UInt64?,
    countingFrom told: UInt64 = 0, renewingTo mark: Mark? = nil, at now: Instant
  ) throws(StoreError) {
    let old = own
    let last = max(origins.frontier[old], min(told, Self.mostTold))
    let oldLife = try lives.life()
    let before = officeRecord
    do {
      try transaction {
        let number = try origins.number(of: origin)
        try origins.raise(to: Frontier([origin: last]))
        present.value.own = origin
        try meta.set(.origin, .integer(number))
        try meta.set(.life, .integer(Int64(bitPattern: life)))
        try meta.set(.delivered, .integer(Int64(last)))
        try MemberTables.note(
          KnownAuthor(origin: origin, node: node, name: nodeName, life: life), on: connection)
        try lives.insert(run: run)
        var edits = beginEdits()
        var reissued = 0
        if let common { reissued = try reissue(of: old, above: common, &edits, at: now) }
        try lives.signLife(oldLife, before: old)
        if office.part != .none {
          officeRecord.office.part = .none
          try rule(.stoodDown, &edits, at: now)
        }
        if doubt.hidesDeletes {
          try deletions.miss()
        }
        // What was fetched so far does not tell which of the last life's edits others hold.
        if let mark = mark ?? stability.renewal?.mark { try beginRenewal(to: mark) }
        let story = LifeStory(doubt: doubt, at: now.moment, reissued: reissued)
        try meta.set(.lifeStory, .string(story.text))
        try settleNumbers(in: tables.tracked, leaves: NumberBlocks.left(by: life))
        try conclude(&edits, at: now)
        recent.requireScan()
        // Who followed changes may have read what the file does not hold any more.
        try feed.beginAnew(at: now.wall)
      }
    } catch {
      present.value.own = old
      officeRecord = before
      try reporting { () throws(SQLiteError) in try lives.reload() }
      throw error
    }
  }

  /// What a file beside the database says is no reason to run out of numbers.
  private static let mostTold: UInt64 = 1 << 62

  /// Gives the edits of an origin above `common` new dots, and counts them as not held under the
  /// old ones: what others know by these comes from them.
  private func reissue(
    of old: Origin, above common: UInt64, _ edits: inout Edits, at now: Instant
  ) throws -> Int {
    guard common < origins.frontier[old], let number = origins.knownNumber(of: old) else {
      return 0
    }
    var items: [PendingTable.Item] = []
    for table in ["_flotilla_version", "_flotilla_pending"] {
      try connection.with(
        "SELECT tbl, key, \(VersionTable.columns) FROM \(table) WHERE origin = ? AND seq > ?",
        [.integer(number), .integer(Int64(common))]
      ) { (statement) throws(SQLiteError) in
        while try statement.step() {
          guard let version = versions.version(from: statement, at: 2) else { continue }
          items.append(
            PendingTable.Item(
              table: statement.integer(0), key: Key(bytes: statement.bytes(1)), version: version))
        }
      }
    }
    // Over what somebody else had written in a row it was edited here again.
    let edited = items.map(\.version).filter { $0.context.dots.contains { $0.origin != old } }
    let known = try versions.written(byOthersThan: old, above: common)
    var reissue = Reissue(
      of: old, above: common, as: own, known: known.union(edited.map(\.created)))
    let again = items.sorted { $0.version.dot < $1.version.dot }
      .map { (item: $0, version: reissue.issue($0.version, &edits)) }
    for (item, version) in again {
      guard let table = tables.byID[item.table] else { continue }
      var version = version
      version.numbering = reissue.rename(version.numbering, &edits)
      try put(item, of: table, as: version, above: common, &edits)
    }
    try kinship.rename(&reissue, &edits)
    try origins.lower(old, to: common)
    try standDownAgain(&edits, at: now)
    try connection.run(
      "DELETE FROM _flotilla_ruling WHERE origin = ? AND seq > ?",
      [.integer(number), .integer(Int64(common))])
    try verdicts.settleUnsent(beyond: origins.frontier, at: now)
    try progress.clear()
    // Their verdicts are under other numbers now.
    try verdicts.miss(through: origins.frontier[own])
    return items.count
  }

  private func put(
    _ item: PendingTable.Item, of table: ReplicaTable, as version: Version, above common: UInt64,
    _ edits: inout Edits
  ) throws {
    let dot = version.dot
    edits.addLong()
    try verdicts.handOn(
      of: item.version, as: dot, known: Frontier([item.version.dot.origin: common]))
    if try versions.version(table: item.table, key: item.key) == item.version {
      return try rowVersions.keep(version, table, item.key, old: item.version)
    }
    let entry = try pending.entry(item)
    try pending.remove(item)
    _ = try pending.put(version, entry, table: item.table, key: item.key)
    recent.touch(dot, table: item.table, item.key)
  }
}
