import Replication
import SQLite
import Testing

@testable import Store

/// Who may write the table of the children alone brings them to the anchor without their parents.
@Suite struct `A child that comes without its parent` {
  private static let schema = """
    \(AnchorSite.schema);
    CREATE TABLE patient(id INTEGER PRIMARY KEY, name TEXT);
    CREATE TABLE tag(patient INTEGER NOT NULL REFERENCES patient, tag INTEGER NOT NULL,
      PRIMARY KEY(patient, tag));
    CREATE TABLE lab(id TEXT PRIMARY KEY NOT NULL, patient INTEGER REFERENCES patient)
    """

  /// Ann is patient 2 at the first three, of whom the second made her; Bob is at the other two, and
  /// the last one gives him a tag and a result. `isKnown`: who made Bob had deleted Ann.
  private func site(
    tag: Int, pace: Pace = Pace(), isKnown: Bool = false
  ) throws -> AnchorSite {
    let site = try AnchorSite("client-wins", schema: Self.schema, pace: pace, count: 5)
    try site.anchor.store.track(
      ["patient", "tag", "lab"], rule: "client-wins", at: site.anchor.now)
    try site.meet()
    try site.a.write(
      "INSERT INTO patient VALUES (2, 'Ann'); INSERT INTO tag VALUES (2, 5)", at: 10)
    try site.meet([site.anchor, site.a, site.b])
    let (maker, tablet) = (site.replicas[3], site.replicas[4])
    if isKnown {
      try site.meet()
      try maker.write("DELETE FROM tag; DELETE FROM patient", at: 15)
    }
    try maker.write("INSERT INTO patient VALUES (2, 'Bob')", at: 20)
    try tablet.pull(from: maker)
    try tablet.write(
      "INSERT INTO tag VALUES (2, \(tag)); INSERT INTO lab VALUES ('l', 2)", at: 30)
    return site
  }

  private func bring(_ site: AnchorSite, to replica: TestReplica) throws {
    let rights = Rights(general: .read, tables: ["tag": .write, "lab": .write])
    let (covers, batches) = try site.replicas[4].export(
      .above(replica.store.position.frontier), filter: ExportFilter(sender: rights))
    try replica.merge(batches, .full(covers: covers), from: site.replicas[4])
  }

  private func tags(_ replica: TestReplica) throws -> [String] {
    try replica.application.prepareRows(
      "SELECT name || ' ' || tag FROM tag JOIN patient ON id = patient ORDER BY 1")
  }

  private func results(_ replica: TestReplica) throws -> [String] {
    try replica.application.prepareRows(
      "SELECT name FROM lab JOIN patient ON patient.id = patient")
  }

  /// In as many commits as it may take.
  private func judge(_ anchor: TestReplica) throws {
    for _ in 0..<20 where try anchor.store.hasOfficeWork() {
      _ = try anchor.store.fold(at: anchor.now)
    }
  }

  @Test(arguments: [5, 6], [true, false])
  func `is judged, and follows its parent when that comes`(tag: Int, isSlow: Bool) throws {
    var pace = Pace()
    if isSlow { (pace.judgedAtOnce, pace.judgedWhole, pace.judgedRows) = (0, 0, 1) }
    let site = try site(tag: tag, pace: pace)
    let (anchor, tablet) = (site.anchor, site.replicas[4])
    try bring(site, to: anchor)
    try judge(anchor)
    try #require(try !anchor.store.due.areAny())
    #expect(anchor.store.currentJudged.frontier.covers(tablet.store.position.frontier.own(tablet)))
    #expect(try tags(anchor) == ["Ann 5"])
    #expect(try anchor.store.tableSurvey.parkedRows().isEmpty)
    try site.meet([anchor, site.a, site.b, tablet])
    #expect(try tags(site.a) == ["Ann 5"] && results(site.a).isEmpty)
    try site.meet()
    for replica in site.replicas {
      #expect(try tags(replica) == ["Ann 5", "Bob \(tag)"] && results(replica) == ["Bob"])
      #expect(try replica.store.tableSurvey.parkedRows().isEmpty)
      #expect(try replica.store.verdicts.unjudgedCount() == 0)
    }
    #expect(try site.isEqual)
  }

  @Test func `is made again under it if that gets the number after all`() throws {
    let site = try site(tag: 6, isKnown: true)
    try bring(site, to: site.anchor)
    try site.replicas[4].pull(from: site.anchor)
    #expect(try tags(site.anchor) == ["Ann 5"] && results(site.anchor).isEmpty)
    try site.meet()
    for replica in site.replicas {
      #expect(try tags(replica) == ["Bob 6"])
      #expect(try results(replica) == ["Bob"])
      #expect(try replica.store.tableSurvey.parkedRows().isEmpty)
    }
    #expect(try site.isEqual)
  }

  @Test(arguments: [5, 6])
  func `holds up nobody who takes office`(tag: Int) throws {
    let site = try site(tag: tag)
    try bring(site, to: site.b)
    let governance = Governance(
      term: Term(number: 2, incarnation: 7), isHeld: true, isOwn: true, isForced: true)
    _ = try site.b.store.govern(governance, at: site.b.now)
    try judge(site.b)
    #expect(site.b.store.currentOffice.part == .judging)
    #expect(try !site.b.store.due.areAny())
    #expect(try tags(site.b) == ["Ann 5"])
    #expect(try site.b.store.tableSurvey.parkedRows().isEmpty)
  }
}

extension Frontier {
  fileprivate func own(_ replica: TestReplica) -> Frontier {
    Frontier([replica.origin: self[replica.origin]])
  }
}
