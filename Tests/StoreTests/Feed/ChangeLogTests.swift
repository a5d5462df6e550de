import Foundation
import Replication
import SQLite
import Testing

@testable import Store

/// The change log: what it tells, done again, makes the tables.
@Suite struct ChangeLogTests {
  private static let schema = """
    CREATE TABLE item(id TEXT PRIMARY KEY NOT NULL, n INTEGER UNIQUE, v, w AS (n * 2));
    CREATE TABLE line(item TEXT REFERENCES item ON DELETE CASCADE, place INTEGER, v BLOB,
      PRIMARY KEY(item, place)) WITHOUT ROWID;
    """

  private func replicas(_ count: UInt64, pace: Pace = Pace()) throws -> [TestReplica] {
    let all = try (1...count).map {
      try TestReplica(
        $0, schema: Self.schema, tracking: $0 == 1 ? ["item", "line"] : [], pace: pace)
    }
    for other in all.dropFirst() { try other.pull(from: all[0]) }
    return all
  }

  @Test func `nothing is written until somebody asks, nor when nobody has for long`() throws {
    let r = try replicas(1)
    try r[0].write("INSERT INTO item(id) VALUES ('a')")
    try r[0].foldAll()
    let count = { try r[0].value("SELECT sum(count) FROM _flotilla_change").integer ?? 0 }
    #expect(try count() == 0)
    let follower = try Follower(r[0], ["item"])
    try r[0].write("INSERT INTO item(id) VALUES ('b')")
    try r[0].foldAll()
    #expect(try count() == 2)
    try r[0].store.feed.tend(at: ChangeLog.keepLimit)
    #expect(try count() == 2)
    try r[0].store.feed.tend(at: ChangeLog.keepLimit + 1)
    #expect(try count() == 0)
    try r[0].write("INSERT INTO item(id) VALUES ('c')")
    try r[0].foldAll()
    #expect(try count() == 0)
    try follower.expectEqual()
    #expect(follower.resets == 1)
  }

  /// Who reads on as long as there is more would read for ever.
  @Test func `there is no more where the entries are gone that the log should have`() throws {
    let r = try replicas(1)
    let follower = try Follower(r[0], ["item"])
    try r[0].write("INSERT INTO item(id) VALUES ('a'), ('b')")
    try r[0].foldAll()
    try r[0].application.execute("DELETE FROM _flotilla_change WHERE n > 1")
    let page = try r[0].store.feed.changes(after: follower.cursor, limit: 10, at: 0)
    #expect(!page.isAnew && page.changes.isEmpty && !page.hasMore)
  }

  private func text(_ word: String) -> Replication.Value { .text(Array(word.utf8)) }

  @Test func `a change says what the row is, who made it and when`() throws {
    let r = try replicas(2)
    let follower = try Follower(r[0], ["item"])
    try r[0].store.members.note([
      KnownAuthor(origin: r[1].origin, node: r[1].store.node, name: "node-2", life: 1)
    ])
    try r[1].write("INSERT INTO item(id, n, v) VALUES ('a', 1, x'00'), ('b', NULL, 2)")
    try r[0].pull(from: r[1])
    try r[0].write("DELETE FROM item WHERE id = 'b'")
    try r[0].foldAll()
    try follower.follow(limit: 100)
    #expect(follower.told.map(\.table) == ["item", "item"])
    let (a, b) = (follower.told[0], follower.told[1])
    #expect(a.key == ["id": text("a")] && a.author == "node-2" && a.stamp != nil)
    #expect(a.row?.map(\.name) == ["id", "n", "v", "w"])
    #expect(a.row?.map(\.value) == [text("a"), .integer(1), .blob([0]), .integer(2)])
    #expect(b.key == ["id": text("b")] && b.row == nil && b.author == "node-1")
    #expect(a.cursor.number < b.cursor.number && !a.isCertified)
  }

