import Replication

/// Every version that any node was seen to make, and what was seen to go wrong.
struct History {
  struct Made {
    var row: RowNumber
    var version: Version
    /// The content of the row when the version was new; nil if it is deleted.
    var content: UInt64?
    /// False if the application had changed the row again before anybody looked.
    var isSeen = true
  }

  /// By origin and seq; nil where a version was replaced before anybody saw it.
  private(set) var made: [Origin: [Made?]] = [:]
  private(set) var faults: [String] = []
  /// Which edit knew of which, where there is an anchor.
  var lineage = Lineage()
  var traces = Traces()
  /// The highest version of each row that a node has lost with the table, perhaps before it had
  /// told anybody of it.
  private(set) var lost: [RowNumber: Version] = [:]

  /// An edit has the time at which its row was written: no clock is set, and nothing is made anew.
  var hasSteadyClocks = false
  /// Stamps are given by the time of the site, and looked at.
  var isDated = false
  /// The highest stamp of each row, and what each origin made of a row last.
  private(set) var highest: [RowNumber: Stamp] = [:]
  private(set) var highestOfAll = Stamp.zero
  private var latest: [Origin: [RowNumber: Version]] = [:]

  func last(_ origin: Origin, _ row: RowNumber) -> Version? { latest[origin]?[row] }

  /// Under which a member writes that lies: what it says of its edits proves nothing.
  private(set) var distrusted: Set<Origin> = []
  /// Rows of which somebody was seen to hold an edit of it.
  private(set) var lied: Set<RowNumber> = []
  /// Blames nobody for now.
  var isDeaf = false

  private var liar: Int?

  mutating func distrust(_ origin: Origin, of node: Int) {
    distrusted.insert(origin)
    liar = node
  }

  /// Whether a text that begins with the number of a node means the liar.
  func isOfLiar(_ text: String) -> Bool { liar.map { text.hasPrefix("integer(\($0))") } ?? false }

  /// Whether it is an edit of the liar, or was made over one.
  func isOfLiar(_ version: Version) -> Bool {
    guard !distrusted.isEmpty else { return false }
    return distrusted.contains(version.edit.origin)
      || version.context.dots.contains { distrusted.contains($0.origin) }
  }

  mutating func noteLied(_ row: RowNumber) { lied.insert(row) }

  mutating func add(_ new: Made) {
    if distrusted.contains(new.version.dot.origin) { return }
    if isDated {
      highest[new.row] = max(highest[new.row] ?? .zero, new.version.stamp)
      highestOfAll = max(highestOfAll, new.version.stamp)
      latest[new.version.dot.origin, default: [:]][new.row] = new.version
    }
    let dot = new.version.dot
    let index = Int(dot.seq) - 1
    let missing = index + 1 - (made[dot.origin]?.count ?? 0)
    made[dot.origin, default: []].append(contentsOf: repeatElement(nil, count: max(0, missing)))
    made[dot.origin]?[index] = new
  }

  /// Versions that their author took back, as it may not make such any more. It cannot know who
  /// was sent them.
  private(set) var withdrawn: Set<Dot> = []
  /// The rows of these. Where others have got one, they do not send what it outranks, so its author
  /// covers that and does not hold it.
  private(set) var uncovered: Set<RowNumber> = []

  /// True as well for one that was taken back before anybody had seen it.
  func isWithdrawn(_ dot: Dot, _ row: RowNumber) -> Bool {
    withdrawn.contains(dot) || uncovered.contains(row) && self[dot] == nil
  }

  /// A whole machine was put back to an earlier state. Until a peer that it had told itself shows
  /// that, it may give one dot to two edits; then all must still be equal in the end, but these
  /// dots prove nothing.
  var hasForks: Bool { !forks.isEmpty }
  /// By origin, the number above which that may be.
  private var forks: [Origin: UInt64] = [:]
  /// The highest edit of each row that has such a dot. Who holds the other edit of that dot is not
  /// sent this one, nor what it has replaced, until digests are compared.
  private var doubtful: [RowNumber: Version] = [:]

