import SQLite
import Testing

@testable import Gateway

/// Answers under an `Idempotency-Key`, while clocks are set.
@Suite struct `Answers that are kept` {
  private static let now: Int64 = 1_700_000_000_000
  private static let hour: Int64 = 3_600_000
  private static let year = 365 * 24 * hour

  private let file: Connection

  init() throws {
    file = try Connection(path: ":memory:", mode: .create)
    try file.execute(
      """
      CREATE TABLE _flotilla_answer(
        token TEXT NOT NULL, key TEXT NOT NULL, request BLOB NOT NULL, status INTEGER NOT NULL,
        headers TEXT NOT NULL, body BLOB NOT NULL, at INTEGER NOT NULL, PRIMARY KEY(token, key)
      ) WITHOUT ROWID;
      INSERT INTO _flotilla_answer VALUES ('mirror', 'known', x'', 1, '[]', x'', 1 << 60);
      """)
  }

  private func answer(_ key: String) -> KeptAnswer {
    KeptAnswer(token: "t", key: key, request: [1])
  }

  private func keep(_ key: String, at now: Int64?) throws {
    try answer(key).keep(HTTPResponse(201), at: now, on: file)
  }

  private func isKept(_ key: String) throws -> Bool { try answer(key).find(on: file) != nil }

  private func count() throws -> Int64? {
    try file.scalar("SELECT count(*) FROM _flotilla_answer WHERE token = 't'").integer
  }

  @Test(arguments: [nil, now - 5 * year, now - 25 * hour])
  func `outlive that the time becomes known, or is set ahead`(_ before: Int64?) throws {
    try keep("first", at: before)
    try keep("second", at: before)
    for step in 0..<3 { try keep("later \(step)", at: Self.now + Int64(step)) }
    #expect(try isKept("first") && isKept("second") && isKept("later 0"))
  }

  @Test func `outlive that the time is set back, however many there are`() throws {
    try file.execute(
      """
      WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < \(KeptAnswer.most))
      INSERT INTO _flotilla_answer SELECT 't', i, x'01', 201, '{}', x'', \(Self.now) + i FROM n
      """)
    try keep("last", at: Self.now)
    for number in 0..<10 {
      try keep("later \(number)", at: Self.now - Self.year + Int64(number))
      #expect(try isKept("later \(number)") && isKept("later 0"))
    }
    #expect(try !isKept("0") && count() == Int64(KeptAnswer.most) + 1)
  }

  @Test func `go after a day in which time has passed, and not while nobody knows it`() throws {
    try keep("first", at: Self.now)
    for step in 0..<60 { try keep("unknown \(step)", at: nil) }
    for half in 1...48 { try keep("\(half)", at: Self.now + Int64(half) * Self.hour / 2) }
    #expect(try isKept("first"))
    for half in 49...60 { try keep("\(half)", at: Self.now + Int64(half) * Self.hour / 2) }
    #expect(try !isKept("first") && isKept("12"))
    let others = try file.scalar("SELECT count(*) FROM _flotilla_answer WHERE at = 1 << 60")
    #expect(others == .integer(1))
  }
}