  @Test func `what it tells makes the tables, whatever is written, merged and parked`() throws {
    var random = Seeded(7)
    for round in 0..<12 {
      let r = try replicas(3)
      let followers = try r.map { try Follower($0, ["item", "line"]) }
      for _ in 0..<60 {
        let (i, j) = (Int.random(in: 0..<3, using: &random), Int.random(in: 0..<3, using: &random))
        let (id, n) = (Int.random(in: 0..<6, using: &random), Int.random(in: 0..<4, using: &random))
        switch Int.random(in: 0..<8, using: &random) {
        case 0: try r[i].write("INSERT OR IGNORE INTO item(id, n) VALUES ('\(id)', \(n))")
        case 1: try r[i].write("UPDATE OR IGNORE item SET n = \(n) WHERE id = '\(id)'")
        case 2: try r[i].write("PRAGMA foreign_keys = ON; DELETE FROM item WHERE id = '\(id)'")
        case 3:
          try r[i].write(
            "INSERT OR REPLACE INTO line SELECT id, \(n), randomblob(2) FROM item"
              + " WHERE id = '\(id)'")
        case 4: try r[i].write("DELETE FROM line WHERE place = \(n)")
        case 5: try followers[i].follow(pages: 2, limit: 1 + n)
        default: if i != j { try r[i].pull(from: r[j]) }
        }
        try r[i].foldAll()
      }
      for _ in 0..<3 { for (a, b) in [(0, 1), (1, 2), (2, 0)] { try r[a].exchange(with: r[b]) } }
      for follower in followers {
        try follower.expectEqual("round \(round)")
        #expect(follower.resets == 0)
      }
    }
  }

