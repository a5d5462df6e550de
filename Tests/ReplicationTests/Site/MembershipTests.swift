import Replication
import Testing

@Suite("The members of a site")
struct MembershipTests {
  private let site = TestSite.withTwoAdmins

  @Test("are admitted by admins, who are admitted by the root")
  func admission() {
    var site = site
    site.say(.admit(key: TestSite.ward.key, role: .writer), by: TestSite.first)
    #expect(site.role(of: TestSite.first) == .admin)
    #expect(site.role(of: TestSite.ward) == .writer)
    #expect(site.role(of: TestSite.desk) == nil)
    let entry = site.membership.roll.entries[TestSite.ward.identity]
    #expect(entry?.admittedBy == TestSite.first.identity)
  }

  @Test("admit nobody themselves unless they are admins")
  func memberAdmits() {
    var site = site
    site.say(.admit(key: TestSite.ward.key, role: .anchor), by: TestSite.first)
    let hash = site.membership.hash
    for kind: SiteStatement.Kind in [
      .admit(key: TestSite.thief.key, role: .writer),
      .introduce(node: TestSite.ward.identity, name: "boss", words: ""),
      .grant(node: TestSite.ward.identity, table: "a", right: .write),
      .revoke(node: TestSite.first.identity, heads: []),
    ] {
      site.say(kind, by: TestSite.ward)
      site.say(kind, by: TestSite.thief)
    }
    #expect(site.membership.hash == hash)
    #expect(site.membership.roll.everybody.count == 3)
  }

  @Test("become admins by the root alone, and are ended as admins by the root alone")
  func adminsAmongThemselves() {
    var site = site
    site.say(.admit(key: TestSite.ward.key, role: .admin), by: TestSite.first)
    site.say(.revoke(node: TestSite.second.identity, heads: []), by: TestSite.first)
    site.say(.admit(key: TestSite.second.key, role: .reader), by: TestSite.first)
    #expect(site.role(of: TestSite.ward) == nil)
    #expect(site.role(of: TestSite.second) == .admin)
    site.say(.revoke(node: TestSite.second.identity, heads: []), by: TestSite.root)
    #expect(site.role(of: TestSite.second) == nil)
  }

  @Test("are the same in whatever order and in however many pieces the statements arrive")
  func order() {
    var site = site
    let both = [TestSite.ward, TestSite.desk]
    for (admin, node) in zip([TestSite.first, TestSite.second], both) {
      site.say(.admit(key: node.key, role: .writer), by: admin)
      site.say(.introduce(node: node.identity, name: "bed", words: "a b c d"), by: admin)
      site.say(.grant(node: node.identity, table: "Bills", right: .none), by: admin)
    }
    site.say(.grant(node: both[0].identity, table: "bills", right: .read), by: TestSite.second)
    site.say(.revoke(node: both[1].identity, heads: []), by: TestSite.first)
    site.say(
      .revoke(
        node: TestSite.second.identity,
        heads: site.membership.heads(of: TestSite.second.identity)), by: TestSite.root)
    let all = site.membership.all
    for seed in 0..<200 {
      var random = Seeded(UInt64(seed))
      var other = TestSite()
      // Each piece alone may lack what it rests on, so all is told until nothing is new.
      var rest = all.shuffled(using: &random)
      while other.membership.hash != site.membership.hash {
        let before = other.membership.hash
        for piece in stride(from: 0, to: rest.count, by: 1 + seed % 5) {
          _ = other.membership.unite(Array(rest[piece..<min(rest.count, piece + 1 + seed % 5)]))
        }
        rest.shuffle(using: &random)
        if before == other.membership.hash { break }
      }
      #expect(other.membership.roll == site.membership.roll, "seed \(seed)")
    }
    #expect(site.membership.roll.entries[both[0].identity]?.rights.right(to: "BILLS") == .read)
    #expect(site.membership.roll.entries[both[1].identity]?.isMember == false)
  }

