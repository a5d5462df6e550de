import Replication
import SQLite

/// The anchor's verdicts.
extension Store {
  /// Judges what came whole; true if there was a slice of it.
  @discardableResult
  func judgeDue(_ edits: inout Edits, limit: Int, at now: Instant) throws -> Bool {
    try judgeSettings(&edits, at: now)
    var left = limit
    while left > 0 {
      var next = try due.take(left, beside: anchor.deferral)
      if next.isEmpty { next = anchor.deferral.untried(left)[...] }
      if next.isEmpty {
        let count = try judgePutOff(&edits, limit: left, at: now)
        guard count > 0 else {
          anchor.deferral = Deferral()
          return false
        }
        left -= count
      } else {
        try judge(next, &edits, at: now)
        left -= next.count
      }
    }
    return true
  }

  /// Nothing else is left to judge. Gives how much of what was put off was looked at.
  private func judgePutOff(_ edits: inout Edits, limit: Int, at now: Instant) throws -> Int {
    let refuted = anchor.deferral.takeRefuted(limit)
    guard refuted.isEmpty else {
      try judge(refuted.filter(isWaiting), .refuted, &edits, at: now)
      return refuted.count
    }
    let next = anchor.deferral.first(limit, together: pace.judgedTogether)
    try judgeTogether(next.flatMap { try waiting($0) }, &edits, at: now)
    return next.count
  }

  /// The settings first: they tell which tables there are, and by which rule the others are judged.
  private func judgeSettings(_ edits: inout Edits, at now: Instant) throws {
    let next = try tables.settings.flatMap { table in
      try due.edits(of: table.id, limit: Limits.wholeRows)
    }
    guard !next.isEmpty else { return }
    try judge(next[...], &edits, at: now)
    // They were made elsewhere: rows that are here already are not the site's for that.
    try applySettings(isLocal: false)
    edits.settle()
  }

  /// What waits under these numbers: somebody may have superseded it since they were read.
  private func waiting(
    _ edit: DueEdit, withRows: Bool = false
  ) throws(SQLiteError) -> [PendingTable.Item] {
    let items = try pending.items(edit.dot, withRows: withRows)
    if items.isEmpty { anchor.deferral.judged(edit.dot, isAccepted: false) }
    return items
  }

  /// Whether an edit still waits.
  private func isWaiting(_ item: PendingTable.Item) throws(SQLiteError) -> Bool {
    let dot = item.version.dot
    let waiting = try pending.version(table: item.table, key: item.key, origin: dot.origin)
    if waiting?.dot != dot { anchor.deferral.judged(dot, isAccepted: false) }
    return waiting?.dot == dot
  }

  /// One after the other; what does not fit is put off.
  private func judge(
    _ next: ArraySlice<DueEdit>, _ edits: inout Edits, at now: Instant
  ) throws {
    var application = Application()
    for edit in next {
      for item in try waiting(edit, withRows: true) {
        try judge(item, .tried, &edits, &application, at: now)
      }
    }
    try settlement.settle(&application)
  }

  /// So many bytes of rows are tried together, and one row more.
  private static let mostTogether = 64 << 20

  /// Edits of which none fits alone: those that fit together are accepted, or else none is.
  private func judgeTogether(
    _ items: [PendingTable.Item], _ edits: inout Edits, at now: Instant
  ) throws {
    var candidates: [Settlement.Candidate] = []
    var others: [PendingTable.Item] = []
    var orphans: [PendingTable.Item] = []
    var rows: Set<Export.RowID> = []
    var bytes = 0
    for item in items where bytes < Self.mostTogether {
      let opinion = try opinion(on: item)
      if opinion?.isByName == true, anchor.deferral.hasContent {
        anchor.deferral.putOff(DueEdit(item, hasContent: false), for: .name)
        continue
      }
      if opinion?.awaitsParent == true {
        anchor.deferral.putOff(DueEdit(item, hasContent: true), for: .parent)
        orphans.append(item)
        continue
      }
      guard let opinion, opinion.judgement == .accepted,
        let candidate = try settlement.candidate(
          item, opinion.entry, opinion.table, opinion.standing, at: now)
      else {
        others.append(item)
        continue
      }
      let isFirst = rows.insert(Export.RowID(table: item.table, key: item.key)).inserted
      if isFirst {
        candidates.append(candidate)
        bytes += opinion.entry?.size ?? 0
      }
    }
    if candidates.isEmpty, others.isEmpty {
      // Of what else is left one may be the parent.
      if !anchor.deferral.seeksRoom { anchor.deferral.refute(orphans) }
      return
    }
    try judge(others, .tried, &edits, at: now)
    let fitting = try settlement.fitting(candidates).map(\.item)
    if fitting.isEmpty {
      anchor.deferral.refute(candidates.map(\.item))
    } else {
      try judge(fitting, .assumed, &edits, at: now)
    }
  }

