import Replication
import SQLite
import Testing

@testable import Store

/// How long it can be told what became of an edit.
@Suite struct `A verdict` {
  private static let day: Int64 = 86_400_000
  private let site: AnchorSite

  init() throws {
    var pace = Pace()
    pace.comparedRows = 2
    site = try AnchorSite("client-wins", pace: pace)
  }

  private func count() throws -> SQLite.Value {
    try site.a.value("SELECT count(*) FROM _flotilla_verdict")
  }

  /// As if so many edits more had been made and judged.
  private func age(by edits: UInt64) throws {
    let own = site.a.store.own
    try site.a.store.origins.raise(
      to: Frontier([own: site.a.store.position.frontier[own] + edits]))
  }

  @Test func `is kept for a day, however many come after it`() throws {
    try site.a.write("UPDATE note SET text = 'mine' WHERE id = 'r'", at: 10)
    try site.meet()
    try age(by: 1_000_000)
    try site.a.store.trimLogs(at: site.a.now)
    #expect(try site.a.verdicts() == ["accepted client-wins"])
  }

  @Test func `is kept among the latest, and its gap is known once it is not`() throws {
    let before = site.a.store.position.frontier[site.a.store.own]
    try site.a.write("UPDATE note SET text = 'mine' WHERE id = 'r'", at: 10)
    try site.meet()
    try site.a.write("INSERT INTO note VALUES ('k', 'k'), ('l', 'l'), ('m', 'm')", at: 11)
    try site.meet()
    let edit = site.a.store.position.frontier[site.a.store.own]
    let later = Instant(uptime: 0, wall: site.a.now.moment + 2 * Self.day)
    try site.a.store.trimLogs(at: later)
    #expect(try site.a.verdicts() == Array(repeating: "accepted client-wins", count: 4))
    #expect(try site.a.store.verdicts.missing() <= before)
    try age(by: 100_000)
    try site.a.store.trimLogs(at: later)
    #expect(try site.a.verdicts().isEmpty)
    #expect(try site.a.store.verdicts.missing() == edit)
  }

  @Test func `that is awaited is never let go`() throws {
    try site.a.write("UPDATE note SET text = 'mine' WHERE id = 'r'", at: 10)
    try age(by: 1_000_000)
    try site.a.store.trimLogs(at: Instant(uptime: 0, wall: site.a.now.moment + 400 * Self.day))
    #expect(try site.a.verdicts() == ["pending"])
  }

  @Test func `is missing on what was written before there was an anchor`() throws {
    let site = try AnchorSite("client-wins", appoints: false)
    try site.a.write("UPDATE note SET text = 'early' WHERE id = 'r'", at: 10)
    let early = site.a.store.position.frontier[site.a.store.own]
    #expect(try site.a.store.verdicts.missing() == 0)
    try site.appoint(site.anchor)
    #expect(try site.a.store.verdicts.missing() == early)
  }

  @Test func `of a rejected edit outlasts the rulings that are let go`() throws {
    try site.a.write("INSERT INTO note VALUES ('n', 'x')", at: 10)
    #expect(try site.a.store.verdicts.isAwaited(after: 0, through: .max))
    let mine = Int64(site.a.store.position.frontier[site.a.store.own])
    // 100,000 rulings that are younger, and the one that this edit waits for.
    _ = try site.a.value(
      """
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i <= 100000)
      INSERT INTO _flotilla_ruling(eorigin, eseq, origin, seq, stamp, kind, rule, tbl, key)
      SELECT 99, 1000 + i, 98, i, 1000 + i, 1, '', 1, x'' FROM n
      """)
    _ = try site.a.value(
      """
      INSERT INTO _flotilla_ruling(eorigin, eseq, origin, seq, stamp, kind, rule, tbl, key)
      VALUES (1, \(mine), 97, 1, 1, 1, '', 1, x'')
      """)
    try site.a.store.trimLogs(at: site.a.now)
    #expect(
      try site.a.value("SELECT count(*) FROM _flotilla_ruling WHERE eseq = \(mine)")
        == .integer(1))
  }

  @Test func `is unknown, not accepted, once the ruling about it may have been let go`() throws {
    var pace = Pace()
    pace.rulings = 2
    let site = try AnchorSite("server-wins", pace: pace)
    try site.a.write("UPDATE note SET text = 'mine' WHERE id = 'r'", at: 10)
    try site.a.write("INSERT INTO note VALUES ('n', 'new')", at: 11)
    // It comes to the anchor by others, and its author is away while the anchor rejects more.
    try site.meet([site.a, site.b])
    try site.meet([site.b, site.anchor])
    for number in 0..<3 {
      let sql = "UPDATE note SET text = 'of b \(number)' WHERE id = 'r'"
      try site.b.write(sql, at: 20 + Int64(number))
      try site.meet([site.b, site.anchor])
    }
    for replica in [site.anchor, site.b] { try replica.store.trimLogs(at: replica.now) }
    try site.meet()
    #expect(try site.a.verdicts(of: "r") == ["unknown server-wins"])
    #expect(try site.a.verdicts(of: "n") == ["accepted server-wins"])
    #expect(try site.a.conflicts().count == 1 && site.isEqual)
    #expect(try site.b.verdicts().last == "rejected offline server-wins")
  }
}