  @Test("keep what two admins do at once")
  func twoAtOnce() {
    var (left, right) = (site, site)
    left.say(.admit(key: TestSite.ward.key, role: .writer), by: TestSite.first)
    right.say(.admit(key: TestSite.desk.key, role: .reader), by: TestSite.second)
    let (mine, yours) = (left.membership.all, right.membership.all)
    #expect(left.membership.unite(yours).count == 1)
    #expect(right.membership.unite(mine).count == 1)
    #expect(left.membership.roll == right.membership.roll)
    #expect(left.membership.hash == right.membership.hash)
    #expect(left.role(of: TestSite.ward) == .writer && left.role(of: TestSite.desk) == .reader)
  }

  @Test("stay when the admin that admitted them is revoked, but its thief admits nobody")
  func revokedAdmin() {
    var site = site
    site.say(.admit(key: TestSite.ward.key, role: .writer), by: TestSite.first)
    let before = site
    site.say(
      .revoke(
        node: TestSite.first.identity, heads: site.membership.heads(of: TestSite.first.identity)),
      by: TestSite.root)
    #expect(site.role(of: TestSite.ward) == .writer)
    // Dated back, behind nothing, and as if it came after the admission.
    let admission = site.membership.all.last { $0.statement.issuer == TestSite.first.identity }
    let previous = admission.map { site.membership.identity(of: $0) } ?? .none
    for (place, time) in [(Identity.none, Int64(-5)), (previous, 3), (.none, 9_999)] {
      let forged = TestSite.sign(
        SiteStatement(
          site: site.membership.site, issuer: TestSite.first.identity, previous: place,
          time: time, kind: .admit(key: TestSite.thief.key, role: .writer)), by: TestSite.first)
      var late = site
      _ = late.membership.unite([forged])
      #expect(late.role(of: TestSite.thief) == nil)
      // Whoever heard of the forgery first comes to the same end.
      var early = before
      _ = early.membership.unite([forged])
      #expect(early.role(of: TestSite.thief) == .writer)
      _ = early.membership.unite(site.membership.all)
      #expect(early.role(of: TestSite.thief) == nil)
      #expect(early.role(of: TestSite.ward) == .writer)
      // What it has signed for its edits while it was one can still be checked.
      #expect(early.membership.roll.entries[TestSite.thief.identity] == nil)
      #expect(early.membership.key(of: TestSite.thief.identity) == TestSite.thief.key)
    }
  }

  @Test("are not held up by what a revoked admin has dated ahead")
  func datedAhead() {
    var site = site
    let ahead = SiteStatement(
      site: site.membership.site, issuer: TestSite.first.identity, previous: .none,
      time: Limits.clock, kind: .introduce(node: TestSite.second.identity, name: "x", words: ""))
    site.say(
      .revoke(
        node: TestSite.first.identity, heads: site.membership.heads(of: TestSite.first.identity)),
      by: TestSite.root)
    #expect(site.membership.unite([TestSite.sign(ahead, by: TestSite.first)]).count == 1)
    #expect(site.membership.draft(.leave, by: TestSite.second.identity, at: 7).time < 1_000)
  }

  @Test("are held up by what an admin dates ahead in that alone")
  func datedAheadByAdmin() {
    var site = site
    let ward = TestSite.ward.identity
    site.say(.admit(key: TestSite.ward.key, role: .writer), by: TestSite.second)
    for kind: SiteStatement.Kind in [
      .grant(node: ward, table: "Bills", right: .none),
      .introduce(node: TestSite.second.identity, name: "fool", words: ""),
    ] {
      let ahead = SiteStatement(
        site: site.membership.site, issuer: TestSite.first.identity, previous: .none,
        time: Limits.clock, kind: kind)
      #expect(site.membership.unite([TestSite.sign(ahead, by: TestSite.first)]).count == 1)
    }
    #expect(site.membership.roll.entries[TestSite.second.identity]?.name != "fool")
    let later = site.sign(
      .grant(node: ward, table: "bills", right: .write), by: TestSite.second, at: 9)
    #expect(later.statement.time == Limits.clock)
    for kind: SiteStatement.Kind in [
      .grant(node: ward, table: "notes", right: .read),
      .introduce(node: ward, name: "w", words: ""), .revoke(node: ward, heads: []),
      .introduce(node: TestSite.second.identity, name: "b", words: ""),
    ] {
      #expect(site.sign(kind, by: TestSite.root, at: 9).statement.time == 9, "\(kind)")
    }
    site.say(.grant(node: ward, table: "notes", right: .read), by: TestSite.second, at: 9)
    site.say(.grant(node: ward, table: "notes", right: .none), by: TestSite.root, at: 2)
    #expect(site.membership.roll.entries[ward]?.rights.right(to: "notes") == Right.none)
  }

