import Replication
import Testing

@testable import Store

/// Replicas that do not agree on what a key is made of.
@Suite struct MismatchTests {
  private func make() throws -> (TestReplica, TestReplica) {
    let other = "CREATE TABLE o(id TEXT PRIMARY KEY NOT NULL, v);"
    let text = try TestReplica(
      1, schema: "CREATE TABLE t(id TEXT PRIMARY KEY NOT NULL, v);" + other, tracking: ["t", "o"])
    let number = try TestReplica(2, schema: "CREATE TABLE t(id INTEGER PRIMARY KEY, v);" + other)
    try text.write("INSERT INTO t VALUES ('uuid-1', 1), ('2', 2); INSERT INTO o VALUES ('x', 1)")
    return (text, number)
  }

  @Test func `a table with another kind of key waits, and nothing else waits for it`() throws {
    let (text, number) = try make()
    try number.pull(from: text)
    #expect(try number.content("o") == text.content("o"))
    #expect(try number.application.prepareRows("SELECT id FROM t") == [])
    #expect(try number.store.tableSurvey.waitingKeys().map(\.rows) == [2])
    #expect(number.store.position.frontier == text.store.position.frontier)
    #expect(number.store.position.digest == text.store.position.digest)
  }

  @Test func `what was parked stands when the table has changed`() throws {
    let (text, number) = try make()
    try number.pull(from: text)
    try number.write(
      """
      BEGIN; CREATE TABLE n(id TEXT PRIMARY KEY NOT NULL, v); INSERT INTO n SELECT * FROM t;
      DROP TABLE t; ALTER TABLE n RENAME TO t; COMMIT
      """)
    try number.foldAll()
    try number.exchange(with: text)
    #expect(try number.content("t") == text.content("t"))
    #expect(try number.store.tableSurvey.waitingKeys().isEmpty)
  }
}
