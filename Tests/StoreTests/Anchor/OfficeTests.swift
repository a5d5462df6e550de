import Replication
import SQLite
import Testing

@testable import Store

/// Taking and leaving the office of the anchor.
@Suite struct `The office of the anchor` {
  private struct Stop: Error {}

  private func office(_ replica: TestReplica) -> Office.Part { replica.store.currentOffice.part }

  /// Every version of a replica, as it is kept.
  private func versions(_ replica: TestReplica) throws -> [String] {
    try replica.application.prepareRows(
      """
      SELECT quote(tbl) || quote(key) || quote(origin) || quote(seq) || quote(stamp)
        || quote(hash) || quote(extra) FROM _flotilla_version ORDER BY 1
      """)
  }

  @Test func `begins without a change of rank when nobody had it before`() throws {
    let site = try AnchorSite("newest-wins", appoints: false)
    try site.a.write("UPDATE note SET text = 'of a' WHERE id = 'r'", at: 10)
    try site.meet([site.anchor, site.a])
    try site.b.write("UPDATE note SET text = 'of b' WHERE id = 'r'", at: 5)
    let before = try site.replicas.map(versions)
    try site.appoint(site.anchor)
    #expect(try site.replicas.map(versions) == before)
    #expect(office(site.anchor) == .judging)
    let judged = site.anchor.store.currentJudged
    #expect(judged.term == site.appointments[0].term)
    #expect(judged.frontier == site.anchor.store.position.frontier)
    // What lies above that is judged as it comes.
    try site.meet()
    #expect(try site.anchor.text() == "of a")
    #expect(try site.anchor.conflicts() == ["of b lost to of a: older (newest-wins)"])
    #expect(try site.b.conflicts() == ["of b lost to of a: older (newest-wins)"])
    #expect(try site.isEqual)
  }

  @Test func `can be given to one who has never held a row`() throws {
    let site = try AnchorSite("client-wins", appoints: false)
    let newcomer = try TestReplica(4, schema: AnchorSite.schema)
    let all = site.replicas + [newcomer]
    try site.appoint(newcomer, heardBy: all)
    try site.a.write("UPDATE note SET text = 'of a' WHERE id = 'r'", at: 10)
    try site.meet(all)
    #expect(try all.map { try $0.text() } == Array(repeating: "of a", count: 4))
    #expect(try all.allSatisfy { try $0.conflicts().isEmpty && $0.pendingTexts.isEmpty })
    #expect(try site.isEqual)
    #expect(newcomer.store.position.digest == site.a.store.position.digest)
  }

  @Test func `ends as soon as a version of a higher term comes, before the news why`() throws {
    let site = try AnchorSite("client-wins")
    try site.appoint(site.b, isForced: true, heardBy: [site.b])
    #expect(office(site.b) == .judging)
    try site.a.write("UPDATE note SET text = 'of a' WHERE id = 'r'", at: 10)
    try site.anchor.pull(from: site.b)
    #expect(office(site.anchor) == .none)
    // It neither certifies what is written there nor judges what comes, also when opened again.
    try site.anchor.reopen()
    try site.anchor.write("INSERT INTO note VALUES ('n', 'late')", at: 20)
    try site.anchor.pull(from: site.a)
    #expect(try site.anchor.version("n")?.isTentative == true)
    #expect(try site.anchor.store.hasStoodDown(site.anchor.store.node) == false)
    for replica in site.replicas { try site.hear(replica) }
    #expect(try site.anchor.store.hasStoodDown(site.anchor.store.node))
    try site.meet()
    #expect(try site.isEqual && site.anchor.text() == "of a" && site.b.text("n") == "late")
    #expect(try site.replicas.allSatisfy { try $0.store.verdicts.unjudgedCount() == 0 })
  }

