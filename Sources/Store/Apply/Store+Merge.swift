import Replication
import SQLite

/// What a merge has done.
package struct MergeOutcome: Sendable {
  package var result: MergeResult
  /// This replica's own edits that were folded on the way, if any.
  package var fold: FoldResult
  /// Rows that could not be placed and wait on the shelf.
  package var shelved: Int
  /// Rows whose content does not give the hash of their version.
  package var unmatched = UnmatchedContent()

  /// Both together. What both have folded goes out by no push: it is read from the file.
  func followed(by next: MergeOutcome) -> MergeOutcome {
    var both = next
    both.result.add(result)
    both.shelved += shelved
    both.unmatched.join(unmatched)
    if fold.versions > 0 {
      if next.fold.versions > 0 { both.fold.push = nil } else { both.fold = fold }
      both.fold.versions = fold.versions + next.fold.versions
      both.fold.hasMore = next.fold.hasMore
    }
    return both
  }
}

extension Store {
  /// Merges rows from a peer, in as many commits as it takes; at the end of an exchange the
  /// frontier moves in the last one.
  package func merge(_ merge: Merge, at now: Instant) throws(StoreError) -> MergeOutcome {
    var whole: MergeOutcome?
    for var slice in try slices(of: merge) {
      if let whole { slice.follow(whole.result) }
      let outcome = try self.merge(making: slice, at: now)
      whole = whole.map { $0.followed(by: outcome) } ?? outcome
    }
    guard let whole else { preconditionFailure("a merge without a commit") }
    return whole
  }

  /// Merges one slice; what refers to rows that go is parked before, if it is much.
  private func merge(
    making slice: MergeSlice, at now: Instant
  ) throws(StoreError) -> MergeOutcome {
    if let outcome = try mergeIfRoom(slice, at: now) { return outcome }
    beginMakingWay()
    defer { endMakingWay() }
    while settlement.isMakingWay, try fold(at: now).hasMore {}
    while hasMadeWay {
      if let outcome = try mergeIfRoom(slice, at: now) { return outcome }
      while settlement.isMakingWay, try fold(at: now).hasMore {}
    }
    return try merge(slice, at: now)
  }

  /// The same in one commit; nil if one may not park all that refers to rows that go. Then folds
  /// park it while `isMakingWay`, and it is tried again as long as `hasMadeWay`.
  package func mergeIfRoom(
    _ slice: MergeSlice, at now: Instant
  ) throws(StoreError) -> MergeOutcome? {
    parking.crowd.limit = pace.parkedRows
    defer { parking.crowd.limit = nil }
    do {
      return try merge(slice, at: now)
    } catch {
      guard error.code == .crowded else { throw error }
      return nil
    }
  }

  /// Until it ends, what was parked ahead does not come back.
  package func beginMakingWay() { parking.crowd.begin() }

  package func endMakingWay() {
    parking.crowd.end()
    parking.recallAgain()
  }

  /// Whether rows were parked since this was asked last.
  package var hasMadeWay: Bool { parking.crowd.takeProgress() }

  /// Merges one slice, in one commit.
  ///
  /// Local edits are folded first, in the same transaction, so that they rank against what they
  /// replaced and unsent data is never overwritten.
  @_optimize(speed)
  package func merge(_ slice: MergeSlice, at now: Instant) throws(StoreError) -> MergeOutcome {
    var slice = slice
    slice.merge = slice.merge.sealed(
      knowing: lives.reaches.book, own: own, frontier: origins.frontier)
    let all = try slice.rows()
    // Mostly nothing is left out: then nothing is copied.
    let isWhole = !all.contains {
      slice.merge.isUnsigned($0.row) || slice.merge.isStale($0.row)
    }
    let rows = isWhole ? all : all.filter { !slice.merge.leavesOut($0.row) }
    // What was left out has been worked through as well.
    let check = all.reduce(0) { $0 &+ $1.row.check }
    func result(known: UInt64) -> MergeResult {
      MergeResult(
        rows: UInt64(all.count), check: check, known: known + UInt64(all.count - rows.count),
        leftOut: slice.merge.leftOut)
    }
    if rows.isEmpty, !all.isEmpty, saysNothing(slice.merge) {
      let fold = FoldResult(versions: 0, push: nil, hasMore: false)
      return MergeOutcome(result: result(known: 0), fold: fold, shelved: 0)
    }
    if office.judges(in: slice.merge.judged?.term) { slice.merge.judged = nil }
    try requireTime(at: now)
    try requireReached(rows, at: now)
    try foldBacklog(at: now)
    // Slices of a long catch-up need not be on disk before the frontier moves; the last commit is,
    // and with it all that came before. Edits of our own always are: they may be exported next.
    let isQuiet = try reporting { () throws(SQLiteError) in try Journal.isEmpty(on: connection) }
    defer { journal.settleIfEmpty(after: now) }
    let isDurable = slice.merge.end != nil || !isQuiet
    var outcome: MergeOutcome
    do {
      outcome = try apply(rows, of: slice, isDurable: isDurable, at: now)
    } catch {
      guard error.code == .backlog else { throw error }
      outcome = try apply(rows, of: slice, isDurable: true, at: now)
    }
    outcome.result = result(known: outcome.result.known)
    return outcome
  }