  @Test func `a rollback leaves no entry, a later commit all`() throws {
    let r = try replicas(1)
    let follower = try Follower(r[0], ["item"])
    try r[0].write("INSERT INTO item(id) VALUES ('a')")
    struct Failure: Error {}
    #expect(throws: StoreError.self) {
      try r[0].store.transaction {
        var edits = r[0].store.beginEdits()
        _ = try r[0].store.foldSlice(&edits, at: r[0].now)
        throw Failure()
      }
    }
    #expect(try r[0].value("SELECT sum(count) FROM _flotilla_change") == .integer(1))
    try r[0].foldAll()
    try follower.expectEqual()
    #expect(follower.told.count == 1 && follower.resets == 0)
  }

  @Test func `a file that was put back, and goes on otherwise, is noticed`() throws {
    let r = try replicas(1)
    let follower = try Follower(r[0], ["item"])
    try r[0].write("INSERT INTO item(id) VALUES ('a')")
    try r[0].foldAll()
    let copy = try r[0].backUp()
    try r[0].write("INSERT INTO item(id) VALUES ('b'), ('c')")
    try r[0].foldAll()
    try follower.follow()
    try r[0].restore(copy)
    try follower.expectEqual()
    #expect(follower.resets == 1)
    try r[0].write("INSERT INTO item(id) VALUES ('d')")
    try r[0].foldAll()
    try follower.follow()
    try r[0].restore(copy)
    // As many entries as before, of another history.
    try r[0].write("INSERT INTO item(id) VALUES ('e')")
    try r[0].foldAll()
    try follower.expectEqual()
    #expect(follower.resets == 2)
  }

  @Test func `a new life of the file begins a new log`() throws {
    let r = try replicas(1)
    // The cursor is in the copy, too; the tables were read later.
    let follower = try Follower(r[0], ["item"])
    let copy = try r[0].backUp()
    try r[0].write("INSERT INTO item(id) VALUES ('read')")
    try r[0].foldAll()
    try r[0].restore(copy)
    try r[0].store.beginLife(
      .restored, origin: Origin(rawValue: 77), life: 77, run: 77, reissuingAbove: nil,
      at: r[0].now)
    try follower.expectEqual()
    #expect(follower.resets == 1)
  }

  @Test func `a schema that changes begins a new log`() throws {
    let r = try replicas(1)
    try r[0].write("INSERT INTO item(id) VALUES ('a')")
    try r[0].foldAll()
    let follower = try Follower(r[0], ["item"])
    for (number, change) in [
      "ALTER TABLE item ADD COLUMN more DEFAULT 3", "ALTER TABLE item RENAME COLUMN v TO value",
      """
      DROP TABLE item;
      CREATE TABLE item(id TEXT PRIMARY KEY NOT NULL, n INTEGER UNIQUE, value, w AS (n * 2), more)
      """,
    ].enumerated() {
      try r[0].write(change)
      try r[0].foldAll()
      try follower.expectEqual(Comment(rawValue: change))
      #expect(follower.resets == number + 1, "\(change)")
    }
    // Nothing of it shows in the tables.
    try r[0].write("CREATE INDEX by_n ON item(n); CREATE TABLE other(x)")
    try r[0].foldAll()
    try follower.expectEqual()
    #expect(follower.resets == 3)
  }

  @Test func `only so much is kept, and who lacks more is told`() throws {
    var pace = Pace()
    pace.changes = 100
    let r = try replicas(1, pace: pace)
    let late = try Follower(r[0], ["item"])
    let early = try Follower(r[0], ["item"])
    for number in 0..<400 {
      try r[0].write("INSERT OR REPLACE INTO item(id, v) VALUES ('\(number % 7)', \(number))")
      try r[0].foldAll()
      if number % 50 == 0 { try early.follow() }
    }
    let count = try #require(try r[0].value("SELECT sum(count) FROM _flotilla_change").integer)
    #expect(count >= 100 && count < 120)
    try early.expectEqual()
    try late.expectEqual()
    #expect(early.resets == 0 && late.resets == 1)
  }

  @Test func `a long row is named without its values`() throws {
    let r = try replicas(1)
    let follower = try Follower(r[0], ["item"])
    try r[0].write("INSERT INTO item(id, v) VALUES ('a', zeroblob(\(ChangeFeed.longestChange)))")
    try r[0].foldAll()
    try follower.follow()
    #expect(follower.told.map(\.isTooLarge) == [true] && follower.told[0].row == nil)
  }

  @Test(
    arguments: [
      "n = 9223372036854775807", "n = -9223372036854775808", "count = 9223372036854775807",
      "count = -1", "count = 'x'", "mark = NULL", "mark = -1", "rows = zeroblob(8)",
      "rows = x'FFFFFFFFFFFFFFFF'", "rows = 'text'", "n = 1 << 62",
    ])
  func `a log that somebody else has written ends nothing`(change: String) throws {
    let r = try replicas(1)
    let follower = try Follower(r[0], ["item"])
    try r[0].write("INSERT INTO item(id) VALUES ('a'), ('b')")
    try r[0].foldAll()
    for place in ["ORDER BY n", "ORDER BY n DESC"] {
      try? r[0].write(
        """
        UPDATE _flotilla_change SET \(change)
        WHERE n = (SELECT n FROM _flotilla_change \(place) LIMIT 1)
        """
      )
      try r[0].reopen()
      for number in [Int64.max, 1, 2, 3] {
        _ = try r[0].store.feed.changes(
          after: ChangeCursor(number: number, mark: 1), limit: 9, at: .max >> 2)
      }
      try r[0].write("INSERT OR REPLACE INTO item(id, v) VALUES ('c', hex(randomblob(4)))")
      try r[0].foldAll()
      try r[0].store.feed.tend(at: 0)
    }
    try follower.follow()
    try r[0].write("INSERT INTO item(id) VALUES ('d')")
    try r[0].foldAll()
    try follower.expectEqual()
  }

  @Test(
    arguments: ["", "1", "1.", ".1", "0.1", "-1.1", "1.1.1", "1.g", "01.1", "1.0", "1.-1", "1.A"])
  func `other text is no cursor`(text: String) {
    #expect(ChangeCursor(text) == nil)
  }

  @Test func `a cursor is read as it was written`() {
    let cursor = ChangeCursor(number: .max, mark: 0x7FFF_FFFF_FFFF)
    #expect(ChangeCursor(cursor.description) == cursor)
  }
}
