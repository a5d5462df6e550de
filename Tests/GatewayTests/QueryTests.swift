import SQLite
import Testing

@testable import Gateway

@Suite struct `Filters` {
  private func column(_ text: String) throws(Problem) -> Filter {
    try FilterReader.read(column: "a", text)
  }

  @Test(
    arguments: [
      ("eq.5", .compare(column: "a", .eq, "5")), ("eq.", .compare(column: "a", .eq, "")),
      ("neq.a.b,(c)\"", .compare(column: "a", .neq, "a.b,(c)\"")),
      ("gte.-1.5", .compare(column: "a", .gte, "-1.5")),
      ("like.%x_", .compare(column: "a", .like, "%x_")),
      ("not.lt.3", .not(.compare(column: "a", .lt, "3"))), ("is.null", .isNull(column: "a")),
      ("is.not_null", .not(.isNull(column: "a"))), ("not.is.null", .not(.isNull(column: "a"))),
      ("in.()", .isIn(column: "a", [])), ("in.(1,2)", .isIn(column: "a", ["1", "2"])),
      ("in.(\"a,b\",\"c\\\"d\")", .isIn(column: "a", ["a,b", "c\"d"])),
      ("in.({\"base64\":\"AA==\"},x)", .isIn(column: "a", ["{\"base64\":\"AA==\"}", "x"])),
    ] as [(String, Filter)])
  func `of one column`(text: String, filter: Filter) throws {
    #expect(try column(text) == filter)
  }

  @Test func `of groups`() throws {
    #expect(
      try FilterReader.read(group: "or", "(a.eq.1,and(b.gt.2,c.not.is.null),\"d.e\".in.(1,2))")
        == .any([
          .compare(column: "a", .eq, "1"),
          .all([.compare(column: "b", .gt, "2"), .not(.isNull(column: "c"))]),
          .isIn(column: "d.e", ["1", "2"]),
        ]))
    #expect(
      try FilterReader.read(group: "and", "(not.or(a.eq.1,b.eq.\"2,\\\\\"))")
        == .all([
          .not(.any([.compare(column: "a", .eq, "1"), .compare(column: "b", .eq, "2,\\")]))
        ]))
  }

  @Test(arguments: [
    "", "5", "eq", "between.1", "EQ.1", "is.true", "in.1", "in.(1", "in.(1)x", "not", "not.",
    "in.(\"1)",
  ])
  func `that make no sense are refused`(_ text: String) {
    #expect(throws: Problem.self) { try column(text) }
  }

  @Test(arguments: [
    "", "a.eq.1", "(", "()", "(a)", "(a.eq.1", "(a.eq.1,)", "(a.eq.1)x", "(a.eq.1))", "(or)",
    "(\"a.eq.1)", String(repeating: "(and", count: 20),
  ])
  func `of groups that make no sense are refused`(_ text: String) {
    #expect(throws: Problem.self) { try FilterReader.read(group: "or", text) }
  }

  @Test func `are bounded`() {
    let deep = String(repeating: "(or", count: 9) + "(a.eq.1" + String(repeating: ")", count: 10)
    #expect(throws: Problem.self) { try FilterReader.read(group: "or", deep) }
    let wide = "(" + Array(repeating: "a.eq.1", count: 101).joined(separator: ",") + ")"
    #expect(throws: Problem.self) { try FilterReader.read(group: "or", wide) }
    let long = "in.(" + Array(repeating: "1", count: 1_001).joined(separator: ",") + ")"
    #expect(throws: Problem.self) { try column(long) }
    #expect(throws: Problem.self) { try column("like." + String(repeating: "%", count: 1_001)) }
  }
}

@Suite struct `Queries of rows` {
  private static let table = TableShape(
    name: "o\"dd",
    columns: [
      TableShape.Column(name: "i\"d", isUntyped: false),
      TableShape.Column(name: "v", isUntyped: true),
    ], key: [0])

  private func query(_ pairs: [(String, String)]) throws(Problem) -> RowQuery {
    try RowQuery(pairs.map { RequestTarget.Parameter(name: $0.0, value: $0.1) })
  }

  @Test func `are bounded over all parameters of a request together`() throws {
    let group = "(" + Array(repeating: "v.eq.1", count: 60).joined(separator: ",") + ")"
    #expect(try query([("or", group)]).filters.count == 1)
    #expect(throws: Problem.self) { try query([("or", group), ("and", group)]) }
    let patterns = (0..<4).map { ("v", "like.%\($0)%") }
    #expect(try query(patterns).filters.count == 4)
    #expect(throws: Problem.self) { try query(patterns + [("not.or", "(v.like.x)")]) }
    let long = String(repeating: "a", count: 101)
    #expect(throws: Problem.self) { try query([("v", "like.\(long)")]) }
  }

