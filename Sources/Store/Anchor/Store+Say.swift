import Replication

/// Who may change the merge rules of the site.
package struct RuleSetters: Sendable, Equatable {
  /// The anchor, and members whose role says so.
  package var members: Set<Identity>
  /// Everybody who was made the anchor once: what these have certified holds.
  package var anchors: Set<Identity>

  package init(members: Set<Identity>, anchors: Set<Identity>) {
    self.members = members
    self.anchors = anchors
  }
}

/// The anchor lets nobody else change a rule, whatever the author's own node has let pass.
///
/// Only here: what each node decided for itself, by what it has heard, would differ.
extension Store {
  /// Whether an edit of the settings changes a rule without the say to.
  func isUnallowed(
    _ item: PendingTable.Item, _ entry: Shelf.Entry?, over standing: Version?,
    _ table: ReplicaTable
  ) throws -> Bool {
    guard table.name == Tables.settings, let standing, standing.edit != item.version.edit,
      try !hasSay(item.version)
    else { return false }
    // A table is chosen by who may write, with the rule that nobody has set, and given up while it
    // has that one; given up and chosen anew it would lose any other.
    let before = standing.isDeleted ? nil : try contents.content(of: standing, table, item.key)
    return rule(in: entry) != rule(in: before)
  }

  private func hasSay(_ version: Version) throws(StoreError) -> Bool {
    guard let ruleSetters, !isOwn(version.dot.origin) else { return true }
    guard let author = try members.author(of: version.dot.origin) else { return false }
    return ruleSetters.members.contains(author)
      || !version.isTentative && ruleSetters.anchors.contains(author)
  }

  private func rule(in entry: Shelf.Entry?) -> String {
    guard case .text(let bytes)? = entry?.values.first(where: { $0.name == "rule" })?.value
    else { return Self.ruleName(nil) }
    return Self.ruleName(String(decoding: bytes, as: UTF8.self))
  }
}
