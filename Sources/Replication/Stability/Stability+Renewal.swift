/// A replica that has been away while deleted versions were collected: rows that it holds and nobody
/// else does were deleted, or written here. Only who lacks nothing can tell it which.
extension Stability {
  /// Whether everything must be fetched anew, as this peer has it.
  package func mustRenew(for peer: CutStanding) -> Bool {
    guard standing.isBehind(peer) || renewal != nil && !peer.isBehind else { return false }
    return renewal.map { $0.mark < peer.cleared } ?? true
  }

  /// Whether rows are taken from this peer: while all is fetched anew, from who lacks nothing.
  package func mayAsk(_ peer: CutStanding) -> Bool {
    renewal.map { !peer.isBehind && peer.cleared >= $0.mark } ?? true
  }

  /// Whether rows are sent to this peer: not what may have been deleted where that is forgotten.
  package func mayGive(_ peer: CutStanding) -> Bool { renewal == nil && !standing.isBehind(peer) }

  /// Whether rows of a sender that stands so can be merged.
  package func mayMerge(_ sender: CutStanding) -> Bool {
    !sender.isBehind(standing) && mayAsk(sender)
  }

  package mutating func beginRenewal(at mark: Mark) { renewal = .fetching(mark) }

  /// Everything that this sender holds has come: the frontier moves.
  package mutating func received(from sender: CutStanding) {
    cleared = max(cleared, sender.cleared)
    if case .fetching(let mark)? = renewal, mayAsk(sender) { renewal = .sweeping(mark) }
  }

  /// What was deleted is gone.
  package mutating func endRenewal() {
    guard let mark = renewal?.mark else { return }
    whole = max(whole, mark)
    cleared = max(cleared, mark)
    renewal = nil
  }
}
