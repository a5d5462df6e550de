import Replication
import Testing

/// Who is the anchor, from what was signed about that.
@Suite struct `Appointments of an anchor` {
  private static let (a, b, c) = (
    Identity(high: 1, low: 0), Identity(high: 2, low: 0), Identity(high: 3, low: 0)
  )

  private static func term(_ number: UInt64, _ incarnation: UInt64 = 0) -> Term {
    Term(number: number, incarnation: incarnation)
  }

  private static func appoint(
    _ number: UInt64, _ node: Identity?, isForced: Bool = false, incarnation: UInt64 = 0
  ) -> Appointment {
    Appointment(term: term(number, incarnation), node: node, isForced: isForced)
  }

  private static func waits(_ node: Identity, _ number: UInt64) -> Governance.Predecessor {
    Governance.Predecessor(node: node, term: term(number))
  }

  /// What a set means to `c`.
  private static let cases: [([Appointment], Governance?)] = [
    ([], nil),
    ([appoint(1, c)], Governance(term: term(1), isHeld: true, isOwn: true, isFirst: true)),
    ([appoint(1, a)], Governance(term: term(1), isHeld: true, isOwn: false, isFirst: true)),
    ([appoint(1, nil)], Governance(term: term(1), isHeld: false, isOwn: false, isFirst: true)),
    (
      [appoint(1, nil), appoint(2, c)],
      Governance(term: term(2), isHeld: true, isOwn: true, isFirst: true, vacancy: term(1))
    ),
    (
      [appoint(1, a), appoint(2, c)],
      Governance(term: term(2), isHeld: true, isOwn: true, awaited: [waits(a, 1)])
    ),
    (
      [appoint(1, a), appoint(2, b), appoint(3, c)],
      Governance(term: term(3), isHeld: true, isOwn: true, awaited: [waits(a, 1), waits(b, 2)])
    ),
    (
      [appoint(1, a), appoint(2, c), appoint(3, a), appoint(4, c)],
      Governance(
        term: term(4), isHeld: true, isOwn: true, wasAppointed: true, awaited: [waits(a, 3)])
    ),
    (
      [appoint(1, a), appoint(2, b, isForced: true), appoint(3, c)],
      Governance(term: term(3), isHeld: true, isOwn: true, awaited: [waits(b, 2)])
    ),
    (
      [appoint(1, a), appoint(2, c, isForced: true)],
      Governance(
        term: term(2), isHeld: true, isOwn: true, isForced: true, awaited: [waits(a, 1)])
    ),
    (
      [appoint(1, c), appoint(2, nil)],
      Governance(term: term(2), isHeld: false, isOwn: false, wasAppointed: true)
    ),
    (
      [appoint(1, a), appoint(2, nil), appoint(3, c)],
      Governance(
        term: term(3), isHeld: true, isOwn: true, awaited: [waits(a, 1)], vacancy: term(2))
    ),
    // Rivals: the incarnation decides, for everybody alike.
    (
      [appoint(1, c, incarnation: 5), appoint(1, a, incarnation: 6)],
      Governance(term: term(1, 6), isHeld: true, isOwn: false, wasAppointed: true)
    ),
  ]

  @Test func `mean the same in whatever order they are known`() {
    for (appointments, expected) in Self.cases {
      for _ in 0..<10 {
        let found = Appointments.governance(of: appointments.shuffled(), for: Self.c)
        #expect(found == expected, "\(appointments)")
      }
    }
  }

  @Test func `may be signed by the root and by admins, and by nobody else`() {
    var site = TestSite.withTwoAdmins
    site.say(.admit(key: TestSite.ward.key, role: .anchor), by: TestSite.first)
    let ward = TestSite.ward.identity
    func numbers() -> [UInt64] { site.membership.roll.appointments.map(\.term.number) }
    for nobody in [TestSite.ward, TestSite.thief] {
      site.say(.appoint(number: 9, node: ward, isForced: true), by: nobody)
    }
    #expect(numbers() == [] && site.membership.roll.anchor == nil)
    site.say(.appoint(number: 1, node: ward, isForced: false), by: TestSite.root)
    site.say(
      .appoint(number: 2, node: TestSite.first.identity, isForced: true), by: TestSite.second)
    #expect(numbers() == [1, 2])
    #expect(site.membership.roll.appointments.map(\.isForced) == [false, true])
    #expect(site.membership.roll.anchor?.node == TestSite.first.identity)
    // An anchor that is no member any more is none, but nobody else is for that.
    site.say(.leave, by: TestSite.first)
    #expect(site.membership.roll.anchor == nil && numbers() == [1, 2])
    site.say(.appoint(number: 3, node: nil, isForced: false), by: TestSite.second)
    #expect(site.membership.roll.anchor == nil && numbers() == [1, 2, 3])
  }

