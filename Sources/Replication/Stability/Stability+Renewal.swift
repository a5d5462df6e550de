/// A replica that has been away while deleted versions were collected: rows that it holds and
/// nobody else does were deleted, or written here. Only who lacks nothing can tell it which.
extension Stability {
  /// Whether this replica lacks what the peer has collected, and the peer lacks nothing. The peer
  /// may have gone on with others who did not wait for this one, nor this one for them.
  package func isBehind(_ peer: CutStanding) -> Bool {
    if standing.isBehind(peer) { return true }
    return !peer.isBehind && cleared < peer.cleared && !knows(peer.cleared)
  }

  /// Whether everything was here at this mark: it was signed for, or came before all that is
  /// remembered.
  package func knows(_ mark: Mark) -> Bool {
    mark <= whole && (known.contains(mark) || known.allSatisfy { mark.number < $0.number })
  }

  /// The cut to which everything is fetched anew, if deleted rows can have gone at this mark
  /// without this replica; nil if not. `others` are the members for whom everybody has always
  /// waited, but for this one.
  ///
  /// A peer's word is not enough: what it has not got would count as deleted. This replica must
  /// have been left out, which its own file or a signature tells, and the others must have signed.
  package func renewal(for mark: Mark, held others: some Sequence<Identity>) -> Mark? {
    guard mayHaveMissed else { return nil }
    guard let agreed = agreed(by: others) else { return others.contains { _ in true } ? nil : mark }
    return agreed >= mark ? agreed : nil
  }

  /// The last cut for which all of these have signed; while some do not hold the present one yet,
  /// the one before. Nil if one has signed for none or for another one, or there is nobody.
  package func agreed(by others: some Sequence<Identity>) -> Mark? {
    let held = Set(others.map { acknowledgements[$0]?.mark ?? .none })
    if held.count == 1 { return held.first == Mark.none ? nil : held.first }
    guard let cut, !held.isEmpty, held.isSubset(of: [cut.mark, cut.previous]) else { return nil }
    return held.min()
  }

  /// Whether another one of these than the teller has signed for a cut as late, or there is none:
  /// enough for a replica that has nothing to lose.
  package func isShown(
    _ mark: Mark, by others: some Sequence<Identity>, besides teller: Identity?
  ) -> Bool {
    let others = others.filter { $0 != teller }
    return others.isEmpty
      || others.contains { (acknowledgements[$0]?.mark ?? .none) >= mark }
  }

  /// What another node takes over of it, with all that is held here: no more than a peer may tell
  /// it. Nil if the marks are beyond the cut, which cannot be.
  ///
  /// What is taken over is as old as it took to bring it. Others may have gone on to the next cut
  /// since, and without a cut nobody lets go of anything.
  package func handedOn(by surety: Surety, at moment: Int64) -> Stability? {
    let told = StabilityNews(
      standing: standing, cut: cut.flatMap { surety.isNamed($0) ? $0 : nil },
      acknowledgements: acknowledgements.filter { surety.holdsCut($0.value) == true },
      floors: floors
    ).possible(knowing: surety.appointees() ?? Appointees([]), at: moment)
    guard max(whole, cleared) <= told.cut?.mark ?? .none else { return nil }
    var taken = Stability()
    (taken.whole, taken.cleared, taken.known) = (whole, cleared, known)
    (taken.cut, taken.acknowledgements, taken.floors) =
      (told.cut, told.acknowledgements, told.floors)
    taken.mayHaveMissed = taken.cut != nil
    return taken
  }

  /// The file was put back or copied, or the site was told not to wait for this node.
  package mutating func miss() { mayHaveMissed = true }

  /// Whether everything must be fetched anew, as this peer has it.
  package func mustRenew(for peer: CutStanding) -> Bool {
    guard isBehind(peer) || renewal != nil && !peer.isBehind else { return false }
    return renewal.map { $0.mark < peer.cleared } ?? true
  }

  /// Whether rows are taken from this peer: while all is fetched anew, from who lacks nothing.
  package func mayAsk(_ peer: CutStanding) -> Bool {
    renewal.map { !peer.isBehind && peer.whole >= $0.mark } ?? true
  }

