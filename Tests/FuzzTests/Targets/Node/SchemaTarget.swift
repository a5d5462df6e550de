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
      try Store.create(objects, on: store.connection)
    }
    let after = try sandbox.rows(own)
    demand(after == before, "tables of Flotilla's own have changed")
    let connection = try Connection(path: sandbox.path)
    for object in try store.schemaObjects() where object.kind == .table {
      _ = try? Trackability.check(table: object.name, on: connection)
      _ = try? store.track([object.name], rule: nil, at: Sandbox.now)
    }
    _ = try? store.fold(at: Sandbox.now)
    let verdict = try sandbox.rows("PRAGMA quick_check")
    demand(verdict.count == 1, "\(verdict)")
  } catch {
    fatalError(explain(error))
  }
}