  @Test func `by an admin that was revoked count as far as the revocation says`() {
    var site = TestSite.withTwoAdmins
    let (first, second) = (TestSite.first, TestSite.second)
    site.say(.appoint(number: 1, node: first.identity, isForced: false), by: first)
    let heads = site.membership.heads(of: first.identity)
    var heard = site
    heard.say(.appoint(number: 7, node: TestSite.thief.identity, isForced: true), by: first)
    #expect(heard.membership.roll.appointments.count == 2)
    site.say(.revoke(node: first.identity, heads: heads), by: TestSite.root)
    _ = heard.membership.unite(site.membership.all)
    #expect(heard.membership.roll.appointments.map(\.term.number) == [1])
    site.say(.appoint(number: 2, node: second.identity, isForced: false), by: second)
    #expect(site.membership.roll.anchor?.node == second.identity)
  }

  @Test func `are the same whatever came first, rivals too`() {
    var (left, right) = (TestSite.withTwoAdmins, TestSite.withTwoAdmins)
    left.say(.appoint(number: 1, node: Self.a, isForced: false), by: TestSite.first)
    right.say(.appoint(number: 1, node: Self.b, isForced: false), by: TestSite.second)
    let all = left.membership.all + right.membership.all
    let site = TestSite()
    let rolls = (0..<20).map { _ in
      var site = site
      // Each round may bring what an earlier statement rests on.
      for _ in 0..<3 { _ = site.membership.unite(all.shuffled()) }
      return site.membership.roll.appointments
    }
    #expect(rolls[0].count == 2)
    #expect(rolls.allSatisfy { $0 == rolls[0] })
    #expect(rolls[0][0].term < rolls[0][1].term)
    #expect(rolls[0][0].term.number == rolls[0][1].term.number)
  }

  @Test func `of a number that no site reaches are refused`() throws {
    let site = TestSite()
    let rest = (0..<16).map { _ in UInt8(0) }
    let good = site.sign(
      .appoint(number: 1, node: nil, isForced: false), by: TestSite.root
    ).statement.bytes
    let body = good.dropLast(rest.count + 2)
    #expect(
      try SiteStatement(Array(body) + [1, 0] + rest).kind
        == .appoint(number: 1, node: nil, isForced: false))
    for wrong: [UInt8] in [
      [0, 0], [1, 2], [0x81, 0x80, 0x80, 0x80, 0x10, 0], [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01, 0],
    ] {
      #expect(throws: WireError.self) { try SiteStatement(Array(body) + wrong + rest) }
    }
  }
}

/// What an anchor has judged.
@Suite struct `What was judged` {
  private static let (x, y) = (Origin(rawValue: 1), Origin(rawValue: 2))
  private static func judged(_ term: UInt64, _ x: UInt64, _ y: UInt64) -> Judged {
    Judged(
      term: Term(number: term, incarnation: 0),
      frontier: Frontier([Self.x: x, Self.y: y].filter { $0.value > 0 }))
  }

  @Test func `is joined within a term, and begins anew with a later one`() {
    for (one, other, result) in [
      (Self.judged(1, 3, 1), Self.judged(1, 1, 4), Self.judged(1, 3, 4)),
      (Self.judged(1, 3, 1), Self.judged(2, 1, 0), Self.judged(2, 1, 0)),
      (Self.judged(2, 1, 0), Self.judged(1, 3, 9), Self.judged(2, 1, 0)),
      (Judged(), Self.judged(1, 1, 1), Self.judged(1, 1, 1)),
      (Self.judged(1, 1, 1), Judged(), Self.judged(1, 1, 1)),
    ] {
      var joined = one
      joined.join(other)
      #expect(joined == result)
      joined.join(other)
      #expect(joined == result)
    }
  }

  @Test func `is part of what an exchange is checked by`() {
    let checks = [Self.judged(1, 1, 1), Self.judged(1, 1, 2), Self.judged(2, 1, 1), Judged()].map(
      \.check)
    #expect(Set(checks).count == 4)
    let begin = Begin(.full(covers: Frontier()), rows: 1)
    var other = begin
    other.judged = Self.judged(1, 1, 1)
    #expect(begin.check(1) != other.check(1))
  }
}

@Suite struct `The epochs of an anchor` {
  @Test func `rise above all that it has given and seen, as far as peers read them`() {
    var version = Version(
      dot: Dot(Origin(rawValue: 1), 1), created: Dot(Origin(rawValue: 1), 1), stamp: .zero,
      hash: 7, isDeleted: false)
    #expect(Epoch.next(after: 4, over: [version, nil]) == 5)
    version.epoch = 9
    #expect(Epoch.next(after: 4, over: [nil, version]) == 10)
    version.epoch = Epoch.latest - 1
    version.term = Term(number: 1, incarnation: 0)
    let epoch = Epoch.next(after: 4, over: [version])
    var writer = RowBatchWriter()
    writer.add(
      TableShape(name: "t", keyCount: 1, columns: ["id"]),
      version.certified(version.dot, term: version.term, epoch: epoch, at: .zero),
      .values([.integer(1)]))
    #expect((try? RowBatch(bytes: writer.bytes))?.rows.count == 1)
  }
}
