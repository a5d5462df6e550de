import Replication
import Testing

@testable import Store

/// One migration makes a table on each machine, and a second one renames it. A machine on which
/// nobody has looked between the two tracks it under its later name, as a table of its own.
@Suite struct TwoNamesTests {
  private static let schema = "CREATE TABLE book(id TEXT PRIMARY KEY, title TEXT);"
  private static let made = """
    CREATE TABLE pub(id INTEGER PRIMARY KEY, ref TEXT UNIQUE);
    ALTER TABLE book ADD COLUMN pub INTEGER REFERENCES pub(id);
    """
  private static let renamed = "ALTER TABLE pub RENAME TO publ;"

  /// The first and the second go apart, each with a publisher 1 and a book of it. Further ones have
  /// no table yet.
  private func site(_ count: Int = 2) throws -> [TestReplica] {
    let r = try (1...count).map {
      try TestReplica(UInt64($0), schema: Self.schema, isJoining: false)
    }
    try r[0].store.track(["book"], rule: nil, takesNew: true, at: r[0].now)
    try r[0].foldAll()
    for replica in r.dropFirst() { try replica.pull(from: r[0]) }
    return r
  }

  private func write(_ replica: TestReplica, _ table: String, _ name: String) throws {
    try replica.write(
      """
      INSERT INTO \(table)(ref) VALUES ('\(name)');
      INSERT INTO book(id, title, pub)
      SELECT ref, 'by ' || ref, id FROM \(table) WHERE ref = '\(name)';
      """)
    try replica.foldAll()
    try replica.store.track([table], rule: nil, at: replica.now)
    try replica.foldAll()
  }

  private func rename(_ replica: TestReplica) throws {
    try replica.write(Self.renamed)
    try replica.foldAll()
  }

  private func meet(_ r: [TestReplica], times: Int = 3) throws {
    for _ in 1...times {
      for first in r {
        for second in r where first !== second {
          try first.pull(from: second)
          try first.foldAll()
        }
      }
    }
  }

  /// Each book hangs under its own publisher, or is not shown.
  private func expectNoStranger(_ replica: TestReplica, _ table: String) throws {
    let books = try replica.prepareRows(
      "SELECT b.id || ' ' || p.ref FROM book AS b JOIN \(table) AS p ON p.id = b.pub")
    #expect(books.allSatisfy { $0 == "Ann Ann" || $0 == "Bob Bob" || $0 == "Eve Eve" })
  }

  private func check(_ r: [TestReplica], _ names: [String]) throws {
    for replica in r {
      #expect(
        try replica.prepareRows(
          "SELECT b.id || ' ' || p.ref FROM book b JOIN publ p ON p.id = b.pub ORDER BY 1")
          == names.map { "\($0) \($0)" })
      #expect(try replica.prepareRows("SELECT ref FROM publ ORDER BY 1") == names)
      #expect(try replica.content("publ") == r[0].content("publ"))
      #expect(try replica.content("book") == r[0].content("book"))
      #expect(replica.store.position.digest == r[0].store.position.digest)
      let tracked = try replica.prepareRows(
        "SELECT name FROM _flotilla_table WHERE name LIKE 'pub%'")
      #expect(tracked == ["pub"])
      #expect(try replica.prepareRows("SELECT key FROM _flotilla_shelf") == [])
    }
  }

  @Test(arguments: [false, true])
  func `each book stays with its publisher where both rename before they meet`(
    firstLast: Bool
  ) throws {
    let r = try site()
    let (a, b) = firstLast ? (r[0], r[1]) : (r[1], r[0])
    try b.write(Self.made)
    try write(b, "pub", "Bob")
    try a.write(Self.made + Self.renamed)
    try write(a, "publ", "Ann")
    try rename(b)
    try meet(r)
    try check(r, ["Ann", "Bob"])
  }

  @Test(arguments: [false, true])
  func `and where they meet before the other one renames`(firstLast: Bool) throws {
    let r = try site()
    let (a, b) = firstLast ? (r[0], r[1]) : (r[1], r[0])
    try a.write(Self.made + Self.renamed)
    try write(a, "publ", "Ann")
    try b.write(Self.made)
    try write(b, "pub", "Bob")
    try meet(r)
    try expectNoStranger(a, "publ")
    try expectNoStranger(b, "pub")
    try rename(b)
    try meet(r)
    try check(r, ["Ann", "Bob"])
  }

  /// Two machines have looked late, and know each other's rows by then. Of what one of them has
  /// written over since, or deleted, the other one has a copy that is older.
  @Test func `rows that two had under the later name are as old as they were`() throws {
    let r = try site(4)
    try r[0].write(Self.made + Self.renamed)
    try write(r[0], "publ", "Ann")
    try r[3].write(Self.made + Self.renamed)
    try r[3].foldAll()
    try meet([r[0], r[3]])
    try write(r[3], "publ", "Eve 2")
    try r[0].write("UPDATE publ SET ref = 'Anna' WHERE id = 1")
    try r[0].foldAll()
    try r[1].write(Self.made)
    try write(r[1], "pub", "Bob")
    try rename(r[1])
    try r[2].write(Self.made + Self.renamed)
    try r[2].foldAll()
    for _ in 1...3 { try meet([r[1], r[3]], times: 1); try meet([r[0], r[2]], times: 1) }
    try meet(r)
    for replica in r {
      let books = try replica.prepareRows(
        "SELECT b.id || ' ' || p.ref FROM book b JOIN publ p ON p.id = b.pub ORDER BY 1")
      #expect(books == ["Ann Anna", "Bob Bob", "Eve 2 Eve 2"])
      let names = try replica.prepareRows("SELECT ref FROM publ ORDER BY 1")
      #expect(names == ["Anna", "Bob", "Eve 2"])
      #expect(try replica.content("publ") == r[0].content("publ"))
      #expect(replica.store.position.digest == r[0].store.position.digest)
    }
  }

  /// Nobody renames at the other machine, so that somebody says which table it is.
  @Test func `a person says which table it is`() throws {
    let r = try site()
    try r[0].write(Self.made + Self.renamed)
    try write(r[0], "publ", "Ann")
    try r[1].write(Self.made)
    try write(r[1], "pub", "Bob")
    try meet(r)
    try r[0].store.nameTable("pub", "publ", at: r[0].now)
    try r[0].foldAll()
    try meet(r)
    for (replica, name) in [(r[0], "publ"), (r[1], "pub")] {
      let books = try replica.prepareRows(
        "SELECT b.id || ' ' || p.ref FROM book b JOIN \(name) p ON p.id = b.pub ORDER BY 1")
      #expect(books == ["Ann Ann", "Bob Bob"])
      #expect(replica.store.position.digest == r[0].store.position.digest)
    }
    try rename(r[1])
    try meet(r)
    try check(r, ["Ann", "Bob"])
  }
}
