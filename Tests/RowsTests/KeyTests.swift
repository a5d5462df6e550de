import Flotilla
import FlotillaRows
import Foundation
import SQLite
import Testing

/// What was read by a type is found by it again, or is refused: another row is never written.
@Suite(.serialized) struct `A key that is read as a type` {
  struct Entry<ID: Codable & Sendable>: Codable, Sendable {
    var id: ID
    var text: String?
  }

  /// Reads a row and writes it back; whether that was possible. The file has this row alone after
  /// that.
  private func isFound<ID: Codable & Sendable>(
    _ type: ID.Type, _ declared: String, _ literal: String, _ path: String, _ open: OpenReplica
  ) async throws -> Bool {
    let connection = try Connection(path: path)
    connection.setBusyTimeout(milliseconds: 5_000)
    try connection.execute(
      """
      DROP TABLE IF EXISTS entry;
      CREATE TABLE entry(id \(declared) PRIMARY KEY NOT NULL, text TEXT);
      INSERT INTO entry VALUES (\(literal), 'old')
      """)
    do throws(FlotillaError) {
      for var entry in try await open.rows(Entry<ID>.self, "SELECT * FROM entry") {
        entry.text = "new"
        _ = try await open.update(entry, in: "entry")
      }
    } catch {
      #expect(error.code == .usage, "\(literal): \(error.message)")
      #expect(try connection.rows("SELECT text FROM entry") == [[.string("old")]])
      return false
    }
    #expect(try connection.rows("SELECT text FROM entry") == [[.string("new")]], "\(literal)")
    return true
  }

  @Test func `finds its row again, or is refused`() async throws {
    try await Lists.with { _, path, open in
      func check<ID: Codable & Sendable>(
        _ type: ID.Type, _ declared: String, found: [String] = [], refused: [String] = []
      ) async throws {
        for literal in found {
          #expect(try await isFound(type, declared, literal, path, open), "\(declared) \(literal)")
        }
        for literal in refused {
          #expect(try await !isFound(type, declared, literal, path, open), "\(declared) \(literal)")
        }
      }
      try await check(
        Decimal.self, "TEXT", found: ["'1'", "'-1.5'"], refused: ["'1.0'", "'+1'", "'1e3'"])
      try await check(Decimal.self, "NUMERIC", found: ["1", "1.5", "'2.50'"])
      try await check(Decimal.self, "INTEGER", found: ["1"])
      try await check(Decimal.self, "BLOB", found: ["'1.5'"], refused: ["1", "1.5"])
      let day = "'2026-01-01 00:00:00.000'"
      try await check(
        Date.self, "TEXT", found: [day],
        refused: ["'2026-01-01T00:00:00Z'", "'2026-01-01'", "'2026-01-01 01:00:00+01:00'"])
      try await check(Date.self, "INT", found: [day], refused: ["1767225600"])
      let id = "E621E1F8-C36C-495A-93FC-0C247A3E6E5F"
      try await check(UUID.self, "TEXT", found: ["'\(id)'"], refused: ["'\(id.lowercased())'"])
      try await check(Bool.self, "INTEGER", found: ["1", "0"])
      try await check(Int.self, "INTEGER", found: ["7"])
      // Such a column makes a text of a number, which is none when it is read.
      try await check(Int.self, "TEXT", refused: ["7"])
      try await check(Bool.self, "TEXT", refused: ["1"])
      try await check(Double.self, "REAL", found: ["0.1", "2"])
      try await check(Double.self, "BLOB", found: ["5", "0.1"])
      try await check(Double.self, "TEXT", refused: ["0.1"])
      try await check(Float.self, "REAL", found: ["0.5"], refused: ["0.1"])
      try await check([Int].self, "TEXT", found: ["'[1,2]'"], refused: ["'[1, 2]'"])
    }
  }

  @Test func `leaves another row as it is, also in a transaction and through a view`()
    async throws
  {
    try await Lists.with { _, path, open in
      let connection = try Connection(path: path)
      try connection.execute(
        """
        CREATE TABLE entry(id TEXT PRIMARY KEY NOT NULL, text TEXT);
        INSERT INTO entry VALUES ('1.5', 'one'), ('1.50', 'other');
        CREATE VIEW entries AS SELECT * FROM entry;
        CREATE TABLE price(name TEXT PRIMARY KEY NOT NULL, id TEXT);
        INSERT INTO price VALUES ('a', '1.50');
        """)
      typealias Priced = Entry<Decimal>
      for table in ["entry", "entries"] {
        let query = "SELECT * FROM \(table) WHERE text = 'other'"
        let error = await #expect(throws: FlotillaError.self) {
          try await open.rows(Priced.self, query)
        }
        #expect(error?.code == .usage && error?.message.contains("column id is in the key") == true)
        await #expect(throws: FlotillaError.self) {
          try await open.transaction { _ = try $0.rows(Priced.self, query) }
        }
        let one = "SELECT * FROM \(table) WHERE text = 'one'"
        #expect(try await open.rows(Priced.self, one).map(\.id) == [1.5])
      }
      // Elsewhere it is the same number, and who cannot write a row writes no other one.
      #expect(try await open.rows(Priced.self, "SELECT id FROM price").map(\.id) == [1.5])
      struct Shown: Decodable, Sendable { var id: Decimal }
      #expect(try await open.rows(Shown.self, "SELECT id FROM entry").map(\.id) == [1.5, 1.5])
    }
  }
}