  @Test func `become SQL of quoted names and bound values`() throws {
    let evil = "1); DROP TABLE t; --"
    let sql = try query([
      ("I\"D", "eq.\(evil)"), ("v", "in.(5,x,{\"text\":\"5\"})"), ("order", "v.desc"),
      ("select", "v"), ("limit", "2"),
    ]).statement(on: Self.table)
    #expect(
      sql.text == """
        SELECT "v", "v", "i""d" FROM main."o""dd" WHERE 1 AND "i""d" IS NOT NULL AND "i""d" = ? \
        AND "v" IN (?, ?, ?) ORDER BY "v" DESC, "i""d" LIMIT 3
        """)
    #expect(sql.values == [.string(evil), .integer(5), .string("x"), .string("5")])
  }

  @Test(arguments: [
    [("nope", "eq.1")], [("select", "nope")], [("select", "v,v")], [("order", "nope.desc")],
    [("order", "")], [("limit", "0")], [("limit", "10001")], [("limit", "x")],
    [("limit", "1"), ("limit", "2")], [("next", "x")], [("next", "")],
    [("v", "eq.1\"; --"), ("v\"", "eq.1")], [("offset", "1")],
  ])
  func `that make no sense are refused`(_ pairs: [(String, String)]) {
    #expect(throws: Problem.self) { try query(pairs).statement(on: Self.table) }
  }

  @Test(arguments: ["", ".asc", ".desc"])
  func `page after page give every row once, in order`(_ direction: String) throws {
    let connection = try Connection(path: ":memory:", mode: .create)
    try connection.execute(
      """
      CREATE TABLE t(a, b TEXT COLLATE NOCASE, v, PRIMARY KEY(a, b)) WITHOUT ROWID;
      CREATE VIEW _flotilla_rows_t AS SELECT 1;
      """)
    let values: [Value] = [
      .null, .integer(1), .integer(.max), .real(1.5), .string("x"), .string("X"), .string(""),
      .blob([1]), .real(.infinity),
    ]
    for number in 0..<200 {
      let key: Value = number % 3 == 0 ? .string("k\(number)") : .integer(Int64(number))
      _ = try connection.run(
        "INSERT INTO t VALUES (?, ?, ?)",
        [key, .string("B\(number % 7)"), values.randomElement()!])
    }
    let suffix = direction == ".desc" ? " DESC" : ""
    let all = try connection.rows("SELECT a, b, v FROM t ORDER BY v\(suffix), b\(suffix), a")
    var (seen, next): ([String], String?) = ([], nil)
    repeat {
      var query = try query([("order", "v\(direction),b\(direction)"), ("limit", "7")])
      query.next = next
      let page = try RowPage.read(query, of: "t", in: OpenFile(connection))
      guard case .array(let rows) = try JSONReader.read(page.body) else { return }
      seen += rows.map { "\($0)" }
      next = page.next
    } while next != nil
    let table = try #require(try TableShape.read("t", on: connection))
    let expected = try all.map { row in
      "\(try JSONReader.read(StoredRow(table: table, values: row).json()))"
    }
    #expect(seen == expected)
  }

  @Test func `next of another order or table is refused`() throws {
    let end = PageEnd(values: [.integer(1)]).text(of: "t:id+")
    #expect(throws: Never.self) { try PageEnd(end, order: "t:id+", count: 1) }
    #expect(throws: Problem.self) { try PageEnd(end, order: "t:id-", count: 1) }
    #expect(throws: Problem.self) { try PageEnd(end, order: "t:id+", count: 2) }
    #expect(throws: Problem.self) { try PageEnd("!", order: "t:id+", count: 1) }
  }

  @Test func `a page is cut short before it is too large`() throws {
    let connection = try Connection(path: ":memory:", mode: .create)
    try connection.execute(
      """
      CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT);
      CREATE VIEW _flotilla_rows_t AS SELECT 1;
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20)
      INSERT INTO t SELECT i, hex(zeroblob(500000)) FROM n;
      """)
    let page = try RowPage.read(try query([]), of: "t", in: OpenFile(connection))
    #expect(page.body.count < RowPage.longest + (2 << 20))
    #expect(page.next != nil)
  }

  @Test(arguments: [
    ("INT", false, false), ("VARCHAR(5)", false, false), ("", false, true), ("BLOB", false, true),
    ("REAL", false, false), ("DATE", false, false), ("ANY", false, false), ("ANY", true, true),
    ("CHARBLOB", false, false),
  ])
  func `know which columns leave values as they are`(type: String, isStrict: Bool, isUntyped: Bool)
  {
    #expect(TableShape.isUntyped(type, isStrict: isStrict) == isUntyped)
  }

  @Test func `tables of Flotilla and those that are not replicated are not there`() throws {
    let connection = try Connection(path: ":memory:", mode: .create)
    try connection.execute(
      """
      CREATE TABLE t(id PRIMARY KEY); CREATE TABLE other(id PRIMARY KEY);
      CREATE TABLE _flotilla_x(id PRIMARY KEY); CREATE VIEW _flotilla_rows_t AS SELECT 1;
      CREATE VIEW _flotilla_rows__flotilla_x AS SELECT 1;
      """)
    for name in ["other", "_flotilla_x", "sqlite_schema", "T", "_flotilla_rows_t", "t\0", ""] {
      #expect(try TableShape.read(name, on: connection) == nil, "\(name)")
    }
    #expect(try TableShape.read("t", on: connection) != nil)
  }
}

@Suite struct `Keys in paths` {
  @Test func `name the row that they came from`() throws {
    let connection = try Connection(path: ":memory:", mode: .create)
    try connection.execute(
      """
      CREATE TABLE t(a, b TEXT, PRIMARY KEY(a, b));
      CREATE VIEW _flotilla_rows_t AS SELECT 1;
      """)
    let table = try #require(try TableShape.read("t", on: connection))
    let keys: [Value] = [
      .integer(5), .string("5"), .integer(.max), .real(5), .real(0.1), .string("a,b/c?d#e%"),
      .string(""), .string("{\"text\":\"x\"}"), .blob([0, 255]), .blob([]), .text([0xFF]),
      .string("é\0"), .real(.infinity), .string("+ +"),
    ]
    for key in keys {
      let row = StoredRow(table: table, values: [key, .string("x,y")])
      let again = try RowKey.read(row.path, of: table)
      #expect(again[0] == key, "\(row.path)")
      #expect(again[1] == .string("x,y"))
    }
    for wrong in ["", "a", "a,b,c", "%,a", "%zz,a", "%ff,a"] {
      #expect(throws: Problem.self) { try RowKey.read(wrong, of: table) }
    }
  }
}
