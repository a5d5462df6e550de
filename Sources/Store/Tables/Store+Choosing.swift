import SQLite

/// What can be read like a table, and has no rows of its own to replicate.
package struct UntrackableObject: Sendable, Equatable {
  package var name: String
  /// The module of a virtual table, in small letters; nil for a view.
  package var module: String?
}

extension Store {
  /// Whether a table can be tracked, and what its owner should know.
  package func trackability(
    of name: String, onCollision choice: KeyHandling.Kind? = nil
  ) throws(StoreError) -> Trackability {
    let isHere = try reporting { () throws(SQLiteError) in
      try SchemaReader(connection: connection).table(name) != nil
    }
    let known = isHere ? name : nameHere(siteName(name))
    if let other = tables.table(known), other.isTracked, !isSameName(other.nameHere, known),
      tables.names.isPresent(other.id, other.name)
    {
      return .refused(
        reason: "\(quoted(other.nameHere)) is known to the site as \(quoted(other.name)): it was "
          + "renamed",
        remedy: "Give this one another name: ALTER TABLE \(quoted(name)) RENAME TO …")
    }
    return try Trackability.check(table: known, choice: choice, on: connection)
  }

  /// The views and virtual tables of the file, in the order of the names. The tables in which a
  /// virtual one keeps its rows are parts of it, and are not told one by one.
  package func untrackableObjects() throws(StoreError) -> [UntrackableObject] {
    let (views, virtual) = try reporting { () throws(SQLiteError) in
      (
        try connection.rows("SELECT name FROM main.sqlite_schema WHERE type = 'view'"),
        try VirtualTable.all(on: connection)
      )
    }
    let found =
      views.map { UntrackableObject(name: $0[0].string ?? "", module: nil) }
      + virtual.map { UntrackableObject(name: $0.name, module: $0.module) }
    return found.filter { !TableSchema.isReserved($0.name) }.sorted { $0.name < $1.name }
  }

  /// All tables that could be tracked; what is left out is told in `skipped`.
  package func trackableNames(skipped: inout [String]) throws(StoreError) -> [String] {
    let names = try TableSchema.all(on: connection)
    let tracked = try reporting { () throws(SQLiteError) in try tables.namesHere() }
    let virtual = try reporting { () throws(SQLiteError) in
      try connection.rows(
        "SELECT name FROM main.sqlite_schema WHERE type = 'table' AND rootpage = 0")
    }
    for name in virtual.compactMap({ $0[0].string }) {
      skipped.append("\(name) was left out: it is a virtual table")
    }
    return names.filter { name in !tracked.contains { isSameName($0, name) } }
  }

  /// The name as the schema has it, of a table that may be meant by the site's name.
  package func declaredName(_ name: String) throws(StoreError) -> String {
    try TableSchema.read(name, on: connection)?.name ?? nameHere(siteName(name))
  }
}
