import Replication
import Store

/// A replica without a file: the machines' other half in its simplest form.
///
/// What decides (ranks, stamps, claims, checks) is the product's; this only keeps the rows. What is
/// in its file is a value, so that what was on disk at a moment can be kept and come back.
final class MemoryReplica: SimulatedReplica {
  static let shape = TableShape(name: "t", keyCount: 1, columns: ["id", "text"])
  static let table = tableSeed(shape.name)
  /// Keys that applications use; few, so that edits meet.
  static let keys = 12
  static let encoded: [Key] = (0..<keys).map { Key([.integer(Int64($0))], collations: [])! }

  /// What is in the file.
  struct File {
    var versions: [RowNumber: Version] = [:]
    /// What the application reads; nil if the row is deleted.
    var rows: [RowNumber: Observation.Content] = [:]
    /// Rows that the application has touched, and when last; and in which order that was.
    var journal: [RowNumber: Int64] = [:]
    var order: [RowNumber: Int64] = [:]
    /// What is kept of the time of the site, and of clocks.
    var clock: [UInt8]?
    var timeline: [UInt8]?
    var frontier = Frontier()
    var digest = Digest()
    /// Per sender, in the run that is named: how far an interrupted catch-up was worked through.
    var progress: [Identity: (edition: UInt64, frontier: Frontier)] = [:]
    var office = MemoryOffice()
    /// What was signed about members.
    var statements: [SignedStatement] = []
    /// What owners have signed of their origins.
    var reaches = ReachBook()
    var rights = Rights.all
    /// The origin under which it writes, its runs, and how much of what it wrote others hold.
    var life: UInt64 = 0
    var runs = RunLog()
    var delivered: UInt64 = 0
    var stability = Stability()
    /// Rows that came since everything began to be fetched anew.
    var fresh: [RowNumber: Dot] = [:]
    /// Own edits that lost to a delete that nobody remembers.
    var givenUp: [Dot: RowNumber] = [:]
  }

  let site = Identity(high: 1, low: 1)
  let id: Identity
  let name: String
  var origin: Origin
  let number: Int
  var backup: File?
  var departed: Set<Origin> = []
  let schemaHash: UInt64 = 1
  var file = File()
  /// What the process knows of clocks, where stamps are given by the time of the site.
  var timeline: Timeline?
  /// What a power cut leaves.
  var durable = File()
  var exports: [Int64: MemoryExport] = [:]
  private var nextExport: Int64 = 1
  private var commits: UInt64 = 0
  private var repairs: UInt64 = 0
  /// What it has signed last, and whether it signs.
  var signed: Reach?
  var signs = true
  /// What waits, and came because two nodes had compared what they hold.
  private(set) var compared: Set<Dot> = []
  /// How often an export pauses, in a thousand.
  let pauses: Int
  let batchRows: Int
  private var random: Seeded
  var witness = Witness()
  /// Whether somebody is the anchor now and then, and by which rule it judges.
  let hasOffice: Bool
  var rule: any MergeRule.Type
  let judgedRows: Int
  /// The session with the anchor in which edits are made; 0 if there is none.
  var online: UInt64 = 0
  /// The own edit that is being made again.
  var repeating: Version?
  /// Those in which this anchor is in touch with authors.
  var liveSessions: [UInt64: Origin] = [:]

  init(number: Int, faults: Faults, plan: OfficePlan? = nil, _ random: inout Seeded) {
    hasOffice = plan != nil
    rule = plan.map { MergeRules.all[$0.rule] } ?? MergeRules.standard
    judgedRows = plan?.judgedRows ?? 1
    id = Templates.node(number)
    name = "node-\(number)"
    origin = Templates.origin(of: number)
    self.number = number
    pauses = faults[.slices]
    batchRows = 1 + random.below(6)
    self.random = random.fork()
  }

  /// A copy of the file of another one.
  init(copying other: MemoryReplica, as number: Int, _ random: inout Seeded) {
    (hasOffice, rule, judgedRows) = (other.hasOffice, other.rule, other.judgedRows)
    (id, origin, self.number, name) = (other.id, other.origin, other.number, "node-\(number)")
    (pauses, batchRows) = (other.pauses, other.batchRows)
    (file, durable) = (other.file, other.file)
    self.random = random.fork()
    witness.begin(observation)
  }

  var position: Position {
    var position = Position(
      frontier: file.frontier, digest: file.digest, own: origin, age: commits)
    position.stability = file.stability
    position.repairs = repairs
    position.reaches = file.reaches.with(
      own: origin, ownReach(through: file.frontier[origin]))
    return position
  }

  // A position is more than most who ask want to know.
  var own: Origin { origin }
  var frontier: Frontier { file.frontier }
  var stability: Stability { file.stability }
  var wanted: UInt64 { 0 }

  var isFolded: Bool { file.journal.isEmpty }

