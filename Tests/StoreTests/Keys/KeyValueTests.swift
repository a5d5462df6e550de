import Replication
import SQLite
import Testing

@testable import Store

/// Keys of another class than their columns store: one row to SQLite, two to whoever compares keys.
@Suite struct KeyValueTests {
  @Test func `a key that its column would store otherwise is refused`() throws {
    let schema = "CREATE TABLE patient(id INTEGER PRIMARY KEY, name TEXT)"
    let replicas = try KeysTests.site(
      2, schema: schema, tables: ["patient"], beginning: "INSERT INTO patient VALUES (7, 'Ann')")
    let row = HostileKeysTests.row(
      replicas[0], HostileKeysTests.patient, 1,
      [HostileKeysTests.text("7"), HostileKeysTests.text("Eve")])
    var (shape, version, content) = row
    (version.isDeleted, version.hash) = (true, 0)
    content = .deleted(key: [HostileKeysTests.text("7")])
    shape = HostileKeysTests.patient
    for bad in [row, (shape, version, content)] {
      #expect(throws: StoreError.self) { try HostileKeysTests.send([bad], to: replicas[0]) }
    }
    try KeysTests.settle(replicas)
    for replica in replicas {
      #expect(try replica.value("SELECT name FROM patient WHERE id = 7") == .string("Ann"))
    }
  }

  /// What a column keeps as it came is asked of SQLite itself.
  @Test func `which keys a column stores as they come`() throws {
    let texts = [
      "7", " 7\t", "+7", "-7", "07", "7.0", "7.5", ".5", "5.", "1e3", "1E+3", "1e", "1e+", "e1",
      ".", "", " ", "-", "+-7", "7 7", "0x10", "inf", "nan", "1_000", "99999999999999999999",
      "1e999", "12345678901234567890.5", "abc", "2024-01-01", "7\u{a0}", "7\u{0}", "٧",
    ]
    let values: [Replication.Value] =
      texts.map { .text(Array($0.utf8)) } + [
        .integer(0), .integer(7), .integer(.max), .integer(.min), .integer(1 << 53 + 1),
        .real(7), .real(7.5), .real(1e300), .blob([0x37]),
      ]
    let connection = try Connection(path: ":memory:", mode: .create)
    let affinities: [(KeyAffinity, String)] = [
      (.none, ""), (.none, "BLOB"), (.text, "TEXT"), (.numeric, "DATE"), (.integer, "INTEGER"),
      (.real, "REAL"),
    ]
    for (affinity, type) in affinities {
      try connection.execute("CREATE TABLE t(a \(type))")
      for value in values {
        try connection.run("INSERT INTO t VALUES (?)", [value.sqlite])
        let stored = Replication.Value(try connection.scalar("SELECT a FROM t"))
        let isSame = Key([stored], collations: []) == Key([value], collations: [])
        #expect(affinity.keeps(value) == isSame, "\(value) in a column of \(type)")
        try connection.execute("DELETE FROM t")
      }
      try connection.execute("DROP TABLE t")
    }
  }

  /// Whatever keys SQLite has stored travel.
  @Test(arguments: [
    "(id INTEGER PRIMARY KEY)", "(id TEXT PRIMARY KEY)", "(id PRIMARY KEY)",
    "(id REAL PRIMARY KEY)", "(id DATE PRIMARY KEY)", "(id NUMERIC PRIMARY KEY) WITHOUT ROWID",
    "(id ANY PRIMARY KEY) STRICT", "(id INT PRIMARY KEY) STRICT",
    "(id TEXT PRIMARY KEY COLLATE NOCASE)",
  ])
  func `keys of every class travel, and their deletes`(columns: String) throws {
    let schema = "CREATE TABLE t\(columns)"
    let replicas = try KeysTests.site(2, schema: schema, tables: ["t"])
    for value in [
      "7", "'7.0'", "'08'", "7.25", "1e300", "'x'", "x'00'", "'2024-01-01'", "'1e5'", "-0.0",
      "9007199254740993", "' 9 '",
    ] {
      _ = try? replicas[0].write("INSERT INTO t VALUES (\(value))")
    }
    try replicas[0].foldAll()
    try KeysTests.settle(replicas)
    #expect(try replicas[0].content("t") == replicas[1].content("t"))
    #expect(try !replicas[1].content("t").isEmpty)
    KeysTests.later(replicas[1], than: replicas)
    try replicas[1].write("DELETE FROM t")
    try replicas[1].foldAll()
    try KeysTests.settle(replicas)
    for replica in replicas { #expect(try replica.content("t").isEmpty) }
  }
}
