import Replication
import Testing

@testable import Store

/// What is kept of the statements about members.
@Suite struct MemberTablesTests {
  private func farewell(_ issuer: UInt64, at time: Int64) -> SignedStatement {
    SignedStatement(
      SiteStatement(
        site: TestReplica.site, issuer: Identity(high: issuer, low: 0), previous: .none,
        time: time, kind: .leave),
      signature: [UInt8](repeating: 0, count: SignedStatement.signatureLength))
  }

  /// A member that had left could fill every disk of the site: each of its farewells was kept.
  @Test func `of each node one farewell is kept, the one that counts`() throws {
    let members = try TestReplica(1, schema: "CREATE TABLE note(id TEXT PRIMARY KEY)").store.members
    let before = try members.statements()
    let other = farewell(8, at: 1)
    try members.add([other])
    for time in 1...20 as ClosedRange<Int64> { try members.add([farewell(9, at: time)]) }
    #expect(try members.statements() == before + [other, farewell(9, at: 20)])
  }
}