  private func judge(
    _ items: [PendingTable.Item], _ fitting: Fitting, _ edits: inout Edits, at now: Instant
  ) throws {
    guard !items.isEmpty else { return }
    var application = Application()
    for item in items {
      try judge(item, fitting, &edits, &application, at: now)
    }
    try settlement.settle(&application)
  }

  private func judge(
    _ item: PendingTable.Item, _ fitting: Fitting, _ edits: inout Edits,
    _ application: inout Application, at now: Instant
  ) throws {
    guard let opinion = try opinion(on: item) else {
      try pending.remove(item)
      return anchor.deferral.judged(item.version.dot, isAccepted: false)
    }
    try judge(item, opinion, fitting, &edits, &application, at: now)
  }

  /// What the rule says about an edit, and what it was said about.
  private struct Opinion {
    var table: ReplicaTable
    var rule: any MergeRule.Type
    /// The version that the verdict will outrank.
    var held: Version?
    /// What the edit is weighed against: that version, unless it is parked and waits itself.
    var standing: Version?
    var entry: Shelf.Entry?
    var judgement: Judgement
    /// Whether it would be accepted, and what it says is not here.
    var isByName = false
    /// Whether a row to which it refers may yet come to stand, and another has its number.
    var awaitsParent = false

    func hasSeenStanding(_ edit: Version) -> Bool {
      held.map { edit.hasSeen($0) } ?? true
    }
  }

  /// Nil if there is nothing to judge.
  private func opinion(on item: PendingTable.Item) throws -> Opinion? {
    let held = try versions.version(table: item.table, key: item.key)
    guard viewpoint.isUndecided(item.version, over: held), let table = tables.byID[item.table]
    else { return nil }
    let rule = try anchor.actingRule(of: table)
    let isParked = try held.map { try isParkedUnjudged($0, table, item.key) } ?? false
    // What stands by name alone can be shown to nobody, and keeps nothing out.
    let isName = try shelf.why(table: item.table, key: item.key) == .tooLarge
    let standing = isParked || isName ? nil : held
    let entry = try pending.entry(item)
    let isHere = entry != nil || item.version.isDeleted
    let claim = Claim(
      edit: item.version, standing: standing, in: isHere ? anchor.liveSessions : [:])
    let isDecided = try standing != nil && isDecided(item)
    var judgement = Judgement(of: claim, under: rule, term: office.term, isDecided: isDecided)
    if judgement == .accepted, try isUnallowed(item, entry, over: standing, table) {
      judgement = .rejected(.notAllowed)
    }
    // Another row stands where the one was that it means; its author hangs it under that again.
    // Or the row itself has another key already.
    var awaitsParent = false
    if judgement == .accepted {
      let meaning = try moved.meaning(of: item.version, entry, table)
      awaitsParent = meaning == .mayCome
      if try meaning == .elsewhere || moved.hasReturned(item.version, table) {
        judgement = .rejected(.keyCollision)
      } else if meaning == .gone {
        judgement = .rejected(.parked)
      }
    }
    let isByName = judgement == .accepted && !isHere && standing?.edit != item.version.edit
    // What was made over it was rejected: nobody could show what it says.
    if isByName, let reason = try rulings.rejection(table: item.table, item.key, in: office.term) {
      judgement = .rejected(reason == .parked ? .parked : .unseen)
    }
    return Opinion(
      table: table, rule: rule, held: held, standing: standing, entry: entry,
      judgement: judgement, isByName: isByName, awaitsParent: awaitsParent)
  }

