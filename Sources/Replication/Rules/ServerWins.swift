/// A row that the anchor holds is changed only in live contact with it, in knowledge of what
/// stands.
package enum ServerWins: MergeRule {
  package static let name = "server-wins"

  package static func objection(to claim: Claim) -> Reason? {
    guard claim.isOnline else { return .offline }
    return claim.hasSeenStanding ? nil : .unseen
  }
}
