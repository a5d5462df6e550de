import Foundation
import SQLite
import Testing

@testable import Flotilla
@testable import Store

/// What is put back is one row and no other, whatever the table says of rows that are in the way.
@Suite(.serialized) struct `A row that is put back` {
  private static func conflict(
    _ table: String, _ row: [String: SQLValue]
  ) -> ConflictReport.Conflict {
    ConflictReport.Conflict(
      id: 1, table: table, key: ["id": row["id"] ?? .null], rule: "", reason: "older", at: "",
      state: "open", loser: ConflictReport.Side(deleted: false, row: row))
  }

  private static func texts(_ connection: Connection, _ sql: String) throws -> [String] {
    try connection.rows(sql).map { $0.map { $0.string ?? "\($0)" }.joined(separator: "|") }
  }

  @Test(arguments: ["IGNORE", "REPLACE", "ROLLBACK"])
  func `is refused where another one has its value`(clause: String) throws {
    let connection = try Connection(path: ":memory:")
    try connection.execute(
      """
      CREATE TABLE t(id TEXT PRIMARY KEY NOT NULL, u TEXT UNIQUE ON CONFLICT \(clause));
      INSERT INTO t VALUES ('a', 'x'), ('b', 'y'); BEGIN
      """)
    for id in ["c", "b"] {
      let row: [String: SQLValue] = ["id": .text(id), "u": .text("x")]
      let restoration = Restoration(conflict: Self.conflict("t", row), keyColumns: ["id"])
      let error = #expect(throws: SQLiteError.self) { try restoration.write(on: connection) }
      #expect(error?.message == "UNIQUE constraint failed: t.u")
      #expect(!connection.isAutocommit)
    }
    #expect(try Self.texts(connection, "SELECT * FROM t ORDER BY id") == ["a|x", "b|y"])
  }

