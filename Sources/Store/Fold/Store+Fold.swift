import Replication
import SQLite

/// What a fold has done.
package struct FoldResult: Sendable {
  /// New versions of this replica.
  package var versions: Int
  /// The same, encoded for a push, if they are few and nothing else waits: a slice may end in the
  /// middle of a transaction.
  package var push: Push?
  /// The same if much waits: it goes out while the rest is folded.
  package var stretch: Stretch?
  /// True if there is more to do: for programs' edits, for the office, or for rows that wait.
  package var hasMore: Bool
  /// True if the journal holds more, or a table is still being compared.
  package var isUnfolded = false
  /// True if edits are left to be judged, or something else that the office of the anchor brings.
  package var leavesOfficeWork = false
  /// True if nothing is left but to park rows for others, or to look for those that may come back.
  package var movesParked = false

  package init(versions: Int, push: Push?, hasMore: Bool) {
    self.versions = versions
    self.push = push
    self.hasMore = hasMore
  }
}

extension Store {
  /// What a fold does besides what programs have written.
  private enum Extent { case all, written }

  /// Turns one slice of the journal into versions, in a transaction of its own.
  package func fold(at now: Instant) throws(StoreError) -> FoldResult { try fold(.all, at: now) }

  private func fold(_ extent: Extent, at now: Instant) throws(StoreError) -> FoldResult {
    try file.recover()
    try lives.requireSameFile()
    try inspectSchema()
    journal.look(at: now)
    tables.damaged = tables.damaged.filter { $0.value > now.uptime }
    // What cannot be stamped waits in the journal, where nobody sees it.
    guard now.site != nil else { return FoldResult(versions: 0, push: nil, hasMore: false) }
    let (isEmpty, isFolded, isQuiet) = try reporting { () throws(SQLiteError) in
      let isEmpty = try Journal.isEmpty(on: connection)
      guard isEmpty, try tables.comparing() == nil, try journal.unseen.areNone,
        settlement.references.signature == parking.signature
      else { return (isEmpty, false, false) }
      guard try !hasOfficeWork(), !deletions.isSweeping, !settlement.isMakingWay else {
        return (true, true, false)
      }
      return (true, true, try !settlement.isRecalling && !kinship.hasMore)
    }
    if isEmpty { journal.settle(at: now) }
    if isQuiet || isFolded && extent == .written {
      return FoldResult(versions: 0, push: nil, hasMore: !isQuiet)
    }
    // What is there already is read and sorted without the write lock.
    try reporting { () throws(SQLiteError) in
      try readJournal(at: now)
      if anchor.isLong {
        try due.readAhead(pace.judgedWindow, beside: anchor.deferral)
      }
    }
    var steps: [Crowd.Step] = []
    let limit = parking.crowd.limit
    parking.crowd.limit = nil
    defer { parking.crowd.limit = limit }
    verification.isAsked = true
    defer { verification.isAsked = false }
    do {
      let result = try foldOnce(extent, &steps, at: now)
      parking.crowd.note(steps)
      return result
    } catch {
      guard error.code == .unchecked || error.code == .crowded else { throw error }
      if error.code == .unchecked { try checkIndexes(at: now) }
      var result = FoldResult(versions: 0, push: nil, hasMore: true)
      result.isUnfolded = true
      return result
    }
  }

  private func foldOnce(
    _ extent: Extent, _ steps: inout [Crowd.Step], at now: Instant
  ) throws(StoreError) -> FoldResult {
    try transaction {
      try followSchema()
      var edits = beginEdits()
      let more = try foldSlice(&edits, at: now)
      if !more, kinship.isDue {
        try finish(&edits)
        try rekey(&edits, at: now)
      }
      if !more, extent == .all {
        try workInOffice(&edits, at: now)
        try sweepSlice(&edits, at: now)
        if settlement.isMakingWay {
          try finish(&edits)
          steps = try settlement.makeWaySlice()
        }
      }
      try conclude(&edits, at: now)
      var result = try result(of: edits)
      result.movesParked = !more && settlement.movesParked
      if more {
        (result.push, result.hasMore, result.isUnfolded) = (nil, true, true)
        // Who is folded later may be told of in what was folded before.
        if kinship.unnoted.count == 0 {
          result.stretch = edits.stretch(own, waiting: journal.waiting)
        }
      }
      return result
    }
  }

  /// Whether rows are to be parked before others go, which folds do.
  package var isMakingWay: Bool { settlement.isMakingWay }

  /// Folds all that programs have written, in commits that follow one another. Judging, parking and
  /// what else is to be done is left to folds that leave the write lock free between them.
  func foldWritten(at now: Instant) throws(StoreError) -> FoldResult {
    parking.crowd.rest()
    defer { parking.crowd.goOn() }
    var last = try fold(.written, at: now)
    while last.isUnfolded { last = try fold(.written, at: now) }
    return last
  }

