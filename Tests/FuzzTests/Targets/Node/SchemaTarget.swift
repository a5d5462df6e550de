import Replication
import SQLite

@testable import Store

/// Creates a schema as a joiner does: texts with zero bytes between them.
///
/// The first byte of each says which kind of object it claims to be.
func readSchema(_ bytes: [UInt8]) {
  let objects = bytes.split(separator: 0).prefix(8).compactMap { text in
    SchemaObject.Kind(rawValue: text[text.startIndex] & 3).map {
      let sql = String(decoding: text.dropFirst(), as: UTF8.self)
      let name = SQLText(sql).tokens.dropFirst(2).first?.name ?? ""
      return SchemaObject(kind: $0, name: name, sql: sql)
    }
  }
  guard !objects.isEmpty else { return }
  do {
    let sandbox = try Sandbox("schema", schema: "", tracking: [])
    let store = try Store(path: sandbox.path)
    let own = "SELECT * FROM sqlite_schema WHERE name LIKE '\\_flotilla%' ESCAPE '\\' ORDER BY 2"
    let before = try sandbox.rows(own)
    _ = try? store.connection.transaction { () throws(SQLiteError) in
      try SchemaCopy.create(objects, on: store.connection)
    }
    let after = try sandbox.rows(own)
    demand(after == before, "tables of Flotilla's own have changed")
    let connection = try Connection(path: sandbox.path)
    for object in try store.schemaCopy.objects() where object.kind == .table {
      _ = try? Trackability.check(table: object.name, on: connection)
      _ = try? store.track([object.name], rule: nil, at: Sandbox.now)
    }
    _ = try? store.fold(at: Sandbox.now)
    let verdict = try sandbox.rows("PRAGMA quick_check")
    demand(verdict.count == 1, "\(verdict)")
    try adopt(objects)
  } catch {
    fatalError(explain(error))
  }
}

/// Brings a file to that schema as `schema --adopt` does: what was there is there afterwards.
private func adopt(_ objects: [SchemaObject]) throws {
  let sandbox = try Sandbox("adopt", schema: Sandbox.schema, tracking: Sandbox.tracked)
  let store = try Store(path: sandbox.path)
  let kept = [
    "SELECT id, v, n FROM t", "SELECT a, b, d FROM pair", "SELECT * FROM secret",
    "SELECT id, boss, v FROM person",
    "SELECT name, sql FROM sqlite_schema WHERE type = 'table' AND name GLOB '_flotilla_*'",
  ]
  let before = try kept.map(sandbox.rows)
  let shown = try store.compare(with: objects, of: "peer")
  let adoption = try store.adopt(objects, of: "peer", at: Sandbox.now)
  demand(adoption.steps.count <= shown.steps.count, "more was added than was shown")
  demand(try kept.map(sandbox.rows) == before, "what was there has changed")
  for step in adoption.steps {
    let found = try sandbox.rows(
      "SELECT 1 FROM sqlite_schema WHERE name = \(literal(step.name)) COLLATE NOCASE "
        + "UNION ALL SELECT 1 FROM pragma_table_xinfo(\(literal(step.table))) "
        + "WHERE name = \(literal(step.name)) COLLATE NOCASE")
    demand(!found.isEmpty, "\(step.sql) has made nothing")
  }
  let verdict = try sandbox.rows("PRAGMA quick_check")
  demand(verdict.count == 1, "\(verdict)")
}
