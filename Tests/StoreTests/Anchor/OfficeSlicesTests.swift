import Replication
import Testing

@testable import Store

/// Much that waits, or is parked, when the office changes hands: a slice of it in each commit, also
/// if the node is killed in between.
@Suite struct `A change of office over many rows` {
  private static let rows = 1...5

  private static var pace: Pace {
    var pace = Pace()
    (pace.comparedRows, pace.judgedAtOnce) = (2, 1)
    return pace
  }

  private func insert(_ replica: TestReplica, _ name: String, at seconds: Int64) throws {
    for row in Self.rows {
      try replica.write("INSERT INTO note VALUES ('\(name)\(row)', '\(row)')", at: seconds)
    }
  }

  private func edit(_ replica: TestReplica, _ text: String, at seconds: Int64) throws {
    for row in Self.rows {
      let edit = "UPDATE note SET text = '\(text)' || \(row) WHERE id = 'k\(row)'"
      try replica.write(edit, at: seconds)
    }
  }

  /// Hears of the last appointment, without what follows in further commits.
  private func govern(_ site: AnchorSite, _ replica: TestReplica) throws -> FoldResult {
    let governance = try #require(
      Appointments.governance(of: site.appointments, for: replica.store.node))
    return try replica.store.govern(governance, at: replica.now)
  }

  private func texts(_ replica: TestReplica, _ name: String = "k") throws -> [String?] {
    try Self.rows.map { try replica.text("\(name)\($0)") }
  }

  @Test func `shows what waited where an anchor stands down`() throws {
    let site = try AnchorSite("client-wins", pace: Self.pace)
    try site.appoint(site.b, isForced: true, heardBy: [site.b])
    try insert(site.a, "k", at: 10)
    try site.anchor.pull(from: site.a)
    #expect(try site.anchor.pendingTexts.count == 5)
    #expect(try site.anchor.pull(from: site.b).fold.hasMore)
    #expect(try site.anchor.pendingTexts.count == 3)
    try site.anchor.reopen()
    try site.anchor.foldAll()
    #expect(try site.anchor.pendingTexts.isEmpty)
    #expect(try texts(site.anchor) == Self.rows.map { "\($0)" })
    for replica in site.replicas { try site.hear(replica) }
    try site.meet()
    #expect(try site.isEqual)
  }

  @Test func `gives up what waited where nobody judges any more`() throws {
    let site = try AnchorSite("client-wins", pace: Self.pace)
    try insert(site.anchor, "k", at: 5)
    try site.meet()
    try edit(site.anchor, "of the anchor", at: 20)
    try edit(site.a, "of a", at: 10)
    try site.a.pull(from: site.anchor)
    #expect(try site.a.pendingTexts.count == 5)
    try site.appoint(nil, heardBy: [])
    #expect(try govern(site, site.a).hasMore)
    while try site.a.pendingTexts.count == 5 {
      #expect(try site.a.store.fold(at: site.a.now).hasMore)
    }
    #expect(try site.a.pendingTexts.count == 3 && site.a.conflicts().count == 2)
    try site.a.reopen()
    try site.a.foldAll()
    #expect(try site.a.pendingTexts.isEmpty && site.a.conflicts().count == 5)
    #expect(try site.a.store.verdicts.openCount() == 0)
    for replica in site.replicas { try site.hear(replica) }
    try site.meet()
    #expect(try site.isEqual && texts(site.b) == Self.rows.map { "of the anchor\($0)" })
  }

  @Test func `judges all that waits in slices before the site has no anchor`() throws {
    var pace = Self.pace
    (pace.judgedRows, pace.judgedWhole) = (1, 1)
    let site = try AnchorSite("client-wins", pace: pace)
    try insert(site.a, "k", at: 10)
    try site.anchor.pull(from: site.a)
    #expect(try site.anchor.pendingTexts.count == 5)
    try site.appoint(nil, heardBy: [])
    // The last one is judged in the commit that leaves it alone.
    for left in [4, 3, 2, 0] {
      #expect(try govern(site, site.anchor).hasMore)
      #expect(site.anchor.store.currentOffice.part == .judging)
      _ = try site.anchor.store.fold(at: site.anchor.now)
      #expect(try site.anchor.pendingTexts.count == left)
    }
    _ = try govern(site, site.anchor)
    #expect(!site.anchor.store.currentOffice.isHeld)
    for replica in site.replicas { try site.hear(replica) }
    try site.meet()
    #expect(try site.isEqual)
  }

  @Test func `judges all that was parked, and nothing before it is among what waits`() throws {
    let schema = "CREATE TABLE note(id TEXT PRIMARY KEY NOT NULL, text TEXT UNIQUE)"
    let site = try AnchorSite("client-wins", schema: schema, pace: Self.pace)
    try insert(site.b, "b", at: 10)
    try insert(site.a, "a", at: 20)
    try site.a.pull(from: site.b)
    #expect(try site.a.store.survey.figures().parked == 5)
    try site.appoint(site.a, isForced: true, heardBy: [])
    #expect(try govern(site, site.a).hasMore)
    #expect(site.a.store.currentOffice.part == .taking)
    #expect(try site.a.pendingTexts.count == 2)
    try site.a.reopen()
    try site.a.foldAll()
    #expect(site.a.store.currentOffice.part == .judging)
    #expect(try site.a.pendingTexts.isEmpty && site.a.store.survey.figures().parked == 0)
    let lost = Self.rows.map { "\($0) lost to (deleted): parked (client-wins)" }
    #expect(try site.a.conflicts().sorted() == lost)
    for replica in site.replicas { try site.hear(replica) }
    try site.meet()
    #expect(try site.isEqual && texts(site.b, "b") == Self.rows.map { "\($0)" })
    #expect(try texts(site.b, "a") == Self.rows.map { _ in nil })
  }
}
