import Replication

/// Watches one replica: runs the checkers that must hold at any time, and remembers what its
/// application has committed until it stands as a version or something newer does.
struct Witness {
  /// What an application has committed that is perhaps not folded yet.
  struct Edit {
    /// Nil if the row was deleted.
    var content: Observation.Content?
    /// The earliest moment that the edit can be stamped with.
    var moment: Int64
    /// The last own number that was there when it was committed: it has a later one.
    var above: UInt64 = 0
    /// Under which origin it was committed: a new life may begin before anybody looks.
    var author: Origin?
  }

  var seen = Observation()
  /// The versions of a replica that does not have all tables yet: nobody looks at them, but its
  /// rights may change.
  var unseen: [RowNumber: Version] = [:]
  /// The highest of each row that it has known meanwhile: it may lose them with their table.
  var passed: [RowNumber: Version] = [:]
  /// What the replica has written over last of others, row by row.
  private(set) var bases: [RowNumber: Dot] = [:]
  /// What stood in the middle of the work under way, when the application wrote.
  var glanced: Observation?
  var pending: [RowNumber: Edit] = [:]
  /// What a row was committed as since all was folded last, with the earliest moment of each: part
  /// of it may have become a version in between, and what goes back to that makes none.
  private var former: [RowNumber: [Edit]] = [:]
  /// What stood of a row when the application wrote over it since the last check, and the content
  /// that it wrote: nil if it deleted the row.
  private var erased: [(row: RowNumber, edit: Dot, content: Observation.Content?)] = []
  /// Its own last number at each look while it did not have all tables.
  private var waited: [UInt64] = []
  /// When the application wrote a row last, by the wall clock; .max if nothing tells.
  private var wrote: [RowNumber: Int64] = [:]
  /// Rows that the application has changed since the last check.
  var touched: Set<RowNumber> = []
  /// Rows whose table was taken away, perhaps with edits that were not folded, until they are here
  /// again and folded.
  var away: Set<RowNumber> = []
  /// The earliest time of the site at which what comes into the journal is placed; nil where stamps
  /// are given by the wall clock.
  private var floor: Int64?
  /// Whether a process has started and not folded everything yet.
  private var isRecalling = false
  /// The latest at which the replica has worked: a process may die once it has committed.
  private var latest: Int64?
  /// By how much the wall clock was ahead of uptime when the store first compared them, or when it
  /// was set; and how far it has lagged behind that since all was folded last. What is written is
  /// placed by the clock as it was: so much earlier.
  private var ahead: Int64?
  private var lag: Int64 = 0
  private var resigned = AnytimeResigned()
  private var yielded = AnytimeYielded()
  /// What was seen when everything was folded last.
  var settled = Observation()

  /// What the replica shows at first.
  mutating func begin(_ now: Observation) { seen = now }

  /// The application has committed; `rows` is what it reads now, `before` what it read just before.
  ///
  /// What differs from what was seen last is not all its work: the replica may have merged in
  /// between.
  mutating func written(
    _ rows: [RowNumber: Observation.Content], before: [RowNumber: Observation.Content],
    touching all: Set<RowNumber>, own: Origin, at moment: Int64
  ) {
    // What is written as it was is written then, too.
    for row in all { wrote[row] = moment == 0 ? .max : moment }
    for row in Set(before.keys).union(rows.keys) where before[row] != rows[row] {
      touched.insert(row)
      // What the replica has put there since the last look is what the application changes.
      if pending[row] == nil { seen.rows[row] = before[row] }
      let shown = glanced ?? seen
      // What is parked no program has seen.
      let isHidden = before[row] == nil && shown.parked[row] != nil
      if !isHidden, let gone = shown.versions[row] { erased.append((row, gone.edit, rows[row])) }
      var edit = Edit(
        content: rows[row], moment: moment == 0 ? 0 : floor ?? moment, above: shown.frontier[own],
        author: own)
      for earlier in former[row] ?? [] where earlier.content == edit.content {
        edit.moment = min(edit.moment, earlier.moment)
        edit.above = min(edit.above, earlier.above)
      }
      former[row, default: []].append(edit)
      // What is as it was leaves nothing to tell others.
      pending[row] = seen.rows[row] == rows[row] ? nil : edit
    }
  }

  /// A process starts whose edits are placed by the time of the site. What it remembers of that may
  /// be old.
  mutating func beginTime() {
    floor = 1
    isRecalling = true
    pending = pending.mapValues {
      Edit(
        content: $0.content, moment: min($0.moment, 1), above: $0.above, author: $0.author)
    }
  }

  /// The replica is about to work.
  mutating func note(site: Int64?) { if let site { latest = max(latest ?? site, site) } }

  /// A store is opened that compares the clocks anew.
  mutating func beginClocks() { ahead = nil }

