import Replication
import SQLite
import Testing

@testable import Store

/// A column that is dropped or renamed at one node changes no row, neither here nor elsewhere.
@Suite struct DroppedColumnTests {
  static let notes = [
    TestTable(
      name: "note", sql: "(id TEXT PRIMARY KEY NOT NULL, n INTEGER, c TEXT)",
      key: [("id", ["'a'"])], collations: [.binary], columns: ["n", "c"])
  ]

  /// All hold the rows a to c, but for the last, which has not heard of them.
  func replicas(_ slice: Int = 500) throws -> [TestReplica] {
    var pace = Pace()
    pace.comparedRows = slice
    let r = try (1...4).map {
      try TestReplica(
        $0, schema: "CREATE TABLE note\(Self.notes[0].sql)", tracking: $0 == 1 ? ["note"] : [],
        pace: pace)
    }
    for replica in r.dropFirst() { try replica.pull(from: r[0]) }
    try r[0].write("INSERT INTO note VALUES ('a', 1, 'x'), ('b', 2, 'y'), ('c', 3, NULL)")
    for replica in r[1...2] { try replica.pull(from: r[0]) }
    return r
  }

  @Test(arguments: [1, 500])
  func `an edit by who has dropped a column keeps it where it is`(slice: Int) throws {
    let r = try replicas(slice)
    let before = r[1].store.position
    try r[1].write("ALTER TABLE note DROP COLUMN c")
    try r[1].foldAll()
    #expect(r[1].store.position.frontier == before.frontier)
    #expect(r[1].store.position.digest == before.digest)
    try r[1].write("UPDATE note SET n = n + 10")
    for replica in [r[0], r[2]] { try replica.pull(from: r[1]) }
    for replica in [r[0], r[2]] {
      #expect(
        try replica.prepareRows("SELECT id || n || coalesce(c, '-') FROM note ORDER BY id")
          == ["a11x", "b12y", "c13-"])
    }
    try r[0].write("UPDATE note SET c = 'new' WHERE id = 'b'")
    try r[1].pull(from: r[0])
    try r[1].write("UPDATE note SET n = 0 WHERE id = 'b'")
    try r[2].pull(from: r[1])
    #expect(try r[2].value("SELECT c || n FROM note WHERE id = 'b'") == .string("new0"))
  }

  /// What migration tools do to change a column: what is kept beside the rows stays there.
  @Test func `a table made anew keeps what was kept for columns dropped before`() throws {
    let r = try replicas()
    try r[1].write("ALTER TABLE note DROP COLUMN c")
    try r[1].foldAll()
    let before = r[1].store.position
    try r[1].write(
      """
      BEGIN; CREATE TABLE new__note(id TEXT PRIMARY KEY NOT NULL, n INTEGER DEFAULT 0);
      INSERT INTO new__note SELECT id, n FROM note; DROP TABLE note;
      ALTER TABLE new__note RENAME TO note; COMMIT
      """)
    try r[1].foldAll()
    #expect(r[1].store.position.frontier == before.frontier)
    try r[1].write("UPDATE note SET n = n + 10")
    for replica in [r[0], r[2]] {
      try replica.pull(from: r[1])
      #expect(
        try replica.prepareRows("SELECT id || n || coalesce(c, '-') FROM note ORDER BY id")
          == ["a11x", "b12y", "c13-"])
    }
  }

  @Test func `what was kept for a dropped column can be let go without a new version`() throws {
    let r = try replicas()
    try r[1].write("ALTER TABLE note DROP COLUMN c")
    try r[1].foldAll()
    try r[0].write("UPDATE note SET c = 'kept' WHERE id = 'a'; ALTER TABLE note ADD COLUMN z")
    try r[0].write("UPDATE note SET z = 'late' WHERE id = 'b'")
    try r[1].pull(from: r[0])
    // What came as "c" is known by its name, "z" may still come, of "c" in row b only the share.
    #expect(
      try r[1].store.columns.kept() == [
        KeptColumns(table: "note", fate: .notHereYet, columns: ["z"], rows: 1),
        KeptColumns(table: "note", fate: .dropped, columns: ["c"], rows: 2),
      ])
    let before = r[1].store.position
    #expect(try r[1].store.columns.letGo(of: "c", in: "note") == 2)
    #expect(try r[1].store.columns.letGo(of: "c", in: "note") == 0)
    #expect(
      try r[1].store.columns.kept() == [
        KeptColumns(table: "note", fate: .notHereYet, columns: ["z"], rows: 1),
        KeptColumns(table: "note", fate: .letGo, columns: [], rows: 1),
      ])
    try r[1].store.repair()
    try r[1].foldAll()
    #expect(r[1].store.position.frontier == before.frontier)
    #expect(r[1].store.position.digest == before.digest)
    try r[1].write("UPDATE note SET n = 7; ALTER TABLE note ADD COLUMN z")
    try r[0].pull(from: r[1])
    #expect(
      try r[0].prepareRows("SELECT id || n || coalesce(c, '-') || coalesce(z, '-') FROM note")
        .sorted() == ["a7kept-", "b7ylate", "c7--"])
    try r[1].foldAll()
    #expect(try r[1].value("SELECT z FROM note WHERE id = 'b'") == .string("late"))
  }

  @Test func `a column that comes back is not dropped any more`() throws {
    let r = try replicas()
    try r[1].write("ALTER TABLE note DROP COLUMN c")
    try r[1].foldAll()
    try r[0].write("UPDATE note SET c = 'new'")
    try r[1].pull(from: r[0])
    #expect(try r[1].store.columns.kept().map(\.fate) == [.dropped])
    try r[1].write("ALTER TABLE note ADD COLUMN c")
    try r[1].foldAll()
    #expect(try r[1].store.columns.kept() == [])
    #expect(try r[1].value("SELECT group_concat(c) FROM note") == .string("new,new,new"))
    #expect(try r[1].store.columns.letGo(of: "c", in: "note") == 0)
  }

  @Test func `a column that all drop costs nothing, and who comes later gets the rows`() throws {
    let r = try replicas()
    let frontier = r[0].store.position.frontier
    for replica in r {
      try replica.write("ALTER TABLE note DROP COLUMN c")
      try replica.foldAll()
    }
    #expect(r[2].store.position.frontier == frontier)
    try r[3].pull(from: r[1])
    #expect(try r[3].content("note") == r[0].content("note"))
    try r[3].write("UPDATE note SET n = 7 WHERE id = 'a'")
    for replica in r.prefix(3) { try replica.pull(from: r[3]) }
    let faults = try Verdict(r, Self.notes, shelves: true).faults
    #expect(faults == [])
    #expect(try r[0].content("note") == r[3].content("note"))
  }

  @Test func `a column that is renamed at one node after the other stays equal`() throws {
    let r = try replicas()
    for (number, replica) in r.enumerated() {
      try replica.write("ALTER TABLE note RENAME COLUMN c TO d")
      try replica.foldAll()
      if number == 1 { try r[3].pull(from: r[1]) }
    }
    // Each that had not heard of it has told the site of the rename.
    for _ in 0..<2 {
      for replica in r { for other in r where other !== replica { try replica.pull(from: other) } }
    }
    let faults = try Verdict(r, Self.notes, shelves: true).faults
    #expect(faults == [])
    for replica in r {
      #expect(try replica.content("note") == r[0].content("note"))
    }
    try r[3].write("UPDATE note SET d = 'late' WHERE id = 'a'")
    for replica in r.prefix(3) { try replica.pull(from: r[3]) }
    for replica in r {
      #expect(try replica.value("SELECT d FROM note WHERE id = 'a'") == .string("late"))
    }
  }

  @Test func `rows that were edited before a column went keep their edit`() throws {
    let r = try replicas()
    try r[1].write("UPDATE note SET n = 9 WHERE id = 'a'; ALTER TABLE note DROP COLUMN c")
    for replica in [r[0], r[2]] { try replica.pull(from: r[1]) }
    #expect(try r[0].value("SELECT n FROM note WHERE id = 'a'") == .integer(9))
    #expect(try r[0].value("SELECT c FROM note WHERE id = 'b'") == .string("y"))
    #expect(r[0].store.position.digest == r[1].store.position.digest)
    #expect(try r[0].content("note") == r[2].content("note"))
  }
  /// The values that one machine dropped with its column, and another never got, come by name.
  @Test(arguments: [1, 2]) func `values of a column that is here again come from others`(
    limit: Int
  ) throws {
    let r = try replicas()
    try r[1].write("ALTER TABLE note DROP COLUMN c")
    try r[1].foldAll()
    try r[3].pull(from: r[1])
    try r[1].write("ALTER TABLE note ADD COLUMN c TEXT")
    try r[1].foldAll()
    for replica in [r[1], r[3]] {
      let before = replica.store.position
      #expect(try replica.value("SELECT c FROM note WHERE id = 'a'") == .null)
      var count = 0
      // What another one lacks as well does not help.
      for sender in [r[3], r[0]] {
        var last: Replication.RowName?
        while true {
          let rows = try replica.store.columns.incompleteRows(after: last, limit: limit)
          guard let end = rows.last else { break }
          (last, count) = (end, count + rows.count)
          let (_, batches) = try sender.export(.rows(rows))
          try replica.merge(batches, .repair, from: sender)
        }
      }
      #expect(count > 1)
      #expect(try replica.store.columns.incompleteRows(after: nil).isEmpty)
      #expect(try replica.value("SELECT c FROM note WHERE id = 'a'") == .string("x"))
      #expect(replica.store.position.frontier == before.frontier)
      #expect(replica.store.position.digest == before.digest)
    }
    for replica in r { #expect(try replica.content("note") == r[0].content("note")) }
  }

  @Test(arguments: ["TEXT", "TEXT DEFAULT '-'"])
  func `an edit by who has added a column again keeps what others have in it`(
    column: String
  ) throws {
    let r = try replicas()
    try r[1].write("ALTER TABLE note DROP COLUMN c; ALTER TABLE note ADD COLUMN d INTEGER")
    try r[1].foldAll()
    for replica in [r[0], r[2]] { try replica.write("ALTER TABLE note ADD COLUMN d INTEGER") }
    try r[1].write("ALTER TABLE note ADD COLUMN c \(column)")
    try r[1].foldAll()
    try r[1].write("UPDATE note SET n = n + 10, d = 1 WHERE id = 'a'")
    try r[1].write("UPDATE note SET c = 'mine' WHERE id = 'b'")
    for _ in 0..<2 {
      for replica in [r[0], r[2]] { try replica.pull(from: r[1]) }
      #expect(
        try r[0].prepareRows("SELECT id || n || c || ifnull(d, '') FROM note WHERE id < 'c'")
          == ["a11x1", "b2mine"])
      #expect(try r[0].content("note") == r[2].content("note"))
    }
    // And from there it comes back.
    try r[0].write("UPDATE note SET n = 12 WHERE id = 'a'")
    try r[1].pull(from: r[0])
    #expect(try r[1].value("SELECT n || c FROM note WHERE id = 'a'") == .string("12x"))
  }
}
