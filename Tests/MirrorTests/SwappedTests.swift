import Foundation
import Testing

/// Tables of the server that take the place of others, and those that have triggers of others.
@Suite(.enabled(if: Office.isPossible, Office.why), .timeLimit(.minutes(10)))
struct `A table of the server` {
  private static let schema = """
    CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT);
    INSERT INTO t SELECT value, 'v' || value FROM json_each('[1,2,3,4]');
    """
  private static let triggers = """
    SELECT count(*) FROM information_schema.triggers
    WHERE event_object_table = 't' AND trigger_name LIKE 'flotilla%'
    """

  @Test func `is watched after another one has taken its name`() async throws {
    try await Office.with { office in
      _ = try await office.open(Self.schema, "--create")
      // At once: its triggers go with the old one.
      try await office.server(
        "CREATE TABLE n LIKE t; INSERT INTO n SELECT * FROM t; RENAME TABLE t TO o, n TO t")
      try await office.serverComesTo("3", Self.triggers)
      try await office.server("UPDATE t SET v = 'seen' WHERE id = 1; DELETE FROM t WHERE id = 2")
      try await office.siteComesTo("seen", "SELECT v FROM t WHERE id = 1")
      try await office.siteComesTo("0", "SELECT count(*) FROM t WHERE id = 2")

      // With a pause, in which the table is away.
      try await office.server("CREATE TABLE n LIKE t; INSERT INTO n SELECT * FROM t")
      try await office.server("RENAME TABLE t TO p")
      let stops = try await eventually {
        (try await office.status()["stopped"] as? [Any])?.count == 1
      }
      #expect(stops)
      try await office.server("INSERT INTO n VALUES (60, 'sixty'); RENAME TABLE n TO t")
      try await office.siteComesTo("sixty", "SELECT v FROM t WHERE id = 60")
      #expect(try await office.server("SELECT v FROM t WHERE id = 60") == "sixty")
    }
  }

  @Test func `may be mirrored by two sites`() async throws {
    try await Office.with { office in
      _ = try await office.open(Self.schema, "--create")
      try await office.server(
        "CREATE DATABASE two; GRANT ALL ON two.* TO flo@localhost")
      try await office.site("CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT)", "two.db")
      #expect(try await office.flotilla("init", "two.db", "--all", "--name", "other").status == 0)
      let url = office.url.replacing("/shop", with: "/two")
      let added = try await office.flotilla(
        "mirror", "two.db", "add", url, "--map", "t=shop.t", "--password-file", "password", "--yes")
      try #require(added.status == 0, "\(added.text)")
      _ = try await office.serve("two.db")
      func siteTwoComesTo(_ wanted: String, _ id: Int) async throws {
        let does = try await eventually {
          try await office.site("SELECT v FROM t WHERE id = \(id)", "two.db") == wanted
        }
        #expect(does)
      }
      try await siteTwoComesTo("v1", 1)
      // Whoever looks last does not take the other's triggers away.
      for database in ["shop.db", "two.db"] {
        let verify = try await office.flotilla("mirror", database, "verify", "--timeout", "60s")
        #expect([0, 3].contains(verify.status), "\(verify.text)")
      }
      #expect(try await office.server(Self.triggers) == "6")
      try await office.server("UPDATE t SET v = 'both' WHERE id = 1")
      try await office.siteComesTo("both", "SELECT v FROM t WHERE id = 1")
      try await siteTwoComesTo("both", 1)
      // What one writes there is a program's change to the other.
      try await office.site("UPDATE t SET v = 'from one' WHERE id = 2")
      try await siteTwoComesTo("from one", 2)
    }
  }