  @Test("say one thing after the other, whatever times they write")
  func chain() {
    var site = site
    for number in 0..<100 as Range<Int64> {
      // The clock is set back again and again.
      site.say(
        .grant(node: TestSite.ward.identity, table: "t\(number)", right: .read), by: TestSite.first,
        at: number % 7)
    }
    #expect(site.membership.heads(of: TestSite.first.identity).count == 1)
    site.say(.leave, by: TestSite.first)
    let all = site.membership.roll.entries[TestSite.first.identity]
    #expect(all?.isMember == false)
    site.say(.admit(key: TestSite.ward.key, role: .writer), by: TestSite.second)
    // What it had said before it left stands.
    #expect(site.membership.roll.entries[TestSite.ward.identity]?.tables.count == 100)
  }

  @Test("do not return once they are revoked, whatever is said or replayed")
  func revokedStaysOut() {
    var site = site
    let admission = site.say(.admit(key: TestSite.ward.key, role: .writer), by: TestSite.first)
    site.say(.revoke(node: TestSite.ward.identity, heads: []), by: TestSite.second)
    #expect(site.role(of: TestSite.ward) == nil)
    #expect(site.membership.unite([admission]).isEmpty)
    site.say(.admit(key: TestSite.ward.key, role: .writer), by: TestSite.first)
    #expect(site.role(of: TestSite.ward) == nil)
    let ending = site.membership.roll.entries[TestSite.ward.identity]?.ending
    guard case .revoked(TestSite.second.identity, _) = ending else {
      Issue.record("ended as \(String(describing: ending))")
      return
    }
  }

  @Test("whom an admin has let in are put out by the root, and the other way round")
  func endedByOther() {
    var site = site
    site.say(.admit(key: TestSite.ward.key, role: .writer), by: TestSite.first)
    site.say(.revoke(node: TestSite.ward.identity, heads: []), by: TestSite.root)
    #expect(site.role(of: TestSite.ward) == nil)
    site.say(.admit(key: TestSite.desk.key, role: .writer), by: TestSite.root)
    site.say(.revoke(node: TestSite.desk.identity, heads: []), by: TestSite.root)
    site.say(.admit(key: TestSite.desk.key, role: .writer), by: TestSite.first)
    #expect(site.role(of: TestSite.desk) == nil)
  }

  @Test("leave by their own word alone")
  func leaving() {
    var site = site
    site.say(.admit(key: TestSite.ward.key, role: .reader), by: TestSite.first)
    site.say(.admit(key: TestSite.desk.key, role: .reader), by: TestSite.first)
    let forged = SiteStatement(
      site: site.membership.site, issuer: TestSite.ward.identity, previous: .none, time: 50,
      kind: .leave)
    #expect(site.membership.unite([TestSite.sign(forged, by: TestSite.desk)]).isEmpty)
    site.say(.leave, by: TestSite.ward, at: Limits.clock)
    #expect(site.role(of: TestSite.ward) == nil && site.role(of: TestSite.desk) == .reader)
    // Who reads all of it anew knows that, too.
    var loaded = TestSite()
    _ = loaded.membership.unite(site.membership.all)
    #expect(loaded.membership.roll == site.membership.roll)
    // The time that a leaver writes keeps nobody from signing.
    #expect(site.membership.draft(.leave, by: TestSite.first.identity, at: 7).time < 1_000)
  }

