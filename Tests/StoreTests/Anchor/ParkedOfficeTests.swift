import Replication
import SQLite
import Testing

@testable import Store

/// Who takes office holds rows that are parked, and nobody has judged them.
@Suite struct `A parked row, when somebody takes office,` {
  private static let schema =
    "CREATE TABLE note(id TEXT PRIMARY KEY NOT NULL, text TEXT, code TEXT UNIQUE)"

  private static let slow: Pace = {
    var pace = Pace()
    (pace.judgedAtOnce, pace.judgedWhole, pace.judgedRows) = (0, 0, 1)
    return pace
  }()

  private func rows(_ replica: TestReplica) throws -> [String] {
    try replica.application.prepareRows(
      "SELECT id || ' ' || text || ' ' || coalesce(code, '-') FROM note ORDER BY id")
  }

  /// The row `r` has the code 7 at two of the nodes, of which one makes the row `p` with that code,
  /// or edits it; before that, each may have written something else.
  private func site(
    _ rule: String, isNew: Bool = false, pace: Pace = Pace(), first: String? = nil
  ) throws -> AnchorSite {
    let site = try AnchorSite(rule, schema: Self.schema, pace: pace)
    if !isNew { try site.anchor.write("INSERT INTO note VALUES ('p', 'old', NULL)", at: 2) }
    try site.meet()
    if let first { try site.a.write(first, at: 5) }
    try site.b.write("UPDATE note SET code = '7' WHERE id = 'r'", at: 10)
    try site.a.write(
      """
      INSERT INTO note VALUES ('p', 'parked', '7')
      ON CONFLICT DO UPDATE SET text = 'parked', code = '7'
      """, at: 20)
    try site.meet([site.a, site.b])
    return site
  }

  private func takeOffice(_ site: AnchorSite, _ replica: TestReplica, isForced: Bool) throws {
    #expect(try site.b.store.tableSurvey.parkedRows().count == 1)
    try site.appoint(replica, isForced: isForced)
    try site.meet()
    #expect(replica.store.currentOffice.part == .judging)
    #expect(try site.isEqual)
    for replica in site.replicas {
      #expect(try replica.store.tableSurvey.parkedRows().isEmpty && replica.pendingTexts.isEmpty)
      #expect(try replica.store.verdicts.unjudgedCount() == 0)
    }
  }

  @Test(arguments: [true, false], [true, false])
  func `is rejected`(isNew: Bool, isForced: Bool) throws {
    for pace in [Pace(), Self.slow] {
      let site = try site("newest-wins", isNew: isNew, pace: pace)
      try takeOffice(site, site.b, isForced: isForced)
      for replica in site.replicas { #expect(try rows(replica) == ["r base 7"]) }
      #expect(try site.a.verdicts() == ["rejected parked newest-wins"])
      let log = ["parked lost to (deleted): parked (newest-wins)"]
      // What the edit was made on is with its author, who has not seen the edit.
      let base = isNew ? [] : ["old lost to (deleted): older (newest-wins)"]
      #expect(try site.a.conflicts() == log && site.b.conflicts() == log)
      #expect(try site.anchor.conflicts() == base)
      // The key is free, and a value that is free, too, can be had.
      try site.a.write("INSERT INTO note VALUES ('p', 'again', '8')", at: 30)
      try site.meet()
      #expect(try site.isEqual && rows(site.anchor) == ["p again 8", "r base 7"])
    }
  }

  @Test func `is rejected, and what the new anchor had made of the row is not lost either`() throws
  {
    let site = try AnchorSite("newest-wins", schema: Self.schema)
    try site.meet()
    try site.b.write("UPDATE note SET code = '7' WHERE id = 'r'", at: 10)
    try site.a.write("INSERT INTO note VALUES ('p', 'theirs', '7')", at: 11)
    try site.a.write("INSERT INTO note VALUES ('q', 'first', '8')", at: 15)
    try site.b.write("INSERT INTO note VALUES ('p', 'mine', '8')", at: 20)
    try site.meet([site.a, site.b])
    try takeOffice(site, site.b, isForced: true)
    for replica in site.replicas { #expect(try rows(replica) == ["q first 8", "r base 7"]) }
    let log = try site.b.conflicts()
    for text in ["mine", "theirs"] { #expect(log.contains { $0.hasPrefix(text) }, "\(log)") }
  }

  @Test func `is rejected by its own author, too`() throws {
    let site = try site("client-wins")
    try takeOffice(site, site.a, isForced: false)
    for replica in site.replicas { #expect(try rows(replica) == ["r base 7"]) }
    #expect(try site.a.verdicts() == ["rejected parked client-wins"])
    #expect(try site.a.conflicts() == ["parked lost to (deleted): parked (client-wins)"])
  }

  @Test func `gives way to an edit of its row that waits, and fits`() throws {
    for pace in [Pace(), Self.slow] {
      let site = try AnchorSite("newest-wins", schema: Self.schema, pace: pace)
      try site.anchor.write("INSERT INTO note VALUES ('p', 'old', NULL)", at: 2)
      try site.meet()
      try site.b.write("UPDATE note SET code = '7' WHERE id = 'r'", at: 10)
      try site.b.write("UPDATE note SET text = 'fits' WHERE id = 'p'", at: 15)
      try site.a.write("UPDATE note SET text = 'parked', code = '7' WHERE id = 'p'", at: 20)
      try site.meet([site.a, site.b])
      try takeOffice(site, site.b, isForced: false)
      for replica in site.replicas { #expect(try rows(replica) == ["p fits -", "r base 7"]) }
      #expect(try site.a.verdicts() == ["rejected parked newest-wins"])
      #expect(try site.b.verdicts() == ["accepted newest-wins", "accepted newest-wins"])
      #expect(try site.a.conflicts() == ["parked lost to fits: parked (newest-wins)"])
    }
  }

  @Test func `is accepted if what waits makes room for it`() throws {
    for pace in [Pace(), Self.slow] {
      let site = try site(
        "client-wins", pace: pace, first: "UPDATE note SET text = 'mine' WHERE id = 'r'")
      try takeOffice(site, site.b, isForced: false)
      for replica in site.replicas { #expect(try rows(replica) == ["p parked 7", "r mine -"]) }
      #expect(
        try site.a.verdicts(of: "p") == ["accepted client-wins"]
          && site.a.conflicts().isEmpty)
    }
  }

  /// Two were in office at once, and each has given the value to another row.
  @Test func `is judged though a rival has certified it`() throws {
    for pace in [Pace(), Self.slow] {
      let site = try AnchorSite("newest-wins", schema: Self.schema, pace: pace)
      try site.meet()
      try site.appoint(site.b, isForced: true, heardBy: [site.b])
      try site.anchor.write("INSERT INTO note VALUES ('q', 'first', '7')", at: 10)
      try site.meet([site.anchor, site.a])
      try site.b.write("INSERT INTO note VALUES ('p', 'parked', '7')", at: 20)
      try site.a.pull(from: site.b)
      #expect(try site.a.store.tableSurvey.parkedRows().count == 1)
      #expect(try site.a.version("p")?.isTentative == false)
      try site.appoint(site.a)
      try site.meet()
      #expect(site.a.store.currentOffice.part == .judging)
      #expect(try site.isEqual)
      for replica in site.replicas {
        #expect(try replica.store.tableSurvey.parkedRows().isEmpty)
        #expect(try rows(replica) == ["q first 7", "r base -"])
      }
      #expect(try site.b.conflicts() == ["parked lost to (deleted): parked (newest-wins)"])
    }
  }
}
