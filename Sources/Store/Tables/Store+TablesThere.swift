import Replication
import SQLite

extension Store {
  /// Replicated tables of this file that another member does not have, by what it has told of its
  /// schema. It may have one under any name that the site knows for it.
  package func tablesMissing(in objects: [SchemaObject]) -> [String] {
    var first: [String: String] = [:]
    for object in objects where object.kind == .entry && isSameName(object.name, Renames.settings) {
      let fields = Dictionary(object.fields.map { ($0.column, $0.value) }) { $1 }
      if case .text(let name)? = fields["name"], case .text(let original)? = fields["first"] {
        first[folded(String(decoding: name, as: UTF8.self))] = String(
          decoding: original, as: UTF8.self)
      }
    }
    let there = Set(
      objects.filter { $0.kind == .table }
        .map { folded(first[folded($0.name)] ?? tables.names.first(of: $0.name) ?? $0.name) })
    return tables.tracked.filter { table in
      table.isHere && !table.isSettings && !there.contains(folded(table.name))
    }.map(\.nameHere)
  }
}
