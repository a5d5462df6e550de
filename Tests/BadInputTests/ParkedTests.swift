import Foundation
import Testing

extension BadInputTests {
  /// Rows that wait for others, through the built program and plain SQL: where they are is said,
  /// and every way out works.
  @Suite struct ParkedTests {
    private static let schema = """
      CREATE TABLE customer(id TEXT PRIMARY KEY NOT NULL, name TEXT);
      CREATE TABLE orders(id TEXT PRIMARY KEY NOT NULL,
        customer TEXT REFERENCES customer ON DELETE CASCADE, amount INTEGER);
      """

    /// Two machines, of which one deletes a customer for whom the other one adds orders.
    private func pair(
      _ desk: Desk,
      orders: String = "INSERT INTO orders VALUES ('o', 'c', 7), ('p', 'c', 8), ('q', 'c', 9)"
    ) async throws -> String {
      let node = try await desk.pair("a.db", "b.db", rows: 1)
      for database in ["a.db", "b.db"] { try await desk.sql(database, Self.schema) }
      try await desk.succeed("track", "a.db", "customer", "orders")
      try await desk.succeed("sync", "b.db", node.address)
      try await desk.succeed("sql", "a.db", "INSERT INTO customer VALUES ('c', 'Ann'), ('d', 'Di')")
      try await desk.succeed("sync", "b.db", node.address)
      try await desk.succeed("sql", "a.db", "DELETE FROM customer WHERE id = 'c'")
      try await desk.succeed("sql", "b.db", orders)
      try await desk.succeed("sync", "b.db", node.address)
      return node.address
    }

    private func ids(_ desk: Desk, _ database: String) async throws -> [String] {
      try await desk.succeed("conflicts", database, "--parked", "--json")
        .matches(of: /"id":"(p[0-9a-f]{6})"/).map { String($0.1) }
    }

    @Test func `are the same on both machines, and told`() async throws {
      try await Desk.with { desk in
        let address = try await pair(desk)
        for database in ["a.db", "b.db"] {
          #expect(try await desk.sql(database, "PRAGMA foreign_key_check") == "")
          #expect(try await desk.sql(database, "SELECT count(*) FROM orders") == "0")
          let list = try await desk.succeed("conflicts", database, "--parked")
          #expect(list.contains("a row that it refers to is not here"), "\(list)")
          #expect(list.contains("customer has no row c"), "\(list)")
          let status = try await desk.flotilla("status", database)
          #expect(status.output.contains("3 parked"), "\(status)")
        }
        #expect(try await ids(desk, "a.db") == ids(desk, "b.db"))
        #expect(try await ids(desk, "a.db").count == 3)
        try await desk.succeed("sql", "b.db", "INSERT INTO customer VALUES ('c', 'Ann again')")
        try await desk.succeed("sync", "b.db", address)
        for database in ["a.db", "b.db"] {
          #expect(try await desk.sql(database, "SELECT sum(amount) FROM orders") == "24")
          #expect(try await desk.sql(database, "PRAGMA foreign_key_check") == "")
        }
      }
    }

