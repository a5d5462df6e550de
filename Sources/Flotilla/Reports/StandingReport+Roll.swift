import Replication

extension StandingReport {
  /// Nil for a member, as far as this replica knows; `isRefused`: a member has refused it.
  init?(of node: Identity, in roll: Roll, isRefused: Bool, _ path: String) {
    switch roll.entries[node]?.ending {
    case .revoked(let by, _)?:
      text = "this node was shut out of the site by \(roll.entries[by]?.name ?? "the site key")"
    case .left?: text = "this node has left the site"
    case nil:
      guard isRefused else { return nil }
      text = "a member of the site refuses this node as one that was shut out"
    }
    remedy =
      "the data stays; to come back: flotilla leave \(shellWord(path)) --force, then join again"
  }
}
