import Replication
import SQLite

/// What came of the rows of a file that has just joined.
extension TableSurvey {
  /// How many rows of each table came with this file and refer by a number to a row of the site.
  /// Their own row of that number has given way to it.
  package func rowsUnderOthers() throws(StoreError) -> [(table: String, rows: Int)] {
    let parentage = try reporting { () throws(SQLiteError) in try kinship.parentage(tables) }
    return try reporting { () throws(SQLiteError) in
      var found: [(table: String, rows: Int)] = []
      for table in tables.tracked where table.isHere {
        var keys: Set<Key> = []
        for link in parentage.links(of: table.id) {
          guard let parent = tables.byID[link.parent], parent.id != table.id else { continue }
          try keys.formUnion(self.children(of: replaced(in: parent), parent, by: link, table))
        }
        if !keys.isEmpty { found.append((table.nameHere, keys.count)) }
      }
      return found
    }
  }

  /// The keys of rows of this file that have given way.
  private func replaced(in table: ReplicaTable) throws(SQLiteError) -> Set<Key> {
    Set(
      try connection.rows(
        "SELECT key FROM _flotilla_conflict WHERE name = ? AND state = 'open'",
        [.string(table.name)]
      ).compactMap { $0[0].blob.map(Key.init) })
  }

  private func children(
    of keys: Set<Key>, _ parent: ReplicaTable, by link: Parentage.Link, _ table: ReplicaTable
  ) throws(SQLiteError) -> Set<Key> {
    guard !keys.isEmpty, let statements = table.statements else { return [] }
    let count = statements.shape.keyCount
    let names = statements.names.prefix(count) + [statements.names[link.column]]
    return try connection.with(
      "SELECT \(names.map(quoted).joined(separator: ", ")) FROM main.\(quoted(table.nameHere))"
    ) { (statement) throws(SQLiteError) in
      var found: Set<Key> = []
      while try statement.step() {
        guard let referred = parent.key(referredToBy: Replication.Value(statement.value(count))),
          keys.contains(referred), let key = table.key(in: statement, from: 0, count),
          try versions.version(table: table.id, key: key)?.stamp == .beforeSite
        else { continue }
        found.insert(key)
      }
      return found
    }
  }
}