  /// Whether an edit that something else stands against has its verdict of this term.
  private func isDecided(_ item: PendingTable.Item) throws(SQLiteError) -> Bool {
    let ruling = try rulings.about(item.version, table: item.table, item.key)
    if ruling?.version.term == office.term { return true }
    return try anchor.overruled.contains(item.version.first, table: item.table, item.key)
  }

  private func judge(
    _ item: PendingTable.Item, _ opinion: Opinion, _ fitting: Fitting, _ edits: inout Edits,
    _ application: inout Application, at now: Instant
  ) throws {
    let (table, standing, entry) = (opinion.table, opinion.standing, opinion.entry)
    let edit = DueEdit(item, hasContent: entry != nil)
    var judgement = opinion.judgement
    var left: Leaving?
    var isPlaced = false
    if judgement == .accepted {
      // Before the edit is put into its table, to see whether it fits.
      let isLogged = standing.map { viewpoint.isLost($0, to: item.version) } ?? false
      left = try leaving(opinion.held, to: item.version, isLogged: isLogged, table, item.key)
      switch fitting {
      case .refuted where opinion.awaitsParent: judgement = .rejected(.keyCollision)
      case .refuted where opinion.isByName: judgement = .rejected(.parked)
      case .refuted:
        // Since it was found a program may have made room.
        let candidate = try settlement.candidate(item, entry, table, standing, at: now)
        if let candidate, try settlement.fit(candidate) != .fits {
          judgement = .rejected(.parked)
        } else {
          isPlaced = candidate?.placement != nil
        }
      case _ where opinion.awaitsParent: return anchor.deferral.putOff(edit, for: .parent)
      case .assumed: break
      case .tried where opinion.isByName && anchor.deferral.hasContent:
        // What was made over it may be among these, and decides about it.
        return anchor.deferral.putOff(edit, for: .name)
      case .tried where opinion.isByName && !opinion.hasSeenStanding(item.version):
        // What was made over it gave way, and what it says cannot be shown.
        judgement = .rejected(.unseen)
      case .tried:
        let candidate = try settlement.candidate(item, entry, table, standing, at: now)
        switch try candidate.map(settlement.fit) {
        case .fits, nil: isPlaced = candidate?.placement != nil
        case .needs(let need):
          let brings = try settlement.brings(item, entry, table)
          return anchor.deferral.putOff(edit, for: .room(need), brings: brings)
        }
      }
    }
    if case .rejected = judgement, standing == nil, let mine = try ownEdit(beside: item) {
      try judge(mine, fitting, &edits, &application, at: now)
      // What that one waits for decides about this one, too.
      if try ownEdit(beside: item) != nil { return anchor.deferral.putOff(edit, for: .name) }
      return try judge(item, fitting, &edits, &application, at: now)
    }
    try pending.remove(item)
    anchor.deferral.judged(item.version.dot, isAccepted: judgement == .accepted)
    switch (judgement, standing) {
    case (.settled(let certifiesAgain), let standing?):
      guard certifiesAgain else { return }
      let content = try contents.content(of: standing, table, item.key)
      try certifyAgain(standing, content, over: item.version, table, item.key, &edits, at: now)
    case (.rejected(let reason), _): try reject(item, opinion, reason, &edits, at: now)
    default:
      try accept(
        item, opinion, leaving: left, isPlaced: isPlaced, &edits, &application, at: now)
    }
  }

  /// An edit of the anchor itself that waits beside another of the same row. It comes first where
  /// nothing stands: the word that nothing does is the anchor's own, too, and would pass for one
  /// that was written over it.
  private func ownEdit(beside item: PendingTable.Item) throws(SQLiteError) -> PendingTable.Item? {
    let edit = item.version.edit
    return try pending.all(table: item.table, key: item.key).first {
      $0.version.edit.origin == own
        && (edit.origin != own || $0.version.edit.seq > edit.seq)
    }
  }