  /// Whether a step beside whose rows nothing is to be kept: where all of these are left out no
  /// program has to wait for it.
  private func saysNothing(_ merge: Merge) -> Bool {
    merge.end == nil && !merge.reaches.contains { lives.reaches.book.isNews($0) }
  }

  /// Throws `.backlog` if the commit need not be durable, but holds edits of our own.
  @_optimize(speed)
  private func apply(
    _ rows: [ShapedRow], of slice: MergeSlice, isDurable: Bool, at now: Instant
  ) throws(StoreError) -> MergeOutcome {
    let merge = slice.merge
    return try transaction(isDurable: isDurable) {
      var edits = beginEdits()
      contents.unmatched = UnmatchedContent()
      try foldRest(&edits, at: now)
      try requireDurable(isDurable, edits)
      try finish(&edits)
      let takesBack = try lives.keep(merge.reaches)
      try checkGap(merge)
      try deletions.checkStanding(of: merge)
      try requireKnown(rows.reduce(0) { max($0, own == $1.origin ? $1.row.version.dot.seq : 0) })
      try standDown(beside: rows, judged: merge.judged, at: now)
      let rows = try merge.licence.map { try vouched(rows, by: $0) } ?? rows
      var application = Application(judged: merge.judged, isRepair: merge.kind == .repair)
      application.held = merge.held
      try applyAll(rows, &edits, at: now, &application)
      if merge.kind == .repair, application.placed > 0 { repairs += 1 }
      try finish(&edits)
      // What has gathered is worked through with the last of its slices.
      if slice.isLast { try moveFrontier(slice, takesBack: takesBack) }
      if tellOfOffice(rows) { try resignIfTakenBefore(&edits, at: now) }
      try rekey(&edits, at: now)
      if let judged = merge.verdicts { try join(judged, at: now) }
      try conclude(&edits, at: now)
      // One may have been made again, or judged.
      try requireDurable(isDurable, edits)
      return MergeOutcome(
        result: MergeResult(rows: 0, check: 0, known: application.known),
        fold: try result(of: edits), shelved: application.shelved, unmatched: contents.unmatched)
    }
  }

  /// What a leaf says of the places of rows: others follow those of its own, and those that are
  /// known already. Else it could have others write in tables that it may not write itself.
  private func vouched(_ rows: [ShapedRow], by leaf: LeafLicence) throws -> [ShapedRow] {
    try rows.map { row in
      guard row.row.version.hasNumbering, !row.row.version.numbering.former.isEmpty,
        tables.hasRoom(for: row.shape.name)
      else { return row }
      let isNameless = isNameless(row)
      guard let table = try rowVersions.rows(of: row.shape, isNameless: isNameless),
        let key = try key(of: row, in: table, isNameless)
      else { return row }
      let standing = try versions.version(table: table.id, key: key)
      var vouched = row.row
      vouched.version.numbering.former = try vouched.version.numbering.former.filter { former in
        if former.created.origin == leaf.origin { return true }
        if standing?.numbering.former.contains(former) == true { return true }
        let place = FormerKeys.Place(table: table.id, key: former.key, created: former.created)
        return try kinship.former.entry(place)?.next != nil
      }
      return ShapedRow(shape: row.shape, row: vouched)
    }
  }