  func write(_ random: inout Seeded, at now: Instant, _ story: inout Story) {
    // To put back what was not allowed is the store's affair: here nobody tries.
    guard file.rights.right(to: Self.shape.name) == .write else { return }
    let before = file.rows
    var touched: Set<RowNumber> = []
    for _ in 0...random.below(4) {
      let row = random.below(Self.keys)
      let content = random.chance(200) ? nil : random.next() | 1
      file.rows[row] = content.map(Observation.Content.init)
      touched.insert(row)
      file.journal[row] = now.wall
      file.order[row] = (file.order.values.max() ?? 0) + 1
      story.tell("\(name) writes row \(row)\(content == nil ? " away" : "")")
    }
    // Applications sync what they commit.
    durable = file
    witness.written(file.rows, before: before, touching: touched, own: own, at: now.wall)
  }

  /// There is no schema.
  func migrate(_ random: inout Seeded, at now: Instant, _ story: inout Story) {}
  func remove(_ random: inout Seeded, at now: Instant, _ story: inout Story) {}

  func fold(at now: Instant) -> FoldResult {
    guard now.site != nil else { return FoldResult(versions: 0, push: nil, hasMore: false) }
    settleTime(at: now)
    let isSweeping = isSweeping
    guard !file.journal.isEmpty || hasOfficeWork || isSweeping else {
      return FoldResult(versions: 0, push: nil, hasMore: false)
    }
    var edits = beginEdits()
    foldRest(&edits, at: now)
    workInOffice(&edits, at: now)
    sweep(&edits, at: now)
    let result = conclude(&edits, at: now)
    if result.versions > 0 || hasOffice || isSweeping { commit(isDurable: true) }
    return result
  }

  func beginEdits() -> MemoryEdits {
    MemoryEdits(from: file.frontier[origin], judged: file.office.judged)
  }

  /// Each touched row gets one new version, if its content is new.
  func foldRest(_ edits: inout MemoryEdits, at now: Instant) {
    for (row, moment) in moments(at: now) {
      let old = file.versions[row]
      let content = file.rows[row]?.whole
      let isAsBefore = old.map { $0.isDeleted ? nil : $0.hash } ?? nil
      // What is made again is made, whatever stands.
      if isAsBefore == content, repeating == nil { continue }
      let madeAt = moment.at
      let dot = Dot(origin, edits.next())
      var version = Version.edit(
        dot, over: old, pending: repeating ?? file.office.pending[row]?[origin], again: repeating,
        above: file.stability.floors[table: Self.table, key: Self.encoded[row]],
        stamp: .placing(madeAt, above: old), hash: content ?? 0, isDeleted: content == nil)
      version.isUndated = !moment.isCertain
      if file.office.office.certifies {
        version = version.certified(
          dot, term: file.office.office.term, epoch: nextEpoch(over: old),
          at: Stamp(millisecondsSince1970: madeAt))
      } else if hasOffice {
        version.session = viewpoint.session(online, over: old)
        let isAwaited =
          repeating.flatMap { file.office.view.verdicts[$0.dot.seq] }.map { $0 == nil } ?? false
        if file.office.office.isHeld || isAwaited {
          file.office.view.verdicts.updateValue(nil, forKey: dot.seq)
        }
      }
      if hasOffice { file.office.written[row, default: []].append(dot.seq) }
      if let old { logOverwritten(row, under: old, by: version) }
      supersede(by: version, row)
      if let old { holdOverwritten(old, row) }
      keep(version, row)
      edits.writer.add(Self.shape, version, Self.content(version, row))
    }
    (file.journal, file.order) = ([:], [:])
    file.frontier.raise(origin, to: edits.seq)
  }

  /// Whether an anchor has rejected an own edit, or one that was made again as this one.
  func wasRejected(_ edit: Dot) -> Bool {
    let same = file.office.again.filter { $0.value == edit.seq }.keys
    return file.office.rejected.keys.contains {
      $0 == edit || viewpoint.isOwn($0.origin) && same.contains($0.seq)
    }
  }

  /// An own edit that is yet to be judged is made again on top of the anchor's word on what it was
  /// made on; whoever waits for its verdict gets that of the new one.
  private func editAgain(
    _ edit: Version, _ row: RowNumber, _ edits: inout MemoryEdits, at now: Instant
  ) {
    let session = online
    (online, repeating) = (edit.session, edit.asEdit)
    file.journal[row] = edit.stamp.millisecondsSince1970
    let before = edits.seq
    foldRest(&edits, at: now)
    (online, repeating) = (session, nil)
    guard edits.seq > before, file.versions[row]?.saysTheSame(as: edit) == true else { return }
    for (old, new) in file.office.again where new == edit.edit.seq {
      file.office.again[old] = edits.seq
    }
    file.office.again[edit.edit.seq] = edits.seq
  }