  /// The store is about to compare the clocks.
  mutating func compareClocks(at now: Instant) {
    let ahead = now.wall - now.uptime
    guard let first = self.ahead, abs(ahead - first) <= SiteClock.step else {
      return self.ahead = ahead
    }
    lag = max(lag, first - ahead)
  }

  /// Nothing waits in the journal at this time of the site.
  mutating func settleTime(at site: Int64) { floor = max(1, site - 2_000) }

  /// A migration changes what rows look like, and may take the note of a touch along.
  mutating func reshaped(_ rows: [RowNumber: Observation.Content]) {
    wrote = wrote.mapValues { _ in .max }
    for row in pending.keys {
      pending[row]?.content = rows[row]
      pending[row]?.moment = 0
    }
    for (row, content) in rows where pending[row] == nil { seen.rows[row] = content }
  }

  /// A table was taken away with these rows: whether they come again is not for this node to say.
  mutating func removed(_ rows: Set<RowNumber>) {
    away.formUnion(rows)
    for row in rows { (pending[row], seen.rows[row]) = (nil, nil) }
  }

  /// The replica has worked. `own` is the origin that it writes under, `isFolded` tells that
  /// nothing of its application's waits.
  mutating func check(
    _ now: Observation, own: Origin, isFolded: Bool, at node: String, _ moment: Instant,
    _ history: inout History, right: (RowNumber) -> Right = { _ in .write }
  ) {
    let wall = floor == nil ? moment.wall : moment.site ?? .max
    let waiting = isFolded ? [] : touched.union(pending.keys).union(away)
    if !now.givenUp.isEmpty { history.giveUp(now.givenUp.keys) }
    history.noteLetGo(seen, now)
    AnytimeForward.check(seen, now, &history, at: node)
    resigned.check(now, &history, at: node)
    history.noteAwaited(now)
    yielded.look(at: now, own: own, above: settled.frontier[own])
    let yielding = yielded.check(by: latest, &history, at: node)
    let news = now.news(since: seen)
    for (row, version) in news { history.noteDoubtful(row, version) }
    for (row, version) in news
    where version.dot.origin == own && (history[version.dot] == nil || seen.isRenewing) {
      noteBase(of: row, version)
      if !yielding.contains(version.dot) { checkTime(of: row, version, &history, at: node) }
      history.add(
        History.Made(
          row: row, version: version, content: now.rows[row]?.common,
          // A table that is away under another name shows nothing.
          isSeen: !waiting.contains(row) && (version.isDeleted || now.rows[row] != nil)))
    }
    AnytimeLost.check(seen.dropped.subtracting(touched), news, own: own, &history, at: node)
    AnytimeContent.check(news, now, &history, at: node, waiting)
    AnytimeFrontier.check(seen, now, &history, at: node) { right($0) != .none }
    if now.log != nil {
      // What was written over it may stand by the version of another, which has the same content.
      for (row, edit, content) in erased where content == nil || now.rows[row] == content {
        history.lineage.remove(row, edit)
      }
      AnytimeJudged.check(seen, now, own: own, waited: waited, &history, at: node)
      if let glanced {
        history.lineage.note(glanced, now, own: own)
      } else {
        history.lineage.note(seen, now, news: news, own: own)
      }
      glanced = nil
      AnytimeConcurrent.check(seen, now, &history, at: node)
    }
    (touched, erased, unseen, passed, waited) = ([], [], [:], [:], [])
    if now.log != nil, !pending.isEmpty { settleHistory(now, own, history.lineage) }
    if isFolded {
      if !away.isEmpty { away.subtract(now.rows.keys) }
      if !pending.isEmpty { look(at: now, own, at: node, wall, &history, right) }
      (pending, former, lag, isRecalling) = ([:], [:], 0, false)
      settled = now
      seen = now
    } else {
      for row in pending.keys {
        guard let edit = pending[row] else { continue }
        if edit.moment > wall { pending[row]?.moment = wall }
        // What others have deleted meanwhile, and its application made and deleted again, is as it
        // was.
        if edit.content == nil, let version = now.versions[row], version.isDeleted {
          pending[row]?.moment = min(edit.moment, wall, version.stamp.millisecondsSince1970)
        }
      }
      // Rows that the application has changed are compared with what they were.
      let rows = seen.rows
      seen = now
      for row in pending.keys { seen.rows[row] = rows[row] }
    }
  }

  private func checkTime(
    of row: RowNumber, _ version: Version, _ history: inout History, at node: String
  ) {
    if history.hasSteadyClocks, let last = wrote[row] {
      AnytimeDated.check(
        row, version, writtenAt: last, over: seen.versions[row], &history, at: node)
    }
    guard floor != nil else { return }
    AnytimeDated.check(row, version, latest, isRecalled: isRecalling, &history, at: node)
  }