  @Test func `is handed over once the one before has stood down`() throws {
    let site = try AnchorSite("server-wins")
    try site.anchor.write("UPDATE note SET text = 'unheard' WHERE id = 'r'", at: 10)
    try site.appoint(site.a, heardBy: [site.a, site.b])
    #expect(office(site.a) == .waiting)
    // Nobody judges meanwhile, but nothing is forgotten.
    try site.b.write("UPDATE note SET text = 'of b' WHERE id = 'r'", at: 20)
    try site.meet([site.a, site.b])
    #expect(office(site.a) == .waiting)
    #expect(try site.a.text() == "of b")
    // The old one still certifies until it hears.
    try site.meet()
    #expect(office(site.a) == .waiting && office(site.anchor) == .judging)
    try site.hear(site.anchor)
    #expect(office(site.anchor) == .none)
    try site.meet()
    #expect(office(site.a) == .judging)
    #expect(try site.isEqual)
    #expect(try site.a.version()?.term == site.appointments[1].term || site.b.text() == "unheard")
    #expect(try site.replicas.allSatisfy { try $0.pendingTexts.isEmpty })
    #expect(try site.b.verdicts() == ["rejected offline server-wins"])
    #expect(try site.b.conflicts().count == 1)
  }

  @Test func `of two deletes keeps what the author of either had seen`() throws {
    let site = try AnchorSite("client-wins")
    try site.b.write("INSERT INTO note VALUES ('k', 'of b')", at: 3)
    try site.b.write("DELETE FROM note WHERE id = 'k'", at: 5)
    try site.anchor.write("INSERT INTO note VALUES ('k', 'of the anchor')", at: 10)
    try site.a.pull(from: site.anchor)
    try site.appoint(site.b, heardBy: [site.b])
    try site.b.pull(from: site.anchor)
    try site.a.write("DELETE FROM note WHERE id = 'k'", at: 20)
    // The row and the first delete wait, and the second one stands.
    try site.b.pull(from: site.a)
    #expect(try site.b.pendingTexts == ["(deleted)", "of the anchor"])
    for replica in site.replicas { try site.hear(replica) }
    try site.meet()
    #expect(office(site.b) == .judging)
    #expect(try site.isEqual && site.b.text("k") == nil)
    #expect(try site.a.verdicts(of: "k") == ["accepted client-wins"])
    #expect(try site.a.conflicts().isEmpty)
  }

  @Test func `waits for every one who was appointed since, not for the last alone`() throws {
    let site = try AnchorSite("client-wins")
    // The second never hears that it was appointed before the third is.
    try site.appoint(site.a, heardBy: [site.b])
    try site.appoint(site.b, heardBy: [site.b])
    try site.meet()
    #expect(office(site.b) == .waiting)
    try site.hear(site.anchor)
    try site.meet()
    #expect(office(site.b) == .waiting)
    try site.hear(site.a)
    try site.meet()
    #expect(office(site.b) == .judging)
    #expect(office(site.a) == .none && office(site.anchor) == .none)
    #expect(try site.isEqual)
  }

