/// What an anchor does about a version that waits for it.
package enum Judgement: Sendable, Equatable {
  /// It stands from now on.
  case accepted
  case rejected(Reason)
  /// There is nothing to judge: it is history of what stands, or has its verdict already. If what
  /// stands ranks below it, that is certified again: elsewhere it would stand for ever.
  case settled(certifiesAgain: Bool)
}

extension Judgement {
  /// Decides about a claim; `isDecided` tells whether the same edit was rejected in this term,
  /// or accepted and then overruled by another that had not seen it.
  ///
  /// Versions arrive in any order, so the anchor may have judged a later edit whose author knew
  /// this one, or the certificate of an earlier anchor on it. To judge it again would bring back
  /// what its own author has written over, or give one edit two verdicts.
  package init(
    of claim: Claim, under rule: any MergeRule.Type, term: Term, isDecided: Bool
  ) {
    if let standing = claim.standing {
      let isSame = standing.edit == claim.edit.edit
      let isDone = isSame ? standing.term == term && !standing.isTentative : isDecided
      if isDone || !isSame && standing.hasSeen(claim.edit) {
        self = .settled(certifiesAgain: standing.rank < claim.edit.rank)
        return
      }
      // What stands already is certified; no rule can object to it.
      if isSame {
        self = .accepted
        return
      }
    }
    self = MergeRules.objection(to: claim, under: rule).map { .rejected($0) } ?? .accepted
  }
}
