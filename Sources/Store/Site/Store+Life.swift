import Replication
import SQLite

/// Told after each commit with edits of this replica, before they can be sent.
package protocol Ledger: AnyObject {
  func note(_ mark: LifeMark)
}

/// Why this replica took its present origin, as people are told.
package struct LifeStory: Sendable, Equatable {
  package var doubt: Doubt
  /// When, in ms since 1970.
  package var at: Int64
  /// Edits that were given new dots.
  package var reissued: Int
  /// A member has met this node since, and no other copy of it.
  package var isMet = false

  /// Whether the members may know another copy of the file as this node.
  package var isPerhapsOfCopy: Bool { tellsOfCopies && !isMet }

  var tellsOfCopies: Bool { doubt == .twin || doubt == .moved }

  init(doubt: Doubt, at: Int64, reissued: Int) {
    (self.doubt, self.at, self.reissued) = (doubt, at, reissued)
  }

  init?(text: String) {
    let parts = text.split(separator: " ")
    guard parts.count >= 3, let doubt = Doubt(rawValue: String(parts[0])),
      let at = Int64(parts[1]), let reissued = Int(parts[2])
    else { return nil }
    self.init(doubt: doubt, at: at, reissued: reissued)
    isMet = parts.count > 3 && parts[3] == "met"
  }

  var text: String { "\(doubt.rawValue) \(at) \(reissued)\(isMet ? " met" : "")" }
}

/// The lives of a replica: each writes under an origin of its own.
///
/// Own edits are counted on from life to life, so that a number names one edit of this file,
/// whatever the origin; others see a new origin whose first edits never existed.
extension Store {
  /// What the database says about where it is.
  package var lifeMark: LifeMark {
    LifeMark(origin: own, run: runs.entries.last?.run ?? 0, seq: origins.frontier[own])
  }

  /// The runs of this file.
  package var runLog: RunLog { runs }

  /// Reads again which lives there were, for instance after a transaction was rolled back.
  func reloadLives() throws(SQLiteError) {
    guard try Layout.hasTable("_flotilla_run", on: connection) else { return runs = RunLog() }
    let rows = try connection.rows("SELECT first, origin, run FROM _flotilla_run ORDER BY id")
    runs = RunLog(
      rows.compactMap { row in
        guard let origin = row[1].integer.flatMap({ origins.origin(of: $0) }) else { return nil }
        return RunLog.Entry(
          first: UInt64(clamping: row[0].integer ?? 0), origin: origin,
          run: UInt64(bitPattern: row[2].integer ?? 0))
      })
    let lives = try connection.rows(
      "SELECT origin FROM _flotilla_author WHERE node = ?", [.string(node.description)])
    earlier = Set(
      lives.compactMap { $0[0].integer.map { Origin(rawValue: UInt64(bitPattern: $0)) } })
    earlier.remove(own)
  }

  /// Whether this node wrote under an origin, in this life or an earlier one.
  func isOwn(_ origin: Origin) -> Bool { origin == own || earlier.contains(origin) }

  /// Throws if another program has put the file back to an earlier state, as `.restore` of the
  /// sqlite3 shell does, or has made it another one: what is in memory would be wrong.
  ///
  /// Only a node writes these numbers, one at a time, and none of them ever goes back.
  func requireSameFile() throws(StoreError) {
    try recover()
    try reporting { () throws(SQLiteError) in
      let version = try connection.dataVersion()
      guard version != seenVersion else { return true }
      let sum = try connection.scalar("SELECT sum(seq % \(Self.modulus)) FROM _flotilla_origin")
      let run = try connection.scalar("SELECT run FROM _flotilla_run ORDER BY id DESC LIMIT 1")
      let isSame =
        UInt64(clamping: sum.integer ?? 0)
        == origins.frontier.list.reduce(0) { $0 + $1.seq % Self.modulus }
        && run.integer == runs.entries.last.map { Int64(bitPattern: $0.run) }
      if isSame { seenVersion = version }
      return isSame
    }.orThrow(
      StoreError(
        .putBack, "\(path) was put back to an earlier state while it was open",
        remedy: "Stop the node before you restore a file; start it again."))
  }

  private static let modulus: UInt64 = 1_000_000_007

  /// Whether a peer shows that this node has signed for edits that are not in the file.
  package func isContradicted(by have: Have) -> Bool {
    have.testimony.map(isContradicted) ?? false
  }

  /// Whether this node has signed for edits that are not in the file.
  package func isContradicted(by reach: Reach) -> Bool {
    runs.contradicts(reach.testimony, origin: own, last: origins.frontier[own])
  }

  /// Up to which own edit surely everybody knows the same.
  package func commonSeq() throws(StoreError) -> UInt64 {
    let before = runs.lives(now: own).last?.first ?? 1
    return max(try delivered(), before - 1)
  }

  /// A node starts that may send what it writes.
  package func beginRun(_ run: UInt64) throws(StoreError) {
    try transaction { try insert(run: run) }
  }

