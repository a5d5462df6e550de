import Replication
import SQLite
import Testing

@testable import Store

/// Rows of another key are kept under a name of this file alone. Two shapes may make the same one,
/// for a member can look for such.
@Suite struct HeldNameTests {
  @Test func `a name that is taken is no reason to stop`() throws {
    let replica = try TestReplica(
      1, schema: "CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT)", tracking: ["t"])
    try replica.write("INSERT INTO t VALUES (1, 'one')")
    try replica.foldAll()
    let other = try TestReplica(
      2, schema: "CREATE TABLE t(id TEXT PRIMARY KEY NOT NULL, a TEXT)", tracking: ["t"])
    let key = try #require(other.store.tables.table("t")?.keyShape)
    let number = tableSeed("t") ^ mix(key.fingerprint)
    let name = KeyShapes.prefix + String(number, radix: 16)
    try replica.write("INSERT INTO _flotilla_local(name) VALUES ('\(name)'), ('\(name)_1')")
    try replica.reopen()
    try replica.write(
      """
      BEGIN; CREATE TABLE n(id TEXT PRIMARY KEY NOT NULL, a TEXT);
      INSERT INTO n SELECT 'k' || id, a FROM t; DROP TABLE t; ALTER TABLE n RENAME TO t; COMMIT
      """)
    try replica.foldAll()
    try replica.write("INSERT INTO t VALUES ('k2', 'two')")
    try replica.foldAll()
    try replica.reopen()
    let there = try TestReplica(3, schema: "CREATE TABLE t(id TEXT PRIMARY KEY NOT NULL, a TEXT)")
    try there.pull(from: replica)
    #expect(try there.value("SELECT group_concat(a) FROM t") == .string("one,two"))
  }
}