  @Test("are forgotten in the lives that are named, also admins, and by admins alone")
  func forgetting() throws {
    var site = site
    site.say(.admit(key: TestSite.ward.key, role: .writer), by: TestSite.first)
    let (ward, second) = (TestSite.ward.identity, TestSite.second.identity)
    let wrong = SiteStatement(
      site: site.membership.site, issuer: ward, previous: .none, time: 50,
      kind: .forget(node: second, lives: [1]))
    #expect(site.membership.unite([TestSite.sign(wrong, by: TestSite.ward)]).isEmpty)
    site.say(.forget(node: ward, lives: [1, 2]), by: TestSite.first)
    site.say(.forget(node: second, lives: []), by: TestSite.first)
    let entry = try #require(site.membership.roll.member(ward))
    #expect(entry.isForgotten(knowing: [2]) && entry.isForgotten(knowing: []))
    // It has come back.
    #expect(!entry.isForgotten(knowing: [1, 2, 3]))
    #expect(site.membership.roll.member(second)?.isForgotten(knowing: []) == true)
    #expect(site.membership.roll.member(TestSite.first.identity)?.forgotten == nil)
  }

  @Test("are the same set everywhere though one was revoked here while it left there")
  func revokedAndLeft() {
    var here = site
    here.say(.admit(key: TestSite.ward.key, role: .writer), by: TestSite.first)
    var there = here
    here.say(.revoke(node: TestSite.ward.identity, heads: []), by: TestSite.first)
    there.say(.leave, by: TestSite.ward, at: 40)
    // A node that was restored may say it twice, and not everybody hears the same one first.
    var third = here
    third.say(.leave, by: TestSite.ward, at: 50)
    var sites = [here, there, third]
    for _ in 0..<2 {
      for place in sites.indices {
        for other in sites { _ = sites[place].membership.unite(other.membership.all) }
      }
    }
    for site in sites {
      #expect(site.membership.hash == sites[0].membership.hash)
      #expect(site.membership.all == sites[0].membership.all)
      #expect(site.membership.roll == sites[0].membership.roll)
      guard case .revoked? = site.membership.roll.entries[TestSite.ward.identity]?.ending else {
        Issue.record("\(String(describing: site.membership.roll.entries))")
        return
      }
    }
    #expect(sites[0].membership.heads(of: TestSite.ward.identity).isEmpty)
  }

  @Test("leave twice, and what counts of an admin's word before it is the same everywhere")
  func leftTwice() {
    let words = [
      site.sign(.leave, by: TestSite.first, at: 30),
      site.sign(.appoint(number: 1, node: nil, isForced: false), by: TestSite.first, at: 40),
    ]
    var there = site
    _ = there.membership.unite([words[1]])
    // The second follows the appointment, which the first does not.
    let second = there.sign(.leave, by: TestSite.first, at: 50)
    var sites = [site, site]
    _ = sites[0].membership.unite(words + [second])
    _ = sites[1].membership.unite([words[1], second] + words)
    #expect(sites[0].membership.roll == sites[1].membership.roll)
    #expect(sites[0].membership.hash == sites[1].membership.hash)
    #expect(sites[0].membership.all.count == 4)
  }

  @Test("go on by an appointment of an admin that was disowned, unless it is above all that count")
  func disownedAppointments() {
    var site = site
    let early = site.sign(.appoint(number: 1, node: nil, isForced: false), by: TestSite.first)
    let late = site.sign(
      .appoint(number: 1 << 32, node: nil, isForced: true), by: TestSite.first, at: 90)
    site.say(.revoke(node: TestSite.first.identity, heads: []), by: TestSite.root)
    site.say(.appoint(number: 2, node: TestSite.ward.identity, isForced: true), by: TestSite.root)
    #expect(site.membership.unite([early, late]).count == 2)
    let roll = site.membership.roll
    #expect(roll.appointments.map(\.term.number) == [2])
    let terms = [early, late].map { signed in
      guard case .appoint(let number, _, _) = signed.statement.kind else { return Term.none }
      return Term(number: number, incarnation: site.membership.identity(of: signed).high)
    }
    #expect(terms.map(roll.appointees.knows) == [true, false])
    #expect(roll.appointees.knows(roll.appointments[0].term))
  }

