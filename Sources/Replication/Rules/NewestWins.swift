/// The edit that was made later stands, whoever made it.
package enum NewestWins: MergeRule {
  package static let name = "newest-wins"

  package static func objection(to claim: Claim) -> Reason? {
    guard let standing = claim.standing, !claim.hasSeenStanding else { return nil }
    let (edit, old) = (claim.edit, standing)
    let isLater =
      (edit.stamp, edit.edit.origin, edit.hash) > (old.stamp, old.edit.origin, old.hash)
    return isLater ? nil : .older
  }
}
