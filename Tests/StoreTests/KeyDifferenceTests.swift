import Foundation
import Replication
import SQLite
import Testing

@testable import Store

/// Two tables of one name: whether a key value means the same row in both.
@Suite struct KeyDifferenceTests {
  private func differences(_ here: String, _ there: String) throws -> [KeyDifference] {
    let path = NSTemporaryDirectory() + "keys-\(UUID().uuidString).db"
    defer { try? FileManager.default.removeItem(atPath: path) }
    let connection = try Connection(path: path, mode: .create)
    try connection.execute(here)
    return try Store.keyDifferences(
      in: path, from: [SchemaObject(kind: .table, name: "t", sql: there)])
  }

  @Test(arguments: [
    ("id INTEGER PRIMARY KEY, v", "id TEXT PRIMARY KEY, v"),
    ("id TEXT PRIMARY KEY", "id INTEGER PRIMARY KEY"),
    ("id INTEGER PRIMARY KEY", "id BLOB PRIMARY KEY"),
    ("id TEXT PRIMARY KEY", "id PRIMARY KEY"),
    ("id TEXT PRIMARY KEY COLLATE NOCASE", "id TEXT PRIMARY KEY"),
    ("id INTEGER, v TEXT PRIMARY KEY", "id INTEGER PRIMARY KEY, v TEXT"),
    ("a, b, PRIMARY KEY(a, b)", "a, b, PRIMARY KEY(b, a)"),
    ("a, b, PRIMARY KEY(a, b)", "a PRIMARY KEY, b"), ("id TEXT, v", "id TEXT PRIMARY KEY, v"),
  ])
  func `differ`(_ here: String, _ there: String) throws {
    let found = try differences("CREATE TABLE T(\(here))", "CREATE TABLE t(\(there))")
    #expect(found.map(\.table) == ["T"])
  }

  @Test(arguments: [
    ("id TEXT PRIMARY KEY", "ID VARCHAR(20) PRIMARY KEY NOT NULL, v"),
    ("id INTEGER PRIMARY KEY", "id INT PRIMARY KEY"),
    ("id INTEGER PRIMARY KEY AUTOINCREMENT, w", "id BIGINT, v, PRIMARY KEY(id)"),
    ("a, b TEXT, PRIMARY KEY(a, b)", "b TEXT, a, c, PRIMARY KEY(a, b)"),
    ("id TEXT PRIMARY KEY", "id INTEGER, v"), ("id, v", "id, w"),
  ])
  func `agree, or do not matter`(_ here: String, _ there: String) throws {
    #expect(try differences("CREATE TABLE t(\(here))", "CREATE TABLE t(\(there))") == [])
  }

  @Test func `are told as they would be declared`() throws {
    let found = try #require(
      try differences(
        "CREATE TABLE t(v)", "CREATE TABLE t(a INT, b TEXT COLLATE NOCASE, PRIMARY KEY(b, a))"
      ).first)
    #expect(found.here.description == "no PRIMARY KEY")
    #expect(found.there.description == "PRIMARY KEY(b TEXT COLLATE NOCASE, a INT)")
  }
}
