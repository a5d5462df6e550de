import Replication
import Testing

@Suite("Signed statements")
struct StatementTests {
  static let kinds: [SiteStatement.Kind] = [
    .admit(key: PlainNotary.key(9), role: .anchor),
    .introduce(node: Identity(high: 1, low: 2), name: "Bett 5 · Süd", words: "a b c d"),
    .grant(node: Identity(high: 1, low: 2), table: "x\"; DROP TABLE y", right: .read),
    .revoke(node: Identity(high: 3, low: 4), heads: [.none, Identity(high: 5, low: 6)]),
    .leave, .appoint(number: 1, node: nil, isForced: true),
    .appoint(number: SiteStatement.highestTerm, node: Identity(high: 1, low: 2), isForced: false),
  ]

  @Test("are read as they were written", arguments: kinds)
  func roundTrip(kind: SiteStatement.Kind) throws {
    let signed = TestSite().sign(kind, by: TestSite.root, at: 1_767_225_600_000)
    #expect(try SignedStatement(signed.bytes) == signed)
    #expect(
      try SignedStatement.decode(SignedStatement.encode([signed, signed]), most: 2).count == 2)
    #expect(throws: WireError.self) {
      try SignedStatement.decode(SignedStatement.encode([signed, signed]), most: 1)
    }
  }

  @Test("are refused when a byte is missing, too many or of another site", arguments: kinds)
  func damaged(kind: SiteStatement.Kind) throws {
    var site = TestSite.withTwoAdmins
    let signed = site.sign(kind, by: TestSite.root, at: 5)
    for length in 0..<signed.statement.bytes.count {
      #expect(throws: WireError.self) {
        try SiteStatement(Array(signed.statement.bytes.prefix(length)))
      }
    }
    #expect(throws: WireError.self) { try SiteStatement(signed.statement.bytes + [0]) }
    for place in signed.bytes.indices {
      var bytes = signed.bytes
      bytes[place] ^= 1
      guard let changed = try? SignedStatement(bytes) else { continue }
      #expect(site.membership.unite([changed]).isEmpty, "byte \(place)")
    }
    var other = Membership(rootKey: PlainNotary.key(77), notary: PlainNotary.notary)
    #expect(other.unite([signed]).isEmpty)
  }
}
