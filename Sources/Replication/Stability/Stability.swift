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
  /// The cut before, which everybody holds; nil if this replica did not see it.
  package internal(set) var stable: Frontier?
  package var floors = Floors()
  package internal(set) var renewal: Renewal?

  package init() {}

  /// To which mark everything is fetched anew, until all of it has come.
  package var fetching: Mark? { if case .fetching(let mark)? = renewal { mark } else { nil } }

  package var standing: CutStanding {
    CutStanding(whole: whole, cleared: cleared, isRenewing: renewal != nil)
  }

  /// What a peer is told; nil while there is nothing to tell.
  package var news: StabilityNews? {
    guard self != Stability() else { return nil }
    return StabilityNews(standing: standing, cut: cut, floors: floors)
  }

  /// Takes in what a peer has told. A leaf speaks for itself alone.
  package mutating func hear(_ news: StabilityNews, from node: Identity, isLeaf: Bool) {
    if isLeaf {
      guard let cut = news.cut, cut.mark == self.cut?.mark else { return }
      return self.cut?.join(cut.acknowledged.filter { $0.key == node }) ?? ()
    }
    floors.join(news.floors)
    guard let next = news.cut, isPossible(next.mark) else { return }
    guard let cut, cut.mark >= next.mark else {
      // Of two that were made at one time the one before is the same.
      if next.previous != cut?.previous {
        stable = next.previous == cut?.mark ? cut?.frontier : nil
      }
      return cut = next
    }
    if cut.mark == next.mark { self.cut?.join(next.acknowledged) }
  }

  /// Acknowledges the present cut, if this replica holds all of it.
  package mutating func acknowledge(as node: Identity, own: Dot, frontier: Frontier) {
    guard !standing.isBehind, let cut, cut.mark >= whole, cut.acknowledged[node] == nil,
      frontier.covers(cut.frontier)
    else { return }
    learn(cut.mark)
    self.cut?.join([node: own])
  }

  /// Everything at this mark is here.
  mutating func learn(_ mark: Mark) {
    whole = max(whole, mark)
    known = known.filter { $0 != mark }.suffix(Self.mostKnown - 1) + [mark]
  }

  static let mostKnown = 256

  /// Makes the next cut, if all `members` hold the present one and this replica has what they had
  /// written by then.
  package mutating func propose(
    id: UInt64, frontier: Frontier, members: some Sequence<Identity>
  ) {
    guard !standing.isBehind else { return }
    if let cut {
      guard cut.mark == whole, cut.isHeld(by: members), cut.mark.number < Mark.highest,
        cut.acknowledged.values.allSatisfy({ frontier.covers($0) })
      else { return }
    }
    stable = cut?.frontier
    cut = Cut(
      mark: Mark(number: (cut?.mark.number ?? 0) + 1, id: id), previous: cut?.mark ?? .none,
      frontier: frontier)
  }

  /// Below which deleted versions can go; nil if that is not known, or not at present.
  package func releasable(members: some Sequence<Identity>) -> Frontier? {
    guard !standing.isBehind, let cut, cut.mark == whole, cut.isHeld(by: members) else {
      return nil
    }
    return stable
  }

  /// From now on deleted versions are missing here.
  package mutating func clear() {
    guard let cut else { return }
    cleared = max(cleared, cut.mark)
  }
}
