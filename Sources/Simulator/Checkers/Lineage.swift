import Replication

/// Which edit was made in knowledge of which, as the witnesses saw it: from what stood at its
/// author's when it was made, never from what the product says that an edit has seen.
struct Lineage {
  struct Edit {
    var row: RowNumber
    /// The edits that its author had before it.
    var parents: [Dot]
    /// Nil if it was seen in the log alone, or is a delete.
    var hash: UInt64?
    var stamp: Stamp?
    var isDeleted: Bool
    /// Somebody was the anchor when it was made, as far as its author knew.
    var isGoverned: Bool
  }

  /// The word of an anchor on an edit.
  struct Word: Hashable {
    var edit: Dot
    var term: Term
  }

  private(set) var edits: [Dot: Edit] = [:]
  /// By what was certified: the dots of the certificates.
  private(set) var certified: [Word: Dot] = [:]
  private(set) var rejected: [Word: Dot] = [:]
  /// The time that an edit had in its first certificate: one from the future has another there.
  private var certifiedStamps: [Dot: Stamp] = [:]
  /// Edits in conflict logs, with what stood against them.
  private(set) var logged: [Dot: Observation.Logged] = [:]
  /// Those that an anchor has logged, or a delete that gave way there, of which nothing is logged:
  /// it has judged them, or what took their place.
  private(set) var overruled: Set<Dot> = []
  /// Edits that somebody has had by name alone, and passed on so.
  private(set) var nameless: Set<Dot> = []
  /// What an author has deleted in knowledge of it, though the delete was replaced before anybody
  /// saw it.
  private(set) var removed: [(row: RowNumber, edit: Dot)] = []

  mutating func remove(_ row: RowNumber, _ edit: Dot) { removed.append((row, edit)) }

  /// Notes what a replica has made or logged since the last look.
  mutating func note(_ before: Observation, _ now: Observation, own: Origin) {
    note(before, now, news: now.news(since: before), own: own)
  }

  mutating func note(
    _ before: Observation, _ now: Observation, news: [(row: RowNumber, version: Version)],
    own: Origin
  ) {
    for (row, version) in news { note(version, row, before, own, stands: true) }
    if let office = now.office { note(office, before, now, own) }
    for entry in now.logged(since: before) {
      guard let loser = entry.loser else { continue }
      logged[loser] = logged[loser] ?? entry
      if loser.origin == own { add(loser, entry.row, nil, isDeleted: false, before, own) }
    }
    for (edit, row) in now.givenUp where edit.origin == own && before.givenUp[edit] == nil {
      add(edit, row, nil, isDeleted: false, before, own)
    }
  }

  private mutating func note(
    _ office: OfficeView, _ before: Observation, _ now: Observation, _ own: Origin
  ) {
    for (row, versions) in office.pending {
      for version in versions {
        note(version, row, before, own, stands: false)
        if office.nameless.contains(version.dot) { nameless.insert(version.edit) }
      }
    }
    for (row, version) in before.versions
    where office.certifies && version.isTentative && version.isDeleted
      && now.versions[row] != version
    {
      overruled.insert(version.edit)
    }
    if office.certifies || before.office?.certifies == true {
      overruled.formUnion(now.logged(since: before).compactMap(\.loser))
    }
    for ruling in office.rulings(since: before.office) where ruling.kind < 128 {
      rejected[Word(edit: ruling.edit, term: ruling.term)] = ruling.dot
    }
  }

  private mutating func note(
    _ version: Version, _ row: RowNumber, _ before: Observation, _ own: Origin, stands: Bool
  ) {
    if version.certificate != nil {
      let word = Word(edit: version.edit, term: version.term)
      certified[word] = certified[word] ?? version.dot
      certifiedStamps[version.edit] = certifiedStamps[version.edit] ?? version.stamp
    }
    guard version.edit.origin == own else { return }
    add(
      version.edit, row, version, isDeleted: version.isDeleted, before, own,
      isHandedOn: before.isRenewing && !(stands && before.hasLost(row, to: version)))
  }