  @Test func `may have triggers that write into another one`() async throws {
    try await Office.with { office in
      try await office.server(
        """
        CREATE TABLE orders(id BIGINT PRIMARY KEY, stock BIGINT);
        CREATE TABLE stock(id BIGINT PRIMARY KEY, n BIGINT);
        INSERT INTO stock VALUES (7, 10), (8, 10);
        CREATE TRIGGER take AFTER INSERT ON orders FOR EACH ROW
          UPDATE stock SET n = n - 1 WHERE id = NEW.stock
        """)
      _ = try await office.open(
        """
        CREATE TABLE orders(id INTEGER PRIMARY KEY, stock INTEGER);
        CREATE TABLE stock(id INTEGER PRIMARY KEY, n INTEGER);
        """)
      try await office.site(
        "BEGIN; INSERT INTO orders VALUES (1, 7), (2, 8);"
          + "UPDATE stock SET n = 9 WHERE id = 7; COMMIT")
      try await office.serverComesTo("1\n2", "SELECT id FROM orders ORDER BY id")
      // What the site says of a row stands; what the trigger says of another one comes in.
      let wanted = "7\t9\n8\t9"
      try await office.serverComesTo(wanted, "SELECT id, n FROM stock ORDER BY id")
      try await office.siteComesTo(wanted, "SELECT id, n FROM stock ORDER BY id")
      try await office.site("INSERT INTO orders VALUES (3, 8)")
      try await office.siteComesTo("8", "SELECT n FROM stock WHERE id = 8")
      try await office.server("UPDATE stock SET n = 100 WHERE id = 7")
      try await office.siteComesTo("100", "SELECT n FROM stock WHERE id = 7")
    }
  }

  @Test func `is not mirrored if too many cascades lead to it, or nobody named it`() async throws {
    try await Office.with { office in
      var statements = "CREATE TABLE t(id BIGINT PRIMARY KEY, v LONGTEXT, "
      func columns(_ layer: Int) -> String {
        (0..<11).map { "p\($0) BIGINT NULL" }.joined(separator: ", ") + ", "
          + (0..<11).map {
            "FOREIGN KEY (p\($0)) REFERENCES l\(layer)_\($0)(id) ON DELETE CASCADE"
          }.joined(separator: ", ")
      }
      statements += columns(0) + ");"
      for layer in 0..<3 {
        for place in 0..<11 {
          let more = layer < 2 ? ", " + columns(layer + 1) : ""
          statements += "CREATE TABLE l\(layer)_\(place)(id BIGINT PRIMARY KEY\(more));"
        }
      }
      try await office.server("SET foreign_key_checks = 0; " + statements)
      // An office user claims that another table of the site is mirrored, too.
      try await office.server(
        """
        CREATE TABLE notes(id BIGINT PRIMARY KEY);
        CREATE TABLE u(id BIGINT PRIMARY KEY);
        CREATE TABLE flotilla_table(number INT PRIMARY KEY, site_table VARCHAR(255),
          schema_name VARCHAR(64), table_name VARCHAR(64), is_filled BOOLEAN DEFAULT FALSE,
          is_stale BOOLEAN DEFAULT FALSE);
        INSERT INTO flotilla_table(number, site_table, schema_name, table_name)
          VALUES (1, 'patients', 'shop', 'notes')
        """)
      try await office.site(
        Self.schema + "CREATE TABLE u(id INTEGER PRIMARY KEY);"
          + "CREATE TABLE patients(id INTEGER PRIMARY KEY); INSERT INTO patients VALUES (1)")
      #expect(try await office.flotilla("init", "shop.db", "--all").status == 0)
      let words = [
        "mirror", "shop.db", "add", office.url, "--password-file", "password", "--yes", "--tables",
      ]
      let refused = try await office.run(["flotilla"] + words + ["t"])
      #expect(refused.status != 0 && refused.text.contains("more than 1000"), "\(refused.text)")
      let added = try await office.run(["flotilla"] + words + ["u"])
      #expect(added.status == 0, "\(added.text)")
      #expect(try await office.status()["tables"] as? [String] == ["u"])
      _ = try await office.serve()
      try await office.follows()
      #expect(try await office.server("SELECT count(*) FROM notes") == "0")
    }
  }
}
