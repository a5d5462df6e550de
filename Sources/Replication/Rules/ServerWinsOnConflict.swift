/// An edit stands unless the anchor has something that its author had not seen.
package enum ServerWinsOnConflict: MergeRule {
  package static let name = "server-wins-on-conflict"

  package static func objection(to claim: Claim) -> Reason? {
    claim.hasSeenStanding ? nil : .unseen
  }
}
