import Foundation
import SQLite
import Testing

@testable import Gateway

/// A file with tables that a client may read and others, asked by a desk's rules.
private func connection() throws -> Connection {
  let connection = try Connection(path: ":memory:", mode: .create)
  try connection.execute(
    """
    CREATE TABLE open(id INTEGER PRIMARY KEY, v, at REAL);
    CREATE TABLE other(id INTEGER PRIMARY KEY, w);
    CREATE TABLE Secret(id INTEGER PRIMARY KEY, code TEXT);
    CREATE TABLE local(id INTEGER PRIMARY KEY);
    CREATE INDEX places ON open(v);
    CREATE TABLE _flotilla_answer(token TEXT);
    CREATE VIEW _flotilla_rows_open AS SELECT 1;
    CREATE VIEW _flotilla_rows_other AS SELECT 1;
    CREATE VIEW _flotilla_rows_Secret AS SELECT 1;
    CREATE VIEW fine AS SELECT o.v FROM open o JOIN other USING (id);
    CREATE VIEW leak AS SELECT v FROM open UNION SELECT code FROM Secret;
    CREATE VIEW deep AS SELECT count(*) AS n FROM leak;
    INSERT INTO open VALUES (1, 'one', 1.0), (2, x'00FF', -0.5), (3, 9007199254740993, NULL);
    INSERT INTO other VALUES (1, 'w');
    INSERT INTO Secret VALUES (1, 'C1');
    """)
  try QueryBounds.set(on: connection)
  return connection
}

private func ask(
  _ statement: String, _ values: [Value] = [], on connection: Connection
) throws(Problem) -> String {
  let bytes = try QueryCall.rows(statement, values, on: connection, hides: true) {
    $0 != "Secret"
  }
  return String(decoding: bytes, as: UTF8.self)
}

