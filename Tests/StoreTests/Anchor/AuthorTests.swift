import Replication
import SQLite
import Testing

@testable import Store

/// What an author sees of its own edits while they are judged.
@Suite struct `An author whose edits are judged` {
  private func site(_ rule: String) throws -> AnchorSite {
    let site = try AnchorSite(rule)
    try site.a.write("UPDATE note SET text = 'one' WHERE id = 'r'", at: 10)
    try site.anchor.pull(from: site.a)
    try site.anchor.foldAll()
    return site
  }

  @Test(arguments: ["client-wins", "newest-wins", "server-wins-on-conflict"])
  func `does not find a row as it was before its last edit`(rule: String) throws {
    let site = try site(rule)
    try site.a.write("UPDATE note SET text = 'two' WHERE id = 'r'", at: 20)
    try site.a.pull(from: site.anchor)
    #expect(try site.a.text() == "two")
    try site.a.write("UPDATE note SET text = 'three' WHERE id = 'r'", at: 30)
    try site.meet()
    #expect(try site.replicas.map { try $0.text() } == ["three", "three", "three"])
    #expect(try site.isEqual)
    #expect(try site.replicas.allSatisfy { try $0.conflicts().isEmpty })
    #expect(try site.a.store.verdicts.unjudgedCount() == 0)
    #expect(try site.a.verdicts().last == "accepted \(rule)")
  }

  @Test func `gets the verdict of an edit that was made again on top of what is certified`() throws
  {
    let site = try site("client-wins")
    try site.a.write("UPDATE note SET text = 'two' WHERE id = 'r'", at: 20)
    let asked = site.a.store.position.frontier[site.a.origin]
    try site.a.pull(from: site.anchor)
    // Made again, with its own time and under another number.
    let repeated = try #require(try site.a.version())
    #expect(repeated.dot == Dot(site.a.origin, asked + 1) && repeated.epoch > 0)
    try site.meet()
    let verdicts = try site.a.store.verdicts.list(after: asked - 1, through: asked)
    #expect(verdicts.map(\.outcome) == [.accepted])
  }

