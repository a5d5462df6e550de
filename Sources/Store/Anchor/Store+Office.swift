import Replication
import SQLite

/// Taking and leaving the office of the anchor.
extension Store {
  var office: Office { viewpoint.office }

  /// Who judges, as this replica knows it.
  package var currentOffice: Office { office }

  /// What was judged, as this replica knows it.
  package var currentJudged: Judged { judged }

  /// Whether the anchor of the present term has judged an edit, and so has got it.
  package func isJudged(_ edit: Dot) -> Bool {
    office.isHeld && judged.covers(edit, in: office.term)
  }

  /// Follows an appointment; an earlier one than is known changes nothing.
  ///
  /// Who stands down for nobody judges first what waits. While that is not done, the office stays
  /// as it is and the result has more: after it is folded this is called again.
  package func govern(
    _ governance: Governance, at now: Instant
  ) throws(StoreError) -> FoldResult {
    guard governance.term > office.term else {
      if governance.isWaiting(in: office) { return try waitAnew(governance, at: now) }
      return try standDownLate(governance, at: now)
    }
    // Who hands over leaves what waits to the next.
    if !governance.isHeld, try hasToJudge(at: now) {
      return FoldResult(versions: 0, push: nil, hasMore: true)
    }
    return try afterFolding(at: now) { edits in
      let stoodDown = office.certifies
      if stoodDown { try moveJudged(&edits, at: now) }
      let previous = officeRecord
      officeRecord = OfficeRecord()
      try anchor.overruled.clear()
      officeRecord.epoch = previous.epoch
      officeRecord.office = Office(following: governance)
      if try deletions.isRenewing || isUnsure() { officeRecord.office.postpone() }
      if !previous.office.isHeld { try verdicts.miss(through: edits.last) }
      if let vacancy = governance.vacancy, vacancy > previous.office.term {
        try verdicts.doubt()
      }
      officeRecord.certifiesAll = governance.certifiesAll
      officeRecord.awaited = governance.isForced ? [] : governance.awaited
      if governance.wasAppointed { try rule(.stoodDown, &edits, at: now) }
      try resignIfTakenBefore(&edits, at: now)
      if office.part == .judging { try rule(.tookOffice, &edits, at: now) }
      if !office.certifies { try unveilPending(at: now) }
      try dissolveSlice(&edits, at: now)
    }
  }

  /// Whether this replica is taking office, or has not judged all that is due.
  private func hasToJudge(at now: Instant) throws(StoreError) -> Bool {
    try requireTime(at: now)
    return try reporting { () throws(SQLiteError) in
      switch office.part {
      case .none, .waiting: false
      case .taking: true
      case .judging: try due.areAny()
      }
    }
  }

  /// Does something in a transaction of its own in which nothing is left to be folded.
  func afterFolding(
    at now: Instant, _ body: (inout Edits) throws -> Void
  ) throws(StoreError) -> FoldResult {
    try requireTime(at: now)
    _ = try foldWritten(at: now)
    return try transaction {
      var edits = beginEdits()
      try foldRest(&edits, at: now)
      try body(&edits)
      try conclude(&edits, at: now)
      return try result(of: edits)
    }
  }

  /// Whether a node says that it does not judge in the present term: another was appointed, or its
  /// own file was restored.
  package func hasStoodDown(_ node: Identity) throws(StoreError) -> Bool {
    try reporting { () throws(SQLiteError) in
      try rulings.words(of: node, in: office.term).last == .stoodDown
    }
  }

  /// Waits no more for predecessors that are no members any more: nobody will hear from them.
  package func stopAwaiting(
    _ gone: Set<Identity>, at now: Instant
  ) throws(StoreError) -> FoldResult? {
    guard office.part == .waiting, officeRecord.awaited.contains(where: { gone.contains($0.node) })
    else { return nil }
    return try afterFolding(at: now) { _ in
      officeRecord.awaited.removeAll { gone.contains($0.node) }
      officeRecord.certifiesAll = true
    }
  }

  /// An earlier appointment that is heard of late may change for whom this replica waits: one by
  /// force does not wait for those before it, so nor does who comes after.
  private func waitAnew(
    _ governance: Governance, at now: Instant
  ) throws(StoreError) -> FoldResult {
    guard officeRecord.awaited != governance.awaited else {
      return FoldResult(versions: 0, push: nil, hasMore: false)
    }
    return try afterFolding(at: now) { _ in
      officeRecord.awaited = governance.awaited
      officeRecord.certifiesAll = officeRecord.certifiesAll || governance.certifiesAll
    }
  }

  /// Of two rivals the lower one may be heard of last: who was appointed by it never took office,
  /// but its successor waits to hear that it will not.
  private func standDownLate(
    _ governance: Governance, at now: Instant
  ) throws(StoreError) -> FoldResult {
    guard governance.term == office.term, governance.wasAppointed, !governance.isOwn,
      try !hasStoodDown(node)
    else { return FoldResult(versions: 0, push: nil, hasMore: false) }
    return try afterFolding(at: now) { edits in try rule(.stoodDown, &edits, at: now) }
  }

