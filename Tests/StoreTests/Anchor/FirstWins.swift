import Replication

/// Whoever changed a row first keeps it; a later edit needs to have seen that one.
enum FirstWins: MergeRule {
  static let name = "first-wins"

  static func objection(to claim: Claim) -> Reason? {
    guard let standing = claim.standing, !claim.hasSeenStanding else { return nil }
    return claim.edit.stamp < standing.stamp ? nil : .unseen
  }
}
