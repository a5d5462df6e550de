import Replication
import SQLite
import Testing

@testable import Store

/// Edits of one transaction that fit together alone, more than an anchor tries together.
@Suite struct DeferralTests {
  private static let schema = """
    CREATE TABLE note(
      id TEXT PRIMARY KEY NOT NULL, text TEXT, place INTEGER UNIQUE,
      above TEXT REFERENCES note DEFERRABLE INITIALLY DEFERRED)
    """

  private func site(_ schema: String = schema) throws -> AnchorSite {
    var pace = Pace()
    (pace.judgedAtOnce, pace.judgedWhole, pace.judgedRows, pace.judgedTogether) = (0, 3, 3, 6)
    return try AnchorSite("client-wins", schema: schema, pace: pace)
  }

  private func write(_ count: Int, above: String, _ site: AnchorSite) throws {
    try site.a.write(
      """
      BEGIN; WITH RECURSIVE x(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM x WHERE i < \(count))
      INSERT INTO note SELECT printf('n%04d', i), 'new', i, \(above) FROM x; COMMIT
      """, at: 10)
    try site.meet()
  }

  private func expectAccepted(_ site: AnchorSite) throws {
    #expect(try site.isEqual)
    #expect(try site.replicas.allSatisfy { try $0.pendingTexts.isEmpty })
    #expect(try site.replicas.allSatisfy { try $0.conflicts().isEmpty })
    let verdicts = try site.a.store.verdicts.list(after: 0, through: .max)
    #expect(verdicts.allSatisfy { $0.outcome == .accepted })
  }

  /// The first six of them have nobody among themselves who makes room.
  @Test(arguments: ["1 - -place", "31 - place", "place % 30 + 1", "(place + 15) % 30 + 1"])
  func `a list that is moved, turned round, or begun elsewhere is accepted whole`(
    place: String
  ) throws {
    let site = try site()
    try write(30, above: "NULL", site)
    try site.a.write(
      """
      BEGIN; UPDATE note SET place = -(\(place)) WHERE id <> 'r';
      UPDATE note SET place = -place WHERE id <> 'r'; COMMIT
      """, at: 20)
    try site.meet()
    try expectAccepted(site)
    let places = "SELECT id || ' ' || place FROM note WHERE id <> 'r' ORDER BY id"
    let expected = try site.a.application.prepareRows(places)
    for replica in site.replicas {
      #expect(try replica.application.prepareRows(places) == expected)
    }
  }

  @Test(arguments: [
    "iif(i < 30, printf('n%04d', i + 1), NULL)", "printf('n%04d', i % 30 + 1)",
    "printf('n%04d', 31 - i)",
  ])
  func `rows that refer to each other are accepted whole`(above: String) throws {
    let site = try site()
    try write(30, above: above, site)
    try expectAccepted(site)
    #expect(try site.anchor.content("note").count == 31)
  }

  @Test func `a row goes after those that refer to it`() throws {
    let site = try site()
    try write(20, above: "iif(i > 1, 'n0001', NULL)", site)
    try site.a.write("BEGIN; DELETE FROM note WHERE id <> 'r'; COMMIT", at: 20)
    try site.meet()
    try expectAccepted(site)
    #expect(try site.anchor.content("note").count == 1)
  }

  /// Each acceptance had all that was put off tried again, from the first one on.
  @Test(arguments: ["place", "above"])
  func `the work for each of them does not grow with their number`(column: String) throws {
    func steps(_ count: Int) throws -> Int {
      let site = try site()
      let next = "iif(i < \(count), printf('n%04d', i + 1), NULL)"
      var steps = 0
      func watch() {
        site.anchor.store.connection.setWatch(every: 100) {
          steps += 100
          return true
        }
      }
      if column == "above" { watch() }
      try write(count, above: column == "above" ? next : "NULL", site)
      watch()
      if column == "place" {
        try site.a.write(
          """
          BEGIN; UPDATE note SET place = -(place + 1) WHERE id <> 'r';
          UPDATE note SET place = -place WHERE id <> 'r'; COMMIT
          """, at: 20)
        try site.meet()
      }
      site.anchor.store.connection.setWatch(every: 0, nil)
      try expectAccepted(site)
      return steps
    }
    #expect(try steps(400) < 3 * steps(200))
  }
}
