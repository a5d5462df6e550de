import Replication
import SQLite
import Testing

@testable import Store

/// Foreign keys between tracked tables, without an anchor: rows wait for what they refer to.
@Suite struct `References` {
  private static let shop = """
    CREATE TABLE customer(id TEXT PRIMARY KEY NOT NULL, name TEXT UNIQUE);
    CREATE TABLE invoice(
      id TEXT PRIMARY KEY NOT NULL, note TEXT,
      customer TEXT REFERENCES customer ON DELETE CASCADE ON UPDATE CASCADE);
    CREATE TABLE line(
      id TEXT PRIMARY KEY NOT NULL, invoice TEXT NOT NULL REFERENCES invoice(id) ON DELETE CASCADE);
    """

  private func pair(_ schema: String, _ tables: [String]) throws -> [TestReplica] {
    let first = try TestReplica(1, schema: schema, tracking: tables)
    let second = try TestReplica(2, schema: schema)
    for replica in [first, second] { try replica.write("PRAGMA foreign_keys = ON") }
    try second.exchange(with: first)
    return [first, second]
  }

  private func shop() throws -> [TestReplica] {
    let replicas = try pair(Self.shop, ["customer", "invoice", "line"])
    try replicas[0].write("INSERT INTO customer VALUES ('c', 'Ann')")
    try replicas[0].write("INSERT INTO invoice VALUES ('i', 'old', 'c')")
    try meet(replicas)
    return replicas
  }

  private func meet(_ replicas: [TestReplica]) throws {
    for _ in 0..<2 {
      for replica in replicas { try replica.foldAll() }
      for other in replicas.dropFirst() { try replicas[0].exchange(with: other) }
    }
    for replica in replicas { try replica.foldAll() }
  }

  /// What foreign_key_check finds, and how many rows wait.
  private func state(_ replica: TestReplica) throws -> [Int] {
    let broken = try replica.application.rows("PRAGMA foreign_key_check").count
    return [broken, try replica.store.survey.figures().parked]
  }

  @Test func `wait while the rows of a table that was created anew are not here again`() throws {
    let replicas = try shop()
    try replicas[1].write(
      "PRAGMA foreign_keys = OFF; BEGIN; DROP TABLE customer;"
        + "CREATE TABLE customer(id TEXT PRIMARY KEY NOT NULL, name TEXT UNIQUE); COMMIT")
    try replicas[1].foldAll()
    #expect(try state(replicas[1]) == [0, 1])
    try replicas[0].pull(from: replicas[1])
    #expect(try state(replicas[0]) == [0, 0])
    try replicas[1].repair(from: replicas[0])
    #expect(try state(replicas[1]) == [0, 0])
    #expect(try replicas[1].content("customer") == replicas[0].content("customer"))
    #expect(try replicas[1].content("invoice").count == 1)
  }

