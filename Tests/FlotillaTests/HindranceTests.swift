import Foundation
import SQLite
import Testing

@testable import Flotilla

/// What is told about a row that does not fit into its table.
@Suite struct HindranceTests {
  private func words(
    _ definition: String, _ rows: String, key: [String: SQLValue], row: [String: SQLValue]?,
    isWaiting: Bool = false
  ) throws -> String? {
    let path = FileManager.default.temporaryDirectory
      .appending(path: "hindrance-\(UUID().uuidString).db").path
    defer { try? FileManager.default.removeItem(atPath: path) }
    let connection = try Connection(path: path, mode: .create)
    try connection.execute("CREATE TABLE t\(definition); INSERT INTO t VALUES \(rows)")
    return try Hindrance(path: path).words("t", key: key, row: row, isWaiting: isWaiting)
  }

  @Test(arguments: [
    ("(id INTEGER PRIMARY KEY, v TEXT UNIQUE)", "UNIQUE v: taken by row 1"),
    ("(id INTEGER PRIMARY KEY, v TEXT COLLATE NOCASE UNIQUE)", "UNIQUE v: taken by row 1"),
    (
      "(id INTEGER PRIMARY KEY, v TEXT); CREATE UNIQUE INDEX i ON t(lower(v))",
      "UNIQUE lower(v): taken by row 1"
    ),
    (
      "(id INTEGER PRIMARY KEY, v TEXT); CREATE UNIQUE INDEX i ON t(v) WHERE id < 9",
      "UNIQUE v WHERE id < 9: taken by row 1"
    ),
    (
      "(id INTEGER PRIMARY KEY, v ANY); CREATE UNIQUE INDEX i ON t(length(v), v || '!') WHERE 1",
      "UNIQUE length(v), v || '!' WHERE 1: taken by row 1"
    ),
  ])
  func `a unique value is held by a row`(definition: String, expected: String) throws {
    let isCased = !definition.contains("lower") && !definition.contains("NOCASE")
    #expect(
      try words(
        definition, "(1, 'a')", key: ["id": .integer(2)],
        row: ["id": .integer(2), "v": .text(isCased ? "a" : "A")]) == expected)
  }

  @Test(arguments: [
    // Neither is in the index, or only one of them.
    ("(id INTEGER PRIMARY KEY, v TEXT); CREATE UNIQUE INDEX i ON t(v) WHERE id > 9", "a"),
    ("(id INTEGER PRIMARY KEY, v TEXT); CREATE UNIQUE INDEX i ON t(v) WHERE id > 1", "a"),
    ("(id INTEGER PRIMARY KEY, v TEXT); CREATE UNIQUE INDEX i ON t(v) WHERE id < 2", "a"),
    ("(id INTEGER PRIMARY KEY, v TEXT); CREATE UNIQUE INDEX i ON t(v || id)", "a"),
    ("(id INTEGER PRIMARY KEY, v TEXT); CREATE UNIQUE INDEX i ON t(nullif(v, 'a'))", "a"),
    ("(id INTEGER PRIMARY KEY, v TEXT UNIQUE)", "b"),
  ])
  func `nothing is told where nothing is in the way`(definition: String, value: String) throws {
    #expect(
      try words(
        definition, "(1, 'a')", key: ["id": .integer(2)],
        row: ["id": .integer(2), "v": .text(value)]) == nil)
  }

  @Test func `the row that has a value is named by its key, in the order of its columns`() throws {
    #expect(
      try words(
        "(n INTEGER, a INTEGER, v TEXT UNIQUE, PRIMARY KEY (n, a))", "(1, 7, 'a')",
        key: ["n": .integer(2), "a": .integer(8)],
        row: ["n": .integer(2), "a": .integer(8), "v": .text("a")])
        == "UNIQUE v: taken by row 1, 7")
  }

  /// A column that the author of the row does not have is named as well.
  @Test(arguments: [
    ("(id INTEGER PRIMARY KEY, v TEXT, c TEXT NOT NULL)", "NOT NULL c"),
    ("(id INTEGER PRIMARY KEY, v TEXT CHECK (v <> 'b'))", "CHECK v <> 'b'"),
    ("(id INTEGER PRIMARY KEY, v TEXT, c TEXT NOT NULL DEFAULT '')", nil),
  ])
  func `a constraint of the table alone is named`(definition: String, expected: String?) throws {
    let row = definition.contains(" c TEXT") ? "(1, 'a', 'c')" : "(1, 'a')"
    #expect(
      try words(
        definition, row, key: ["id": .integer(2)],
        row: ["id": .integer(2), "v": .text("b")]) == expected)
  }

  @Test func `what a row waits for is told first, and what else it meets`() throws {
    let definition = "(id INTEGER PRIMARY KEY, v TEXT UNIQUE, t INTEGER REFERENCES t)"
    let text = { (v: String, t: Int64, isWaiting: Bool) in
      try self.words(
        definition, "(1, 'a', NULL)", key: ["id": .integer(2)],
        row: ["id": .integer(2), "v": .text(v), "t": .integer(t)], isWaiting: isWaiting)
    }
    let (unique, reference) = ("UNIQUE v: taken by row 1", "FOREIGN KEY t: t has no row 9")
    #expect(try text("a", 9, true) == "\(reference); also \(unique)")
    #expect(try text("b", 9, true) == reference)
    #expect(try text("a", 1, true) == "also \(unique)")
    #expect(try text("a", 9, false) == unique)
    #expect(try text("b", 1, true) == nil)
  }
}