  /// Folds all that was written since the schema was looked at, in the open transaction.
  ///
  /// Another program may have committed in between: what comes after must not rank against rows
  /// that were read too early, nor be put into a table that was made anew.
  func foldRest(_ edits: inout Edits, at now: Instant) throws {
    try followSchema()
    while try foldSlice(&edits, at: now) {}
  }

  /// Folds a slice of the journal, or compares a slice of a table if the journal is empty.
  func foldSlice(_ edits: inout Edits, at now: Instant) throws -> Bool {
    let hasMore = try foldJournal(&edits, at: now) || compareSlice(&edits, at: now)
    try markOrphans(&edits)
    return hasMore
  }

  /// Folds up to one slice of the journal; true if it holds more.
  @_optimize(speed)
  func foldJournal(_ edits: inout Edits, at now: Instant) throws -> Bool {
    var room = pace.journalEntries
    try readJournal(at: now)
    let waiting = journal.waiting
    // A push is of one slice. What one commit should show whole is not sent in parts.
    if waiting > room { edits.goOn(isSent: waiting > pace.wholeRows) }
    while room > 0, let touches = journal.next(room) {
      var ahead = RowsAhead(pace.rowsTogether, on: connection)
      for index in 0..<touches.count {
        let touch = touches[index]
        guard let table = tables.byID[touch.table] else { continue }
        // Somebody may have read what stood there for a moment.
        changeLog.note(table, touch.key)
        guard table.isHere else {
          try refold(table, touch.key, madeAt: touch.moment, &edits, at: now)
          continue
        }
        guard let statements = table.statements else { continue }
        let row = try ahead.row(index, of: touches, table, statements)
        if try row == nil && isHidden(touch, table, statements) { continue }
        try fold(table, touch.key, row, madeAt: touch.moment, &edits)
      }
      room -= touches.count
      try journal.removeFolded()
    }
    // Triggers followed a table that was renamed: it is compared when it has its name again.
    for table in journal.takeAbsent() { try compare(table) }
    // Older entries are read by the next fold, before it takes the write lock.
    let hasMore = try journal.hasMore()
    if !hasMore { try journal.unseen.clear() }
    if !hasMore, kinship.unnoted.count > 0, try tables.uncompared().isEmpty {
      try kinship.unnoted.clear()
    }
    return hasMore
  }

  /// Reads what was written since the journal was last read.
  private func readJournal(at now: Instant) throws(SQLiteError) {
    try journal.read(schemaVersion: tables.schemaVersion, pace: pace, at: now)
  }

  /// Looks at one row as it is now: present gives a new version, absent a deleted one, unchanged
  /// content nothing.
  func fold(
    _ table: ReplicaTable, _ key: Key, madeAt: Dating.Moment, _ edits: inout Edits
  ) throws {
    guard let statements = table.statements else { return }
    let row = try StandingRow.read(key, statements, on: connection)
    try fold(table, key, row, madeAt: madeAt, &edits)
  }