  private func requireDurable(_ isDurable: Bool, _ edits: Edits) throws {
    guard isDurable || edits.count == 0 else {
      throw StoreError(.backlog, "the commit holds edits of this replica")
    }
  }

  /// Folds what waits until it fits into one slice.
  private func foldBacklog(at now: Instant) throws(StoreError) {
    while try hasBacklog() { _ = try fold(at: now) }
  }

  /// Whether what waits to be folded is more than one slice.
  package func hasBacklog() throws(StoreError) -> Bool {
    try inspectSchema()
    let isLong = try reporting { () throws(SQLiteError) in
      try Journal.holds(pace.journalEntries, on: connection)
    }
    return isLong ? true : try isComparing()
  }

  /// Whether what a table shows is compared with what is known of it.
  package func isComparing() throws(StoreError) -> Bool {
    try reporting { () throws(SQLiteError) in try tables.comparing() != nil }
  }

  private func checkGap(_ merge: Merge) throws(StoreError) {
    guard isOfToday(merge), !merge.follows(origins.frontier) else { return }
    throw StoreError(.gap, "a push starts beyond what is held")
  }

  /// False if it was on its way when the rights of this replica changed: then it covers nothing.
  private func isOfToday(_ merge: Merge) -> Bool {
    merge.reader.map { $0 == rights } ?? true
  }

  /// Moves the frontier at the end of an exchange, or notes how far a long one has come.
  private func moveFrontier(_ slice: MergeSlice, takesBack: Bool) throws {
    let merge = slice.merge
    guard isOfToday(merge) else { return }
    let wasFetching = refusals.isFetchingWhatWaits
    try raise(to: merge.claim(beside: origins.frontier))
    if wasFetching, !refusals.isFetchingWhatWaits { try refusals.forgetWhatWaits() }
    if merge.movesFrontier {
      if merge.bringsAll { try deletions.noteReceived(from: merge.standing) }
      kinship.isComplete = true
    }
    if let progress = merge.progress(after: slice.last, beside: origins.frontier) {
      if !takesBack { try self.progress.save(progress, of: merge.sender, edition: merge.edition) }
    } else if case .full = merge.kind, merge.movesFrontier {
      try forgetUntracked()
      // Rows of earlier slices may have left the list, or came before this process began.
      let isResumed = try self.progress.contains(merge.sender, edition: merge.edition)
      if isResumed || slice.isLong { recent.requireScan() }
      try self.progress.clear(merge.sender)
      if try isUnsure() { try meta.set(.isUnsure, .integer(0)) }
    }
  }

  /// Raises the frontier; one that could not be told to anybody any more is refused.
  private func raise(to frontier: Frontier) throws {
    let mine = origins.frontier.joined(Frontier([own: 1]))
    guard frontier.isEmpty || mine.fits(beside: frontier) else {
      throw StoreError(.wire, "the frontier would have too many origins")
    }
    try requireRoom(for: frontier)
    try requireKnown(frontier[own])
    try origins.raise(to: frontier)
  }

  /// An edit of this life that is not here was never made, or by another copy of this file, or by
  /// this one before it was put back: whoever holds it shows what this node has signed.
  private func requireKnown(_ seq: UInt64) throws(StoreError) {
    guard seq > origins.frontier[own] else { return }
    throw StoreError(.wire, "a peer sends edits of this replica that are not in the file")
  }

  /// Applies rows in the order of their keys: half the cost of a random order. Which rows stand is
  /// settled last: by then what is in the tables has its versions.
  private func applyAll(
    _ rows: [ShapedRow], _ edits: inout Edits, at now: Instant, _ application: inout Application
  ) throws {
    // The settings first: they tell which tables there are, and thereby what is one key in them.
    let settings = rows.filter { isSettings($0) }
    if !settings.isEmpty {
      try verdicts.whileRulesMayChange { try apply(settings, at: now, &application) }
      if application.placed > 0 { try applySettings(isLocal: false) }
    }
    try learnRenames(from: rows)
    try apply(
      settings.isEmpty ? rows : rows.filter { !isSettings($0) }, at: now, &application)
    for (table, key, edit) in application.repeated {
      guard let table = tables.byID[table] else { continue }
      try editAgain(edit, table, key, &edits, at: now, &application)
    }
    for (table, key, former) in application.undone {
      if let table = tables.byID[table] { try deleteAgain(former, table, key, &edits) }
    }
    try settlement.settle(&application)
    for origin in application.speakers {
      try rulings.trimWords(of: try versions.origins.number(of: origin))
    }
  }