  @Test func `hold when values enter a column by which rows refer to others`() throws {
    let replicas = try shop()
    try replicas[1].write("INSERT INTO line VALUES ('l', 'i')")
    try meet(replicas)
    let column = "ALTER TABLE invoice ADD COLUMN payer TEXT REFERENCES customer"
    try replicas[0].write(column)
    try replicas[0].write("INSERT INTO customer VALUES ('p', 'Pam')")
    try replicas[0].write("UPDATE invoice SET payer = 'p'")
    try meet(replicas)
    // Here nothing refers to Pam yet.
    try replicas[1].write("DELETE FROM customer WHERE id = 'p'")
    try replicas[1].foldAll()
    try replicas[1].write(column)
    // The schema is looked at when a file is opened; nothing is folded by that.
    try replicas[1].reopen()
    #expect(try replicas[1].application.rows("PRAGMA foreign_key_check").isEmpty)
    try meet(replicas)
    for replica in replicas { #expect(try state(replica) == [0, 2]) }
    try replicas[0].write("INSERT INTO customer VALUES ('p', 'Pam again')")
    try meet(replicas)
    for replica in replicas {
      #expect(try state(replica) == [0, 0])
      #expect(try replica.value("SELECT payer FROM invoice") == .text(Array("p".utf8)))
      #expect(try replica.value("SELECT count(*) FROM line") == .integer(1))
    }
  }

  @Test func `hold when one deletes a customer and another one orders for it`() throws {
    let replicas = try shop()
    try replicas[0].write("DELETE FROM customer")
    try replicas[1].write("INSERT INTO invoice VALUES ('j', 'new', 'c')")
    try replicas[1].write("INSERT INTO line VALUES ('l', 'j')")
    try meet(replicas)
    for replica in replicas {
      #expect(try state(replica) == [0, 2])
      #expect(try replica.content("invoice") == [])
    }
    // The customer comes back, and with it all that waits.
    try replicas[1].write("INSERT INTO customer VALUES ('c', 'Ann again')")
    try meet(replicas)
    for replica in replicas {
      #expect(try state(replica) == [0, 0])
      #expect(try replica.value("SELECT count(*) FROM line") == .integer(1))
    }
  }

  @Test func `wait across a restart`() throws {
    let replicas = try shop()
    try replicas[0].write("DELETE FROM customer")
    try replicas[1].write("INSERT INTO invoice VALUES ('j', 'new', 'c')")
    try meet(replicas)
    try replicas[0].reopen()
    try replicas[0].foldAll()
    #expect(try state(replicas[0]) == [0, 1])
    try replicas[0].write("INSERT INTO customer VALUES ('c', 'back')")
    try replicas[0].foldAll()
    #expect(try state(replicas[0]) == [0, 0])
    // Also if nobody was there when the customer came back.
    try meet(replicas)
    try replicas[0].write("DELETE FROM invoice; DELETE FROM customer")
    try replicas[1].write("INSERT INTO invoice VALUES ('k', 'new', 'c')")
    try meet(replicas)
    #expect(try state(replicas[0]) == [0, 1])
    try replicas[0].write("INSERT INTO customer VALUES ('c', 'third')")
    try replicas[0].reopen()
    try replicas[0].foldAll()
    #expect(try state(replicas[0]) == [0, 0])
  }

  @Test func `stay broken where a program has broken them`() throws {
    let replicas = try shop()
    try replicas[0].write("PRAGMA foreign_keys = OFF")
    try replicas[0].write("DELETE FROM customer")
    try replicas[0].write("INSERT INTO line VALUES ('l', 'nothing')")
    try meet(replicas)
    for replica in replicas {
      #expect(try state(replica) == [2, 0])
      #expect(try replica.version("i", in: "invoice")?.isDangling == true)
    }
    // Another column, written by a program that keeps foreign keys.
    try replicas[1].write("UPDATE invoice SET note = 'edited'")
    try meet(replicas)
    #expect(try state(replicas[0]) == [2, 0])
  }

  @Test func `that were broken before are those of the site`() throws {
    let schema = Self.shop + "INSERT INTO invoice VALUES ('i', 'lost', 'nobody');"
    let first = try TestReplica(1, schema: schema, tracking: ["customer", "invoice", "line"])
    let second = try TestReplica(2, schema: Self.shop)
    try second.exchange(with: first)
    for replica in [first, second] { #expect(try state(replica) == [1, 0]) }
  }

  @Test func `of rows that refer to each other hold together`() throws {
    let schema = """
      CREATE TABLE team(
        id INTEGER PRIMARY KEY, captain INTEGER REFERENCES player DEFERRABLE INITIALLY DEFERRED);
      CREATE TABLE player(id INTEGER PRIMARY KEY, team INTEGER NOT NULL REFERENCES team,
        mentor INTEGER REFERENCES player);
      """
    let replicas = try pair(schema, ["team", "player"])
    try replicas[0].write(
      "BEGIN; INSERT INTO team VALUES (1, 10); INSERT INTO player VALUES (10, 1, 10); COMMIT")
    try meet(replicas)
    for replica in replicas { #expect(try state(replica) == [0, 0]) }
    try replicas[0].write(
      "BEGIN; PRAGMA defer_foreign_keys = ON; DELETE FROM player; DELETE FROM team; COMMIT")
    try replicas[0].foldAll()
    replicas[1].clock = replicas[0].clock + 1_000
    try replicas[1].write("INSERT INTO player VALUES (11, 1, 10)")
    try replicas[1].write("UPDATE team SET captain = 11")
    try meet(replicas)
    // The team was edited last, so it is there; its captain refers to a mentor who is not.
    for replica in replicas { #expect(try state(replica) == [0, 2]) }
    try replicas[0].write("BEGIN; INSERT INTO team VALUES (2, NULL)")
    try replicas[0].write("INSERT INTO player VALUES (10, 2, NULL); COMMIT")
    try meet(replicas)
    // The next row of the number is another one, and nobody's mentor.
    for replica in replicas { #expect(try state(replica) == [0, 2]) }
  }

  @Test func `compare as the parent's columns do`() throws {
    let schema = """
      CREATE TABLE p(a TEXT COLLATE NOCASE, b INTEGER, c REAL, PRIMARY KEY(a, b), UNIQUE(c));
      CREATE TABLE k(id INTEGER PRIMARY KEY, a INTEGER, b TEXT, c TEXT REFERENCES p(c),
        FOREIGN KEY(a, b) REFERENCES p(a, b) ON UPDATE SET NULL ON DELETE SET NULL);
      """
    let replicas = try pair(schema, ["p", "k"])
    try replicas[0].write("INSERT INTO p VALUES ('5', 7, 1.5), ('Ab', 8, 2)")
    try replicas[0].write("INSERT INTO k VALUES (1, 5, '7', '1.5'), (2, 'aB', '08', '2.0')")
    try replicas[0].write("INSERT INTO k VALUES (3, 5, NULL, NULL), (4, NULL, 'x', '2')")
    try meet(replicas)
    for replica in replicas { #expect(try state(replica) == [0, 0]) }
    try replicas[0].write("DELETE FROM k WHERE id IN (2, 4); DELETE FROM p WHERE b = 8")
    try replicas[1].write("INSERT INTO k VALUES (9, 'AB', '8', NULL), (10, NULL, NULL, '2')")
    try meet(replicas)
    for replica in replicas { #expect(try state(replica) == [0, 2]) }
    try replicas[0].write("INSERT INTO p VALUES ('aB', 8, 3)")
    try meet(replicas)
    for replica in replicas { #expect(try state(replica) == [0, 1]) }
    try replicas[0].write("UPDATE p SET c = 2 WHERE b = 8")
    try meet(replicas)
    for replica in replicas { #expect(try state(replica) == [0, 0]) }
  }

  @Test func `to values beside the key hold as well`() throws {
    let schema = """
      CREATE TABLE currency(id INTEGER PRIMARY KEY, code TEXT UNIQUE);
      CREATE TABLE price(id INTEGER PRIMARY KEY, code TEXT REFERENCES currency(code)
        ON UPDATE CASCADE);
      """
    let replicas = try pair(schema, ["currency", "price"])
    try replicas[0].write("INSERT INTO currency VALUES (1, 'EUR')")
    try meet(replicas)
    try replicas[0].write("UPDATE currency SET code = 'XEU'")
    try replicas[1].write("INSERT INTO price VALUES (1, 'EUR')")
    try meet(replicas)
    for replica in replicas { #expect(try state(replica) == [0, 1]) }
    try replicas[1].write("INSERT INTO currency VALUES (2, 'EUR')")
    try meet(replicas)
    for replica in replicas { #expect(try state(replica) == [0, 0]) }
    // A program without foreign keys leaves the price behind.
    try replicas[0].write("PRAGMA foreign_keys = OFF")
    try replicas[0].write("UPDATE currency SET code = 'USD' WHERE id = 2")
    try meet(replicas)
    for replica in replicas { #expect(try state(replica) == [1, 0]) }
  }

  @Test func `with a change of the schema are looked at anew`() throws {
    let plain = """
      CREATE TABLE customer(id TEXT PRIMARY KEY NOT NULL);
      CREATE TABLE invoice(id TEXT PRIMARY KEY NOT NULL, customer TEXT);
      """
    let replicas = try pair(plain, ["customer", "invoice"])
    try replicas[0].write("INSERT INTO invoice VALUES ('i', 'c')")
    try meet(replicas)
    let migration = """
      PRAGMA foreign_keys = OFF; BEGIN;
      CREATE TABLE n(id TEXT PRIMARY KEY NOT NULL, customer TEXT REFERENCES customer);
      INSERT INTO n SELECT * FROM invoice; DROP TABLE invoice; ALTER TABLE n RENAME TO invoice;
      COMMIT;
      """
    try replicas[1].write(migration)
    try replicas[1].foldAll()
    // Whose row it is has not said yet that it stands without a parent.
    #expect(try state(replicas[1]) == [0, 1])
    try replicas[0].write(migration)
    try meet(replicas)
    for replica in replicas { #expect(try state(replica) == [1, 0]) }
  }

  @Test func `wait when rows are gone that others deleted while their table had no name`() throws {
    let r = try shop()
    try r[1].write("ALTER TABLE customer RENAME TO customer_old")
    try r[1].foldAll()
    try r[0].write("DELETE FROM customer")
    try r[1].write("INSERT INTO invoice VALUES ('j', 'new', 'c')")
    try meet(r)
    try r[1].write("ALTER TABLE customer_old RENAME TO customer")
    try meet(r)
    for replica in r { #expect(try state(replica) == [0, 1]) }
    try r[0].write("INSERT INTO customer VALUES ('c', 'Ann again')")
    try meet(r)
    for replica in r {
      #expect(try state(replica) == [0, 0])
      #expect(try replica.content("invoice").count == 1)
    }
  }

  /// A value waits for a column to become TEXT, and is another one than was shown so far.
  @Test(arguments: [true, false])
  func `wait when a kept value enters the column that they lead to`(isOfChild: Bool) throws {
    let r = try pair(
      """
      CREATE TABLE part(id TEXT PRIMARY KEY NOT NULL, code INTEGER UNIQUE);
      CREATE TABLE line(id TEXT PRIMARY KEY NOT NULL, code INTEGER REFERENCES part(code));
      """, ["part", "line"])
    let parent = """
      CREATE TABLE n(id TEXT PRIMARY KEY NOT NULL, code TEXT UNIQUE);
      INSERT INTO n SELECT * FROM part; DROP TABLE part; ALTER TABLE n RENAME TO part;
      """
    let child = """
      CREATE TABLE n(id TEXT PRIMARY KEY NOT NULL, code TEXT REFERENCES part(code));
      INSERT INTO n SELECT * FROM line; DROP TABLE line; ALTER TABLE n RENAME TO line;
      """
    let migration =
      "PRAGMA foreign_keys = OFF; BEGIN; \(parent) \(isOfChild ? child : "") COMMIT;"
    try r[1].write(migration)
    try r[1].write("INSERT INTO part VALUES ('p', '007')")
    try meet(r)
    try r[0].write("INSERT INTO line VALUES ('l', 7)")
    try meet(r)
    #expect(try state(r[0]) == [0, 0])
    #expect(try state(r[1]) == [0, 1])
    try r[0].write(migration)
    try meet(r)
    for replica in r {
      #expect(try replica.value("SELECT code FROM part") == .text(Array("007".utf8)))
      #expect(try state(replica) == [0, 1])
    }
    try r[0].write("INSERT INTO part VALUES ('q', '7')")
    try meet(r)
    for replica in r { #expect(try state(replica) == [0, 0]) }
    #expect(try r[0].content("line") == r[1].content("line"))
  }

  /// No program has broken these references, so nothing is marked.
  @Test func `wait where rows of the site take the place of those of a table let in`() throws {
    let schema = """
      CREATE TABLE part(id TEXT PRIMARY KEY NOT NULL, code TEXT UNIQUE);
      CREATE TABLE box(id TEXT PRIMARY KEY NOT NULL, code TEXT REFERENCES part(code));
      CREATE TABLE lid(id TEXT PRIMARY KEY NOT NULL, part TEXT REFERENCES part);
      """
    let first = try TestReplica(1, schema: schema, tracking: ["part", "box", "lid"])
    let second = try TestReplica(
      2, schema: schema + "INSERT INTO part VALUES ('p', 'here'), ('q', 'here, too')",
      isJoining: false)
    try first.write("INSERT INTO part VALUES ('p', 'there'), ('q', 'gone')")
    try first.foldAll()
    try second.pull(from: first)
    #expect(try second.store.tableSurvey.askedTables() == ["part"])
    try first.write("DELETE FROM part WHERE id = 'q'")
    try second.write(
      """
      PRAGMA foreign_keys = ON;
      INSERT INTO box VALUES ('b', 'here'); INSERT INTO lid VALUES ('l', 'q');
      """)
    try meet([first, second])
    try second.store.admit(["part"], at: second.now)
    try meet([first, second])
    for replica in [first, second] { #expect(try state(replica) == [0, 2]) }
    try first.write("INSERT INTO part VALUES ('r', 'here'), ('q', 'again')")
    try meet([first, second])
    for replica in [first, second] {
      #expect(try state(replica) == [0, 0])
      #expect(try replica.value("SELECT part FROM lid") == .text(Array("q".utf8)))
      #expect(try replica.value("SELECT code FROM box") == .text(Array("here".utf8)))
    }
  }

  @Test func `are no matter where the parents are not tracked`() throws {
    let first = try TestReplica(1, schema: Self.shop, tracking: ["invoice"])
    let second = try TestReplica(2, schema: Self.shop)
    try first.write("INSERT INTO invoice VALUES ('i', 'x', 'nobody')")
    try meet([first, second])
    #expect(try second.value("SELECT note FROM invoice") == .text(Array("x".utf8)))
    try first.write("INSERT INTO customer VALUES ('nobody', 'Some')")
    try first.store.track(["customer"], rule: nil, at: first.now)
    try meet([first, second])
    for replica in [first, second] { #expect(try state(replica) == [0, 0]) }
  }
}

extension TestReplica {
  fileprivate func version(_ key: String, in table: String) throws -> Version? {
    guard let table = store.tables.table(table), let key = table.key([.text(Array(key.utf8))])
    else { return nil }
    return try store.versions.version(table: table.id, key: key)
  }
}
