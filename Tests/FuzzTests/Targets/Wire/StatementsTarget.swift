import Replication

/// Statements that are read are written again as they were, and taken in by a site whose notary
/// believes everything, so that all that may follow from them does.
extension FuzzTarget {
  func readStatements(_ bytes: [UInt8]) {
    guard let statements = try? SignedStatement.decode(bytes, most: 256) else { return }
    for statement in statements {
      guard let again = try? SignedStatement(statement.bytes) else {
        fatalError("a statement is not read as it was written: \(statement)")
      }
      demand(again == statement, "\(statement) is read as \(again)")
    }
    var forwards = Self.trustingSite
    var backwards = Self.trustingSite
    let admin = SiteStatement.Kind.admit(key: Self.adminKey, role: .admin)
    for site in 0..<2 {
      let statement = forwards.draft(admin, by: forwards.site, at: 1)
      let signed = SignedStatement(statement, signature: [UInt8](repeating: 0, count: 64))
      if site == 0 { _ = forwards.unite([signed]) } else { _ = backwards.unite([signed]) }
    }
    _ = forwards.unite(statements)
    _ = backwards.unite(statements.reversed())
    _ = forwards.unite(backwards.all)
    _ = backwards.unite(forwards.all)
    demand(
      forwards.hash != backwards.hash || forwards.roll == backwards.roll,
      "one set of statements has two meanings")
    for entry in forwards.roll.everybody { _ = forwards.credential(of: entry.node) }
  }

  private static let adminKey = [UInt8](repeating: 1, count: 32)

  private static var trustingSite: Membership {
    Membership(
      rootKey: [UInt8](repeating: 0, count: 32),
      notary: Notary(
        digest: { Identity(high: hash64($0, seed: 1), low: hash64($0, seed: 2)) },
        isSigned: { _, _, _ in true }))
  }
}
