import SQLite
import Testing

@Suite struct ConnectionTests {
  @Test(arguments: [
    Value.null, .integer(.min), .integer(.max), .integer(0), .real(-0.0), .real(.infinity),
    .real(.leastNonzeroMagnitude), .real(0.1), .text([]), .string("Växjö"), .text([0x61, 0, 0x62]),
    .text([0xFF, 0xFE]), .blob([]), .blob([0, 1, 2]),
  ])
  func `a value comes back in its own class and bits`(value: Value) throws {
    let connection = try Connection(path: ":memory:", mode: .create)
    #expect(try connection.scalar("SELECT ?1", [value]) == value)
  }

  @Test func `an error carries the extended code and no value`() throws {
    let connection = try Connection(path: ":memory:", mode: .create)
    try connection.execute("CREATE TABLE t(a TEXT PRIMARY KEY NOT NULL)")
    try connection.run("INSERT INTO t VALUES (?1)", [.string("secret")])
    let error = #expect(throws: SQLiteError.self) {
      try connection.run("INSERT INTO t VALUES (?1)", [.string("secret")])
    }
    #expect(error?.code == 1555)
    #expect(error?.isConstraint == true)
    #expect(error?.description.contains("secret") == false)
  }

  @Test func `a transaction that throws leaves nothing behind`() throws {
    let connection = try Connection(path: ":memory:", mode: .create)
    try connection.execute("CREATE TABLE t(a)")
    #expect(throws: SQLiteError.self) {
      try connection.transaction { () throws(SQLiteError) in
        try connection.run("INSERT INTO t VALUES (1)")
        try connection.run("INSERT INTO nowhere VALUES (1)")
      }
    }
    #expect(try connection.scalar("SELECT count(*) FROM t") == .integer(0))
    #expect(connection.isAutocommit)
  }

  @Test func `what stands after the first statement is told`() throws {
    let connection = try Connection(path: ":memory:", mode: .create)
    #expect(try connection.prepare("SELECT 1; SELECT 2").tail == " SELECT 2")
    #expect(try connection.prepare("SELECT 1;").tail == "")
  }

  @Test func `a cached statement may be used inside itself`() throws {
    let connection = try Connection(path: ":memory:", mode: .create)
    try connection.execute("CREATE TABLE t(a); INSERT INTO t VALUES (1), (2)")
    var sum: Int64 = 0
    try connection.with("SELECT a FROM t") { (outer) throws(SQLiteError) in
      while try outer.step() {
        sum += try connection.rows("SELECT a FROM t").compactMap(\.[0].integer).reduce(0, +)
      }
    }
    #expect(sum == 6)
  }

  @Test(arguments: [
    ("a", "\"a\""), ("a\"b", "\"a\"\"b\""), ("select", "\"select\""),
    ("a\"\u{301}b", "\"a\"\"\u{301}b\""),
  ])
  func `a name is quoted by doubling`(name: String, expected: String) {
    #expect(quoted(name) == expected)
  }

  /// What comes after the quote would be read as SQL, or by a shell.
  @Test func `a quote with a mark over it is a quote`() {
    #expect(Array(literal("x'\u{301};").utf8) == Array("'x''\u{301};'".utf8))
    #expect(Array(quoted("a`\u{301}", by: "`").utf8) == Array("`a``\u{301}`".utf8))
    let escapes: [Unicode.Scalar: String] = ["\"": "<", "\\": "[", "\n": "n"]
    let shown = quoted("\"\u{301}\\\n\u{301}'", by: "\"", escapes: escapes)
    #expect(Array(shown.utf8) == Array("\"<\u{301}[n\u{301}'\"".utf8))
  }
}
