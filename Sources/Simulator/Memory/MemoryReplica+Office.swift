import Replication
import Store

/// The anchor of replicas in memory: what decides is the product's, this only carries it out.
extension MemoryReplica {
  var viewpoint: Viewpoint {
    var viewpoint = Viewpoint(own: origin, office: file.office.office, judged: file.office.judged)
    viewpoint.earlier = Set(file.runs.entries.map(\.origin)).subtracting([origin])
    viewpoint.departed = departed
    return viewpoint
  }

  func govern(_ governance: Governance, at now: Instant) -> FoldResult {
    let isNew = governance.term > file.office.office.term
    let isLate =
      governance.term == file.office.office.term && governance.wasAppointed && !governance.isOwn
      && !file.office.rulings.values.contains {
        $0.ruling.kind == .stoodDown && $0.version.dot.origin == origin
          && $0.version.term == governance.term
      }
    let isAnew = governance.isWaiting(in: file.office.office)
    if isAnew { file.office.awaited = governance.awaited }
    guard isNew || isLate || isAnew else {
      return FoldResult(versions: 0, push: nil, hasMore: false)
    }
    while fold(at: now).hasMore {}
    var edits = beginEdits()
    foldRest(&edits, at: now)
    if isNew {
      if file.office.office.certifies { moveJudged() }
      file.office.office = Office(following: governance)
      file.office.overruled = [:]
      if file.stability.renewal != nil { file.office.office.postpone() }
      file.office.certifiesAll = governance.isForced
      file.office.awaited = governance.isForced ? [] : governance.awaited
      file.office.cursor = 0
    }
    if governance.wasAppointed, isNew || isLate { rule(.stoodDown, &edits, at: now) }
    if isNew, file.office.office.part == .judging { rule(.tookOffice, &edits, at: now) }
    if !file.office.office.certifies { unveil() }
    if !governance.isHeld { release { _, _ in true } }
    let result = conclude(&edits, at: now)
    commit(isDurable: true)
    return result
  }

  func goOnline(_ session: UInt64, at now: Instant) -> FoldResult {
    online = 0
    let result = fold(at: now)
    online = session
    return result
  }

  func setLiveSessions(_ sessions: [UInt64: Origin]) { liveSessions = sessions }

  func becomeSure(at now: Instant) -> FoldResult? { nil }

  func setRule(_ rule: String, ofTable number: Int, at now: Instant) {
    self.rule = MergeRules.named(rule) ?? MergeRules.standard
  }

  /// Ends a transaction in which something was folded, merged or ruled.
  func conclude(_ edits: inout MemoryEdits, at now: Instant) -> FoldResult {
    takeOfficeIfFree()
    if file.office.office.part == .judging { judgeDue(&edits, at: now) }
    return finish(&edits, at: now)
  }

  /// One slice of what the office leaves to do in a transaction of its own.
  func workInOffice(_ edits: inout MemoryEdits, at now: Instant) {
    switch file.office.office.part {
    case .none, .waiting: break
    case .judging: judgeDue(&edits, at: now)
    case .taking:
      if judgeDue(&edits, at: now) || certifySlice(&edits, at: now) { return }
      file.office.office.part = .judging
      rule(.tookOffice, &edits, at: now)
    }
  }

  var hasOfficeWork: Bool {
    switch file.office.office.part {
    case .none, .waiting: false
    case .taking: true
    case .judging: hasDue
    }
  }

  private func finish(_ edits: inout MemoryEdits, at now: Instant) -> FoldResult {
    let (office, judged) = (file.office.office, file.office.judged)
    if edits.seq == edits.from, office.part == .judging, !hasDue,
      judged.isBehind(file.frontier, of: origin, in: office.term)
    {
      rule(.tookOffice, &edits, at: now)
    }
    file.frontier.raise(origin, to: edits.seq)
    moveJudged()
    let isNews =
      file.office.office.certifies && file.office.judged.term == file.office.office.term
      && file.office.judged != edits.judgedBefore
    var push = Push(
      origin: origin, from: edits.from, to: edits.seq, batch: edits.writer.bytes,
      rows: edits.seq - edits.from, check: edits.writer.check,
      judged: isNews ? file.office.judged.news(since: edits.judgedBefore) : nil)
    push.reach = ownReach(through: edits.seq)
    let count = Int(edits.seq - edits.from)
    return FoldResult(
      versions: count, push: count > 0 && !hasOfficeWork ? push : nil, hasMore: hasOfficeWork)
  }