  /// What somebody else has made over it is what became of an edit, whatever takes the place of
  /// that later.
  private mutating func settleHistory(_ now: Observation, _ own: Origin, _ lineage: Lineage) {
    for (row, edit) in pending {
      guard let standing = now.versions[row]?.edit, standing.origin != own else { continue }
      let isSeen = lineage.line(of: standing).contains {
        $0.origin == own && $0.seq > edit.above && lineage.edits[$0]?.row == row
      }
      if isSeen { pending[row] = nil }
    }
  }

  /// What was committed since the last look is folded: it became versions, or was not allowed.
  private func look(
    at now: Observation, _ own: Origin, at node: String, _ wall: Int64,
    _ history: inout History, _ right: (RowNumber) -> Right
  ) {
    let edits = pending.mapValues {
      var edit = $0
      if edit.moment > 0 { edit.moment = max(1, min(edit.moment, wall) - lag) }
      return edit
    }
    let doubtful = Set(edits.keys.filter { right($0) != .write })
    FinallyKept.check(
      edits.filter { !doubtful.contains($0.key) }, now, own: own, &history, at: node)
    guard !doubtful.isEmpty else { return }
    FinallyRefused.check(
      edits.filter { doubtful.contains($0.key) }, settled, now, own: own, &history, at: node)
  }

  /// The application is about to write in the middle of the replica's work.
  mutating func glance(_ now: Observation, own: Origin, _ lineage: inout Lineage) {
    lineage.note(glanced ?? seen, now, own: own)
    yielded.look(at: now, own: own, above: settled.frontier[own])
    // What was written over it stands by the version of another already, and may be gone soon.
    erased.removeAll { (row, edit, content) in
      guard content != nil, now.rows[row] == content, let standing = now.versions[row]?.edit,
        standing.origin != own
      else { return false }
      lineage.remove(row, edit)
      return true
    }
    // A process may die over what was made, and taken back, before anybody looks.
    let own = glanced?.versions.filter { $0.value.dot.origin == own } ?? [:]
    unseen.merge(own) { $1 }
    glanced = now
  }

  /// The replica does not have all tables yet: what it knows is looked at when it has. What it
  /// shows is remembered, or rows that came from others would count as edits of its application.
  mutating func wait(
    _ rows: [RowNumber: Observation.Content], _ versions: [RowNumber: Version], own: Origin
  ) {
    if let glanced { waited.append(glanced.frontier[own]) }
    let before = seen.rows
    for (row, version) in versions where version.dot.origin == own { noteBase(of: row, version) }
    unseen = versions
    for known in [seen.versions, versions] {
      passed.merge(known, uniquingKeysWith: Self.higher)
    }
    seen = Observation(rows: rows)
    for row in pending.keys { seen.rows[row] = before[row] }
  }

  private mutating func noteBase(of row: RowNumber, _ new: Version) {
    guard let old = seen.versions[row] ?? unseen[row], old.dot.origin != new.dot.origin else {
      return
    }
    bases[row] = old.isDeleted ? nil : old.dot
  }

  /// The file is another one, or its versions have other dots: what it shows now is where it
  /// begins. Versions of this origin are looked at as new ones, for nobody has seen them made.
  mutating func beginAnew(_ now: Observation, own: Origin, keepsEdits: Bool) {
    let rows = seen.rows
    (seen, glanced) = (now, nil)
    for (row, version) in now.versions where version.dot.origin == own { seen.versions[row] = nil }
    (touched, away) = ([], [])
    (former, passed) = ([:], [:])
    // A file that was put back has its life yet to begin.
    resigned = AnytimeResigned(since: keepsEdits ? now : nil)
    guard keepsEdits else {
      // A row without a version waits in the journal: deleted again it leaves nothing to tell.
      let waiting = now.rows.filter { now.versions[$0.key] == nil }
      pending = waiting.mapValues { Edit(content: $0, moment: 1) }
      return seen.rows = now.rows.filter { waiting[$0.key] == nil }
    }
    for row in pending.keys { seen.rows[row] = rows[row] }
  }

  /// Power was cut: rows of an exchange that has not ended may be gone, but nothing that the
  /// frontier covers, nor anything that the application has committed. What it had folded since it
  /// was looked at last was made over what stood then.
  mutating func setBack(
    to now: Observation, own: Origin, _ history: inout History, at node: String
  ) {
    if now.log != nil { history.lineage.note(glanced ?? seen, now, own: own) }
    if !now.frontier.covers(seen.frontier) {
      history.blame("\(node) has lost versions of its frontier in a power cut")
    }
    let rows = seen.rows
    (seen, glanced) = (now, nil)
    for row in pending.keys { seen.rows[row] = rows[row] }
  }
}
