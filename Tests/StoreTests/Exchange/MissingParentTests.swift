import Replication
import SQLite
import Testing

@testable import Store

/// A node takes a row out of its table, or puts some into it, without what refers to that or what
/// that refers to. What stands then is decided as everywhere: a row without its parent waits.
@Suite struct MissingParentTests {
  private func replicas(_ type: String) throws -> [TestReplica] {
    let schema = """
      CREATE TABLE cust(id \(type) PRIMARY KEY NOT NULL, n TEXT);
      CREATE TABLE ord(id INTEGER PRIMARY KEY, cust \(type) NOT NULL REFERENCES cust(id), v TEXT)
      """
    let r = try (1...2).map {
      try TestReplica(UInt64($0), schema: schema, tracking: $0 == 1 ? ["cust", "ord"] : [])
    }
    for replica in r { try replica.write("PRAGMA foreign_keys = ON") }
    try r[0].write("INSERT INTO cust VALUES (1, 'one')")
    try settle(r)
    return r
  }

  private func settle(_ r: [TestReplica]) throws {
    for _ in 0..<3 {
      try r[0].exchange(with: r[1])
      for replica in r { try replica.foldAll() }
    }
  }

  private func orders(_ replica: TestReplica) throws -> [String] {
    try replica.application.prepareRows(
      "SELECT v || ':' || coalesce(n, '-') FROM ord LEFT JOIN cust ON cust.id = ord.cust")
  }

  private func waiting(_ replica: TestReplica) throws -> [String] {
    try replica.application.prepareRows("SELECT why FROM _flotilla_shelf ORDER BY key")
  }

  /// Who may only read the customers writes one, and an order of his. The customer is taken out;
  /// the order is of nobody, and never of who gets the number next.
  @Test(arguments: ["INTEGER", "TEXT"], [Right.write, .read, .none])
  func `what refers to a row that was refused waits everywhere`(
    type: String, before: Right
  ) throws {
    let r = try replicas(type)
    let rights = Rights(tables: ["cust": .read])
    let early = Rights(tables: ["cust": before])
    try r[1].store.allow(early, delivered: 1 << 62, at: r[1].now)
    try r[1].write(
      "BEGIN; INSERT INTO cust VALUES (2, 'Bob'); INSERT INTO ord(cust, v) VALUES (2, 'o'); COMMIT")
    try r[1].foldAll()
    try r[1].store.allow(rights, delivered: 0, at: r[1].now)
    try r[1].foldAll()
    for _ in 0..<3 {
      try r[0].merge(
        r[1].export(.above(r[0].store.position.frontier), filter: ExportFilter(sender: rights)).1,
        .full(covers: r[1].store.position.frontier), from: r[1])
      try r[1].pull(from: r[0])
      for replica in r { try replica.foldAll() }
    }
    for replica in r {
      #expect(try orders(replica) == [])
      #expect(try waiting(replica) == ["reference"])
    }
    try r[0].write("INSERT INTO cust VALUES (2, 'Alice')")
    try settle(r)
    for replica in r {
      #expect(try orders(replica) == (type == "TEXT" ? ["o:Alice"] : []))
      #expect(try waiting(replica) == (type == "TEXT" ? [] : ["reference"]))
      #expect(try replica.application.rows("PRAGMA foreign_key_check").isEmpty)
    }
    #expect(r[0].store.position.digest == r[1].store.position.digest)
  }