  @Test("hear from one admin so much and no more, and from the others all the same")
  func tooMuch() {
    var site = site
    let words = (0..<Membership.mostOfOne + 1).map { number in
      TestSite.sign(
        SiteStatement(
          site: site.membership.site, issuer: TestSite.first.identity, previous: .none,
          time: Int64(number), kind: .grant(node: .none, table: "t", right: .none)),
        by: TestSite.first)
    }
    #expect(site.membership.unite(words).count == Membership.mostOfOne)
    #expect(site.membership.isFull(TestSite.first.identity))
    let more = site.sign(.admit(key: TestSite.thief.key, role: .writer), by: TestSite.first)
    let hearing = site.membership.hear([more])
    // Nobody is blamed for passing it on.
    #expect(hearing == Membership.Hearing())
    #expect(site.membership.unite([site.sign(.leave, by: TestSite.first)]).count == 1)
    site.say(.admit(key: TestSite.ward.key, role: .writer), by: TestSite.second)
    site.say(.admit(key: TestSite.desk.key, role: .writer), by: TestSite.root)
    #expect(site.role(of: TestSite.ward) == .writer && site.role(of: TestSite.desk) == .writer)
    #expect(site.role(of: TestSite.thief) == nil)
  }

  @Test("take nothing after the first forged statement, and tell it from a presumptuous one")
  func forged() {
    var site = site
    let good = (10..<20 as Range<UInt8>).map {
      site.sign(.admit(key: PlainNotary.key($0), role: .writer), by: TestSite.first, at: Int64($0))
    }
    let claim = SiteStatement.Kind.introduce(
      node: TestSite.thief.identity, name: "thief", words: "")
    let presumed = site.sign(claim, by: TestSite.thief)
    var broken = good[5]
    broken = SignedStatement(broken.statement, signature: broken.signature.reversed())
    let foreign = TestSite.sign(
      SiteStatement(
        site: TestSite.thief.identity, issuer: TestSite.first.identity, previous: .none, time: 1,
        kind: claim), by: TestSite.first)
    for bad in [broken, foreign] {
      var other = site
      let hearing = other.membership.hear(good[..<5] + [presumed, bad] + good[5...])
      #expect(hearing.isForged && hearing.taken == Array(good[..<5]) && hearing.doubtful == 1)
    }
    // What a node has kept itself is read to its end, whatever the disk has done to it.
    #expect(site.membership.unite([broken] + good).count == 10)
  }

  @Test("of one name are told apart by a number, the later one")
  func names() {
    var site = site
    for (node, admin) in [(TestSite.ward, TestSite.first), (TestSite.desk, TestSite.second)] {
      site.say(.admit(key: node.key, role: .writer), by: admin)
      site.say(.introduce(node: node.identity, name: "bed", words: ""), by: admin)
    }
    #expect(site.membership.roll.entries[TestSite.ward.identity]?.name == "bed")
    #expect(site.membership.roll.entries[TestSite.desk.identity]?.name == "bed-2")
  }

  @Test("prove their admission to one who knows nothing but the site's key")
  func credential() {
    var site = site
    site.say(.admit(key: TestSite.ward.key, role: .writer), by: TestSite.second)
    site.say(.introduce(node: TestSite.ward.identity, name: "ward", words: ""), by: TestSite.first)
    for node in [TestSite.ward, TestSite.first] {
      var stranger = TestSite()
      _ = stranger.membership.unite(site.membership.credential(of: node.identity))
      #expect(stranger.role(of: node) == site.role(of: node))
    }
    #expect(site.membership.credential(of: TestSite.thief.identity) == [])
  }