  /// By the copy of a node, the last term in which it held office in each of its lives.
  private var offices: [String: [Origin: Term]] = [:]
  /// The lives of two copies that have held office, and one did not know of the other. They judge
  /// apart or in turns. What one has certified may outrank what the other has made on that.
  private(set) var doubles: Set<Origin> = []

  /// Where copies run a node is in the office of a term, or in none.
  mutating func note(
    office term: Term?, in life: Origin, at node: String, hasHeardOf: (Origin, Term) -> Bool
  ) {
    guard hasCopies, let term else { return }
    offices[node, default: [:]][life] = term
    for (other, held) in offices where other != node {
      for (before, term) in held
      where before != life && Words.author(before) == Words.author(life) {
        if !hasHeardOf(before, term) { doubles.formUnion([life, before]) }
      }
    }
  }

  mutating func fork(_ origin: Origin, above seq: UInt64) {
    forks[origin] = min(forks[origin] ?? seq, seq)
    for case let made? in made[origin] ?? [] { noteDoubtful(made.row, made.version) }
  }

  mutating func noteDoubtful(_ row: RowNumber, _ version: Version) {
    guard isForked(version.dot) else { return }
    if let other = doubtful[row], other.rank >= version.rank { return }
    doubtful[row] = version
  }

  /// Whether such an edit of the row outranks a version.
  func isDoubtful(_ row: RowNumber, above version: Version) -> Bool {
    doubtful[row].map { $0.rank > version.rank } ?? false
  }

  /// Whether what is written under an origin now may have the name of something else.
  func isForked(_ origin: Origin) -> Bool { forks[origin] != nil }

  /// Whether two edits may have this name.
  func isForked(_ dot: Dot) -> Bool { forks[dot.origin].map { dot.seq > $0 } ?? false }

  /// The names of two copies of one file that have run. What was written and deleted again in one
  /// of them before it was folded, the other one may have given to all.
  var copies: Set<String> = []
  var hasCopies: Bool { !copies.isEmpty }
  /// A file was put back to an earlier state.
  var wasPutBack = false
  /// Whether one machine may have given the same unique value to two rows. Its programs do not;
  /// but what they do in an earlier state, or in a copy, meets what they have done after it.
  var mayClash: Bool { hasCopies || wasPutBack }

  /// Deleted versions are let go of.
  var collects = false
  /// Tables are dropped and made anew.
  var migrates = false
  /// Members do not know each other's keys yet.
  var hasStrangers = false

  /// An export has paused, for its peer took nothing for long: what comes before the pause is
  /// merged by itself, and may be half a transaction.
  var hasPaused = false

  /// What nodes held that had been away, by their names, when they were to fetch everything anew:
  /// what nobody else has of that is not to be lost.
  private(set) var brought: [String: Frontier] = [:]

  mutating func bring(_ held: Frontier, from node: String) {
    brought[node, default: Frontier()].join(held)
  }

  /// Its file was put back to an earlier state.
  mutating func bringNothing(from node: String) { brought[node] = nil }

  /// Edits that their author has numbered anew, for its numbers were in doubt.
  private(set) var renumbered: Set<Dot> = []

  /// The same edits under other dots: of what their author had brought these count.
  mutating func renumber(
    _ before: [RowNumber: Version], as after: [RowNumber: Version], at node: String
  ) {
    for (row, old) in before {
      guard let new = after[row], new.dot != old.dot, new.hash == old.hash,
        new.stamp == old.stamp
      else { continue }
      renumbered.insert(old.dot)
      if brought[node]?.covers(old.dot) == true {
        brought[node]?.raise(new.dot.origin, to: new.dot.seq)
      }
    }
  }

  /// Two parts of a site that did not wait for each other have both let go of deleted versions:
  /// what only one of them had deleted may be back.
  var hasParted = false

  /// Edits that their author has in its log, for their rows were deleted.
  private(set) var givenUp: Set<Dot> = []

  mutating func giveUp(_ dots: some Sequence<Dot>) { givenUp.formUnion(dots) }