  /// An anchor that sees a version of a higher term judges no more, even if the appointment has not
  /// come yet: until it does this replica is as any other, and then says that it has stood down.
  func standDown(beside rows: [ShapedRow], judged: Judged?, at now: Instant) throws {
    guard office.part != .none else { return }
    let terms = rows.map(\.row.version.term) + [judged?.term ?? .none]
    guard terms.contains(where: { $0 > office.term }) else { return }
    try leaveOffice(at: now)
  }

  /// Ends a transaction in which something was folded, merged or ruled.
  ///
  /// A few edits are judged in the commit that brings them; more are in the next one, so that the
  /// lock is free in between.
  func conclude(_ edits: inout Edits, at now: Instant) throws {
    try takeOfficeIfFree(at: now)
    if office.part == .judging, pending.count <= pace.judgedAtOnce {
      try judgeDue(&edits, limit: pace.judgedAtOnce, at: now)
    }
    try rekey(&edits, at: now)
    try finish(&edits)
    try settleNumbers()
    try moveJudged(&edits, at: now)
    try anchor.saveRecord()
  }

  /// What a transaction has made, for the sessions.
  func result(of edits: Edits) throws -> FoldResult {
    let isUnfolded = try tables.comparing() != nil
    let leavesOfficeWork = try hasOfficeWork()
    let more =
      try isUnfolded || leavesOfficeWork || deletions.isSweeping || settlement.isMakingWay
      || settlement.isRecalling || kinship.isUnfinished
    let news = judged.news(since: edits.judgedBefore)
    let isNew = office.certifies && judged.term == office.term && judged != edits.judgedBefore
    var push = more ? nil : edits.push(own, judged: isNew ? news : nil)
    if let to = push?.to { push?.reach = lives.reach(through: to) }
    try lives.signLife()
    var result = FoldResult(versions: edits.count, push: push, hasMore: more)
    (result.isUnfolded, result.leavesOfficeWork) = (isUnfolded, leavesOfficeWork)
    return result
  }

  /// Whether the office leaves something to do in a transaction of its own.
  func hasOfficeWork() throws(SQLiteError) -> Bool {
    switch office.part {
    case .none, .waiting: isLeavingOffice ? true : try hasUnfollowed()
    case .taking: true
    case .judging: try due.areAny() ? true : verdicts.hasOpen()
    }
  }

  /// One slice of that work.
  func workInOffice(_ edits: inout Edits, at now: Instant) throws {
    try followJudged(limit: pace.judgedRows, at: now)
    switch office.part {
    case .none, .waiting:
      try unveilSlice(at: now)
      try dissolveSlice(&edits, at: now)
    case .judging:
      let isLong = anchor.isLong || pending.count > pace.judgedWhole
      let limit = isLong ? pace.judgedRows : pace.judgedWhole
      try judgeDue(&edits, limit: limit, at: now)
      anchor.isLong = try isLong && due.areAny()
    case .taking:
      if try prepareSlice(at: now) { return }
      let before = edits.count
      if try judgeDue(&edits, limit: pace.judgedRows, at: now) { return }
      let left = max(1, pace.judgedRows - (edits.count - before))
      if try certifySlice(&edits, limit: left, at: now) { return }
      officeRecord.office.part = .judging
      officeRecord.work = nil
      try rule(.tookOffice, &edits, at: now)
    }
  }

  func nextEpoch(over versions: Version?...) -> UInt64 {
    anchor.nextEpoch(over: versions)
  }

  /// Under which what is said about the office travels.
  func officeKey(_ settings: ReplicaTable) -> Key? {
    settings.key([.text(Array("office".utf8))])
  }

  /// Puts down a ruling about the office.
  func rule(_ kind: Ruling.Kind, _ edits: inout Edits, at now: Instant) throws {
    guard let settings = tables.table(Tables.settings),
      let key = officeKey(settings)
    else { return }
    let dot = Dot(own, edits.next())
    try put(Ruling(kind, edit: dot, rule: node.description), dot, settings, key, &edits, at: now)
  }

  /// Keeps and passes on a ruling of this replica.
  func put(
    _ ruling: Ruling, _ dot: Dot, _ table: ReplicaTable, _ key: Key, _ edits: inout Edits,
    at now: Instant
  ) throws {
    var version = Version(
      dot: dot, created: dot, stamp: now.stamp, hash: 0,
      isDeleted: false)
    version.term = office.term
    let item = RulingTable.Item(table: table.id, key: key, version: version, ruling: ruling)
    try rulings.put(item)
    recent.touch(dot, table: table.id, key)
    let values = key.values ?? []
    edits.add(table.keyShape(of: values), version, .ruling(ruling, key: values))
  }
}