  /// An order waits for a customer who was deleted. While the customers are not replicated it comes
  /// in, for then nobody knows who is missing; and it waits again when they are, if it says whom it
  /// means. Who has only the key of the customer means whoever has that.
  @Test(arguments: ["INTEGER", "TEXT"])
  func `what waited waits again when its parents are replicated again`(type: String) throws {
    let r = try replicas(type)
    try r[0].write("INSERT INTO cust VALUES (2, 'Bob')")
    try settle(r)
    try r[1].write("INSERT INTO ord(cust, v) VALUES (2, 'o')")
    try r[0].write("DELETE FROM cust WHERE id = 2")
    try settle(r)
    for replica in r { #expect(try waiting(replica) == ["reference"]) }
    try r[0].store.untrack(["cust"], at: r[0].now)
    try settle(r)
    for replica in r { #expect(try orders(replica) == ["o:-"]) }
    try r[0].store.track(["cust"], rule: nil, at: r[0].now)
    try settle(r)
    for replica in r {
      #expect(try orders(replica) == (type == "TEXT" ? ["o:-"] : []))
      #expect(try waiting(replica) == (type == "TEXT" ? [] : ["reference"]))
    }
    try r[0].write("INSERT INTO cust VALUES (2, 'Alice')")
    try settle(r)
    for replica in r {
      #expect(try orders(replica) == (type == "TEXT" ? ["o:Alice"] : []))
      #expect(try replica.application.rows("PRAGMA foreign_key_check").isEmpty)
    }
    #expect(r[0].store.position.digest == r[1].store.position.digest)
  }

  /// A program with foreign keys off has left an order without its customer: that stays, also for
  /// who looks at it after a migration.
  @Test func `what a program has broken stays`() throws {
    let r = try replicas("INTEGER")
    try r[1].write("PRAGMA foreign_keys = OFF; INSERT INTO ord(cust, v) VALUES (9, 'o')")
    try settle(r)
    try r[1].write("ALTER TABLE ord ADD COLUMN two REFERENCES cust(id)")
    try settle(r)
    for replica in r { #expect(try orders(replica) == ["o:-"]) }
  }

  /// The same if the customers are replicated later than the orders.
  @Test func `what was broken before its parents were replicated stays`() throws {
    let schema = """
      CREATE TABLE cust(id INTEGER PRIMARY KEY, n TEXT);
      CREATE TABLE ord(id INTEGER PRIMARY KEY, cust INTEGER REFERENCES cust(id), v TEXT);
      """
    let r = try (1...2).map {
      try TestReplica(UInt64($0), schema: schema, tracking: $0 == 1 ? ["ord"] : [])
    }
    try r[0].write("INSERT INTO ord VALUES (1, 9, 'o')")
    try settle(r)
    try r[0].store.track(["cust"], rule: nil, at: r[0].now)
    try settle(r)
    for replica in r { #expect(try orders(replica) == ["o:-"]) }
  }

  /// Both make a customer of their own under one number while customers are not replicated, and an
  /// order of his. When they are again each order is under its own customer.
  @Test(arguments: [false, true], [false, true])
  func `rows made between untrack and track keep what refers to them`(
    takesNew: Bool, wasEmpty: Bool
  ) throws {
    let r = try replicas("INTEGER")
    if wasEmpty { try r[0].write("DELETE FROM cust") }
    try settle(r)
    if takesNew { try r[0].store.track([], rule: nil, takesNew: true, at: r[0].now) }
    try r[0].store.untrack(["cust"], at: r[0].now)
    try settle(r)
    for (replica, name) in zip(r, ["Ann", "Bob"]) {
      try replica.write(
        "INSERT INTO cust VALUES (2, '\(name)'); INSERT INTO ord(cust, v) VALUES (2, 'for \(name)')"
      )
      try replica.foldAll()
      // What was there before is as old as it was.
      try replica.write("UPDATE cust SET n = n || '\(name)' WHERE id = 1")
      try replica.foldAll()
    }
    try settle(r)
    try r[0].store.track(["cust"], rule: nil, at: r[0].now)
    for _ in 1...3 { try settle(r) }
    for replica in r {
      #expect(try orders(replica).sorted() == ["for Ann:Ann", "for Bob:Bob"])
      #expect(
        try replica.value("SELECT n FROM cust WHERE id = 1")
          == (wasEmpty ? .null : .string("oneAnn")))
    }
    #expect(r[0].store.position.digest == r[1].store.position.digest)
  }
}
