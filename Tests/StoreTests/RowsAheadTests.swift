import Foundation
import Replication
import SQLite
import Testing

@testable import Store

/// A fold reads several rows at once, and finds what it would have found one by one.
@Suite struct RowsAheadTests {
  private static let keys = [
    ("id INTEGER PRIMARY KEY, column1, k0, number", "", "%d"),
    ("id INT PRIMARY KEY NOT NULL, a, b, c", "WITHOUT ROWID", "%d"),
    ("id TEXT PRIMARY KEY NOT NULL, a, b, c", "", "'row %d'"),
    ("id TEXT COLLATE NOCASE PRIMARY KEY NOT NULL, a, b, c", "", "'RoW %d'"),
    ("id BLOB PRIMARY KEY NOT NULL, a, b, c", "", "CAST('\u{1}%d' AS BLOB)"),
    ("id REAL PRIMARY KEY NOT NULL, a, b, c", "", "%d + 0.5"),
    (
      "id PRIMARY KEY NOT NULL, a, b, c", "",
      "CASE %d % 3 WHEN 0 THEN %d WHEN 1 THEN '%d' ELSE CAST('%d' AS BLOB) END"
    ),
  ]

  private func fill(_ columns: String, _ options: String, _ key: String) throws -> TestReplica {
    let replica = try TestReplica(
      1, schema: "CREATE TABLE t(\(columns)) \(options)", tracking: ["t"])
    for number in 0..<200 {
      let key = key.replacingOccurrences(of: "%d", with: "\(number)")
      try replica.write("INSERT INTO t VALUES (\(key), \(number), NULL, 'c')")
    }
    return replica
  }

  @Test(arguments: keys)
  func `keys of any kind are found`(columns: String, options: String, key: String) throws {
    let (author, other) = (
      try fill(columns, options, key),
      try TestReplica(2, schema: "CREATE TABLE t(\(columns)) \(options)")
    )
    try author.foldAll()
    try other.pull(from: author)
    #expect(try other.value("SELECT count(*) FROM t") == .integer(200))
    try author.write(
      "DELETE FROM t WHERE rowid % 3 = 0".replacingOccurrences(
        of: "rowid", with: options.isEmpty ? "rowid" : "id"))
    try author.write("UPDATE t SET \(columns.contains("k0") ? "k0" : "b") = 1")
    try author.foldAll()
    try other.pull(from: author)
    #expect(try other.content("t") == author.content("t"))
    #expect(try other.value("SELECT count(*) FROM t") != .integer(200))
  }

  @Test func `keys of several columns are found, and rows of others between them`() throws {
    let schema = """
      CREATE TABLE t(a TEXT COLLATE NOCASE, b INT, n, PRIMARY KEY(a, b)) WITHOUT ROWID;
      CREATE TABLE u(a INT, b, n, PRIMARY KEY(b, a));
      """
    let author = try TestReplica(1, schema: schema, tracking: ["t", "u"])
    let other = try TestReplica(2, schema: schema)
    for number in 0..<100 {
      try author.write("INSERT INTO t VALUES ('A\(number % 7)', \(number), 1)")
      if number % 3 == 0 { try author.write("INSERT INTO u VALUES (\(number), 'b', 1)") }
    }
    for edit in ["", "DELETE FROM t WHERE b % 5 = 0; UPDATE u SET n = 2"] {
      try author.write(edit)
      try author.foldAll()
      try other.pull(from: author)
      for table in ["t", "u"] { #expect(try other.content(table) == author.content(table)) }
    }
  }

  /// The first row that is folded gives way to one that came while its table was not here.
  @Test func `what a fold writes on the way is seen`() throws {
    let schema = "CREATE TABLE t(id INTEGER PRIMARY KEY, n INT UNIQUE)"
    let author = try TestReplica(1, schema: schema, tracking: ["t"])
    for number in 1...40 { try author.write("INSERT INTO t VALUES (\(number), \(number))") }
    try author.foldAll()
    let late = try TestReplica(2, schema: "")
    try late.pull(from: author)
    // The table is made now, with rows of its own under the same keys.
    try late.write(schema)
    for number in 1...40 { try late.write("INSERT INTO t VALUES (\(number), \(80 - number))") }
    try late.foldAll()
    try late.exchange(with: author)
    try late.exchange(with: author)
    #expect(try late.content("t") == author.content("t"))
  }

  @Test func `long rows are read with the others`() throws {
    let schema = "CREATE TABLE t(id INTEGER PRIMARY KEY, b BLOB)"
    let author = try TestReplica(1, schema: schema, tracking: ["t"])
    let other = try TestReplica(2, schema: schema)
    for number in 1...40 {
      try author.write("INSERT INTO t VALUES (\(number), zeroblob(\(number == 20 ? 3 << 20 : 9)))")
    }
    try author.foldAll()
    try other.pull(from: author)
    #expect(try other.content("t") == author.content("t"))
  }

  @Test func `a table of as many columns as there may be is folded`() throws {
    let columns = (1..<2_000).map { "c\($0)" }.joined(separator: ", ")
    let schema = "CREATE TABLE t(id INTEGER PRIMARY KEY NOT NULL, \(columns))"
    let author = try TestReplica(1, schema: schema, tracking: ["t"])
    let other = try TestReplica(2, schema: schema)
    for number in 0..<40 { try author.write("INSERT INTO t(id, c1999) VALUES (\(number), 1)") }
    try author.foldAll()
    try author.write("UPDATE t SET c1 = 2")
    try author.foldAll()
    try other.pull(from: author)
    #expect(try other.value("SELECT sum(c1) FROM t") == .integer(80))
  }
}