  /// The same for a row that was read already; nil if it is absent. `isImage`: it shows what its
  /// version says, and what a migration has put there. `isRenewed`: it may have changed though its
  /// hash has not.
  @_optimize(speed)
  func fold(
    _ table: ReplicaTable, _ key: Key, _ row: StandingRow?, madeAt: Dating.Moment,
    isImage: Bool = false, isRenewed: Bool = false, _ edits: inout Edits
  ) throws {
    guard let statements = table.statements else { return }
    let mark = try journal.unseen.take(table, key)
    guard mayWrite(table) else { return try refuse(row, table, key, at: madeAt.at, edits) }
    // Edited with the right to by now: it stands.
    try putBacks.remove(table, key)
    let held = try versions.version(table: table.id, key: key)
    let gone = held == nil ? try lost.version(table, key) : nil
    let unsent = held == nil && gone == nil ? try lost.unsent(table, key) : nil
    let old = held ?? gone ?? unsent
    let ended = old == nil && edits.isComparing ? try lost.ended(table, key) : nil
    let shelved =
      old == nil && ended == nil ? nil : try shelf.entry(table: table.id, key: key)
    guard let row else {
      return try foldAbsent(
        old, isHeld: held != nil, shelved, mark, table, key, madeAt: madeAt, &edits)
    }
    if let held, try hasNotMet(held, shelved, table, key, edits) {
      return try fold(row, beside: held, shelved, table, key, madeAt: madeAt, &edits)
    }
    var beside = try row.beside(shelved, statements, key, on: connection)
    var hash = row.hash(beside)
    let copy = try (gone ?? unsent).flatMap {
      try putBack(row, $0, hash, table, statements, beside, at: madeAt)
    }
    let (madeAt, isImage) = (copy?.madeAt ?? madeAt, copy?.isImage ?? isImage)
    // A program has written something where a value was kept.
    var isOverKept = !beside.writtenOver.isEmpty
    // What is made again is as it was made. That an image refers to nothing no program has done.
    var isDangling = try repeating?.isDangling ?? settlement.isDangling(table, key)
    let isWaiting =
      try old?.isDangling != true && isDangling
      && (isImage || repeating == nil && !settlement.isBroken(table, key))
    if isWaiting { isDangling = false }
    // What is made again is made, whatever stands.
    if let old, !old.isDeleted, old.hash == hash, !isRenewed, !isOverKept, repeating == nil,
      unsent == nil, shelved?.why.isWhole != true, !isDangling || !isToMark(old, edits)
    {
      // It is here again as it was.
      if gone != nil { try rowVersions.keep(old, table, key, old: nil) }
      return
    }
    if beside.outgrowNulls(statements) { (hash, isOverKept) = (row.hash(beside), true) }
    let hidden = try held.flatMap { try unseen($0, beside: shelved, mark, table, key) }
    // As it was: made then, though nobody was told.
    let then = unsent.flatMap { $0.hash == hash ? Dating.Moment(of: $0) : nil }
    let isFirst = old == nil && edits.isComparing && tables.isOld(in: table, ended)
    var keys = try keyNote(table, key, over: old, isFirst: isFirst) {
      try row.value(of: $0, statements, key, on: connection)
    }
    if let repeating { keys.former = repeating.formerKeys(leaving: key) }
    if !isImage, !rights.isWhole { try nameOwnParents(in: &keys, row, table, key, madeAt, edits) }
    let isSeen = try hidden == nil && (gone == nil || copy != nil || mayHaveStood(table, edits))
    var version = try make(
      over: old ?? formerRows.former(of: row, table, key, statements), isSeen: isSeen,
      isSameRow: hidden?.isKnownRow == true, ended: ended, hash: hash, isDeleted: false,
      isDangling: isDangling, madeAt: then ?? madeAt, keys: keys, table, key, &edits)
    if isImage { version.image = old?.image ?? old?.first }
    if old != nil { settlement.noteOrphans(of: table, key, isDeleted: false, at: madeAt) }
    if let held { try leave(held, hidden, under: &version, row, table, key, at: madeAt.at) }
    try rowVersions.keep(version, table, key, old: held)
    if isOverKept, shelved?.why == .columns { try contents.keep(beside, statements, table, key) }
    if isWaiting { try settlement.setAside(version, table, key, statements) }
    if let hidden, hidden.standsOn { try comeBack(hidden, table, key, &edits, at: madeAt.at) }
    if held == nil || hidden != nil { try noteChildren(of: table, key, &edits) }
    edits.add(version, row, beside, statements)
  }

  /// A row that is in its table no more was deleted. One that went with its table was not: since
  /// that is here again a program has put the row in and taken it out, and never saw the others'.
  /// It was if a migration has put the rows of before back.
  private func foldAbsent(
    _ old: Version?, isHeld: Bool, _ shelved: Shelf.Entry?, _ mark: UnseenMarks.Mark?,
    _ table: ReplicaTable, _ key: Key, madeAt: Dating.Moment, _ edits: inout Edits
  ) throws {
    // What waited for its table was kept from it by the row that a program has deleted.
    if let old, !old.isDeleted, let shelved, shelved.why == .table {
      try unhold(old, table, key)
      return try meet(old, shelved, table, key, &edits, at: Instant(at: madeAt.at))
    }
    // A parked one is absent without having been deleted.
    guard let statements = table.statements, let old, !old.isDeleted || repeating != nil,
      try isHeld || repeating != nil || mayHaveStood(table, edits) || isPutBack(table),
      try shelved?.why.isWhole != true || takeDismissal(table, key)
    else { return }
    let hidden = isHeld ? try overlooked(old, beside: shelved, mark, table, key) : nil
    if shelved != nil { try shelf.remove(table: table.id, key: key) }
    var deleted = try make(
      over: old, isSeen: hidden == nil, isSameRow: hidden != nil, hash: 0, isDeleted: true,
      madeAt: madeAt, table, key, &edits)
    try leave(old, hidden, under: &deleted, nil, table, key, at: madeAt.at)
    try rowVersions.keep(deleted, table, key, old: isHeld ? old : nil)
    settlement.noteOrphans(of: table, key, isDeleted: true, at: madeAt)
    if let hidden, hidden.standsOn { try comeBack(hidden, table, key, &edits, at: madeAt.at) }
    edits.add(statements.shape, deleted, .deleted(key: key.values ?? []))
  }

