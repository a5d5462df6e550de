/// What the anchor of one term has judged: every edit up to here has its verdict.
package struct Judged: Sendable, Equatable {
  package var term: Term
  package var frontier: Frontier

  package init(term: Term = .none, frontier: Frontier = Frontier()) {
    self.term = term
    self.frontier = frontier
  }

  /// Takes in what came with the certificates that belong to it.
  ///
  /// Of one term both parts hold; a later anchor begins anew, for it may not have what an earlier
  /// one had.
  package mutating func join(_ other: Judged) {
    if other.term > term {
      self = other
    } else if other.term == term {
      frontier.join(other.frontier)
    }
  }

  /// Whether an anchor's frontier has come to cover more of others than it has said.
  package func isBehind(_ frontier: Frontier, of own: Origin, in term: Term) -> Bool {
    self.term == term && !self.frontier.covers(frontier.without(own))
  }

  /// Whether an edit was judged in a term.
  package func covers(_ edit: Dot, in term: Term) -> Bool {
    self.term == term && frontier.covers(edit)
  }

  /// What somebody lacks of this who knows `known`: of an earlier anchor's work nothing counts.
  package func news(since known: Judged) -> Judged {
    Judged(
      term: term, frontier: known.term == term ? frontier.beyond(known.frontier) : frontier)
  }

  /// What the check of an exchange adds for this.
  package var check: UInt64 {
    mix(mix(term.number) ^ term.incarnation) &+ frontier.hash
  }
}