  /// Rows may prove which column one was before it was renamed here: the site is told.
  private func learnRenames(from rows: [ShapedRow]) throws {
    let search = LateRenames(
      tables: tables, versions: versions, shelf: shelf, connection: connection)
    let found = try search.found(in: rows)
    guard !found.isEmpty, let settings = tables.table(Renames.settings), mayWrite(settings)
    else { return }
    let news = try found.filter {
      try tables.renames.publish(
        $0.column, first: $0.first, of: $0.table.name, number: settings.id)
    }
    if !news.isEmpty { try renewSchema() }
  }

  private func isSettings(_ row: ShapedRow) -> Bool { Tables.isSettings(row.shape.name) }

  @_optimize(speed)
  private func apply(
    _ rows: [ShapedRow], at now: Instant, _ application: inout Application
  ) throws {
    var order: [(table: Int64, key: Key, index: Int)] = []
    order.reserveCapacity(rows.count)
    var last: (shape: TableShape, table: ReplicaTable)?
    var named: Set<Origin> = []
    for (index, row) in rows.enumerated() {
      let isNameless = isNameless(row)
      var table = last?.table
      if isNameless || last?.shape != row.shape {
        // Once the site tracks its table it comes again: digests differ then.
        table =
          tables.hasRoom(for: row.shape.name)
          ? try rowVersions.rows(of: row.shape, isNameless: isNameless) : nil
        last = isNameless ? nil : table.map { (row.shape, $0) }
      }
      guard let table, let key = try key(of: row, in: table, isNameless),
        origins.hasRoom(for: row.row.version, beside: &named)
      else {
        contents.unmatched.leftOut += 1
        continue
      }
      order.append((table.id, key, index))
    }
    order.sort { ($0.table, $0.key, $0.index) < ($1.table, $1.key, $1.index) }
    let isRenewing = deletions.isRenewing
    for (id, key, index) in order {
      guard let table = tables.byID[id] else { continue }
      let row = rows[index]
      if isRenewing { try deletions.noteFresh(table, key, row.row) }
      if try !application.isRepair && deletions.hasForgotten(row.row, table, key) {
        application.known += 1
        continue
      }
      let isOne = !lost.knowsEnd(of: table) && settlement.mayGather(row)
      let old = try isOne ? versions.version(table: table.id, key: key) : nil
      application.newRows.mayWait = isOne && old == nil
      if !application.newRows.mayWait { try settlement.placeGathered(&application) }
      try apply(row, table, key, over: isOne ? .some(old) : nil, at: now, &application)
    }
    application.newRows.mayWait = false
    try settlement.placeGathered(&application)
  }

  /// Nil if a row that is known by its key alone cannot be one of the table: who sends it may not
  /// know the columns of that key. Whatever else depends on the row alone is its sender's fault.
  private func key(
    of row: ShapedRow, in table: ReplicaTable, _ isNameless: Bool
  ) throws(StoreError) -> Key? {
    let values = row.row.values.prefix(row.shape.keyCount)
    guard let key = table.key(values) else { throw StoreError(.wire, "a key holds NULL") }
    if table.keyShape?.holds(values) ?? row.shape.key.holds(values) { return key }
    guard !isNameless else { return nil }
    throw StoreError(
      .wire, "a key of \(quoted(table.name)) holds a value that its column would not store")
  }

  /// Whether its sender does not know what the key columns are called.
  private func isNameless(_ row: ShapedRow) -> Bool {
    let count = row.shape.keyCount
    return !row.row.content.isWhole
      && row.shape.columns.prefix(count).elementsEqual(RowStatements.placeholders(count))
  }
}