@Suite(.timeLimit(.minutes(5))) struct `A statement of a client` {
  @Test func `gives columns and rows, each value as it is`() throws {
    let connection = try connection()
    let text = try ask("SELECT id, v, at FROM open ORDER BY id", on: connection)
    #expect(
      text == #"{"columns":["id","v","at"],"rows":[[1,"one",1.0],"# + "\n"
        + #"[2,{"base64":"AP8="},-0.5],"# + "\n"
        + #"[3,{"integer":"9007199254740993"},null]],"more":false}"# + "\n")
    #expect(
      try ask("SELECT ? || ?2 AS a, ?2 AS a", [.string("x"), .integer(5)], on: connection)
        == #"{"columns":["a","a"],"rows":[["x5",5]],"more":false}"# + "\n")
  }

  @Test(arguments: [
    "SELECT v FROM fine", "SELECT count(*) FROM fine", "VALUES (1)", "SELECT 1;",
    "WITH x AS (SELECT id FROM open) SELECT count(*) FROM x",
    "SELECT count(*) FROM (SELECT 1 FROM open)", "SELECT value FROM json_each('[1]')",
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5) SELECT i FROM n",
    "SELECT upper(v), rowid FROM OPEN WHERE v LIKE 'o%' -- a remark", "SELECT * FROM main.open",
    "EXPLAIN QUERY PLAN SELECT 1 FROM open", "SELECT (SELECT max(w) FROM other) FROM open",
    "SELECT sum(id) OVER (ORDER BY id) FROM open", "SELECT 1 FROM open AS Secret",
  ])
  func `reads what it may`(statement: String) throws {
    #expect(try ask(statement, on: connection()).hasSuffix("\"more\":false}\n"))
  }

  @Test(arguments: [
    "SELECT * FROM Secret", "SELECT count(*) FROM secret", "SELECT nope FROM Secret",
    "SELECT 1 FROM open WHERE EXISTS (SELECT 1 FROM main.Secret)", "SELECT 1 IN Secret",
    "SELECT v FROM open UNION SELECT code FROM Secret", "SELECT * FROM open JOIN Secret USING (x)",
    "WITH x AS (SELECT code FROM Secret) SELECT 1 FROM x", "SELECT (SELECT code FROM Secret)",
    "WITH Secret AS (SELECT 1) SELECT count(*) FROM main.Secret", "EXPLAIN SELECT 1 FROM Secret",
    "SELECT 1 FROM (SELECT 1 FROM (SELECT code FROM Secret))", "SELECT rowid FROM Secret",
  ])
  func `finds no table that it may not read`(statement: String) throws {
    let connection = try connection()
    let problem = #expect(throws: Problem.self) { try ask(statement, on: connection) }
    #expect(problem?.status == 400 && problem?.kind == "sql")
    // As if it was not there at all.
    try connection.execute("DROP VIEW deep; DROP VIEW leak; DROP TABLE Secret")
    let other = #expect(throws: Problem.self) { try ask(statement, on: connection) }
    #expect(problem?.detail == other?.detail, "\(statement)")
  }

  @Test(arguments: [
    "SELECT * FROM {}", "SELECT {}.v FROM open", "SELEC {}", "SELECT {} FROM open",
    "SELECT 1 AS {}",
    "SELECT nope FROM {}", "SELECT count(*) FROM main.{}", "SELECT '{}'", "SELECT {}(1)",
    "WITH {} AS (SELECT 1) SELECT count(*) FROM {}", "SELECT 1 FROM open AS {}",
    "WITH {} AS (SELECT 1 AS a) SELECT {}.a FROM {}", "SELECT 1 IN {}", "DROP TABLE {}",
    "WITH {} AS (SELECT 1) SELECT count(*) FROM main.{}", "INSERT INTO {} DEFAULT VALUES",
    "SELECT count(*) FROM (SELECT 1) AS {}", "SELECT * FROM open INDEXED BY {}",
    "WITH x AS (SELECT 1 FROM {}) SELECT 1 FROM x", "CREATE TABLE {}(a)", "REINDEX {}",
    "SELECT id FROM open ORDER BY {}", "EXPLAIN SELECT count(*) FROM {}", "PRAGMA table_info({})",
    "WITH {} AS (SELECT 1) SELECT 1 FROM (SELECT 1 FROM {}) JOIN open, {}",
  ])
  func `learns no name of what it may not read`(form: String) throws {
    let connection = try connection()
    func said(_ name: String) -> String {
      do throws(Problem) {
        return try ask(form.replacing("{}", with: name), on: connection).lowercased()
          .replacing(name.lowercased(), with: "{}")
      } catch {
        return "\(error.status) \(error.detail.lowercased())"
          .replacing(name.lowercased(), with: "{}")
      }
    }
    for name in ["Secret", "local", "leak", "deep"] {
      #expect(said(name) == said("absent"), "\(form)")
    }
  }

  @Test(arguments: [
    "SELECT v FROM leak", "SELECT count(*) FROM leak", "SELECT n FROM deep", "SELECT 1 FROM deep",
  ])
  func `sees nothing of them through views`(statement: String) throws {
    let problem = #expect(throws: Problem.self) { try ask(statement, on: connection()) }
    #expect(problem?.kind == "sql" && problem?.detail.contains("no such table") == true)
    #expect(problem?.detail.contains("ecret") == false, "\(problem?.detail ?? "")")
  }

  @Test(arguments: [
    "INSERT INTO open VALUES (9, 9, 9)", "UPDATE open SET v = 1", "DELETE FROM open",
    "CREATE TABLE x(a)", "CREATE TEMP TABLE x(a)", "DROP TABLE open", "ATTACH ':memory:' AS x",
    "DETACH main", "PRAGMA table_list", "PRAGMA query_only = 0", "BEGIN", "COMMIT", "SAVEPOINT x",
    "VACUUM", "VACUUM INTO '/tmp/x'", "REINDEX", "REINDEX open", "ANALYZE",
    "SELECT load_extension('x')", "SELECT hex(fts3_tokenizer('simple'))",
    "SELECT fts3_tokenizer('simple', x'4142434445464748')", "SELECT sqlite_version()",
    "SELECT trim('a', 'b')", "SELECT ltrim(v, 'o'), rtrim(v, 'e') FROM open",
    "SELECT * FROM sqlite_schema", "SELECT count(*) FROM sqlite_master",
    "SELECT 1 FROM sqlite_temp_schema", "SELECT * FROM pragma_table_list",
    "SELECT count(*) FROM pragma_table_info('Secret')", "SELECT * FROM pragma_database_list",
    "SELECT count(*) FROM dbstat", "SELECT token FROM _flotilla_answer", "SELECT id FROM local",
    "SELECT count(*) FROM _flotilla_rows_open", "SELECT 1; SELECT 2", "", "SELEC", "SELECT ?",
    "SELECT * FROM temp.open", "SELECT 1\0; DROP TABLE open",
    "INSERT INTO open DEFAULT VALUES "
      + "RETURNING id", "WITH x AS (SELECT 1) DELETE FROM open",
    "REPLACE INTO open VALUES (1, 1, 1)",
    "SELECT bytecode FROM bytecode('SELECT 1')", "SELECT writefile('/tmp/x', 'y')",
  ])
  func `does nothing else`(statement: String) throws {
    let connection = try connection()
    let problem = #expect(throws: Problem.self) { try ask(statement, on: connection) }
    #expect(problem?.status == 400 && problem?.kind == "sql", "\(statement): \(problem as Any)")
    #expect(try connection.scalar("SELECT count(*) FROM open") == .integer(3))
    #expect(connection.isAutocommit)
  }

  @Test func `is answered where an index has a function that it may not use`() throws {
    let path = NSTemporaryDirectory() + "flotilla-index-\(UUID().uuidString).db"
    defer { try? FileManager.default.removeItem(atPath: path) }
    let program = try Connection(path: path, mode: .create)
    try program.execute(
      """
      CREATE TABLE open(id INTEGER PRIMARY KEY, v); INSERT INTO open VALUES (1, '-one-');
      CREATE VIEW _flotilla_rows_open AS SELECT 1; CREATE INDEX odd ON open(trim(v, '-'));
      """)
    let connection = try Connection(path: path)
    try QueryBounds.set(on: connection)
    let statement = "SELECT v FROM open WHERE id = 1"
    #expect(try ask(statement, on: connection).contains("-one-"))
    try program.execute("CREATE TABLE later(a)")
    #expect(try ask(statement, on: connection).contains("-one-"))
  }

  @Test func `finds a hidden table under no name of SQLite's own`() throws {
    let connection = try connection()
    let statement = "SELECT trim(' a '), value FROM json_each('[1]')"
    #expect(try ask(statement, on: connection).contains(#"["a",1]"#))
    try connection.execute("CREATE TABLE json_each(v); INSERT INTO json_each VALUES ('C1')")
    #expect(throws: Problem.self) { try ask("SELECT * FROM json_each", on: connection) }
  }

  @Test func `is bounded in rows, bytes, values and what it is made of`() throws {
    let connection = try connection()
    let count = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
    let many = try ask(count + " SELECT i FROM n", on: connection)
    #expect(many.hasSuffix("[10000]],\"more\":true}\n"))
    let wide = try ask(count + " SELECT hex(zeroblob(100000)) FROM n", on: connection)
    #expect(wide.hasSuffix("\"more\":true}\n") && wide.utf8.count < 9 << 20)
    var views = "WITH a0 AS (SELECT id FROM open)"
    for number in 1...40 {
      views += ", a\(number) AS (SELECT x.id FROM a\(number - 1) x, a\(number - 1) y)"
    }
    for (statement, status) in [
      ("SELECT zeroblob(300000)", 413), ("SELECT hex(zeroblob(200000))", 413),
      ("SELECT " + String(repeating: "(", count: 200) + "1", 400),
      (views + " SELECT 1 FROM a40", 400),
      ("SELECT '" + String(repeating: "x", count: 70_000) + "'", 413),
      ("SELECT 1 FROM open WHERE v LIKE '" + String(repeating: "%a", count: 60) + "'", 400),
      (Array(repeating: "SELECT 1", count: 60).joined(separator: " UNION "), 400),
    ] {
      let start = ContinuousClock.now
      let problem = #expect(throws: Problem.self, "\(statement.prefix(60))") {
        try ask(statement, on: connection)
      }
      #expect(problem?.status == status, "\(statement.prefix(60)) \(problem as Any)")
      #expect(.now - start < .seconds(7))
    }
  }

  @Test func `is ended when it takes too long or too much`() throws {
    let connection = try connection()
    let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
    QueryBounds.watch(connection, until: .now + .milliseconds(300))
    let slow = #expect(throws: Problem.self) {
      try ask(endless + " SELECT count(*) FROM n", on: connection)
    }
    #expect(slow?.status == 422 || slow?.status == 413)
    QueryBounds.watch(connection, until: .now + .seconds(60))
    let large = #expect(throws: Problem.self) {
      try ask(
        endless + " SELECT max(i) FROM (SELECT i, hex(zeroblob(50000)) AS t FROM n ORDER BY t, i)",
        on: connection)
    }
    #expect(large?.status == 413 || large?.status == 422)
    connection.setWatch(every: 0, nil)
    #expect(try ask("SELECT 1", on: connection).contains("[[1]]"))
  }
}