  private func takeOfficeIfFree() {
    guard file.office.office.part == .waiting, file.stability.renewal == nil else { return }
    let isFree = file.office.awaited.allSatisfy { before in
      file.office.rulings.values.contains {
        before.isRelieved(by: $0.ruling, $0.version) && file.frontier.covers($0.version.dot)
      }
    }
    guard isFree else { return }
    file.office.office.part = .taking
    for (row, versions) in file.office.pending {
      guard let standing = file.versions[row] else { continue }
      for version in versions.values where version.isHistory(of: standing) { drop(version, row) }
    }
    release(wasDecided)
  }

  /// Whether one for whom this replica has waited has given its verdict on a version, and something
  /// else stands since.
  private func wasDecided(_ version: Version, _ row: RowNumber) -> Bool {
    let (office, judged) = (file.office, file.office.judged)
    return !office.certifiesAll && office.awaited.contains { $0.term == judged.term }
      && judged.frontier.covers(version.dot)
      && file.versions[row].map { version.rank < $0.rank } ?? false
  }

  private func moveJudged() {
    guard file.office.office.part == .judging, !hasDue else { return }
    join(Judged(term: file.office.office.term, frontier: file.frontier))
  }

  func join(_ news: Judged) {
    let before = file.office.judged
    file.office.judged.join(news)
    guard file.office.judged != before else { return }
    let view = viewpoint
    if !view.office.certifies { release { version, _ in !view.isUndecided(version) } }
    for (seq, verdict) in file.office.view.verdicts
    where verdict == nil && seq <= file.office.judged.frontier[origin] {
      guard file.office.again[seq] == nil else { continue }
      let wasRejected = wasRejected(Dot(origin, seq))
      let row = file.office.written.first { $0.value.contains(seq) }?.value ?? []
      let isSuperseded = row.contains { $0 > seq }
      let verdict = wasRejected ? "rejected" : isSuperseded ? "superseded" : "accepted"
      file.office.view.verdicts.updateValue(verdict, forKey: seq)
      for (old, new) in file.office.again where new == seq {
        file.office.view.verdicts.updateValue(verdict, forKey: old)
        file.office.again[old] = nil
      }
    }
  }

  var hasDue: Bool {
    file.office.pending.values.contains { $0.values.contains(where: isDue) }
  }

  func isDue(_ version: Version) -> Bool {
    file.frontier.covers(version.dot) || compared.contains(version.dot)
  }

  func hold(_ version: Version, _ row: RowNumber) {
    if let old = file.office.pending[row]?[version.dot.origin], old.dot.seq >= version.dot.seq {
      return
    }
    file.office.pending[row, default: [:]][version.dot.origin] = version
  }

  /// The application has written over what another node wrote and no anchor has judged yet.
  func holdOverwritten(_ old: Version, _ row: RowNumber) {
    guard old.dot.origin != origin, viewpoint.isUndecided(old) else { return }
    if !old.isDeleted { file.office.byName.insert(old.dot) }
    hold(old, row)
  }

  /// This node's last edit of the row has given way, and it has made another one on what came.
  func logOverwritten(_ row: RowNumber, under standing: Version, by version: Version) {
    let waiting = (file.office.pending[row] ?? [:]).values.sorted { $0.dot < $1.dot }
    let last = waiting.filter { $0.edit.origin == origin }.map(\.edit.seq).max()
    for earlier in waiting where earlier.hash != version.hash {
      let isOwn = earlier.edit.origin == origin && earlier.edit.seq == last
      guard earlier.dot.origin == origin || isOwn, !file.office.byName.contains(earlier.dot),
        viewpoint.isLost(earlier, to: standing)
      else { continue }
      log(earlier, standing, row, "older")
    }
  }

  /// A version has come, whole or its name alone.
  func note(_ incoming: WireRow, _ row: RowNumber) {
    let dot = incoming.version.dot
    guard case .withheld = incoming.content else {
      file.office.byName.remove(dot)
      return
    }
    let isHere =
      file.versions[row]?.dot == dot || file.office.pending[row]?[dot.origin]?.dot == dot
    if !isHere { file.office.byName.insert(dot) }
  }