  @Test("that an admin has shut out and bound stay so when it is disowned, if that is said anew")
  func openings() {
    var site = site
    let (ward, desk) = (TestSite.ward.identity, TestSite.desk.identity)
    for node in [TestSite.ward, TestSite.desk] {
      site.say(.admit(key: node.key, role: .writer), by: TestSite.second)
    }
    site.say(.revoke(node: ward, heads: []), by: TestSite.first)
    site.say(.grant(node: desk, table: "Bills", right: .none), by: TestSite.first)
    site.say(.grant(node: desk, table: "notes", right: .write), by: TestSite.first)
    let before = site.membership.roll
    let none = before.openings(in: before)
    #expect(none.returned.isEmpty && none.widened.isEmpty)
    site.say(.revoke(node: TestSite.first.identity, heads: []), by: TestSite.root)
    #expect(site.role(of: TestSite.ward) == .writer)
    let openings = before.openings(in: site.membership.roll)
    #expect(openings.returned.map(\.node) == [ward] && openings.widened.map(\.node) == [desk])
    for kind in openings.revocations + openings.grants { site.say(kind, by: TestSite.second) }
    #expect(site.role(of: TestSite.ward) == nil)
    let rights = site.membership.roll.member(desk)?.rights
    #expect(rights?.right(to: "bills") == Right.none && rights?.right(to: "notes") == .write)
    #expect(before.openings(in: site.membership.roll) == none)
  }

  @Test("leave with all that they have said, also what they said before their file was put back")
  func leavesTwoChains() {
    var site = site
    let ward = TestSite.ward.identity
    let kinds: [SiteStatement.Kind] = [
      .admit(key: TestSite.ward.key, role: .writer),
      .grant(node: ward, table: "bills", right: .none),
    ]
    // What it says after its file was put back does not follow this.
    var lost = site
    for kind in kinds { lost.say(kind, by: TestSite.first, at: 10) }
    site.say(.admit(key: TestSite.desk.key, role: .writer), by: TestSite.first, at: 20)
    site.say(.appoint(number: 1, node: nil, isForced: false), by: TestSite.first, at: 30)
    _ = site.membership.unite(lost.membership.all)
    site.say(.grant(node: ward, table: "bills", right: .read), by: TestSite.second, at: 40)
    let before = site.membership.roll
    #expect(before.entries[ward]?.rights.right(to: "bills") == .read)
    let words = site.membership.farewell(of: TestSite.first.identity, at: 50)
    #expect(words.count == 3)
    _ = site.membership.unite(words.map { TestSite.sign($0, by: TestSite.first) })
    let after = site.membership.roll
    #expect(after.hasLeft(TestSite.first.identity))
    for node in [TestSite.ward, TestSite.desk] {
      let (was, stays) = (before.member(node.identity), after.member(node.identity))
      #expect(stays?.since == was?.since && stays?.admittedBy == was?.admittedBy)
      #expect(stays?.tables == was?.tables)
    }
    #expect(after.appointments == before.appointments)
    // The same comes of it in any order.
    var other = TestSite()
    _ = other.membership.unite(site.membership.all)
    #expect(other.membership.roll == after)
  }

  @Test("of an admin that has left with one of two chains stand again when the root names both")
  func revokedAfterLeaving() {
    var site = site
    var lost = site
    lost.say(.admit(key: TestSite.ward.key, role: .writer), by: TestSite.first)
    site.say(.admit(key: TestSite.desk.key, role: .writer), by: TestSite.first, at: 20)
    site.say(.leave, by: TestSite.first, at: 30)
    _ = site.membership.unite(lost.membership.all)
    #expect(site.role(of: TestSite.ward) == nil && site.role(of: TestSite.desk) == .writer)
    let first = TestSite.first.identity
    site.say(.revoke(node: first, heads: site.membership.heads(of: first)), by: TestSite.root)
    #expect(site.role(of: TestSite.ward) == .writer && site.role(of: TestSite.desk) == .writer)
  }
}
