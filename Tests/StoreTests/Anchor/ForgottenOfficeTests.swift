import Replication
import Testing

@testable import Store

/// An anchor whose file was put back to a state in which it was none.
@Suite struct `An office that a file has forgotten` {
  private func office(_ replica: TestReplica) -> Office.Part { replica.store.currentOffice.part }

  private func begin(
    _ replica: TestReplica, life: UInt64 = 77, reissuingAbove common: UInt64? = nil
  ) throws {
    try replica.store.beginLife(
      .restored, origin: Origin(rawValue: life), life: life, run: life, reissuingAbove: common,
      at: replica.now)
  }

  /// A site whose anchor was put back to before it was appointed, and has judged since then.
  private func forgetful(_ rule: String = "client-wins") throws -> AnchorSite {
    let site = try AnchorSite(rule, appoints: false)
    let copy = try site.anchor.backUp()
    try site.appoint(site.anchor)
    try site.a.write("UPDATE note SET text = 'of a' WHERE id = 'r'", at: 10)
    try site.meet()
    #expect(try site.b.version()?.isTentative == false)
    try site.anchor.restore(copy)
    try begin(site.anchor)
    return site
  }

  @Test func `is not taken again`() throws {
    let site = try forgetful()
    let (anchor, a) = (site.anchor, site.a)
    // It hears of the appointment first, and has written meanwhile.
    try anchor.write("UPDATE note SET text = 'since' WHERE id = 'r'", at: 20)
    try site.hear(anchor)
    #expect(office(anchor) == .waiting)
    try site.meet()
    #expect(office(anchor) == .none)
    #expect(try anchor.version()?.term == site.appointments[0].term)
    for replica in site.replicas {
      let hasResigned = try replica.store.hasResigned(
        anchor.store.node, in: site.appointments[0].term, wasAppointed: false)
      #expect(hasResigned)
      #expect(try replica.text() == "of a")
    }
    #expect(try anchor.pendingTexts == ["since"])
    // Appointed anew it judges what waits.
    try site.appoint(anchor)
    try site.meet()
    #expect(office(anchor) == .judging)
    #expect(try site.isEqual && a.text() == "since")
    let log = ["of a lost to since: unseen (client-wins)"]
    #expect(try anchor.conflicts() == log && a.conflicts() == log)
  }

  @Test func `ends, if it was taken before anybody told of it`() throws {
    let site = try forgetful()
    try site.hear(site.anchor)
    #expect(try site.anchor.store.becomeSure(at: site.anchor.now) != nil)
    try site.anchor.foldAll()
    #expect(office(site.anchor) == .judging)
    #expect(try site.anchor.store.becomeSure(at: site.anchor.now) == nil)
    try site.meet()
    #expect(office(site.anchor) == .none && office(site.a) == .none)
    #expect(
      try site.b.store.hasResigned(
        site.anchor.store.node, in: site.appointments[0].term, wasAppointed: false))
    #expect(try site.isEqual)
  }

  @Test(arguments: [true, false])
  func `does not keep from one that is new`(isEqual: Bool) throws {
    let site = try AnchorSite("client-wins", appoints: false)
    let copy = try site.a.backUp()
    if !isEqual { try site.b.write("UPDATE note SET text = 'of b' WHERE id = 'r'", at: 10) }
    try site.a.restore(copy)
    try begin(site.a)
    try site.appoint(site.a)
    #expect(office(site.a) == .waiting)
    // Either all comes that it lacks, or it hears that it lacks nothing.
    if isEqual { _ = try site.a.store.becomeSure(at: site.a.now) }
    try site.meet()
    #expect(office(site.a) == .judging)
    #expect(try site.isEqual && site.a.version()?.isTentative == false)
  }

  @Test func `is known to be over, though what was said of it had higher numbers`() throws {
    let site = try AnchorSite("client-wins")
    let anchor = site.anchor
    let copy = try anchor.backUp()
    for text in ["one", "two", "three"] {
      try anchor.write("UPDATE note SET text = '\(text)' WHERE id = 'r'", at: 10)
      try site.a.write("INSERT INTO note VALUES ('\(text)', '')", at: 10)
      try site.meet()
      // It repeats that it is in office where it has judged nothing.
      _ = try anchor.store.govern(
        Appointments.governance(of: site.appointments, for: anchor.store.node)!, at: anchor.now)
    }
    try anchor.restore(copy)
    try begin(anchor)
    try site.meet()
    for replica in site.replicas {
      let hasResigned = try replica.store.hasResigned(
        anchor.store.node, in: site.appointments[0].term, wasAppointed: false)
      #expect(hasResigned)
    }
  }

  /// Two copies of one node: this one was off while the other one was appointed, and judged.
  @Test(arguments: [true, false], [true, false])
  func `is not taken beside the copy that has taken it`(isFirst: Bool, isForced: Bool) throws {
    let site = try AnchorSite("client-wins", appoints: !isFirst)
    let a = site.a
    let original = try a.backUp()
    try begin(a)
    _ = try a.store.becomeSure(at: a.now)
    try site.appoint(a, isForced: isForced)
    try site.b.write("UPDATE note SET text = 'of b' WHERE id = 'r'", at: 10)
    try site.meet()
    #expect(try office(a) == .judging && a.text() == "of b" && site.isEqual)
    let certificate = try a.version()
    // The other one is off now, and this one starts.
    try a.restore(original)
    try a.write("UPDATE note SET text = 'since' WHERE id = 'r'", at: 5)
    try a.store.lives.begin(run: 5)
    try site.hear(a)
    #expect(office(a) == .waiting)
    try site.meet()
    #expect(office(a) == .none)
    #expect(try site.b.version() == certificate && a.version() == certificate)
    #expect(try a.pendingTexts == ["since"])
    let hasResigned = try site.b.store.hasResigned(
      a.store.node, in: site.appointments.last!.term, wasAppointed: false)
    #expect(hasResigned)
  }

  /// Nobody has heard that it stood down when it begins a life: that word is said again.
  @Test func `is left to the next one by a life that begins before anybody has heard it`() throws {
    let site = try AnchorSite("client-wins")
    try site.meet()
    let known = site.anchor.store.position.frontier[site.anchor.store.own]
    try site.appoint(site.b)
    #expect(office(site.anchor) == .none && office(site.b) == .waiting)
    try begin(site.anchor, reissuingAbove: known)
    try site.a.write("UPDATE note SET text = 'of a' WHERE id = 'r'", at: 10)
    try site.meet()
    #expect(office(site.b) == .judging)
    #expect(try site.isEqual && site.anchor.text() == "of a" && site.a.pendingTexts.isEmpty)
  }

  @Test func `is kept over a start`() throws {
    let site = try AnchorSite("client-wins")
    try site.anchor.reopen()
    try site.anchor.store.lives.begin(run: 5)
    try site.hear(site.anchor)
    try site.a.write("UPDATE note SET text = 'of a' WHERE id = 'r'", at: 10)
    try site.meet()
    #expect(office(site.anchor) == .judging)
    #expect(try site.anchor.text() == "of a" && site.b.version()?.isTentative == false)
  }
}