    /// A member may write values and keys of nearly 1 MB, and have any number of rows parked.
    @Test func `a list of long parked rows takes no more memory than one of them`() async throws {
      try await Desk.with { desk in
        _ = try await pair(
          desk,
          orders: """
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60)
            INSERT INTO orders SELECT i, 'c', 'x' || hex(zeroblob(450000)) FROM n WHERE i < 60
            UNION ALL SELECT hex(zeroblob(450000)), 'c', 1
            """)
        let measure = """
          import resource, subprocess, sys
          subprocess.run(sys.argv[2:], stdout=open(sys.argv[1], 'w'), check=True)
          print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
          """
        var peaks: [Int] = []
        for words in [["--parked", "--json"], ["--parked"], ["--json"]] {
          let outcome = try await desk.run(
            ["python3", "-c", measure, "list", "flotilla", "conflicts", "b.db"] + words)
          peaks.append(try #require(Int(outcome.output), "\(outcome)"))
          let bytes = try desk.bytes("list")
          #expect(bytes.count < 60 * 4_096)
          guard words == ["--parked", "--json"] else { continue }
          let list = String(decoding: bytes, as: UTF8.self)
          #expect(list.matches(of: /"cut":\["amount"\]/).count == 59)
          #expect(list.matches(of: /"cut":\["id"\]/).count == 1)
        }
        // The row, its key and what is made of them, beside a program that does nothing.
        #expect(peaks.allSatisfy { $0 < 100_000 }, "\(peaks) kB")
        let one = try await ids(desk, "b.db")[0]
        #expect(try await desk.succeed("conflicts", "b.db", "show", one).utf8.count > 900_000)
        let shown = try await desk.succeed("conflicts", "b.db", "show", one, "--json")
        #expect(!shown.contains("\"cut\":["))
        try await desk.succeed("conflicts", "b.db", "dismiss", one)
      }
    }

    @Test func `are restored with other values, given up, and named by sql`() async throws {
      try await Desk.with { desk in
        let address = try await pair(desk)
        let all = try await ids(desk, "b.db")
        let (update, statement) = ("UPDATE orders SET amount = 1 WHERE id = 'o'", "INSERT INTO")
        let missed = try await desk.flotilla("sql", "b.db", update)
        #expect(missed.status == 1 && missed.error.contains("the row o of orders is parked"))
        #expect(
          try await desk.succeed("conflicts", "b.db", "show", all[0], "--sql").contains(statement))
        let refused = try await desk.flotilla("conflicts", "b.db", "restore", all[0])
        #expect(refused.status == 1 && refused.error.contains("--set COLUMN=VALUE"), "\(refused)")
        // Of several each is tried.
        let both = try await desk.flotilla("conflicts", "b.db", "restore", "all", "--parked")
        #expect(both.status == 1 && all.allSatisfy(both.error.contains), "\(both)")
        try await desk.succeed("conflicts", "b.db", "restore", all[0], "--set", "customer=d")
        let other = try await desk.flotilla(
          "conflicts", "b.db", "restore", all[1], "--set", "nothing=d")
        #expect(other.status == 1 && other.error.contains("has no column nothing"))
        try await desk.succeed("conflicts", "b.db", "dismiss", all[1], all[2])
        #expect(try await ids(desk, "b.db").isEmpty)
        try await desk.succeed("sync", "b.db", address)
        for database in ["a.db", "b.db"] {
          #expect(try await desk.sql(database, "SELECT count(*) FROM orders") == "1")
          #expect(try await ids(desk, database).isEmpty)
          #expect(try await desk.succeed("conflicts", database).contains("no conflicts"))
        }
        #expect(try await desk.flotilla("conflicts", "b.db", "dismiss", all[1]).status == 1)
      }
    }

    @Test func `stay alone where a trigger takes back the whole transaction`() async throws {
      try await Desk.with { desk in
        _ = try await pair(desk)
        let trigger = """
          CREATE TRIGGER refuse BEFORE INSERT ON orders WHEN new.id = 'p'
            BEGIN SELECT RAISE(ROLLBACK, 'not p'); END
          """
        try await desk.sql("b.db", trigger)
        let all = try await desk.flotilla(
          "conflicts", "b.db", "restore", "all", "--parked", "--set", "customer=d")
        #expect(all.status == 1 && all.error.contains("not p"), "\(all)")
        let ids = "SELECT group_concat(id) FROM (SELECT id FROM orders ORDER BY id)"
        #expect(try await desk.sql("b.db", ids) == "o,q")
        let left = try await desk.succeed("conflicts", "b.db", "--parked", "--json")
        #expect(left.contains(#""id":"p""#) && !left.contains(#""id":"o""#), "\(left)")
      }
    }

    @Test func `are in the log of who wrote them once the table is untracked`() async throws {
      try await Desk.with { desk in
        let address = try await pair(desk)
        try await desk.succeed("untrack", "a.db", "orders")
        try await desk.succeed("sync", "b.db", address)
        #expect(try await desk.succeed("conflicts", "a.db").contains("no conflicts"))
        let listed = try await desk.succeed("conflicts", "b.db", "--json")
        let id = try #require(listed.firstMatch(of: /"id":(\d+),"key":{[^}]*"o"}/)?.1)
        let shown = try await desk.succeed("conflicts", "b.db", "show", String(id))
        #expect(shown.contains("customer has no row c"), "\(shown)")
        try await desk.succeed("sql", "b.db", "INSERT INTO customer VALUES ('c', 'Ann again')")
        let free = try await desk.succeed("conflicts", "b.db", "show", String(id))
        #expect(free.contains("its table is replicated no more"), "\(free)")
        let refused = try await desk.flotilla("conflicts", "b.db", "restore", String(id))
        #expect(refused.status == 1 && refused.error.contains("flotilla track"), "\(refused)")
        // What writes it again is a statement that SQLite takes.
        let statement = try await desk.succeed("conflicts", "b.db", "show", String(id), "--sql")
        try await desk.sql("b.db", statement)
        #expect(try await desk.sql("b.db", "SELECT amount FROM orders WHERE id = 'o'") == "7")
      }
    }

