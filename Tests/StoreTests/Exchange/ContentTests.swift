import Replication
import SQLite
import Testing

@testable import Store

/// Values of every kind and rows of every size.
@Suite struct ContentTests {
  static let schema = "CREATE TABLE t(id INTEGER PRIMARY KEY, v)"

  func three(_ tracking: [String] = ["t"], schema: String = schema) throws -> [TestReplica] {
    try (1...3).map {
      try TestReplica($0, schema: schema, tracking: $0 == 1 ? tracking : [])
    }
  }

  @Test func `values survive two hops bit by bit`() throws {
    let r = try three()
    let literals = [
      "CAST(x'610062' AS TEXT)", "CAST(x'ff00c3' AS TEXT)", "-0.0", "0.0", "4.9e-324", "-1e-310",
      "9e999", "-9e999", "9223372036854775807", "-9223372036854775808", "0.1", "1.0", "1", "''",
      "x''", "x'00'", "NULL", "'é' || char(0x1F6A2)", "1.7976931348623157e308",
    ]
    for (index, literal) in literals.enumerated() {
      try r[0].write("INSERT INTO t VALUES (\(index), \(literal))")
    }
    // -0.0 as a literal may be folded to an integer; a bound value is not.
    try r[0].application.run("INSERT INTO t VALUES (100, ?)", [.real(-0.0)])
    try r[1].pull(from: r[0])
    try r[2].pull(from: r[1])
    for replica in r.dropFirst() {
      let mine = try replica.application.rows("SELECT * FROM t ORDER BY id")
      #expect(try mine == r[0].application.rows("SELECT * FROM t ORDER BY id"))
    }
    #expect(try Verdict(r, [.plain]).faults == [])
  }

  @Test func `a row of 5 MiB is relayed`() throws {
    let r = try three()
    try r[0].write("INSERT INTO t VALUES (1, randomblob(5 << 20)), (2, 'small')")
    try r[1].pull(from: r[0])
    try r[2].pull(from: r[1])
    let same = "SELECT count(*) FROM t WHERE length(v) IN (5 << 20, 5)"
    #expect(try r[2].value(same) == .integer(2))
    #expect(try Verdict(r, [.plain]).faults == [])
  }

  @Test func `a row that is too long is withheld until it is shorter`() throws {
    let r = try three()
    try r[0].write("INSERT INTO t VALUES (1, 'old'), (2, 'x')")
    try r[1].pull(from: r[0])
    try r[0].write(
      "UPDATE t SET v = zeroblob(70 << 20) WHERE id = 1; UPDATE t SET v = 'y' WHERE id = 2")
    let outcome = try r[1].pull(from: r[0])
    #expect(outcome.shelved == 1)
    #expect(try r[1].store.survey.figures().parked == 1)
    try r[2].pull(from: r[1])
    #expect(try r[2].store.survey.figures().parked == 1)
    #expect(try r[1].value("SELECT group_concat(v) FROM t") == .string("old,y"))
    #expect(try r[2].value("SELECT group_concat(v) FROM t") == .string("y"))
    #expect(r[2].store.position.digest == r[0].store.position.digest)
    try r[0].write("UPDATE t SET v = 'short' WHERE id = 1")
    try r[1].pull(from: r[0])
    try r[2].pull(from: r[1])
    #expect(try r[1].store.survey.figures().parked == 0)
    #expect(try Verdict(r, [.plain]).faults == [])
  }

  @Test func `an edit of a row whose content was withheld stands`() throws {
    let r = try three()
    try r[0].write("INSERT INTO t VALUES (1, 'old')")
    try r[1].pull(from: r[0])
    try r[0].write("UPDATE t SET v = zeroblob(70 << 20)")
    try r[1].pull(from: r[0])
    r[1].clock += 60_000
    try r[1].write("UPDATE t SET v = 'mine'")
    try r[0].exchange(with: r[1])
    try r[2].pull(from: r[1])
    #expect(try r[0].value("SELECT v FROM t") == .string("mine"))
    #expect(try Verdict(r, [.plain]).faults == [])
  }

  @Test func `unique values move in a ring of three rows`() throws {
    let r = try three(schema: "CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT NOT NULL UNIQUE)")
    try r[0].write("INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    try r[1].pull(from: r[0])
    try r[0].write(
      """
      BEGIN; UPDATE t SET v = 'z' WHERE id = 1; UPDATE t SET v = 'a' WHERE id = 3;
      UPDATE t SET v = 'c' WHERE id = 2; UPDATE t SET v = 'b' WHERE id = 1; COMMIT
      """)
    try r[1].pull(from: r[0])
    try r[2].pull(from: r[1])
    #expect(
      try r[1].value("SELECT group_concat(v, '') FROM (SELECT v FROM t ORDER BY id)")
        == .string("bca"))
    #expect(try Verdict(r, [.plain]).faults == [])
  }
}
