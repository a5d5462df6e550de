/// What one replica knows of what everybody holds: when deleted versions can go, and who has missed
/// that they did (docs/collection.md).
///
/// A version is stable when every member has it and everything that anybody wrote before it had it.
/// So cuts are made one after another: when all hold a cut, and then the next one, which covers
/// what each had written when it acknowledged the first, all that is below the first one is stable.
package struct Stability: Sendable, Equatable {
  /// What a replica that has been away for too long is doing about it.
  package enum Renewal: Sendable, Equatable {
    /// It is being given everything anew. Next: sweeping.
    case fetching(Mark)
    /// What it was not given is being removed. Next: none.
    case sweeping(Mark)

    package var mark: Mark {
      switch self {
      case .fetching(let mark), .sweeping(let mark): mark
      }
    }
  }

  /// For how long deleted versions are kept at least, in ms.
  package static let retention: Int64 = 400 * 86_400_000

  package internal(set) var whole = Mark.none
  package internal(set) var cleared = Mark.none
  /// The last cuts that it has acknowledged: parts of a site that do not wait for each other number
  /// theirs alike.
  package internal(set) var known: [Mark] = []
  package internal(set) var cut: Cut?
  /// When this replica heard of the present cut; nil if it does not know.
  package internal(set) var cutHeard: Int64?
  /// The last cut that each member has acknowledged.
  package internal(set) var acknowledgements: [Identity: Acknowledgement] = [:]
  /// The cut before, which everybody holds; nil if this replica did not see it.
  package internal(set) var stable: Frontier?
  package var floors = Floors()
  package internal(set) var renewal: Renewal?
  /// What all have signed for at the mark of the renewal; nil if that is not known.
  package internal(set) var agreed: Frontier?
  /// Deleted rows may have gone without it: its file was put back or copied, or the site was told
  /// not to wait for it. Nobody's word but its own can say so.
  package internal(set) var mayHaveMissed = false

  package init() {}

  /// To which mark everything is fetched anew, until all of it has come.
  package var fetching: Mark? { if case .fetching(let mark)? = renewal { mark } else { nil } }

  package var standing: CutStanding {
    CutStanding(whole: whole, cleared: cleared, isRenewing: renewal != nil)
  }

  /// What a peer is told; nil while there is nothing to tell.
  package var news: StabilityNews? {
    let news = StabilityNews(
      standing: standing, cut: cut, acknowledgements: acknowledgements, floors: floors)
    return news == StabilityNews(standing: CutStanding()) ? nil : news
  }

  /// The last edit of a node when it acknowledged the present cut; nil if it has not.
  private func holding(_ node: Identity) -> Dot? {
    guard let cut, let said = acknowledgements[node], said.mark == cut.mark else { return nil }
    return said.last
  }

  /// Whether a node has acknowledged the present cut.
  package func isHeld(by node: Identity) -> Bool { holding(node) != nil }

  /// Takes in what a peer has told `node`, whose replica this is. A leaf speaks for itself alone.
  package mutating func hear(
    _ news: StabilityNews, from peer: Identity, isLeaf: Bool, as node: Identity,
    at moment: Int64? = nil
  ) {
    for (_, said) in news.acknowledgements where !isLeaf || said.node == peer {
      take(said)
      // The file is older than this.
      if said.node == node, !knows(said.mark) { mayHaveMissed = true }
    }
    guard !isLeaf else { return }
    floors.join(news.floors)
    guard let next = news.cut else { return }
    guard let cut, cut.mark >= next.mark else {
      // Everybody holds the one before.
      if next.previous == cut?.mark, !next.frontier.covers(cut?.frontier ?? Frontier()) { return }
      // Of two that were made at one time the one before is the same.
      if next.previous != cut?.previous {
        stable = next.previous == cut?.mark ? cut?.frontier : nil
      }
      (cut, cutHeard) = (next, moment)
      return
    }
  }

  private mutating func take(_ said: Acknowledgement) {
    let before = acknowledgements[said.node]
    guard said.isLater(than: before),
      before != nil || acknowledgements.count < Limits.members
    else { return }
    acknowledgements[said.node] = said
  }

  /// What this node would say of the present cut, if it holds all of it and has not said so. A file
  /// that was put back or copied since may not know that it has: then it says so again.
  package func acknowledgement(
    as node: Identity, own: Dot, frontier: Frontier
  ) -> Acknowledgement? {
    guard !standing.isBehind, let cut, cut.mark >= whole,
      cut.mark > whole || !isHeld(by: node), frontier.covers(cut.frontier)
    else { return nil }
    return Acknowledgement(node: node, mark: cut.mark, last: own)
  }

  package mutating func acknowledge(_ said: Acknowledgement) {
    learn(said.mark)
    take(said)
  }

  /// Once all members hold a cut with edits of the present life, they know this life, and nothing
  /// goes without it any more. Also who is not waited for: it may have gone on without this node.
  package mutating func rejoin(_ all: some Sequence<Identity>, as own: Origin) {
    guard mayHaveMissed, !standing.isBehind, let cut, cut.mark == whole, cut.frontier[own] > 0,
      isHeld(by: all)
    else { return }
    mayHaveMissed = false
  }

  /// Everything at this mark is here.
  mutating func learn(_ mark: Mark) {
    whole = max(whole, mark)
    known = known.filter { $0 != mark }.suffix(Self.mostKnown - 1) + [mark]
  }

  static let mostKnown = 256

  /// Makes the next cut, if all `members` hold the present one and this replica has what they had
  /// written by then; or in place of one that it waited for in vain.
  package mutating func propose(
    naming digest: ([UInt8]) -> Identity, frontier: Frontier,
    members: some Sequence<Identity>, at moment: Int64
  ) {
    guard !standing.isBehind else { return }
    guard let cut else {
      // Those of a version before were let go of, and what was held of them is not.
      let last = Mark(number: max(whole, cleared).number, id: .none)
      return begin(after: last, frontier, digest, at: moment)
    }
    let most = Mark.most(at: moment + SiteClock.farthest)
    guard cut.mark.number < min(Mark.highest, most) else { return }
    cutHeard = cutHeard ?? moment
    if isVain(at: moment) {
      stable = nil
      return begin(after: Mark(number: cut.mark.number, id: .none), frontier, digest, at: moment)
    }
    guard cut.mark == whole,
      members.allSatisfy({ holding($0).map(frontier.covers) ?? false })
    else { return }
    stable = cut.frontier
    begin(after: cut.mark, frontier, digest, at: moment)
  }

  private mutating func begin(
    after previous: Mark, _ frontier: Frontier, _ digest: ([UInt8]) -> Identity,
    at moment: Int64
  ) {
    cut = Cut(after: previous, frontier, digest)
    cutHeard = moment
  }

  /// Whether this replica was to hold a cut and could not for a long time: whoever made it may have
  /// named edits that nobody has. Who may have missed that rows went makes none in its place.
  private func isVain(at moment: Int64) -> Bool {
    guard !mayHaveMissed, let cut, let cutHeard else { return false }
    return cut.mark > whole && moment - cutHeard >= Cut.patience
  }

  /// Whether all of these have acknowledged the present cut.
  package func isHeld(by members: some Sequence<Identity>) -> Bool {
    members.allSatisfy { isHeld(by: $0) }
  }

  /// Below which deleted versions can go; nil if that is not known, or not at present.
  package func releasable(members: some Sequence<Identity>) -> Frontier? {
    guard !standing.isBehind, let cut, cut.mark == whole, isHeld(by: members) else { return nil }
    return stable
  }

  /// From now on deleted versions are missing here.
  package mutating func clear() {
    guard let cut else { return }
    cleared = max(cleared, cut.mark)
  }
}
