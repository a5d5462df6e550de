import Replication
import SQLite

@testable import Store

/// Which rows stand, worked out anew from all versions: what the store keeps step by step.
struct PlainStanding {
  /// A foreign key of the tables of a test, which compare all values as they are.
  struct Reference {
    var child: String
    var column: String
    var parent: String
    var to: String
  }

  private struct Row {
    var table: String
    var key: Key
    var version: Version
    var values: [String: Replication.Value]
  }

  private let references: [Reference]
  /// The unique columns of each table.
  private let unique: [String: [String]]
  private var rows: [Row] = []

  init(_ store: Store, references: [Reference], unique: [String: [String]]) throws {
    (self.references, self.unique) = (references, unique)
    var place: VersionTable.Place?
    repeat {
      let (items, next) = try store.versions.slice(after: place, limit: 1_000)
      place = next
      for item in items where !item.version.isDeleted {
        guard let table = store.tables.byID[item.table], table.name != Tables.settings,
          let entry = try store.contents.content(of: item.version, table, item.key)
        else { continue }
        let values = Dictionary(entry.values.map { ($0.name, $0.value) }) { first, _ in first }
        rows.append(Row(table: table.name, key: item.key, version: item.version, values: values))
      }
    } while place != nil
  }

  /// The keys of the rows that stand, by table.
  func standing() -> [String: Set<Key>] {
    let claiming = greatest(Array(rows.indices)).sorted {
      Precedence(rows[$0].version, rows[$0].key) < Precedence(rows[$1].version, rows[$1].key)
    }
    var taken: Set<String> = []
    let chosen = claiming.filter { index in
      let claims = (unique[rows[index].table] ?? []).compactMap { column -> String? in
        let value = rows[index].values[column] ?? .null
        return value == .null ? nil : "\(rows[index].table) \(column) \(value)"
      }
      guard claims.allSatisfy({ !taken.contains($0) }) else { return false }
      taken.formUnion(claims)
      return true
    }
    var standing: [String: Set<Key>] = [:]
    for index in greatest(chosen) {
      standing[rows[index].table, default: []].insert(rows[index].key)
    }
    return standing
  }

  /// The greatest set of these rows whose references lead into the set.
  private func greatest(_ indices: [Int]) -> [Int] {
    var left = indices
    while true {
      let kept = left.filter { index in
        let row = rows[index]
        return row.version.isDangling
          || references.allSatisfy { reference in
            let value = row.values[reference.column] ?? .null
            guard reference.child == row.table, value != .null else { return true }
            return left.contains {
              rows[$0].table == reference.parent && rows[$0].values[reference.to] == value
            }
          }
      }
      if kept.count == left.count { return kept }
      left = kept
    }
  }
}
