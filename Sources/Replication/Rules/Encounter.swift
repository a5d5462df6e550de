/// What happens when a version comes to a row that has one: which stands, and what becomes of the
/// other.
package enum Encounter: Sendable, Equatable {
  /// It is the version that stands.
  case same
  /// What stands stays, and what came is history or lost elsewhere.
  case stays
  /// What stands stays; what came waits for the anchor.
  case waits
  /// What came stands.
  case gives(Fate)

  /// What becomes of the version that stood.
  package enum Fate: Sendable, Equatable {
    /// It lives on in what replaced it, or is in the log of its author.
    case history
    /// It waits for the anchor.
    case waits
    /// It goes to the conflict log of this node, who made it, or whose author is gone: nobody has
    /// seen it.
    case conflict
  }
}

/// The point of view of one replica.
package struct Viewpoint: Sendable {
  package var own: Origin
  /// Under which it wrote in earlier lives.
  package var earlier: Set<Origin> = []
  /// Under which nobody writes any more: no author is left to keep what is lost of it.
  package var departed: Set<Origin> = []
  package var office: Office
  package var judged: Judged

  package init(own: Origin, office: Office, judged: Judged) {
    self.own = own
    self.office = office
    self.judged = judged
  }

  /// Whether an anchor may still have to judge a version.
  package func isUndecided(_ version: Version) -> Bool {
    guard office.isHeld, version.isTentative || version.term < office.term else { return false }
    return judged.term < office.term || !judged.frontier.covers(version.dot)
  }

  /// The same, where it meets what stands. At the anchor whatever it has judged ranks below that:
  /// an edit that does not was never judged, though the judged frontier covers it, for its author
  /// had taken it back by then and somebody else has it.
  package func isUndecided(_ version: Version, over standing: Version?) -> Bool {
    if isUndecided(version) { return true }
    return office.certifies && version.isTentative
      && standing.map { version.rank > $0.rank } ?? true
  }

  /// An edit of its own author that it has written over is history.
  package func isSuperseded(_ old: Version, by new: Version) -> Bool {
    old.isTentative && new.isTentative && old.dot.origin == new.dot.origin && new.dot > old.dot
  }

  /// Decides between a version that comes and the one that stands.
  package func meeting(_ incoming: Version, _ standing: Version?) -> Encounter {
    if let standing, incoming.dot == standing.dot, incoming.hash == standing.hash { return .same }
    let isUndecided = isUndecided(incoming, over: standing)
    // The anchor shows what it has judged, and nothing else.
    if isUndecided, office.certifies { return .waits }
    guard let standing else { return .gives(.history) }
    guard incoming.rank > standing.rank else {
      return isUndecided && !isSuperseded(incoming, by: standing) ? .waits : .stays
    }
    return .gives(fate(of: standing, after: incoming))
  }

  /// Whether this replica is the author, in this life or an earlier one.
  package func isOwn(_ origin: Origin) -> Bool { origin == own || earlier.contains(origin) }

  private func fate(of old: Version, after new: Version) -> Encounter.Fate {
    // One number was given to two edits, by a machine that was put back to an earlier state.
    if old.dot == new.dot { return .conflict }
    if isSuperseded(old, by: new) || new.edit == old.edit { return .history }
    if isUndecided(old) { return .waits }
    if isSpent(old, under: new) { return .history }
    // What a migration has made of an edit is kept where that edit was made.
    return isKeptHere(old.image ?? old.edit) && isLost(old, to: new) ? .conflict : .history
  }

  /// Whether this replica keeps an edit that loses: it is the author, or nobody is any more.
  package func isKeptHere(_ edit: Dot) -> Bool {
    isOwn(edit.origin) || departed.contains(edit.origin)
  }

  /// Whether what comes loses to what stands, and no author is left to keep it: the life is over in
  /// which it was made, and the file of its author may have forgotten it.
  package func isLostHere(_ incoming: Version, to standing: Version) -> Bool {
    let origin = incoming.edit.origin
    return (earlier.contains(origin) || departed.contains(origin)) && isLost(incoming, to: standing)
  }

  /// Whether what comes is the anchor's word on something that this node's edit was made on, and
  /// the edit itself is not judged. It is yet to be, or never will, as nobody is the anchor any
  /// more. What the judged frontier covers may be yet to be judged, too: it had lost where nobody
  /// was one.
  ///
  /// The certificate outranks the edit, which inherited the epoch before it. But its author has
  /// seen what is certified: the edit is made again on top, lest a program find its own committed
  /// row as it was before. Not if what is certified was made of the edit in turn, as a migration
  /// does.
  ///
  /// So is what an anchor has certified in an earlier term, if nobody is left to judge it; and then
  /// also if both say the same, for another certificate may be on its way.
  package func isBase(_ incoming: Version, of standing: Version) -> Bool {
    isOwn(standing.edit.origin)
      && (standing.isTentative || !office.isHeld)
      && !incoming.isTentative && incoming.edit != standing.edit
      && (incoming.hash != standing.hash || !office.isHeld)
      && standing.hasSeen(incoming) && !incoming.hasSeen(standing)
  }

  /// Whether the anchor's word on something that an edit was made on says the same as the edit,
  /// which waits: who looks sees the edit.
  package func isShown(_ edit: Version, by standing: Version) -> Bool {
    !standing.isTentative && standing.saysTheSame(as: edit) && standing.edit != edit.edit
      && edit.hasSeen(standing)
  }

  /// Whether a version is lost to somebody where another one stands: unseen, and not the same.
  package func isLost(_ old: Version, to new: Version) -> Bool {
    !new.hasSeen(old) && new.hash != old.hash
  }

  /// Whether a delete that the anchor has accepted gave way to a new row: the key was free, so the
  /// anchor was asked about no conflict, and nothing is lost.
  package func isSpent(_ old: Version, under new: Version) -> Bool {
    office.isHeld && old.isDeleted && old.created != new.created
  }

  /// The session of an edit made now in one: none if an earlier edit that it is made on was out of
  /// touch, for that one would ride along.
  package func session(_ online: UInt64, over old: Version?) -> UInt64 {
    guard online != 0, let old, isUndecided(old), old.session != online else { return online }
    return 0
  }
}