  /// Whether rows are sent to this peer: not what may have been deleted where that is forgotten.
  package func mayGive(_ peer: CutStanding) -> Bool { renewal == nil && !isBehind(peer) }

  /// Whether rows of a sender that stands so can be merged. `asked` says for which mark everything
  /// was asked for: what was asked for before has left out what was held then. Who lacks something
  /// itself sends nothing, and who has let go of more than is known here is asked for everything.
  package func mayMerge(_ sender: CutStanding, asked: Mark? = nil) -> Bool {
    !sender.isBehind && !sender.isBehind(standing) && !mustRenew(for: sender)
      && mayAsk(sender) && fetching.map { $0 == asked } ?? true
  }

  /// Whether a version that is `held` and stands no more was let go of: who sends it has begun to
  /// before the row was deleted there.
  package func hasForgotten(
    _ version: Version, table: UInt64, key: Key, held: Frontier
  ) -> Bool {
    guard renewal == nil, let floor = floors[table: table, key: key] else { return false }
    return Floor(version) <= floor && held.covers(version.dot)
  }

  package mutating func beginRenewal(at mark: Mark) {
    renewal = .fetching(mark)
    agreed = cut?.mark == mark ? cut?.frontier : cut?.previous == mark ? stable : nil
  }

  /// Everything that this sender holds has come: the frontier moves.
  package mutating func received(from sender: CutStanding) {
    if case .fetching(let mark)? = renewal, mayAsk(sender) { renewal = .sweeping(mark) }
  }

  /// Nobody is left who has been there: what is here counts as all that there is. Rows that were
  /// deleted meanwhile may be back, which is better than to lose the others.
  package mutating func giveUp() {
    if let renewal {
      self.renewal = .sweeping(renewal.mark)
    } else {
      whole = max(whole, cleared)
    }
  }

  /// Whether one of these could tell what was deleted.
  package func isHelped(by peers: some Sequence<CutStanding>) -> Bool {
    let mark = renewal?.mark ?? cleared
    return peers.contains { !$0.isBehind && $0.whole >= mark }
  }

  /// What becomes of a version that was here before all came anew.
  package enum Fate: Sendable, Equatable {
    /// It is what others have, or was written since.
    case stays
    /// Nobody else has it: this replica hands it on as an edit of its own, under a new dot. A copy
    /// of the file may have the version as it was.
    case isAdopted(Version)
    /// Others have deleted the row; `isLost` if it is an edit that they did not know.
    case isGone(isLost: Bool)
  }

  /// Decides about a version. `cameAs` is the version in which the row came, if it did; `known` is
  /// what others say that they hold. What goes without a trace was held by all at the mark of the
  /// renewal, so of nothing else a peer can say that it is gone.
  ///
  /// With an anchor an edit does not bring back what its author did not know to be deleted; without
  /// one the later of the two stands.
  package func fate(
    of version: Version, cameAs fresh: Dot?, known: Frontier, own: Origin, floor: Floor?,
    isJudged: Bool
  ) -> Fate {
    let isOwn = version.dot.origin == own
    if fresh == version.dot || isOwn && fresh != nil { return .stays }
    if fresh != nil, known.covers(version.dot) { return .stays }
    let known = agreed.map(known.capped) ?? known
    if known.covers(version.dot) { return .isGone(isLost: false) }
    // What was here before its table became the site's stays below everything.
    if isOwn, version.stamp == Stamp.beforeSite { return .stays }
    let before = version
    var version = version
    if fresh == nil, known.covers(version.created) {
      guard !isJudged, let floor, floor.stamp < version.stamp else {
        // Somebody who took office may have certified what the others know.
        return .isGone(isLost: !version.isDeleted && !known.covers(version.edit))
      }
      // A later delete counts: somebody who is away may have edited the row before it. A row of a
      // number of its own goes on as the same: what refers to it names it.
      if !version.isDeleted, version.numbering.turn == nil { version = version.madeAnew }
    }
    if fresh == nil { version = version.raised(above: floor) }
    return isOwn && version == before ? .stays : .isAdopted(version)
  }

  /// What was deleted is gone.
  package mutating func endRenewal() {
    guard let mark = renewal?.mark else { return }
    learn(mark)
    cleared = max(cleared, mark)
    (renewal, agreed) = (nil, nil)
  }
}
