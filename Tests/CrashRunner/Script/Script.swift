/// What is done: a list of processes' lives, each a list of steps.
enum Script {
  static let lives: [[Step]] = beginning + (0..<rounds).flatMap(round) + end

  /// How often the middle part comes, each time with other rows.
  static let rounds = 8

  static let tables = ["item", "line", "person", "piece"]

  private static let schema = """
    CREATE TABLE item(
      id TEXT PRIMARY KEY NOT NULL, name TEXT UNIQUE, n INTEGER CHECK(n >= 0),
      price REAL, data BLOB);
    CREATE INDEX item_n ON item(n);
    CREATE UNIQUE INDEX item_price ON item(price) WHERE price > 100;
    CREATE TABLE line(
      item TEXT NOT NULL REFERENCES item(id) ON DELETE CASCADE ON UPDATE CASCADE,
      pos INTEGER NOT NULL, note TEXT COLLATE NOCASE NOT NULL,
      PRIMARY KEY(item, pos)) WITHOUT ROWID;
    CREATE TABLE person(
      id INTEGER PRIMARY KEY, email TEXT NOT NULL UNIQUE, age INTEGER NOT NULL DEFAULT 1);
    CREATE TABLE piece(k BLOB PRIMARY KEY NOT NULL, v);
    CREATE TABLE latest(id TEXT PRIMARY KEY NOT NULL, n);
    CREATE TRIGGER item_latest AFTER INSERT ON item BEGIN
      INSERT OR REPLACE INTO latest VALUES (NEW.id, NEW.name);
    END;
    CREATE VIEW names AS SELECT name FROM item;
    """

  private static let beginning: [[Step]] = [
    [
      .write(.a, schema),
      .write(
        .a,
        """
        INSERT INTO item VALUES ('a', 'A', 1, 0.1, x'00ff'), ('b', 'B', 2, 200.5, NULL);
        INSERT INTO line VALUES ('a', 1, 'one'), ('a', 2, 'two'), ('b', 1, 'x');
        INSERT INTO person(email) VALUES ('one@a'), ('two@a');
        """),
      .initialise(.a, 1), .track(.a, tables), .write(.a, "UPDATE item SET n = n + 1"), .fold(.a),
    ],
    [.alone(.b, "PRAGMA user_version = 7"), .join(2), .fold(.b), .exchange],
  ]

  /// Rows `r…` belong to side a, `s…` to side b, `shared` to both.
  private static func round(_ r: Int) -> [[Step]] {
    [inserts(r), keys(r), setup(r), conflicts(r), backlog(r)]
  }

  private static func inserts(_ r: Int) -> [Step] {
    [
      .write(
        .a,
        """
        INSERT INTO item VALUES ('r\(r)', 'R\(r)', \(r), \(300 + r), zeroblob(\(50 * r)));
        INSERT INTO line SELECT 'r\(r)', value, 'note ' || value FROM json_each('[1,2,3]');
        INSERT OR IGNORE INTO item(id, name) VALUES ('shared', 'both');
        """),
      .write(
        .b,
        """
        INSERT INTO item VALUES ('s\(r)', 'S\(r)', \(r), NULL, NULL);
        INSERT INTO person(id, email, age) VALUES (\(1_000 + r), 's\(r)@b', \(20 + r));
        INSERT INTO piece(k, v) VALUES (x'0\(r)', 'blob key'), (x'ff0\(r)', 1.5);
        """),
      .exchange,
      .write(
        .a,
        "INSERT INTO item VALUES ('u', 'U', 0, 1, NULL) ON CONFLICT(id) DO UPDATE SET n = n + 1"),
      .write(.b, "REPLACE INTO piece(k, v) VALUES (x'0\(r)', 'replaced \(r)')"),
      .fold(.a), .exchange,
    ]
  }

  private static func keys(_ r: Int) -> [Step] {
    [
      .write(.a, "UPDATE item SET id = 'moved\(r)' WHERE id = 'r\(r)'"),
      .write(.a, "INSERT OR REPLACE INTO item VALUES ('t\(r)', 'A', 5, 7, NULL)"),
      .fold(.a),
      .write(.b, "UPDATE person SET id = id + 500 WHERE id = \(1_000 + r)"),
      .exchange,
      .write(
        .a,
        """
        UPDATE item SET name = 'swap' WHERE id = 't\(r)';
        UPDATE item SET name = 'A' WHERE id = 'moved\(r)';
        UPDATE item SET name = 'R\(r)' WHERE id = 't\(r)';
        """),
      .exchange,
      r % 2 == 0 ? .restart(.b) : .alone(.a, "PRAGMA wal_checkpoint(TRUNCATE)"),
      .write(.b, "DELETE FROM item WHERE id = 's\(r)'"), .fold(.b),
    ]
  }

