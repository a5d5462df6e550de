import Replication
import SQLite

/// A table that two replicas have under one name with different primary keys.
package struct KeyDifference: Sendable, Equatable {
  package var table: String
  package var here: KeyDefinition
  package var there: KeyDefinition
}

extension Store {
  /// The tables of the file whose rows have another identity than those of the objects of the same
  /// name. A table without a key there is nobody's concern: it cannot be tracked.
  package static func keyDifferences(
    in path: String, from objects: [SchemaObject]
  ) throws(StoreError) -> [KeyDifference] {
    let (local, site) = try reporting { () throws(SQLiteError) in
      let site = try Connection(path: ":memory:")
      try site.set(.doubleQuotedStrings, to: true)
      return (try Connection(path: path, mode: .readOnly), site)
    }
    var differences: [KeyDifference] = []
    for object in objects where object.kind == .table && !TableSchema.isReserved(object.name) {
      guard let mine = try TableSchema.read(object.name, on: local),
        SQLText(object.sql).isStoredObject,
        (try? site.prepare(object.sql).step()) != nil,
        let theirs = try TableSchema.read(object.name, on: site)
      else { continue }
      let (here, there) = (KeyDefinition(mine), KeyDefinition(theirs))
      guard !there.isEmpty, !here.agrees(with: there) else { continue }
      differences.append(KeyDifference(table: mine.name, here: here, there: there))
    }
    return differences
  }
}