  @Test func `is refused in words by a trigger, and what triggers write stays as they say`()
    throws
  {
    let connection = try Connection(path: ":memory:")
    try connection.execute(
      """
      CREATE TABLE t(id TEXT PRIMARY KEY NOT NULL, u TEXT);
      CREATE TABLE last(what TEXT PRIMARY KEY, id TEXT);
      CREATE TRIGGER keep AFTER INSERT ON t BEGIN
        INSERT OR REPLACE INTO last VALUES ('insert', NEW.id); END;
      INSERT INTO t VALUES ('a', 'x'), ('b', 'y');
      CREATE TRIGGER quiet BEFORE UPDATE ON t BEGIN SELECT RAISE(IGNORE); END;
      CREATE TRIGGER gone BEFORE DELETE ON t BEGIN SELECT RAISE(IGNORE); END;
      """)
    let new = Self.conflict("t", ["id": .text("c"), "u": .text("z")])
    try Restoration(conflict: new, keyColumns: ["id"]).write(on: connection)
    #expect(try Self.texts(connection, "SELECT * FROM last") == ["insert|c"])
    let other = Self.conflict("t", ["id": .text("a"), "u": .text("w")])
    var deleted = other
    deleted.loser = ConflictReport.Side(deleted: true, row: nil)
    for (conflict, deed) in [(other, "changed"), (deleted, "deleted")] {
      let error = #expect(throws: SQLiteError.self) {
        try Restoration(conflict: conflict, keyColumns: ["id"]).write(on: connection)
      }
      #expect(error?.message == "a trigger of t does not let the row be \(deed)")
    }
    try connection.execute(
      "CREATE TRIGGER none BEFORE INSERT ON t BEGIN SELECT RAISE(IGNORE); END")
    let none = Self.conflict("t", ["id": .text("d"), "u": .text("v")])
    #expect(throws: SQLiteError.self) {
      try Restoration(conflict: none, keyColumns: ["id"]).write(on: connection)
    }
    #expect(try Self.texts(connection, "SELECT * FROM t") == ["a|x", "b|y", "c|z"])
  }

  @Test(arguments: ["IGNORE", "REPLACE"])
  func `from where it was parked stays there while another one has its value`(clause: String)
    async throws
  {
    try await TestSite.with { site in
      let schema = """
        CREATE TABLE u(id TEXT PRIMARY KEY NOT NULL, vat TEXT UNIQUE ON CONFLICT \(clause), v TEXT)
        """
      let a = try await site.replica("a", schema: schema)
      let b = try await site.replica("b", schema: schema)
      try a.write("INSERT INTO u VALUES ('a', 'V1', 'first')")
      let first = try await site.run(a)
      try await Task.sleep(for: .milliseconds(50))
      try b.write("INSERT INTO u VALUES ('b', 'V1', 'second')")
      _ = try await site.run(b, to: [first])
      #expect(try await eventually { try await a.library.conflicts().parked.count == 1 })
      let parked = try #require(try await a.library.conflicts().parked.first)
      let before = try a.rows("SELECT * FROM u")
      for values: [String: SQLValue] in [[:], ["v": .text("other")]] {
        let error = await #expect(throws: FlotillaError.self) {
          _ = try await a.library.restoreParked(parked.id, setting: values)
        }
        #expect(error?.message.contains("UNIQUE constraint failed: u.vat") == true)
      }
      #expect(try a.rows("SELECT * FROM u") == before)
      #expect(try await a.library.conflicts().parked.map(\.id) == [parked.id])
      _ = try await a.library.restoreParked(parked.id, setting: ["vat": .text("V2")])
      #expect(try await eventually { try b.rows("SELECT count(*) FROM u") == ["2"] })
    }
  }

  /// A row that refers to one of them stays, and a third one is left that wants what stays.
  @Test func `changes places with another one, if each has what the other had`() async throws {
    try await TestSite.with { site in
      let a = try await site.replica(
        "a",
        schema: """
          CREATE TABLE p(id INTEGER PRIMARY KEY, pos INTEGER UNIQUE, v TEXT);
          CREATE TABLE c(id INTEGER PRIMARY KEY, p INTEGER REFERENCES p);
          """)
      try a.write(
        """
        INSERT INTO p VALUES (1, 2, 'one'), (2, 1, 'two'), (3, 3, 'three'), (4, 4, 'four');
        INSERT INTO c VALUES (7, 1)
        """)
      let node = try await site.run(a)
      let waiting = "SELECT count(*) FROM _flotilla_journal"
      #expect(try await eventually { try a.rows(waiting) == ["0"] })
      await node.stop()
      let connection = try Connection(path: a.path)
      let found = try connection.rows(
        """
        SELECT v.tbl, v.origin, v.seq, v.key FROM _flotilla_version AS v
        JOIN _flotilla_local AS k ON k.id = v.tbl WHERE k.name = 'p' ORDER BY v.key
        """)
      try #require(found.count == 4)
      var rows: [UndoReport.Row] = []
      for (id, pos) in [(1, 1), (2, 2), (3, 4)] as [(Int64, Int64)] {
        rows.append(
          UndoReport.Row(
            table: "p", key: ["id": .integer(id)], key_columns: ["id"], way: "put-back", new: false,
            deleted: false, late: false, stands: nil,
            before: ConflictReport.Side(
              deleted: false, row: ["id": .integer(id), "pos": .integer(pos)])))
      }
      let undoing = Undoing(
        rows: rows,
        places: try found.prefix(3).map {
          UndoableRow.Place(
            table: try #require($0[0].integer), origin: try #require($0[1].integer),
            seq: try #require($0[2].integer))
        }, keys: found.prefix(3).map { $0[3].blob ?? [] })
      try connection.execute("PRAGMA foreign_keys = ON; BEGIN IMMEDIATE")
      let outcomes = try undoing.write([0, 1, 2], on: connection)
      try connection.execute("COMMIT")
      #expect(outcomes[0] == .done && outcomes[1] == .done)
      #expect(outcomes[2] == .left("UNIQUE constraint failed: p.pos"))
      let all = try Self.texts(connection, "SELECT id || ' ' || pos || ' ' || v FROM p ORDER BY 1")
      #expect(all == ["1 1 one", "2 2 two", "3 3 three", "4 4 four"])
      #expect(try Self.texts(connection, "SELECT id || ' ' || p FROM c") == ["7 1"])
    }
  }
}