  /// Deletes of what others had deleted and forgotten: who makes one while everything is fetched
  /// anew forgets it, too, and nobody else ever has it.
  private(set) var agreed: Set<Dot> = []

  mutating func agree(_ gone: [Version]) {
    agreed.formUnion(gone.filter(\.isDeleted).map(\.dot))
  }

  /// Deletes that somebody has let go of: what is made of such a row later is made over nothing.
  private(set) var letGo: Set<Dot> = []

  mutating func noteLetGo(_ before: Observation, _ now: Observation) {
    guard collects else { return }
    let gone = before.versions.filter { now.versions[$0.key] == nil && $0.value.isDeleted }
    letGo.formUnion(gone.values.map(\.edit))
    if before.isRenewing { agree(Array(gone.values)) }
  }

  /// Origins of nodes that passed nothing on, for a while at least.
  var leaves: Set<Origin> = []

  mutating func withdraw(_ row: RowNumber, of origin: Origin, above delivered: UInt64) {
    uncovered.insert(row)
    for case let made? in made[origin, default: []] where made.row == row {
      if made.version.dot.seq > delivered { withdrawn.insert(made.version.dot) }
    }
  }

  /// By the names of leaves, rows that they had written over with a right that they have lost, and
  /// the edit of somebody else that stood there: the row stays as it is until a whole member tells
  /// what it should be.
  private var left: [String: [RowNumber: Dot]] = [:]

  mutating func leave(_ row: RowNumber, at node: String, over base: Dot) {
    left[node, default: [:]][row] = base
  }

  /// Whether such a row was made by an edit that no whole member knows, by what one of them has.
  func isLeft(_ row: RowNumber, at node: String, _ whole: Observation) -> Bool {
    guard let base = left[node]?[row] else { return false }
    return !whole.frontier.covers(base) || isWithdrawn(base, row)
      || self[base].map(isReplaced) == true
  }

  /// The highest version of each row that waited to be put back: it is not handed on, and what it
  /// has replaced is covered all the same. It comes from others, as nobody covers it for its node.
  private(set) var awaited: [RowNumber: Version] = [:]

  mutating func noteAwaited(_ now: Observation) {
    for row in now.waiting {
      guard let held = now.versions[row] else { continue }
      if let other = awaited[row], other.rank >= held.rank { continue }
      awaited[row] = held
    }
  }

  /// Rows of which somebody has lost what nobody else had, with its table. It may have been made
  /// over a delete, which is then known elsewhere alone.
  private(set) var forgotten: Set<RowNumber> = []

  mutating func forget(_ row: RowNumber, of origin: Origin, above delivered: UInt64) {
    forgotten.insert(row)
    withdraw(row, of: origin, above: delivered)
  }

  /// Whether a delete of a row may be known to one node and not to another.
  ///
  /// Of what a liar claims to have told, but has not, nobody else has the delete, and no digest
  /// shows that.
  func mayForgetDelete(of row: RowNumber) -> Bool {
    collects || forgotten.contains(row) || lied.contains(row)
  }

  subscript(dot: Dot) -> Made? {
    guard let list = made[dot.origin], dot.seq <= UInt64(list.count) else { return nil }
    return list[Int(dot.seq) - 1]
  }

  /// Edits of which their author has the content no more, or may not read what becomes of them: it
  /// cannot log them.
  private(set) var unlogged: Set<Dot> = []

  mutating func hide(_ versions: [RowNumber: Version], of own: Origin) {
    unlogged.formUnion(versions.values.map(\.edit).filter { $0.origin == own })
  }

  mutating func lose(_ versions: [RowNumber: Version]) {
    lost.merge(versions) { $0.rank > $1.rank ? $0 : $1 }
  }