@Suite(.timeLimit(.minutes(5))) struct `Statements over HTTP` {
  @Test func `are for what the token may read`() async throws {
    try await Workplace.with { place in
      try await place.found(
        "a.db",
        """
        CREATE TABLE t(id INTEGER PRIMARY KEY, v); INSERT INTO t VALUES (1, 'a'), (2, 'b');
        CREATE TABLE hidden(id INTEGER PRIMARY KEY, v); CREATE VIEW both AS
          SELECT t.v FROM t JOIN hidden USING (id);
        CREATE TABLE big(id INTEGER PRIMARY KEY, v BLOB);
        INSERT INTO big VALUES (1, zeroblob(400000));
        """)
      let node = try await place.serve("a.db", "--http", "127.0.0.1:0")
      let client = RawClient(
        port: node.port, token: try await place.token("a.db", tables: "t=read"))
      let full = RawClient(port: node.port, token: try await place.token("a.db", "full"))
      let query = "/v1/a/query"
      let found = try await client.ask(
        "POST", query, body: #"{"sql":"SELECT v FROM t WHERE id > ? ORDER BY 1","values":[1]}"#)
      #expect(found.status == 200)
      #expect(found.body == #"{"columns":["v"],"rows":[["b"]],"more":false}"# + "\n")
      for name in ["hidden", "both", "_flotilla_journal", "sqlite_schema"] {
        let body = "{\"sql\":\"SELECT count(*) FROM \(name)\"}"
        #expect(try await client.ask("POST", query, body: body).kind == "sql", "\(name)")
        let isOpen = ["hidden", "both"].contains(name)
        #expect(try await full.ask("POST", query, body: body).status == (isOpen ? 200 : 400))
      }
      let write = try await full.ask("POST", query, body: #"{"sql":"DELETE FROM t"}"#)
      #expect(write.status == 400 && write.body.contains("only reads rows"))
      let large = try await full.ask("POST", query, body: #"{"sql":"SELECT v FROM big"}"#)
      #expect(large.status == 413)
      #expect(
        try await full.ask("POST", query, body: #"{"sql":"SELECT length(v) FROM big"}"#).status
          == 200)
      for body in [
        "{}", "[]", #"{"sql":5}"#, #"{"sql":"SELECT 1","values":{}}"#, #"{"sql":"SELECT 1","x":1}"#,
        #"{"sql":"SELECT ?","values":[[]]}"#, #"{"sql":"SELECT ?","values":[1,2]}"#,
      ] {
        #expect(try await client.ask("POST", query, body: body).status == 400, "\(body)")
      }
      #expect(try await client.ask("GET", query).status == 405)
      #expect(try await client.ask("POST", query + "?x", body: "{}").status == 400)
      #expect(try await RawClient(port: node.port).ask("POST", query, body: "{}").status == 401)
      #expect(try await place.sql("a.db", "SELECT count(*) FROM t") == "2")
      try await node.stop()
    }
  }
}