  func drop(_ version: Version, _ row: RowNumber) {
    file.office.pending[row]?[version.dot.origin] = nil
    if file.office.pending[row]?.isEmpty == true { file.office.pending[row] = nil }
  }

  func supersede(by version: Version, _ row: RowNumber) {
    guard version.isTentative, let old = file.office.pending[row]?[version.dot.origin],
      old.dot < version.dot, old.isTentative
    else { return }
    drop(old, row)
  }

  /// The version that stood gives way to one that came.
  func leave(_ old: Version, to fate: Encounter.Fate, by new: Version, _ row: RowNumber) {
    switch fate {
    case .history: break
    case .waits: hold(old, row)
    case .conflict: log(old, new, row, "older")
    }
    supersede(by: new, row)
  }

  /// What waited to be judged here stands where it outranks what does.
  private func unveil() {
    for (row, versions) in file.office.pending.sorted(by: { $0.key < $1.key }) {
      for version in versions.values.sorted(by: { $0.rank < $1.rank }) {
        let old = file.versions[row]
        guard case .gives(let fate) = viewpoint.meeting(version, old) else { continue }
        drop(version, row)
        if let old { leave(old, to: fate, by: version, row) }
        keep(version, row)
        show(version, row)
      }
    }
  }

  private func release(_ isDone: (Version, RowNumber) -> Bool) {
    for (row, versions) in file.office.pending.sorted(by: { $0.key < $1.key }) {
      for version in versions.values.sorted(by: { $0.dot < $1.dot }) where isDone(version, row) {
        drop(version, row)
        guard viewpoint.isOwn(version.edit.origin), let standing = file.versions[row],
          !file.office.byName.contains(version.dot), viewpoint.isLost(version, to: standing)
        else { continue }
        let rulings = file.office.rejected[version.edit] ?? file.office.rejected[version.first]
        if viewpoint.isSpent(version, under: standing), rulings == nil { continue }
        let reason = rulings?.min { $0.key < $1.key }.map { Self.reason($0.value) }
        log(version, standing, row, reason ?? "older")
      }
    }
  }

  private static func reason(_ ruling: Ruling) -> String {
    if case .rejected(let reason) = ruling.kind { reason.name } else { "" }
  }

  func log(_ old: Version, _ new: Version, _ row: RowNumber, _ reason: String) {
    guard file.versions[row] != nil, !file.office.log.contains(where: { $0.loser == old.edit })
    else { return }
    file.office.log.append(
      Observation.Logged(row: row, reason: reason, loser: old.edit, winner: new.edit, isWhole: true)
    )
  }

  func rule(
    _ kind: Ruling.Kind, _ edits: inout MemoryEdits, at now: Instant
  ) {
    put(Ruling(kind, edit: Dot(origin, edits.seq + 1), rule: id.description), 0, &edits, at: now)
  }

  func put(
    _ ruling: Ruling, _ row: RowNumber, _ edits: inout MemoryEdits, at now: Instant
  ) {
    let dot = Dot(origin, edits.next())
    var version = Version(
      dot: dot, created: dot, stamp: Stamp(millisecondsSince1970: now.wall), hash: 0,
      isDeleted: false)
    version.term = file.office.office.term
    take(ruling, version, row)
    edits.writer.add(Self.shape, version, .ruling(ruling, key: [.integer(Int64(row))]))
  }

  func take(_ ruling: Ruling, _ version: Version, _ row: RowNumber) {
    guard file.office.rulings[version.dot] == nil else { return }
    file.office.rulings[version.dot] = MemoryOffice.Notice(
      row: row, version: version, ruling: ruling)
    file.office.view.rulings.append(
      OfficeView.Ruled(
        dot: version.dot, kind: ruling.kind.rawValue, edit: ruling.edit, term: version.term))
    if case .rejected = ruling.kind {
      file.office.rejected[ruling.edit, default: [:]][version.term] = ruling
    }
  }

  /// What others look at.
  var officeView: OfficeView? {
    guard hasOffice else { return nil }
    var view = file.office.view
    let office = file.office.office
    (view.term, view.isHeld, view.judged) = (office.term, office.isHeld, file.office.judged)
    view.part =
      switch office.part {
      case .none: 0
      case .waiting: 1
      case .taking: 2
      case .judging: 3
      }
    view.pending = file.office.pending.mapValues { $0.values.sorted { $0.dot < $1.dot } }
    view.nameless = file.office.byName
    return view
  }
}