    /// Its table is not here, or not any more: what its key is called others have said.
    @Test func `of a missing table have a key with names`() async throws {
      try await Desk.with { desk in
        let node = try await desk.pair("a.db", "b.db", rows: 1)
        try await desk.sql("a.db", "CREATE TABLE late(code TEXT PRIMARY KEY NOT NULL, v)")
        try await desk.succeed("track", "a.db", "late")
        try await desk.succeed("sql", "a.db", "INSERT INTO late VALUES ('x', 7)")
        try await desk.succeed("sync", "b.db", node.address)
        let key = #""key":{"code":"x"}"#
        let parked = try await desk.succeed("conflicts", "b.db", "--parked", "--json")
        #expect(parked.contains(key), "\(parked)")
        #expect(parked.contains(#""row":{"code":"x","v":7}"#), "\(parked)")
        let id = try #require(try await ids(desk, "b.db").first)
        let shown = try await desk.succeed("conflicts", "b.db", "show", id)
        #expect(shown.contains("code"), "\(shown)")
        for word in ["restore", "dismiss"] {
          let refused = try await desk.flotilla("conflicts", "b.db", word, id)
          #expect(refused.status == 1 && refused.error.contains("flotilla doctor"), "\(refused)")
        }
        let all = try await desk.flotilla("conflicts", "b.db", "dismiss", "all", "--parked")
        #expect(all.status == 0 && all.output == "nothing to dismiss", "\(all)")
        #expect(all.error.contains("1 row of late stays: the table is not here"), "\(all)")
        // Both write the row, one of the two loses; then the table goes where that is logged.
        try await desk.sql("b.db", "CREATE TABLE late(code TEXT PRIMARY KEY NOT NULL, v)")
        try await desk.succeed("sync", "b.db", node.address)
        try await desk.succeed("sql", "b.db", "UPDATE late SET v = 8")
        try await desk.succeed("sql", "a.db", "UPDATE late SET v = 9")
        try await desk.succeed("sync", "b.db", node.address)
        for database in ["a.db", "b.db"] {
          try await desk.sql(database, "DROP TABLE late")
          #expect(try await desk.flotilla("status", database).status == 3)
        }
        let logs = [
          try await desk.succeed("conflicts", "a.db", "--json"),
          try await desk.succeed("conflicts", "b.db", "--json"),
        ]
        #expect(logs.contains { $0.contains(key) }, "\(logs)")
        #expect(logs.allSatisfy { !$0.contains(#"{"0":"#) }, "\(logs)")
      }
    }

    /// The machine that wrote it does not have that column yet.
    @Test func `for a column that was added here get a value for it`() async throws {
      try await Desk.with { desk in
        let address = try await pair(desk)
        try await desk.succeed("conflicts", "b.db", "dismiss", "all", "--parked")
        try await desk.sql(
          "a.db",
          """
          BEGIN; CREATE TABLE c(id TEXT PRIMARY KEY NOT NULL, name TEXT, channel TEXT NOT NULL);
          INSERT INTO c SELECT id, name, '' FROM customer; DROP TABLE customer;
          ALTER TABLE c RENAME TO customer; COMMIT
          """)
        try await desk.succeed(
          "sql", "b.db", "INSERT INTO customer VALUES ('e', 'Eve')")
        try await desk.succeed("sql", "b.db", "INSERT INTO orders VALUES ('r', 'e', 5)")
        try await desk.succeed("sync", "b.db", address)
        let list = try await desk.succeed("conflicts", "a.db", "--parked")
        #expect(list.contains("a constraint keeps it out (NOT NULL channel)"), "\(list)")
        let doctor = try await desk.flotilla("doctor", "a.db").output
        #expect(doctor.contains("a column that takes no NULL, a CHECK"), "\(doctor)")
        let row = try #require(list.firstMatch(of: /(p[0-9a-f]{6}) +customer/)).1
        let restore = ["flotilla", "conflicts", "a.db", "restore", String(row), "--set"]
        let wrong = try await desk.run(restore + ["chanel=phone"])
        #expect(wrong.error.contains("It has: id, name, channel"), "\(wrong)")
        #expect(try await desk.run(restore + ["channel=phone"]).status == 0)
        try await desk.succeed("sync", "b.db", address)
        let channel = "SELECT channel FROM customer WHERE id = 'e'"
        #expect(try await desk.sql("a.db", channel) == "phone")
        for database in ["a.db", "b.db"] {
          #expect(try await desk.sql(database, "SELECT amount FROM orders") == "5")
          #expect(try await ids(desk, database).isEmpty)
        }
      }
    }

