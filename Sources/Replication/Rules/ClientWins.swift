/// What reaches the anchor stands; what it replaces unseen is kept in the conflict log.
package enum ClientWins: MergeRule {
  package static let name = "client-wins"

  package static func objection(to claim: Claim) -> Reason? { nil }
}