  /// Whether what is known of a row came while its table was not here, or was another one of the
  /// site: then another row had its number, and was deleted.
  private func hasNotMet(
    _ held: Version, _ shelved: Shelf.Entry?, _ table: ReplicaTable, _ key: Key, _ edits: Edits
  ) throws(SQLiteError) -> Bool {
    guard held.isDeleted else { return shelved?.why == .table }
    guard edits.isComparing, let ended = try lost.ended(table, key) else { return false }
    return ended.created != held.created
  }

  /// A row that was written before its table was replicated here, while one of others waited.
  ///
  /// Neither has seen the other, and they meet as if that one came now.
  private func fold(
    _ row: StandingRow, beside held: Version, _ shelved: Shelf.Entry?, _ table: ReplicaTable,
    _ key: Key, madeAt: Dating.Moment, _ edits: inout Edits
  ) throws {
    // Of two that say the same and refer to nobody one is enough.
    if row.content.value == held.hash, try kinship.parentage(tables).links(of: table.id).isEmpty {
      try shelf.remove(table: table.id, key: key)
      return settlement.changed(table, key)
    }
    try unhold(held, table, key)
    try fold(table, key, row, madeAt: madeAt, &edits)
    let moment = Instant(at: madeAt.at)
    try meet(held, shelved, table, key, &edits, at: moment)
  }

  func beginEdits() -> Edits {
    var edits = Edits(from: origins.frontier[own], judged: judged)
    if !pace.sendsEdits { edits.cancelPush() }
    return edits
  }

  /// The next version of this replica, over the one that it replaces; where this replica is the
  /// anchor, it is certified at once. `ended` stood when the site stopped tracking the table.
  @_optimize(speed)
  func make(
    over former: Version?, besides: Version? = nil, isSeen: Bool = true, isSameRow: Bool = false,
    ended: Version? = nil, hash: UInt64, isDeleted: Bool, isDangling: Bool = false,
    madeAt: Dating.Moment, keys: KeyNote = .none, _ table: ReplicaTable, _ key: Key,
    _ edits: inout Edits
  ) throws -> Version {
    let dot = Dot(own, edits.next())
    // A row that is as it was when tracking ended is an image of that: who has not heard of the end
    // has its version still. Another one that was here before its table became the site's ranks
    // below all that the site has.
    let unaltered = former == nil ? ended.flatMap { $0.hash == hash ? $0 : nil } : nil
    let isBaseline =
      former == nil && unaltered == nil && edits.isComparing && tables.isOld(in: table, ended)
    let old = isBaseline ? former : former ?? ended
    let stamp =
      isBaseline
      ? Stamp.beforeSite
      : unaltered?.stamp.successor ?? Stamp.placing(madeAt.at, above: old)
    let waiting = try pending.all(table: table.id, key: key)
    let earlier = waiting.first { $0.version.dot.origin == own }?.version
    var version = Version.edit(
      dot, over: old, isSeen: isSeen, isSameRow: isSameRow,
      pending: besides ?? repeating ?? earlier, again: repeating,
      above: isBaseline ? nil : deletions.stability.floors[table: table.seed, key: key],
      keys: isBaseline || unaltered != nil ? .none : keys, stamp: stamp, hash: hash,
      isDeleted: isDeleted)
    if let unaltered { version.image = unaltered.image ?? unaltered.first }
    version.isUndated = unaltered?.isUndated ?? (!isBaseline && !madeAt.isCertain)
    version.isDangling = isDangling
    if office.certifies {
      let moment = Instant(at: madeAt.at)
      version = sane(version, at: moment).certified(
        dot, term: office.term, epoch: nextEpoch(over: old),
        at: Stamp(millisecondsSince1970: madeAt.at))
      // What it has certified may come once more, and is no edit over this one.
      if let old, !old.isTentative, old.term == office.term, !isSeen {
        try anchor.overruled.put(old, by: version, table: table.id, key)
      }
      // Its edit of the row from before it took office is not judged any more.
      try verdicts.supersede(dot.seq, table, key)
    } else {
      version.session = anchor.session(over: old)
      try verdicts.await(dot.seq, table, key, repeating: repeating)
    }
    if let old {
      try logOverwritten(waiting, under: old, by: version, table, key, at: madeAt.at)
    }
    try supersede(by: version, table, key)
    return version
  }

  /// Moves the own frontier over the new versions, in the open transaction.
  func finish(_ edits: inout Edits) throws {
    try settleFreed(&edits)
    guard edits.count > 0 else { return }
    try origins.raise(to: Frontier([own: edits.last]))
    guard edits.changedSettings else { return }
    edits.settle()
    try applySettings(isLocal: true)
  }
}