  /// What changes the replicas themselves.
  private static func setup(_ r: Int) -> [Step] {
    switch r % 4 {
    case 0:
      return [
        .write(.a, "ALTER TABLE person ADD COLUMN town\(r) TEXT DEFAULT 'x'"), .fold(.a),
        .write(.a, "UPDATE person SET town\(r) = 'here' WHERE id < 3"), .exchange,
        .write(.b, "ALTER TABLE person ADD COLUMN town\(r) TEXT DEFAULT 'x'"), .exchange,
      ]
    case 1:
      return [
        .untrack(.a, ["piece"]), .exchange,
        .write(.b, "UPDATE piece SET v = 'alone'"), .write(.a, "UPDATE piece SET v = 'alone'"),
        .track(.b, ["piece"]), .exchange,
      ]
    case 2:
      return [
        .exchange,
        .write(
          .a,
          """
          CREATE TABLE new_piece(k BLOB PRIMARY KEY NOT NULL, v, w\(r) INTEGER);
          INSERT INTO new_piece(k, v) SELECT k, v FROM piece; DROP TABLE piece;
          ALTER TABLE new_piece RENAME TO piece;
          REPLACE INTO piece(k, v) VALUES (x'aa0\(r)', 'made anew');
          """),
        .fold(.a), .write(.b, "ALTER TABLE piece ADD COLUMN w\(r) INTEGER"), .exchange,
      ]
    default:
      return [
        .exchange, .leave(.b), .write(.b, "UPDATE item SET n = n WHERE id = 'a'"),
        .join(UInt64(2 + r)), .write(.b, "UPDATE person SET age = age + 1"), .exchange,
      ]
    }
  }

  private static func conflicts(_ r: Int) -> [Step] {
    [
      .exchange,
      .write(.a, "UPDATE item SET n = \(100 + r) WHERE id = 'shared'"),
      .write(.b, "UPDATE item SET n = \(200 + r) WHERE id = 'shared'"),
      .write(.b, "UPDATE item SET data = x'b\(r)' WHERE id = 'a'"), .fold(.b),
      .write(.a, "DELETE FROM line WHERE item = 'b'; INSERT INTO line VALUES ('b', \(r + 1), 'n')"),
      .exchange,
      .write(.a, "UPDATE item SET n = 1 WHERE id = 'shared'"),
      r % 2 == 0 ? .alone(.b, "VACUUM") : .close(.b), .exchange,
    ]
  }

  private static func backlog(_ r: Int) -> [Step] {
    [
      .write(
        .b,
        """
        INSERT INTO line SELECT 'b', 10 * \(r) + value + 100, hex(zeroblob(20))
        FROM json_each('[0,1,2,3,4,5,6,7,8,9]');
        INSERT INTO piece(k, v) SELECT CAST('r\(r)' || value AS BLOB), value
        FROM json_each('[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19]');
        """),
      .fold(.b), .exchange,
      .write(.a, "DELETE FROM piece WHERE CAST(k AS TEXT) LIKE 'r\(r)1%'"),
      .write(.a, "UPDATE piece SET v = v || '!' WHERE CAST(k AS TEXT) LIKE 'r\(r)%'"),
      .exchange, .close(.a),
    ]
  }

  /// More rows than one commit takes in, cut up on the way, and the end of one replica.
  private static let end: [[Step]] = [
    [
      .write(
        .a,
        """
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1150)
        INSERT INTO piece(k, v) SELECT CAST('long' || i AS BLOB), i FROM n
        """)
    ],
    [.exchange],
    [
      .write(.a, "DELETE FROM piece WHERE CAST(k AS TEXT) LIKE 'long1%'"), .fold(.a),
      .close(.a), .close(.b),
    ],
    [.exchange, .leave(.b), .write(.b, "UPDATE person SET age = 0"), .close(.b)],
    [.leave(.a), .write(.a, "UPDATE person SET age = 9"), .close(.a)],
  ]
}