  /// Rows whose newest version, of those that are known to somebody in the end, nobody has kept:
  /// it was taken away with its table before others had it.
  ///
  /// Such a node's frontier stays beyond those of the others, and as digests are compared at equal
  /// frontiers only, what else it has lost does not come again either: docs/limits.md says so.
  func gone(_ shown: [Observation]) -> Set<RowNumber> {
    if lost.isEmpty, shown.allSatisfy({ $0.lost.isEmpty }) { return [] }
    func isKept(_ row: RowNumber, _ version: Version) -> Bool {
      shown.contains { $0.versions[row].map { $0.rank >= version.rank } ?? false }
    }
    let newest = newest(shown.reduce(into: Frontier()) { $0.join($1.frontier) })
    var gone = Set(lost.keys).filter { row in
      newest[row].map { !isKept(row, $0.version) } ?? false
    }
    for one in shown where !one.lost.allSatisfy({ isKept($0.key, $0.value) }) {
      gone.formUnion(one.lost.keys)
    }
    return gone
  }

  /// The highest version of each row that was folded when the rights of its author changed: it is
  /// no news when its author is looked at next.
  private var folded: [RowNumber: Version] = [:]

  mutating func noteFolded(_ versions: [RowNumber: Version], of own: Origin) {
    let made = versions.filter { $0.value.dot.origin == own }
    folded.merge(made) { $0.rank > $1.rank ? $0 : $1 }
  }

  /// True if a higher version of the row was made than a leaf's own. A leaf tells of its own edits
  /// alone: what has replaced one of them there comes from its author.
  func isReplaced(_ made: Made) -> Bool {
    guard leaves.contains(made.version.dot.origin) else { return false }
    if let folded = folded[made.row], folded.rank > made.version.rank { return true }
    return self.made.values.joined().contains {
      $0?.row == made.row && ($0?.version.rank ?? made.version.rank) > made.version.rank
    }
  }

  /// Whether a replica that holds this may have let go of a later delete: either stands for both.
  func mayStand(_ held: Version?, for row: RowNumber, _ known: Frontier) -> Bool {
    guard mayForgetDelete(of: row), held?.isDeleted ?? true else { return false }
    // Of a delete that was lost, or is a liar's, nobody here knows.
    if held == nil, !collects { return true }
    return newest(known)[row]?.version.isDeleted == true
  }

  /// Whether one of two copies has written the row: what it had deleted, and let go of, it may have
  /// numbered anew, and nobody shows that dot.
  func wasWrittenByCopy(_ row: RowNumber) -> Bool {
    hasCopies
      && made.contains { origin, all in
        copies.contains(String(Words.author(origin))) && all.contains { $0?.row == row }
      }
  }

  /// The newest version of each row of those that a frontier covers, or of those that were brought
  /// from elsewhere, unless that was given up: it stood for what its author had before. Nor does an
  /// anchor that had been away bring anything by certifying what the others know. Of an edit with
  /// two numbers the later one counts.
  func newest(_ known: Frontier, brought: Frontier) -> [RowNumber: Made] {
    // What its author had deleted it brings to nobody, if others had done so, too.
    let dropped = forsaken.union(lineage.removed.map(\.edit))
    return newest(known).merging(
      newest(brought, isBrought: true).filter {
        let version = $0.value.version
        let isCertified = version.edit != version.dot && known.covers(version.edit)
        return !dropped.contains(version.edit) && !isCertified
      }
    ) { $0.version.rank < $1.version.rank ? $1 : $0 }
  }

  /// What was given up, and what that was made over.
  private var forsaken: Set<Dot> {
    givenUp.reduce(into: []) { $0.formUnion(lineage.line(of: $1)) }
  }

  /// The newest version of each row of those that a frontier covers, but for names of two edits.
  func newest(_ known: Frontier, isBrought: Bool = false) -> [RowNumber: Made] {
    var newest: [RowNumber: Made] = [:]
    let dropped = isBrought ? renumbered : forsaken
    for made in made.values.joined() {
      guard let made, known.covers(made.version.dot), !withdrawn.contains(made.version.dot),
        !dropped.contains(made.version.dot), !isForked(made.version.dot)
      else { continue }
      if let other = newest[made.row], other.version.rank >= made.version.rank { continue }
      newest[made.row] = made
    }
    return newest
  }

  mutating func blame(_ fault: String) {
    if !isDeaf, faults.count < 20 { faults.append(fault) }
  }
}