  @Test func `hears that its edit is superseded by what it wrote when it took office`() throws {
    let site = try AnchorSite("client-wins")
    try site.a.write("UPDATE note SET text = 'one' WHERE id = 'r'", at: 10)
    try site.appoint(site.a, isForced: true, heardBy: [])
    let governance = try #require(
      Appointments.governance(of: site.appointments, for: site.a.store.node))
    _ = try site.a.store.govern(governance, at: site.a.now)
    try site.a.write("UPDATE note SET text = 'two' WHERE id = 'r'", at: 20)
    try site.replicas.forEach(site.hear)
    try site.meet()
    #expect(try site.isEqual && site.b.text() == "two")
    #expect(try site.a.verdicts(of: "r") == ["superseded"])
  }

  @Test func `is not told that an edit was accepted if nobody judged while it was away`() throws {
    let site = try AnchorSite("newest-wins")
    try site.a.write("UPDATE note SET text = 'mine' WHERE id = 'r'", at: 10)
    try site.a.write("INSERT INTO note VALUES ('n', 'new')", at: 11)
    try site.b.pull(from: site.a)
    try site.anchor.write("UPDATE note SET text = 'other' WHERE id = 'r'", at: 20)
    let others = [site.anchor, site.b]
    try site.appoint(nil, heardBy: others)
    try site.meet(others)
    try site.appoint(site.anchor, heardBy: others)
    try site.meet(others)
    try site.hear(site.a)
    try site.meet()
    #expect(try site.isEqual && site.a.text() == "other" && site.a.text("n") == "new")
    #expect(try site.a.conflicts().count == 1)
    #expect(try site.a.verdicts(of: "r") == ["unknown newest-wins"])
    #expect(try site.a.verdicts(of: "n") == ["accepted newest-wins"])
  }

  @Test func `does not make an edit again that was rejected`() throws {
    let site = try site("server-wins")
    try site.a.write("UPDATE note SET text = 'two' WHERE id = 'r'", at: 20)
    for _ in 0..<4 {
      try site.a.pull(from: site.anchor)
      try site.anchor.pull(from: site.a)
      try site.anchor.foldAll()
    }
    try site.meet()
    #expect(try site.a.text() == "base")
    #expect(try site.isEqual)
    #expect(try Set(site.a.verdicts(of: "r").suffix(2)) == ["rejected offline server-wins"])
  }

  @Test(arguments: [true, false])
  func `misses nothing when a new row takes the key that it has freed`(isHeard: Bool) throws {
    let site = try AnchorSite("newest-wins")
    try site.a.write("INSERT INTO note VALUES ('n', 'of a')", at: 10)
    try site.meet([site.anchor, site.a])
    try site.a.write("DELETE FROM note WHERE id = 'n'", at: 20)
    if isHeard { try site.meet([site.anchor, site.a]) }
    try site.anchor.pull(from: site.a)
    try site.b.write("INSERT INTO note VALUES ('n', 'of b')", at: 30)
    try site.anchor.pull(from: site.b)
    try site.meet()
    #expect(try site.isEqual && site.a.text("n") == "of b")
    #expect(try site.replicas.allSatisfy { try $0.conflicts().isEmpty })
    #expect(try site.a.verdicts(of: "n").last == "accepted newest-wins")
  }

  @Test func `hears that an edit lost while nobody was the anchor`() throws {
    let site = try AnchorSite("newest-wins")
    try site.b.write("UPDATE note SET text = 'of b' WHERE id = 'r'", at: 10)
    try site.anchor.write("UPDATE note SET text = 'of the anchor' WHERE id = 'r'", at: 20)
    try site.appoint(nil)
    try site.meet()
    try site.appoint(site.anchor)
    try site.meet()
    #expect(try site.b.text() == "of the anchor")
    #expect(try site.b.verdicts() == ["rejected older newest-wins"])
    #expect(try site.b.conflicts() == ["of b lost to of the anchor: older (newest-wins)"])
  }

  @Test func `hears that an edit was superseded by one that lost while nobody was the anchor`()
    throws
  {
    let site = try AnchorSite("newest-wins")
    try site.b.write("UPDATE note SET text = 'one' WHERE id = 'r'", at: 10)
    try site.b.write("UPDATE note SET text = 'two' WHERE id = 'r'", at: 20)
    try site.anchor.write("UPDATE note SET text = 'of the anchor' WHERE id = 'r'", at: 30)
    try site.appoint(nil)
    try site.meet()
    try site.appoint(site.anchor)
    try site.meet()
    #expect(try site.b.verdicts() == ["superseded", "rejected older newest-wins"])
  }

  /// The new anchor has deleted the row before it took office, and accepts one under the same key:
  /// what it had deleted is history.
  @Test func `hears that its edit was accepted, though the delete of it gave way`() throws {
    let site = try AnchorSite("newest-wins", count: 4)
    let other = site.replicas[3]
    try site.a.write("INSERT INTO note VALUES ('n', 'of a')", at: 10)
    try other.write("INSERT INTO note VALUES ('n', 'of another')", at: 20)
    try site.b.pull(from: site.a)
    try site.b.write("DELETE FROM note WHERE id = 'n'", at: 30)
    try site.appoint(site.b, heardBy: [site.b])
    try site.b.pull(from: other)
    for replica in site.replicas { try site.hear(replica) }
    try site.meet()
    #expect(try site.a.verdicts(of: "n") == ["accepted newest-wins"])
    // What took the place had not seen it either.
    #expect(try site.a.conflicts() == ["of a lost to of another: older (newest-wins)"])
    #expect(try other.verdicts(of: "n") == ["accepted newest-wins"])
    #expect(try site.isEqual && site.b.text("n") == "of another")
  }

  @Test func `gets no second word on an edit that was written over, and is there by name alone`()
    throws
  {
    let site = try AnchorSite("client-wins", count: 4)
    let other = site.replicas[3]
    try site.a.write("UPDATE note SET text = 'of a' WHERE id = 'r'", at: 10)
    try site.b.pull(from: site.a)
    try site.b.write("UPDATE note SET text = 'over a' WHERE id = 'r'", at: 20)
    try other.write("UPDATE note SET text = 'of another' WHERE id = 'r'", at: 15)
    try site.appoint(site.b, heardBy: [site.b])
    try site.b.pull(from: other)
    for replica in site.replicas { try site.hear(replica) }
    try site.meet()
    #expect(try site.a.verdicts(of: "r") == ["accepted client-wins"])
    #expect(try site.a.conflicts() == ["of a lost to of another: unseen (client-wins)"])
    #expect(try site.b.conflicts() == ["over a lost to of another: unseen (client-wins)"])
    #expect(try site.isEqual && site.a.text() == "of another")
  }

  @Test func `does not stand by name alone when what was made over it is rejected`() throws {
    let site = try AnchorSite("server-wins")
    try site.anchor.write("UPDATE note SET text = 'of the anchor' WHERE id = 'r'", at: 10)
    try site.b.pull(from: site.anchor)
    try site.appoint(site.a, isForced: true, heardBy: [site.b])
    try site.b.write("UPDATE note SET text = 'over it' WHERE id = 'r'", at: 20)
    try site.hear(site.a)
    try site.meet([site.a, site.b])
    #expect(try site.a.text() == "base" && site.b.text() == "base")
    try site.hear(site.anchor)
    try site.meet()
    #expect(try site.isEqual && site.anchor.text() == "base")
    #expect(try site.replicas.allSatisfy { try $0.store.tableSurvey.parkedRows().isEmpty })
    #expect(try site.anchor.conflicts() == ["of the anchor lost to base: unseen (server-wins)"])
    #expect(try site.b.conflicts() == ["over it lost to base: offline (server-wins)"])
  }

  /// An exchange is cut after a name whose content its sender has written over.
  @Test func `stands, though the anchor holds what it was made over by name alone`() throws {
    let site = try AnchorSite("server-wins")
    try site.a.write("INSERT INTO note VALUES ('n', 'of a')", at: 10)
    try site.b.pull(from: site.a)
    try site.b.write("UPDATE note SET text = 'over a' WHERE id = 'n'", at: 20)
    try site.b.foldAll()
    let (covers, own) = (site.b.store.position.frontier, site.b.store.position.own)
    var known = site.anchor.store.position.frontier
    known.raise(own, to: covers[own])
    let (_, batches) = try site.b.export(above: known)
    try site.anchor.merge(batches, .full(covers: covers.without(own)), from: site.b)
    try site.anchor.foldAll()
    #expect(try site.anchor.store.tableSurvey.parkedRows().count == 1)
    try site.meet([site.anchor, site.b])
    #expect(try site.anchor.text("n") == "over a" && site.b.text("n") == "over a")
    #expect(try site.b.verdicts(of: "n") == ["accepted server-wins"])
    #expect(try site.anchor.store.tableSurvey.parkedRows().isEmpty)
  }

  @Test func `is kept when its author writes over what a rival certified instead`() throws {
    let site = try AnchorSite("client-wins")
    try site.a.write("UPDATE note SET text = 'of a' WHERE id = 'r'", at: 10)
    try site.anchor.pull(from: site.a)
    try site.anchor.foldAll()
    try site.a.pull(from: site.anchor)
    // The other one takes office without having heard of it.
    try site.appoint(site.b, isForced: true, heardBy: [site.b, site.a])
    try site.a.pull(from: site.b)
    #expect(try site.a.text() == "base" && site.a.pendingTexts == ["of a"])
    try site.a.write("UPDATE note SET text = 'again' WHERE id = 'r'", at: 20)
    #expect(try site.a.conflicts() == ["of a lost to NULL: unseen (client-wins)"])
    try site.hear(site.anchor)
    try site.meet()
    #expect(try site.isEqual && site.b.text() == "again")
  }

  @Test func `is kept when its author, an anchor before, writes the row again`() throws {
    let site = try AnchorSite("client-wins")
    try site.appoint(site.a, isForced: true, heardBy: [site.a, site.b])
    try site.meet([site.a, site.b])
    try site.anchor.write("UPDATE note SET text = 'hidden' WHERE id = 'r'", at: 10)
    try site.hear(site.anchor)
    try site.meet([site.anchor, site.b])
    #expect(try site.anchor.text() == "base")
    #expect(try site.anchor.pendingTexts == ["hidden"])
    #expect(try site.anchor.store.survey.figures().unjudged == 1)
    try site.anchor.write("UPDATE note SET text = 'again' WHERE id = 'r'", at: 20)
    // What stood in between was written over.
    #expect(try site.anchor.conflicts() == ["hidden lost to NULL: unseen (client-wins)"])
    try site.meet()
    #expect(try site.isEqual && site.a.text() == "again")
  }

  @Test func `is not told that it was older when it lost to what was certified`() throws {
    let site = try AnchorSite("newest-wins")
    try site.b.write("UPDATE note SET text = 'of b' WHERE id = 'r'", at: 10)
    try site.a.write("UPDATE note SET text = 'newer' WHERE id = 'r'", at: 20)
    try site.meet([site.anchor, site.b])
    try site.appoint(nil)
    try site.meet()
    #expect(try site.isEqual && site.a.text() == "of b")
    #expect(try site.a.conflicts() == ["newer lost to of b: unseen (newest-wins)"])
  }

  @Test func `is judged though the anchor before is no member any more`() throws {
    let site = try AnchorSite("client-wins")
    try site.appoint(site.a, heardBy: [site.a, site.b])
    #expect(site.a.store.currentOffice.part == .waiting)
    // Nothing is certified by a clock that is not the site's.
    let timeless = Instant(uptime: site.a.now.uptime, wall: site.a.now.wall, site: nil)
    #expect(throws: StoreError.self) {
      try site.a.store.stopAwaiting([site.anchor.store.node], at: timeless)
    }
    #expect(site.a.store.currentOffice.part == .waiting)
    _ = try site.a.store.stopAwaiting([site.anchor.store.node], at: site.a.now)
    try site.a.foldAll()
    #expect(site.a.store.currentOffice.part == .judging)
    try site.b.write("UPDATE note SET text = 'of b' WHERE id = 'r'", at: 20)
    try site.meet([site.a, site.b])
    #expect(try site.b.verdicts() == ["accepted client-wins"])
  }
}
