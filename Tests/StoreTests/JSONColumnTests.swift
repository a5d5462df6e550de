import Replication
import SQLite
import Testing

@testable import Store

/// Schemas that compute with JSON: SQLite 3.40 calls its functions for it unsafe in schemas that
/// are not trusted.
@Suite struct JSONColumnTests {
  static let schema = """
    CREATE TABLE form(id TEXT PRIMARY KEY, data TEXT CHECK (json_valid(data)),
      ward TEXT GENERATED ALWAYS AS (json_extract(data, '$.ward')) VIRTUAL,
      bed TEXT GENERATED ALWAYS AS (data ->> '$.bed') STORED);
    CREATE UNIQUE INDEX form_bed ON form(json_extract(data, '$.bed')) WHERE json_valid(data);
    CREATE VIEW beds AS SELECT id, value FROM form, json_each(data);
    """

  @Test func `rows of a table with JSON in its schema are equal everywhere`() throws {
    let replicas = try KeysTests.site(2, schema: Self.schema, tables: ["form"])
    for (index, name) in ["a", "b"].enumerated() {
      KeysTests.later(replicas[index], than: replicas)
      try replicas[index].write(
        """
        INSERT INTO form(id, data) VALUES ('\(name)', '{"ward": "A", "bed": 7}'),
          ('\(name)2', '{"ward": "\(name)", "bed": "\(name)"}');
        """)
      try replicas[index].foldAll()
    }
    try KeysTests.settle(replicas)
    for replica in replicas {
      #expect(
        try replica.prepareRows("SELECT id || ward || bed FROM form ORDER BY 1")
          == ["a2aa", "aA7", "b2bb"])
      #expect(try replica.store.survey.figures().parked == 1)
    }
    try replicas[1].write("UPDATE form SET data = json_set(data, '$.bed', 8) WHERE id = 'a'")
    try replicas[1].foldAll()
    try KeysTests.settle(replicas)
    for replica in replicas {
      #expect(
        try replica.prepareRows("SELECT id || bed FROM form ORDER BY 1")
          == ["a2a", "a8", "b2b", "b7"])
    }
  }

  @Test func `a schema with JSON is adopted`() throws {
    let first = try TestReplica(1, schema: Self.schema, tracking: ["form"])
    let second = try TestReplica(2, schema: "")
    let adoption = try second.store.adopt(
      first.store.schemaCopy.objects(), of: "one", at: second.now)
    #expect(adoption.differences == [])
    #expect(adoption.steps.map(\.name) == ["form", "form_bed", "beds"])
  }

  /// Of what the values are with which a schema here cannot compute, and those of another row.
  private static let uncomputable = [
    (
      "CREATE TABLE t(id TEXT PRIMARY KEY, v);"
        + "CREATE INDEX t_ward ON t(json_extract(v, '$.ward'))", "'no JSON'", "'{}'"
    ),
    (
      "CREATE TABLE t(id TEXT PRIMARY KEY, v);"
        + "CREATE UNIQUE INDEX t_ward ON t(json_extract(v, '$.ward'))", "'no JSON'", "'{}'"
    ),
    ("CREATE TABLE t(id TEXT PRIMARY KEY, v CHECK (json_type(v) <> 'x'))", "'no JSON'", "'{}'"),
    (
      "CREATE TABLE t(id TEXT PRIMARY KEY, v, w AS (json_extract(v, '$.w')) STORED)", "'no JSON'",
      "'{}'"
    ),
    (
      "CREATE TABLE t(id TEXT PRIMARY KEY, v); CREATE INDEX t_v ON t(abs(v))",
      "-9223372036854775808", "1"
    ),
    (
      "CREATE TABLE t(id TEXT PRIMARY KEY, v); CREATE INDEX t_v ON t(zeroblob(v) IS NULL)",
      "2000000000", "1"
    ),
  ]

  @Test(arguments: uncomputable)
  func `a row with which the schema cannot compute waits, and the others stand`(
    schema: String, bad: String, good: String
  ) throws {
    let author = try TestReplica(
      1, schema: "CREATE TABLE t(id TEXT PRIMARY KEY, v)", tracking: ["t"])
    let other = try TestReplica(2, schema: schema)
    try other.pull(from: author)
    // Alone, among others that go in with one statement, and over a row that stands.
    try author.write("INSERT INTO t VALUES ('a', \(bad)), ('stood', NULL)")
    try author.foldAll()
    try other.pull(from: author)
    try author.write("UPDATE t SET v = \(bad) WHERE id = 'stood'")
    for number in 0..<40 {
      try author.write("INSERT INTO t VALUES ('k\(number)', \(number == 20 ? bad : "NULL"))")
    }
    try author.foldAll()
    try other.pull(from: author)
    #expect(try other.value("SELECT count(*) FROM t") == .integer(39))
    #expect(try other.store.survey.figures().parked == 3)
    #expect(other.store.position.frontier.covers(author.store.position.frontier))
    try other.reopen()
    try author.write("UPDATE t SET v = \(good) WHERE id = 'a'; DELETE FROM t WHERE id = 'k20'")
    try author.foldAll()
    try other.pull(from: author)
    #expect(try other.value("SELECT count(*) FROM t") == .integer(40))
    #expect(try other.store.survey.figures().parked == 1)
  }
}