  @Test func `waits for nobody whom an appointment by force did not wait for, if heard of late`()
    throws
  {
    let site = try AnchorSite("client-wins")
    let forced = Appointment(
      term: Term(number: 2, incarnation: 3), node: site.a.store.node, isForced: true)
    let last = Appointment(
      term: Term(number: 2, incarnation: 9), node: site.b.store.node, isForced: false)
    func hear(_ replica: TestReplica, _ late: [Appointment]) throws {
      let governance = try #require(
        Appointments.governance(of: site.appointments + late, for: replica.store.node))
      _ = try replica.store.govern(governance, at: replica.now)
      try replica.foldAll()
    }
    // The first anchor is never heard of again.
    try hear(site.b, [last])
    try hear(site.a, [forced, last])
    try site.meet([site.a, site.b])
    #expect(office(site.b) == .waiting)
    try hear(site.b, [forced, last])
    #expect(office(site.b) == .judging)
  }

  @Test func `comes back to one who had it before`() throws {
    let site = try AnchorSite("client-wins")
    try site.appoint(site.a)
    try site.meet()
    #expect(office(site.a) == .judging)
    try site.appoint(site.anchor)
    try site.meet()
    #expect(office(site.anchor) == .judging && office(site.a) == .none)
    try site.b.write("UPDATE note SET text = 'of b' WHERE id = 'r'", at: 20)
    try site.meet()
    #expect(try site.b.verdicts() == ["accepted client-wins"])
    #expect(try site.isEqual)
  }

  @Test func `taken by force certifies everything again`() throws {
    let site = try AnchorSite("server-wins", pace: AnchorSite.slow)
    try site.anchor.write(
      "INSERT INTO note VALUES ('1', 'x'), ('2', 'x'), ('3', 'x'), ('4', 'x'), ('5', 'x')", at: 2)
    try site.meet()
    // What the old anchor certifies while it is away stands below what the new one says.
    try site.anchor.write("UPDATE note SET text = 'lost?' WHERE id = 'r'", at: 30)
    try site.appoint(site.a, isForced: true, heardBy: [site.a, site.b])
    #expect(office(site.a) == .judging)
    let term = site.appointments[1].term
    for id in ["r", "1", "2", "3", "4", "5"] {
      let version = try #require(try site.a.version(id))
      #expect(version.term == term && !version.isTentative, "\(id)")
    }
    try site.meet([site.a, site.b])
    #expect(try site.b.version()?.term == term)
    // The old one returns: its certificate is judged like an edit.
    try site.hear(site.anchor)
    try site.meet()
    #expect(try site.isEqual)
    #expect(try site.a.text() == "lost?")
    #expect(try site.a.version()?.term == term)
    #expect(try site.replicas.allSatisfy { try $0.pendingTexts.isEmpty })
  }

  @Test func `taken by force judges what the one before certified and told nobody but a third`()
    throws
  {
    let site = try AnchorSite("server-wins")
    try site.anchor.write("UPDATE note SET text = 'told b' WHERE id = 'r'", at: 30)
    try site.b.pull(from: site.anchor)
    try site.appoint(site.a, isForced: true, heardBy: [site.a, site.b])
    try site.a.write("UPDATE note SET text = 'of a' WHERE id = 'r'", at: 40)
    try site.meet([site.a, site.b])
    #expect(try site.a.conflicts().count == 1)
    #expect(try site.a.text() == site.b.text())
    try site.hear(site.anchor)
    try site.meet()
    #expect(try site.isEqual)
    #expect(try site.replicas.allSatisfy { try $0.pendingTexts.isEmpty })
    let logs = try site.replicas.map { try $0.conflicts() }
    #expect(logs[1].count == 1 && logs[0] == logs[1] && logs[2].isEmpty)
  }

  @Test func `ends with none, and what nobody judged goes to the log of its author`() throws {
    let site = try AnchorSite("server-wins")
    // One edit is judged by the outgoing anchor, another reaches nobody in time.
    try site.a.write("INSERT INTO note VALUES ('n', 'new')", at: 10)
    try site.anchor.pull(from: site.a)
    try site.a.write("UPDATE note SET text = 'of a' WHERE id = 'r'", at: 20)
    try site.b.write("UPDATE note SET text = 'of b' WHERE id = 'r'", at: 30)
    try site.meet([site.a, site.b])
    #expect(try site.a.pendingTexts == ["of a"])
    try site.appoint(nil)
    #expect(office(site.anchor) == .none && !site.a.store.currentOffice.isHeld)
    #expect(try site.replicas.allSatisfy { try $0.pendingTexts.isEmpty })
    #expect(try site.a.conflicts() == ["of a lost to of b: older (newest-wins)"])
    try site.meet()
    #expect(try site.isEqual)
    #expect(try site.anchor.text() == "of b" && site.anchor.text("n") == "new")
    // Nobody will judge any more, so nothing waits for that.
    for replica in site.replicas {
      #expect(try replica.store.verdicts.unjudgedCount() == 0)
      #expect(try replica.store.survey.figures().unjudged == 0)
    }
    // From now on the newest wins.
    try site.a.write("UPDATE note SET text = 'a' WHERE id = 'r'", at: 50)
    try site.b.write("UPDATE note SET text = 'b' WHERE id = 'r'", at: 40)
    try site.meet()
    #expect(try site.isEqual && site.anchor.text() == "a")
    #expect(try site.b.conflicts().last == "b lost to a: older (newest-wins)")
    #expect(try site.anchor.conflicts().isEmpty)
  }

  @Test func `ends with none, and no edit gives way to one that its author had made before it`()
    throws
  {
    let site = try AnchorSite("client-wins")
    try site.a.write("INSERT INTO note VALUES ('n', 'early'), ('m', 'early')", at: 10)
    try site.anchor.pull(from: site.a)
    try site.a.write("UPDATE note SET text = 'late' WHERE id = 'n'", at: 20)
    try site.a.write("DELETE FROM note WHERE id = 'm'", at: 20)
    // Its certificates of the early edits come when nobody will judge the late ones.
    try site.appoint(nil)
    try site.meet()
    #expect(try site.isEqual && site.anchor.text("n") == "late" && site.anchor.text("m") == nil)
    #expect(try site.a.verdicts().suffix(2) == ["pending", "pending"])
    // The next anchor certifies them.
    try site.appoint(site.b)
    try site.meet()
    #expect(try Set(site.a.verdicts().suffix(2)) == ["accepted client-wins"])
    #expect(try site.replicas.allSatisfy { try $0.conflicts().isEmpty })
  }

  @Test func `does not bring back what was written over by what stood when it was taken`() throws {
    let site = try AnchorSite("client-wins", count: 4)
    let c = site.replicas[3]
    try site.a.write("UPDATE note SET text = 'of a' WHERE id = 'r'", at: 10)
    try site.b.pull(from: site.a)
    try site.b.write("UPDATE note SET text = 'over a' WHERE id = 'r'", at: 30)
    try c.write("UPDATE note SET text = 'of c' WHERE id = 'r'", at: 5)
    try site.meet([site.a, site.b, c])
    #expect(try site.a.text() == "over a")
    #expect(try site.a.pendingTexts == ["of a", "of c"])
    try site.appoint(site.a, isForced: true)
    try site.meet()
    #expect(try site.replicas.map { try $0.text() } == Array(repeating: "of c", count: 4))
    #expect(try site.b.conflicts() == ["over a lost to of c: unseen (client-wins)"])
    #expect(try c.conflicts() == [])
    #expect(try site.isEqual)
  }

  @Test func `given again after there was none certifies what was written meanwhile`() throws {
    let site = try AnchorSite("server-wins")
    try site.appoint(nil)
    try site.a.write("UPDATE note SET text = 'between' WHERE id = 'r'", at: 10)
    try site.meet()
    try site.appoint(site.b)
    try site.meet()
    #expect(office(site.b) == .judging)
    #expect(try site.isEqual && site.anchor.text() == "between")
    #expect(try site.anchor.version()?.isTentative == false)
    try site.a.write("UPDATE note SET text = 'after' WHERE id = 'r'", at: 20)
    try site.meet()
    #expect(try site.isEqual && site.anchor.text() == "between")
    #expect(try site.a.verdicts().last == "rejected offline server-wins")
  }

  @Test func `is left by an earlier appointment that comes late`() throws {
    let site = try AnchorSite("client-wins")
    let before = site.anchor.store.currentOffice
    let early = Governance(
      term: Term(number: 1, incarnation: 6), isHeld: true, isOwn: false)
    _ = try site.anchor.store.govern(early, at: site.anchor.now)
    #expect(site.anchor.store.currentOffice == before)
  }

  @Test func `of two rivals goes to one, and nothing that either certified is lost`() throws {
    let site = try AnchorSite("client-wins", appoints: false)
    let rivals = [Term(number: 1, incarnation: 3), Term(number: 1, incarnation: 9)]
    let statements = [
      Appointment(term: rivals[0], node: site.a.store.node, isForced: false),
      Appointment(term: rivals[1], node: site.b.store.node, isForced: false),
    ]
    func hear(_ replica: TestReplica, _ heard: [Appointment]) throws {
      let governance = try #require(Appointments.governance(of: heard, for: replica.store.node))
      _ = try replica.store.govern(governance, at: replica.now)
      try replica.foldAll()
    }
    try hear(site.a, [statements[0]])
    try hear(site.b, [statements[1]])
    try site.a.write("INSERT INTO note VALUES ('a', 'of a')", at: 10)
    try site.b.write("INSERT INTO note VALUES ('b', 'of b')", at: 10)
    try site.a.write("UPDATE note SET text = 'a' WHERE id = 'r'", at: 20)
    try site.b.write("UPDATE note SET text = 'b' WHERE id = 'r'", at: 30)
    for replica in site.replicas { try hear(replica, statements) }
    try site.meet()
    #expect(office(site.a) == .none && office(site.b) == .judging)
    #expect(try site.isEqual)
    #expect(try site.anchor.text("a") == "of a" && site.anchor.text("b") == "of b")
    #expect(try site.replicas.allSatisfy { try $0.pendingTexts.isEmpty })
    // What came to the one who judges was accepted there, over what it had certified itself.
    let logs = try site.replicas.map { try $0.conflicts() }
    #expect(logs == [[], [], ["b lost to a: unseen (client-wins)"]])
  }

  @Test func `goes on where it was if the anchor is killed between any two commits`() throws {
    for taking in [false, true] {
      let site = try AnchorSite("newest-wins", pace: AnchorSite.slow)
      let names = (1...9).map(String.init)
      let rows = names.map { "('\($0)', 'x')" }.joined(separator: ", ")
      try site.anchor.write("INSERT INTO note VALUES \(rows)", at: 2)
      try site.meet()
      for name in names {
        try site.a.write("UPDATE note SET text = 'a' WHERE id = '\(name)'", at: 20)
        try site.b.write("UPDATE note SET text = 'b' WHERE id = '\(name)'", at: 30)
      }
      try site.meet([site.a, site.b])
      let judge = taking ? site.b : site.anchor
      if taking {
        try site.appoint(site.b, isForced: true, heardBy: [site.a])
        let governance = try #require(
          Appointments.governance(of: site.appointments, for: judge.store.node))
        _ = try judge.store.govern(governance, at: judge.now)
      } else {
        try judge.pull(from: site.a)
      }
      var steps = 0
      repeat {
        try judge.reopen()
        steps += 1
      } while try judge.store.fold(at: judge.now).hasMore
      #expect(steps > 3)
      #expect(office(judge) == .judging)
      if taking { try site.hear(site.anchor) }
      try site.meet()
      #expect(try site.isEqual)
      for name in names { #expect(try site.anchor.text(name) == "b") }
      // The earlier one was judged first, or what stands already was the later one.
      let verdict = taking ? "rejected older newest-wins" : "accepted newest-wins"
      #expect(try site.a.verdicts() == Array(repeating: verdict, count: 9))
      #expect(try site.a.conflicts().count == 9)
      #expect(
        try site.a.store.verdicts.unjudgedCount() == 0 && site.b.store.verdicts.unjudgedCount() == 0
      )
    }
  }

  @Test func `is as before after a transaction that came to nothing`() throws {
    let site = try AnchorSite("client-wins")
    try site.a.write("UPDATE note SET text = 'mine' WHERE id = 'r'", at: 10)
    let store = site.anchor.store
    let (record, judged) = (store.officeRecord, store.judged)
    let pending = site.a.store.pending.count
    let batch = try site.a.export(above: store.position.frontier)
    #expect(throws: StoreError.self) {
      try store.transaction {
        var edits = store.beginEdits()
        let governance = Governance(
          term: Term(number: 9, incarnation: 9), isHeld: true, isOwn: false, wasAppointed: true)
        store.officeRecord.office = Office(term: governance.term, isHeld: true)
        store.officeRecord.epoch += 10
        try store.join(Judged(term: governance.term, frontier: Frontier()), at: site.anchor.now)
        try store.conclude(&edits, at: site.anchor.now)
        throw Stop()
      }
    }
    #expect(store.officeRecord == record && store.judged == judged)
    #expect(site.a.store.pending.count == pending)
    // And it still judges.
    try site.anchor.merge(batch.1, .full(covers: batch.0), from: site.a)
    #expect(try site.anchor.text() == "mine")
    try site.meet()
    #expect(try site.a.verdicts() == ["accepted client-wins"])
  }

  @Test func `is remembered by the file`() throws {
    let site = try AnchorSite("server-wins")
    for replica in site.replicas {
      let (office, judged) = (replica.store.currentOffice, replica.store.currentJudged)
      try replica.reopen()
      #expect(replica.store.currentOffice == office)
      #expect(replica.store.currentJudged == judged)
    }
  }
}

extension AnchorSite {
  /// Two rows at a time, so that the work of an anchor takes many commits.
  static var slow: Pace {
    var pace = Pace()
    (pace.judgedRows, pace.judgedAtOnce, pace.judgedWhole) = (2, 2, 2)
    return pace
  }
}
