import Replication
import Testing

/// What a thief of an admin's key can do to a site, and what a revocation puts right.
@Suite("A stolen key of an admin")
struct StolenKeyTests {
  private let site = TestSite.withTwoAdmins
  private let thief = TestSite.second

  /// Signed on a branch of its own, whatever was said before.
  private func forge(_ kind: SiteStatement.Kind, at time: Int64 = 0) -> SignedStatement {
    TestSite.sign(
      SiteStatement(
        site: site.membership.site, issuer: thief.identity, previous: .none, time: time,
        kind: kind), by: thief)
  }

  private func numbers(_ site: TestSite) -> [UInt64] {
    site.membership.roll.appointments.map(\.term.number)
  }

  @Test("ends no anchors by taking the last term that there is")
  func lastTerm() {
    var site = site
    let node = TestSite.first.identity
    site.say(.appoint(number: 1, node: node, isForced: false), by: TestSite.first)
    _ = site.membership.unite([
      forge(.appoint(number: 1 << 32, node: thief.identity, isForced: false))
    ])
    #expect(numbers(site) == [1] && site.membership.roll.anchor?.node == node)
    #expect(site.membership.roll.highestTerm == 1)
    site.say(.appoint(number: 2, node: node, isForced: false), by: TestSite.first)
    #expect(numbers(site) == [1, 2])
    // So far it may go, and others go on from there, also once it is shut out.
    _ = site.membership.unite([
      forge(.appoint(number: 2_900, node: thief.identity, isForced: false))
    ])
    #expect(numbers(site) == [1, 2, 2_900])
    site.say(.revoke(node: thief.identity, heads: []), by: TestSite.root)
    #expect(numbers(site) == [1, 2] && site.membership.roll.highestTerm == 2_900)
    site.say(.appoint(number: 2_901, node: node, isForced: false), by: TestSite.first)
    #expect(numbers(site) == [1, 2, 2_901])
  }

  @Test("has an appointment count by all that are signed, in whatever order they come")
  func termsInAnyOrder() {
    let words = [900, 1_900, 2_999, 4_500, 5_000].map { number in
      forge(.appoint(number: number, node: nil, isForced: false), at: Int64(number))
    }
    for turn in words.indices {
      var site = site
      for word in words[turn...] + words[..<turn] { _ = site.membership.unite([word]) }
      #expect(numbers(site) == [900, 1_900, 2_999])
    }
  }

  /// Each look at the members tried all numbers for each of them: minutes, for every statement.
  @Test("makes thousands of one name no work for others", arguments: [3, 512])
  func manyOfOneName(length: Int) {
    var site = site
    let name = String(repeating: "n", count: length)
    var words: [SignedStatement] = []
    for number in 0..<6_000 as Range<Int> {
      let key = (0..<32).map { UInt8(truncatingIfNeeded: number >> (8 * min($0, 3))) }
      let node = PlainNotary.notary.digest(key)
      words.append(forge(.admit(key: key, role: .reader), at: Int64(number)))
      words.append(forge(.introduce(node: node, name: name, words: ""), at: Int64(number)))
    }
    _ = site.membership.unite(words)
    let names = Set(site.membership.roll.members.map(\.name))
    #expect(names.count >= 6_000 && names.contains(name))
    #expect(names.allSatisfy { $0.utf8.count <= Limits.name })
    #expect(length > 3 || names.isSuperset(of: (2...6_000).map { "nnn-\($0)" }))
  }

  @Test("exempts so many origins, and keeps nobody else from it")
  func exemptOrigins() {
    var site = site
    let words = (0..<50 as Range<Int>).map { part in
      forge(.close(besides: (0..<400).map { Origin(rawValue: UInt64(part * 400 + $0)) }))
    }
    _ = site.membership.unite(words)
    #expect(site.membership.roll.exempt?.count == 16_384)
    let own = Origin(rawValue: 1 << 40)
    site.say(.close(besides: [own]), by: TestSite.first, at: 9)
    #expect(site.membership.roll.exempt?.contains(own) == true)
  }

  @Test("puts nothing that its owner has signed out of what a revocation lets stand")
  func branches() {
    var site = site
    site.say(.admit(key: TestSite.ward.key, role: .writer), by: thief)
    let forks = (0..<200 as Range<Int>).map { number in
      forge(.grant(node: TestSite.desk.identity, table: "t\(number)", right: .read), at: 1 << 40)
    }
    _ = site.membership.unite(forks)
    let revocations = site.membership.revocations(of: thief.identity)
    #expect(revocations.count == 4)
    for revocation in revocations { site.say(revocation, by: TestSite.root) }
    #expect(site.role(of: thief) == nil)
    #expect(site.role(of: TestSite.ward) == .writer)
  }

  @Test("is told of with one farewell, however many came together")
  func farewells() {
    var site = site
    let farewells = (1...40).map { forge(.leave, at: $0) }
    let hearing = site.membership.hear(farewells)
    #expect(hearing.taken.count == 1 && site.membership.knows(hearing.taken[0]))
  }
}