  /// The own edit that is made again on top of what comes: the one that stands, or one that had
  /// given way to the anchor's word on what it was made on, as that says the same.
  private func edit(
    above incoming: Version, shownBy standing: Version, _ row: RowNumber, judged: Judged?
  ) -> Version? {
    let waiting = (file.office.pending[row] ?? [:]).values.sorted { $0.dot < $1.dot }
    let shown = waiting.filter { viewpoint.isShown($0, by: standing) }
    return ([standing] + shown).first {
      viewpoint.isBase(incoming, of: $0) && !wasRejected($0.edit)
        && judged?.covers($0.dot, in: file.office.office.term) != true
    }
  }

  func merge(_ merge: Merge, at now: Instant) throws -> (MergeResult, FoldResult) {
    let batches = try merge.decoded()
    var merge = merge.sealed(knowing: file.reaches, own: origin, frontier: file.frontier)
    guard now.site != nil else { throw StoreError(.noTime, "no time is known") }
    guard file.stability.mayMerge(merge.standing, asked: merge.asked) else {
      throw StoreError(.behind, "one of the two has been away")
    }
    if viewpoint.office.judges(in: merge.judged?.term) { merge.judged = nil }
    keep(merge.reaches)
    guard merge.follows(file.frontier) else { throw StoreError(.gap, "a push leaves a gap") }
    var edits = beginEdits()
    foldRest(&edits, at: now)
    var result = MergeResult(rows: 0, check: 0)
    var last: Dot?
    for batch in batches {
      let count = UInt64(batch.rows.count)
      result.add(MergeResult(rows: count, check: batch.check, known: count))
      for row in batch.rows {
        guard case .integer(let key) = row.values[0] else {
          throw StoreError(.wire, "a strange key")
        }
        last = row.version.dot
        if merge.leavesOut(row) { continue }
        let number = RowNumber(key)
        if let ruling = row.content.ruling {
          take(ruling, row.version, number)
          continue
        }
        if file.stability.renewal != nil { noteFresh(row.version, number) }
        if merge.kind != .repair, hasForgotten(row.version, number) { continue }
        note(row, number)
        let old = file.versions[number]
        switch viewpoint.meeting(row.version, old) {
        case .same, .stays: continue
        case .waits:
          result.known -= 1
          hold(row.version, number)
          if merge.kind == .repair, viewpoint.office.certifies { compared.insert(row.version.dot) }
        case .gives(let fate):
          result.known -= 1
          if let old,
            let edit = edit(above: row.version, shownBy: old, number, judged: merge.judged)
          {
            if edit.dot != old.dot { drop(edit, number) }
            keep(row.version, number)
            editAgain(edit, number, &edits, at: now)
          } else {
            stand(row.version, over: old, leftTo: fate, number)
          }
        }
      }
    }
    if merge.kind == .repair { repairs += 1 }
    if merge.reader == file.rights {
      file.frontier.join(merge.claim(beside: file.frontier))
      if merge.bringsAll { file.stability.received(from: merge.standing) }
    }
    if let progress = merge.progress(after: last, beside: file.frontier) {
      let before = self.progress(of: merge.sender, edition: merge.edition)
      file.progress[merge.sender] = (merge.edition, before.joined(progress))
    } else if case .full = merge.kind, merge.movesFrontier {
      file.progress[merge.sender] = nil
    }
    if let judged = merge.verdicts { join(judged) }
    sweep(&edits, at: now)
    let fold = conclude(&edits, at: now)
    result.leftOut = merge.leftOut
    commit(isDurable: merge.end != nil || fold.versions > 0)
    return (result, fold)
  }

  private func stand(
    _ version: Version, over old: Version?, leftTo fate: Encounter.Fate, _ row: RowNumber
  ) {
    if let old { leave(old, to: fate, by: version, row) }
    keep(version, row)
    show(version, row)
  }

  /// Whether an export pauses now.
  func pausesNow() -> Bool { random.chance(pauses) }

  func register(_ export: MemoryExport) -> Int64 {
    nextExport += 1
    exports[nextExport] = export
    return nextExport
  }

  func keep(_ version: Version, _ row: RowNumber) {
    file.digest.replace(
      table: Self.table, key: Self.encoded[row], old: file.versions[row], new: version)
    file.versions[row] = version
  }

  /// The application reads what a version says.
  func show(_ version: Version, _ row: RowNumber) {
    file.rows[row] = version.isDeleted ? nil : Observation.Content(version.hash)
  }

  func commit(isDurable: Bool) {
    commits += 1
    if isDurable { durable = file }
  }

  func progress(of sender: Identity, edition: UInt64) -> Frontier {
    guard let known = file.progress[sender], known.edition == edition else { return Frontier() }
    return known.frontier
  }

  /// What is passed on of a version that is here.
  func held(_ version: Version, _ row: RowNumber) -> WireRow.Content {
    file.office.byName.contains(version.dot)
      ? .withheld(key: [.integer(Int64(row))]) : Self.content(version, row)
  }

  static func content(_ version: Version, _ row: RowNumber) -> WireRow.Content {
    let key = Replication.Value.integer(Int64(row))
    return version.isDeleted
      ? .deleted(key: [key]) : .values([key, .integer(Int64(bitPattern: version.hash))])
  }
}