  private func insert(run: UInt64) throws(SQLiteError) {
    try connection.run(
      "INSERT INTO _flotilla_run(first, origin, run) VALUES (?, ?, ?)",
      [
        .integer(Int64(origins.frontier[own]) + 1), .integer(try origins.number(of: own)),
        .integer(Int64(bitPattern: run)),
      ])
    try connection.run(
      "DELETE FROM _flotilla_run WHERE id <= last_insert_rowid() - ?",
      [.integer(Int64(RunLog.limit))])
    try meta.set(.isUnsure, .integer(1))
    try reloadLives()
    try signLife()
  }

  /// Why the present origin was taken; nil in the first life.
  package func lifeStory() throws(StoreError) -> LifeStory? {
    try reporting { () throws(SQLiteError) in
      try meta.text(.lifeStory).flatMap(LifeStory.init(text:))
    }
  }

  /// A member has met this node, and no other copy of it: if the file came from another machine, or
  /// a copy was seen, this is the node by now. Or it has met a copy again.
  package func noteMet(_ isMet: Bool = true) throws(StoreError) {
    guard var story = try lifeStory(), story.tellsOfCopies, story.isMet != isMet else { return }
    story.isMet = isMet
    let text = story.text
    try transaction { try meta.set(.lifeStory, .string(text)) }
  }

  /// Goes on under a new origin. Everything in the file stays; what applications wrote and nobody
  /// has folded yet is folded under the new one.
  ///
  /// Seen at the start, nothing was folded since the file became doubtful, and what it holds under
  /// the old origin is what everybody knows by these dots. Seen later, edits may have been given
  /// numbers that others know for other edits: those above what surely is `common` are issued
  /// again.
  ///
  /// With a mark everything of others is fetched anew, from who has been there when deleted
  /// versions were collected at it.
  ///
  /// Who was the anchor is it no more: it may have forgotten what it has decided. Appoint it anew.
  package func beginLife(
    _ doubt: Doubt, origin: Origin, life: UInt64, run: UInt64, reissuingAbove common: UInt64?,
    renewingTo mark: Mark? = nil, at now: Instant
  ) throws(StoreError) {
    let old = own
    let last = origins.frontier[old]
    let oldLife = try self.life()
    let before = officeRecord
    do {
      try transaction {
        let number = try origins.number(of: origin)
        try origins.raise(to: Frontier([origin: last]))
        own = origin
        try meta.set(.origin, .integer(number))
        try meta.set(.life, .integer(Int64(bitPattern: life)))
        try meta.set(.delivered, .integer(Int64(last)))
        try Self.note(
          KnownAuthor(origin: origin, node: node, name: nodeName, life: life), on: connection)
        try insert(run: run)
        var edits = beginEdits()
        var reissued = 0
        if let common { reissued = try reissue(of: old, above: common, &edits, at: now) }
        try signLife(oldLife, before: old)
        if office.part != .none {
          officeRecord.office.part = .none
          try rule(.stoodDown, &edits, at: now)
        }
        if doubt.hidesDeletes {
          stability.miss()
          try saveStability()
        }
        // What was fetched so far does not tell which of the last life's edits others hold.
        if let mark = mark ?? stability.renewal?.mark { try beginRenewal(to: mark) }
        let story = LifeStory(doubt: doubt, at: now.moment, reissued: reissued)
        try meta.set(.lifeStory, .string(story.text))
        try settleNumbers(in: tables.tracked, leaves: NumberBlocks.left(by: life))
        try conclude(&edits, at: now)
        recent.requireScan()
        // Who followed changes may have read what the file does not hold any more.
        if changeLog.isOn { try changeLog.begin(look: look, at: now.wall) }
      }
    } catch {
      own = old
      officeRecord = before
      try reporting { () throws(SQLiteError) in try reloadLives() }
      throw error
    }
  }

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
    for item in items.sorted(by: { $0.version.dot < $1.version.dot }) {
      guard let table = tables.byID[item.table] else { continue }
      try reissue(item, of: table, above: common, &edits)
    }
    try connection.run(
      "DELETE FROM _flotilla_ruling WHERE origin = ? AND seq > ?",
      [.integer(number), .integer(Int64(common))])
    try origins.lower(old, to: common)
    try settleUnsent(beyond: origins.frontier, at: now)
    try clearAllProgress()
    // Their verdicts are under other numbers now.
    try missVerdicts(through: origins.frontier[own])
    return items.count
  }

  private func reissue(
    _ item: PendingTable.Item, of table: ReplicaTable, above common: UInt64, _ edits: inout Edits
  ) throws {
    let dot = Dot(own, edits.next())
    let version = item.version.reissued(as: dot, common: common)
    edits.addLong()
    try handOnVerdict(
      of: item.version, as: dot, known: Frontier([item.version.dot.origin: common]))
    if try versions.version(table: item.table, key: item.key) == item.version {
      return try keep(version, table, item.key, old: item.version)
    }
    let entry = try pending.entry(item)
    try pending.remove(item)
    _ = try pending.put(version, entry, table: item.table, key: item.key)
    recent.touch(dot, table: item.table, item.key)
  }
}

extension Bool {
  fileprivate func orThrow(_ error: StoreError) throws(StoreError) {
    guard self else { throw error }
  }
}