    @Test func `are named by their keys, in the order of the columns`() async throws {
      try await Desk.with { desk in
        let address = try await pair(desk)
        for database in ["a.db", "b.db"] {
          try await desk.sql(
            database,
            "CREATE TABLE line(ord TEXT REFERENCES customer, n INTEGER, PRIMARY KEY (ord, n))")
        }
        try await desk.succeed("track", "a.db", "line")
        try await desk.succeed("sync", "b.db", address)
        try await desk.succeed("sql", "a.db", "DELETE FROM customer")
        try await desk.succeed("sql", "b.db", "INSERT INTO line VALUES ('d', 2)")
        try await desk.succeed("sync", "b.db", address)
        let list = try await desk.succeed("conflicts", "b.db", "--parked", "--table", "line")
        #expect(list.contains("line   d, 2"), "\(list)")
        let json = try await desk.succeed(
          "conflicts", "b.db", "--parked", "--table", "line", "--json")
        #expect(json.contains(#""key":{"n":2,"ord":"d"},"key_columns":["ord","n"]"#), "\(json)")
      }
    }

    @Test func `of one table alone are listed and given up`() async throws {
      try await Desk.with { desk in
        _ = try await pair(desk)
        let none = try await desk.succeed("conflicts", "b.db", "--parked", "--table", "customer")
        #expect(none == "no row is parked")
        try await desk.succeed("conflicts", "b.db", "dismiss", "all", "--parked", "--table", "t")
        #expect(try await ids(desk, "b.db").count == 3)
        let wrong = try await desk.flotilla("conflicts", "b.db", "--table", "order")
        #expect(wrong.status == 1 && wrong.error.contains("there is no table order"), "\(wrong)")
        let one = try await desk.flotilla(
          "conflicts", "b.db", "dismiss", "1", "--table", "orders")
        #expect(one.status == 2 && one.error.contains("with the list and with all"), "\(one)")
        try await desk.succeed(
          "conflicts", "b.db", "dismiss", "all", "--parked", "--table", "Orders")
        #expect(try await ids(desk, "b.db").isEmpty)
      }
    }

    /// Each was looked for among all others, and of two with one name none was settled.
    @Test func `are given up in one go, however many they are`() async throws {
      try await Desk.with { desk in
        let address = try await pair(
          desk,
          orders: """
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 8000)
            INSERT INTO orders SELECT i, 'c', i FROM n
            """)
        let names = try await ids(desk, "b.db")
        #expect(names.count == 8_000 && Set(names).count < 8_000)
        let refused = try await desk.flotilla(
          "conflicts", "b.db", "restore", "all", "--parked", "--json")
        #expect(refused.status == 1)
        #expect(refused.output.matches(of: /FOREIGN KEY/).count == 8_000)
        let done = try await desk.succeed(
          "conflicts", "b.db", "dismiss", "all", "--parked", "--json")
        #expect(done.matches(of: /"state":"dismissed"/).count == 8_000)
        #expect(done.contains(#""failed":[]"#))
        #expect(try await ids(desk, "b.db").isEmpty)
        try await desk.succeed("sync", "b.db", address)
        #expect(try await ids(desk, "a.db").isEmpty)
      }
    }

    @Test func `are given up all at once; what a program has broken is counted`() async throws {
      try await Desk.with { desk in
        let address = try await pair(desk)
        try await desk.succeed("conflicts", "a.db", "dismiss", "all", "--parked")
        try await desk.sql("b.db", "INSERT INTO orders VALUES ('broken', 'nobody', 1)")
        try await desk.succeed("sync", "b.db", address)
        for database in ["a.db", "b.db"] {
          #expect(try await ids(desk, database).isEmpty)
          #expect(try await desk.sql(database, "SELECT id FROM orders") == "broken")
          let doctor = try await desk.flotilla("doctor", database)
          #expect(doctor.output.contains("1 row of orders refers by customer"), "\(doctor)")
        }
      }
    }

    @Test func `of a table that is not replicated are counted`() async throws {
      try await Desk.with { desk in
        let address = try await pair(desk, orders: "INSERT INTO customer VALUES ('e', 'Eve')")
        let ended = try await desk.flotilla("untrack", "a.db", "orders")
        #expect(ended.error.contains("orders refers to customer by customer"), "\(ended)")
        try await desk.succeed("sync", "b.db", address)
        try await desk.sql("b.db", "INSERT INTO orders VALUES ('v', 'd', 1), ('w', 'e', 2)")
        // SQLite calls this a mismatch: a name is not unique.
        try await desk.sql("b.db", "CREATE TABLE odd(customer TEXT REFERENCES customer(name))")
        try await desk.sql("b.db", "INSERT INTO odd VALUES ('nobody')")
        try await desk.succeed("sql", "a.db", "DELETE FROM customer WHERE id = 'd'")
        try await desk.succeed("sync", "b.db", address)
        let doctor = try await desk.flotilla("doctor", "b.db")
        #expect(doctor.output.contains("1 row of orders refers by customer to no row of customer"))
        #expect(doctor.output.contains("orders is not replicated"), "\(doctor)")
        #expect(doctor.output.contains("0 errors"), "\(doctor)")
      }
    }
  }
}