  private mutating func add(
    _ dot: Dot, _ row: RowNumber, _ version: Version?, isDeleted: Bool, _ before: Observation,
    _ own: Origin, isHandedOn: Bool = false
  ) {
    if let known = edits[dot], known.row == row {
      guard let old = known.hash, let new = version?.hash, old != new else { return }
    }
    let all = before.office?.pending[row] ?? []
    let waiting = all.filter { $0.dot.origin == own }
    // In a table that has another name for a while a row still stands.
    let renamed = before.dropped.contains(row) ? nil : before.lost[row]
    let standing = [before.versions[row] ?? renamed].compactMap { $0 }
    let isHidden = before.hidden.contains(row)
    var parents = ((isHidden ? [] : standing) + waiting).map(\.edit)
    // What gives way to a row that did not see it is made again as it was.
    if isHidden, let version, let same = standing.first(where: { $0.saysTheSame(as: version) }) {
      parents.append(same.edit)
    }
    // Who fetches everything anew hands on under dots of its own what nobody else has.
    if isHandedOn, let version,
      let same = (standing + all).first(where: { $0.saysTheSame(as: version) })
    {
      parents = [same.edit]
    }
    parents = parents.filter { isEarlier($0, dot) }
    // A second edit of that number, of a machine that was put back: it stands for the others, or
    // is replaced.
    guard edits[dot] == nil else { return removed += parents.map { (row, $0) } }
    edits[dot] = Edit(
      row: row, parents: parents, hash: version?.hash,
      stamp: version?.stamp, isDeleted: isDeleted,
      isGoverned: before.office?.isHeld ?? false)
  }

  /// The anchor may have certified an edit of its own again before anybody saw it, and hear of it
  /// from another one later: then what stands is not what it was made over.
  private func isEarlier(_ parent: Dot, _ edit: Dot) -> Bool {
    parent.origin != edit.origin || parent.seq < edit.seq
  }

  /// Takes over what was noted aside.
  mutating func join(_ other: inout Lineage) {
    edits.merge(other.edits) { known, _ in known }
    certified.merge(other.certified) { known, _ in known }
    rejected.merge(other.rejected) { known, _ in known }
    certifiedStamps.merge(other.certifiedStamps) { known, _ in known }
    logged.merge(other.logged) { known, _ in known }
    overruled.formUnion(other.overruled)
    removed += other.removed
    nameless.formUnion(other.nameless)
    other = Lineage()
  }

  /// Whether an edit was made over this one, or over the certificate of it.
  func wasWrittenOver(_ edit: Dot) -> Bool {
    edits.values.contains { $0.parents.contains(edit) } || removed.contains { $0.edit == edit }
      || nameless.contains(edit)
  }

  /// Whether an anchor has given an edit another time: one from the future.
  func wasRedated(_ edit: Dot) -> Bool {
    certifiedStamps[edit].map { $0 != edits[edit]?.stamp } ?? false
  }

  /// Whether somebody else has made an edit over this one: there it may be by name alone.
  func wasCovered(_ edit: Dot) -> Bool {
    edits.contains { $0.key.origin != edit.origin && $0.value.parents.contains(edit) }
  }

  /// An edit, and those of its author that it was made again from: they say the same, at the same
  /// time, and who has seen one of them has seen it.
  func numbers(of dot: Dot) -> Set<Dot> {
    guard let made = edits[dot] else { return [dot] }
    var numbers = line(of: dot).filter {
      $0.origin == dot.origin && edits[$0]?.hash == made.hash && edits[$0]?.stamp == made.stamp
    }
    // What was made again over something later has a later time. What says the same as the only
    // one that stood there before is no edit of an application.
    var next = dot
    while let parents = edits[next]?.parents, parents.count == 1, parents[0].origin == dot.origin,
      let earlier = edits[parents[0]], earlier.hash == made.hash, !earlier.isDeleted
    {
      next = parents[0]
      numbers.insert(next)
    }
    return numbers
  }

  /// An edit and all that it descends from.
  func line(of edit: Dot) -> Set<Dot> {
    var (line, todo) = (Set<Dot>(), [edit])
    while let next = todo.popLast() {
      guard line.insert(next).inserted else { continue }
      todo += edits[next]?.parents ?? []
    }
    return line
  }
}

extension Observation {
  /// Whether a delete has taken the place of what stood: its application's, for a delete that waits
  /// is not handed on above that.
  fileprivate func hasLost(_ row: RowNumber, to version: Version) -> Bool {
    version.isDeleted && versions[row]?.isDeleted == false
  }
}
