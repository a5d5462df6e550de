import Replication
import Testing

@testable import Store

/// The schema that an inviter sends is SQL of another machine: only plain objects are made.
@Suite struct SchemaCopyTests {
  @Test(arguments: [
    "CREATE TABLE x AS WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i FROM c) SELECT * FROM c",
    "CREATE TEMP TABLE x(a PRIMARY KEY)", "CREATE TABLE main.x(a PRIMARY KEY)",
    "DROP TABLE t", "", "CREATE",
  ])
  func `what no replica has stored is left out`(_ sql: String) throws {
    let replica = try TestReplica(1)
    let remarks = try Store.create(
      [SchemaObject(kind: .table, name: "x", sql: sql)], on: replica.store.connection)
    #expect(remarks.count == 1)
    #expect(try replica.store.schemaObjects().isEmpty)
  }

  @Test(arguments: [
    "CREATE TABLE \"x\"(a PRIMARY KEY)", "CREATE TABLE x /* a table */ (a PRIMARY KEY)",
    "CREATE VIRTUAL TABLE x USING fts5(a)", "CREATE TABLE 'x'(a PRIMARY KEY, b AS (a))",
  ])
  func `what a replica stores is made`(_ sql: String) throws {
    let replica = try TestReplica(1)
    #expect(
      try Store.create(
        [SchemaObject(kind: .table, name: "x", sql: sql)], on: replica.store.connection) == [])
    #expect(try replica.store.schemaObjects().map(\.name).contains("x"))
  }
}
