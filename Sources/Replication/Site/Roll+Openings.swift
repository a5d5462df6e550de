/// What a change of the roll would open.
extension Roll {
  package struct Openings: Sendable, Equatable {
    /// Who was shut out and would be a member again.
    package var returned: [Entry] = []
    /// Members that might do more than before.
    package var widened: [Entry] = []
    /// What is to be said so that neither is so.
    package var revocations: [SiteStatement.Kind] = []
    package var grants: [SiteStatement.Kind] = []
  }

  /// A change that ends an admin lets its revocations and grants fall, too.
  package func openings(in next: Roll) -> Openings {
    var openings = Openings()
    for after in next.members {
      guard let before = entries[after.node] else { continue }
      if case .revoked? = before.ending {
        openings.returned.append(after)
        openings.revocations.append(.revoke(node: after.node, heads: []))
        continue
      }
      let (old, new) = (before.rights, after.rights)
      let tables = Set(old.tables.keys).union(new.tables.keys).sorted()
      let wider = tables.filter { old.right(to: $0) < new.right(to: $0) }
      guard !wider.isEmpty else { continue }
      openings.widened.append(after)
      openings.grants += wider.map {
        .grant(node: after.node, table: $0, right: old.right(to: $0))
      }
    }
    return openings
  }
}