  private func accept(
    _ item: PendingTable.Item, _ opinion: Opinion, leaving: Leaving?, isPlaced: Bool,
    _ edits: inout Edits, _ application: inout Application, at now: Instant
  ) throws {
    let (table, standing, rule) = (opinion.table, opinion.standing, opinion.rule)
    if let standing, !standing.isDeleted,
      viewpoint.isLost(standing, to: item.version)
    {
      let reason: Reason = rule == NewestWins.self ? .older : .unseen
      try conflicts.put(
        table.name, item.key, at: now.moment, reason, rule: rule.name,
        loser: leaving?.content.map { ConflictSide(standing, $0) },
        winner: ConflictSide(item.version, opinion.entry ?? table.keyEntry(item.key)))
    }
    if let standing, !standing.isTentative, standing.term == office.term,
      !item.version.hasSeen(standing)
    {
      try anchor.overruled.put(standing, by: item.version, table: table.id, item.key)
    }
    let certificate = sane(item.version.joined(with: standing), at: now).certified(
      Dot(own, edits.next()), term: office.term,
      epoch: nextEpoch(over: opinion.held, item.version), at: now.stamp)
    let row = table.shaped(certificate, opinion.entry, item.key)
    try stand(
      row, table, item.key, over: opinion.held, leaving: leaving, isPlaced: isPlaced, at: now,
      &application)
    edits.add(row.shape, certificate, row.row.content)
    guard anchor.deferral.hasNeeds else { return }
    for need in try settlement.brings(item, opinion.entry, table) {
      anchor.deferral.happened(need)
    }
  }

  private func reject(
    _ item: PendingTable.Item, _ opinion: Opinion, _ reason: Reason, _ edits: inout Edits,
    at now: Instant
  ) throws {
    let (table, entry, rule) = (opinion.table, opinion.entry, opinion.rule)
    let ruling = Ruling(.rejected(reason), edit: item.version.edit, rule: rule.name)
    try put(ruling, Dot(own, edits.next()), table, item.key, &edits, at: now)
    let standing =
      try opinion.standing ?? nothing(instead: item, opinion, &edits, at: now)
    let content = try contents.content(of: standing, table, item.key)
    if reason == .keyCollision, standing.isDeleted || standing.collides(with: item.version) {
      try kinship.former.note(
        FormerKeys.Place(table: table.id, key: item.key, created: item.version.created))
    }
    let isWrittenAgain =
      reason == .keyCollision && standing.isDeleted
      && !kinship.gone.contains(item.version.edit.origin)
    if standing.hash != item.version.hash, !isWrittenAgain, let entry {
      try conflicts.put(
        table.name, item.key, at: now.moment, reason, rule: rule.name,
        loser: ConflictSide(item.version, entry),
        winner: ConflictSide(standing, content ?? table.keyEntry(item.key)))
    }
    guard opinion.standing != nil else { return }
    try certifyAgain(standing, content, over: item.version, table, item.key, &edits, at: now)
  }

  /// The word that nothing stands under a key that was free, or where a row was parked.
  private func nothing(
    instead item: PendingTable.Item, _ opinion: Opinion, _ edits: inout Edits, at now: Instant
  ) throws -> Version {
    let (table, held) = (opinion.table, opinion.held)
    let dot = Dot(own, edits.next())
    let certificate = sane(Version.nothing(dot, instead: item.version), at: now).certified(
      dot, term: office.term, epoch: nextEpoch(over: held, item.version), at: now.stamp)
    try rowVersions.keep(certificate, table, item.key, old: held)
    if held != nil { try shelf.remove(table: table.id, key: item.key) }
    let row = table.shaped(certificate, nil, item.key)
    edits.add(row.shape, certificate, row.row.content)
    return certificate
  }

  /// The word that what stands goes on to stand, above a version that does not.
  private func certifyAgain(
    _ standing: Version, _ content: Shelf.Entry?, over other: Version, _ table: ReplicaTable,
    _ key: Key, _ edits: inout Edits, at now: Instant
  ) throws {
    // Nothing was updated: the row keeps the time that it had.
    let standing = sane(standing, at: now)
    let certificate = standing.certified(
      Dot(own, edits.next()), term: office.term, epoch: nextEpoch(over: standing, other),
      at: standing.stamp)
    try rowVersions.keep(certificate, table, key, old: standing)
    let row = table.shaped(certificate, content, key)
    if row.row.content.size > pace.longRow { return edits.addLong() }
    edits.add(row.shape, certificate, row.row.content)
  }
}
