import SQLite
import Testing

@testable import Store

/// The order of an index, as it is read from pages of somebody else.
@Suite struct IndexOrderTests {
  private static let values = [
    "NULL", "0", "-1", "1", "1.5", "-1.5", "9223372036854775807", "9.2233720368547758e18",
    "9007199254740993", "9007199254740992.0", "-9223372036854775808", "-9.3e18", "1e300",
    "'a'", "'A'", "'a '", "'b'", "'B  '", "''", "' '", "'a' || char(0) || 'b'", "'ab'", "'É'",
    "'é'", "x''", "x'00'", "x'0000'", "x'FF'", "'a' || char(0) || 'B'",
  ]

  private func table() throws -> Connection {
    let connection = try Connection(path: ":memory:", mode: .create)
    try connection.execute("CREATE TABLE t(a, b)")
    for one in Self.values {
      for other in Self.values { try connection.execute("INSERT INTO t VALUES(\(one), \(other))") }
    }
    return connection
  }

  private func rows(_ connection: Connection, _ sql: String) throws -> Int? {
    let columns = try connection.rows(
      "SELECT cid, name, desc, coll, key FROM pragma_index_xinfo('i')")
    let isUnique = try connection.scalar("SELECT \"unique\" FROM pragma_index_list('t')")
    guard var order = IndexOrder(columns, isUnique: isUnique.integer == 1) else { return nil }
    let statement = try connection.prepare(sql)
    var count = 0
    while try statement.step() {
      guard order.follows(statement) else { return nil }
      count += 1
    }
    return count
  }

  @Test(arguments: ["BINARY", "NOCASE", "RTRIM"], ["", "DESC"])
  func `is that of SQLite, and no other`(_ collation: String, _ direction: String) throws {
    let connection = try table()
    try connection.execute(
      "CREATE INDEX i ON t(a COLLATE \(collation) \(direction), b COLLATE \(collation))")
    let sql = "SELECT a, b, rowid FROM t INDEXED BY i"
    #expect(try rows(connection, sql) == Self.values.count * Self.values.count)
    let others = ["BINARY", "NOCASE", "RTRIM"].filter { $0 != collation }
    for order in others.map({ "a COLLATE \($0) \(direction), b COLLATE \($0)" }) + [
      "a COLLATE \(collation) \(direction == "" ? "DESC" : ""), b COLLATE \(collation)",
      "a COLLATE \(collation) \(direction), b COLLATE \(collation) DESC", "rowid",
    ] {
      let found = try rows(connection, "SELECT a, b, rowid FROM t ORDER BY \(order)")
      #expect(found == nil, "\(order)")
    }
  }

  @Test func `has no two that are equal where it is unique, but with NULL`() throws {
    let connection = try Connection(path: ":memory:", mode: .create)
    try connection.execute(
      """
      CREATE TABLE t(a, b); CREATE UNIQUE INDEX i ON t(a, b);
      INSERT INTO t VALUES (1, NULL), (1, NULL), (NULL, 1), (NULL, 1), (1, 1), (1, 2), (2, 1);
      """)
    let all = "SELECT a, b, rowid FROM t INDEXED BY i"
    #expect(try rows(connection, all) == 7)
    let twice = "SELECT 1, 2, 1 UNION ALL SELECT 1, 2, 2"
    #expect(try rows(connection, twice) == nil)
    #expect(try rows(connection, "SELECT 1, NULL, 1 UNION ALL SELECT 1, NULL, 2") == 2)
    #expect(try rows(connection, "SELECT 1, NULL, 1 UNION ALL SELECT 1, NULL, 1") == nil)
  }
}
