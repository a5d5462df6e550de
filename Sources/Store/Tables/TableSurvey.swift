import Replication
import SQLite

/// What can be told of the tables of this file: which could be replicated, which are held back, and
/// what rows of others wait for. It only reads.
package struct TableSurvey {
  let connection: Connection
  let tables: Tables
  let versions: VersionTable
  let lost: LostVersions
  let kinship: Kinship
  /// The foreign keys between tracked tables.
  let references: References
}

/// Which tables there are, and what can be done with them.
extension TableSurvey {
  /// Whether a table can be tracked, and what its owner should know.
  package func trackability(
    of name: String, onCollision choice: KeyHandling.Kind? = nil
  ) throws(StoreError) -> Trackability {
    let isHere = try reporting { () throws(SQLiteError) in
      try SchemaReader(connection: connection).table(name) != nil
    }
    let known = isHere ? name : tables.nameHere(tables.siteName(name))
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

  /// Whether a table is the book of a migration tool.
  package func isBook(_ name: String) throws(StoreError) -> Bool {
    try MigrationBook.isOne(name, on: connection)
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
    try TableSchema.read(name, on: connection)?.name ?? tables.nameHere(tables.siteName(name))
  }

  /// The replicated tables that are here: how the site called each first, and what it is called in
  /// this file.
  package func names() -> [(first: String, here: String)] {
    tables.tracked.filter(\.isHere).map { ($0.name, $0.nameHere) }
  }

  /// Tables that nobody tracks and of which rows wait here. A member has invented them, or the news
  /// that they are tracked is still on its way.
  package func strayTables() throws(StoreError) -> [StrayTable] {
    try reporting { () throws(SQLiteError) in
      let objects = try StoredObjects(connection)
      var found: [StrayTable] = []
      for table in tables.byID.values where !table.isTracked && !table.isHeld {
        let rows = try connection.rows(
          """
          SELECT o.origin, count(*) FROM _flotilla_version v
          JOIN _flotilla_origin o ON o.id = coalesce(v.author, v.origin) WHERE v.tbl = ? GROUP BY 1
          """, [.integer(table.id)])
        guard !rows.isEmpty else { continue }
        found.append(
          StrayTable(
            name: table.name, rows: Int(rows.reduce(0) { $0 + ($1[1].integer ?? 0) }),
            authors: Set(rows.map { Origin(rawValue: UInt64(bitPattern: $0[0].integer ?? 0)) }),
            isHere: objects.tables[folded(table.name)] != nil))
      }
      return found.sorted { $0.name < $1.name }
    }
  }

  /// Whether a table is held back here, or would be as soon as the site tracked it.
  package func mayDecline(_ name: String) -> Bool {
    guard let table = tables.table(called: name), table.isTracked else { return true }
    return !table.isHere
  }

  /// The tracked tables of this file that are held back because nobody has said what they are.
  package func askedTables() throws(StoreError) -> [String] { try tracked(.asked) }

  package func declinedTables() throws(StoreError) -> [String] { try tracked(.declined) }

  private func tracked(_ wanted: TableChoices.Choice) throws(StoreError) -> [String] {
    let choices = try reporting { () throws(SQLiteError) in try tables.choices.all() }
    return tables.tracked.filter { choices[folded($0.name)] == wanted }.map(\.nameHere)
  }

  package func keyHandling(of names: [String]) throws(StoreError) -> [KeyHandling] {
    try reporting { () throws(SQLiteError) in
      let parentage = try kinship.parentage(tables)
      let numbers = Numbers(connection)
      let choices = try CollisionChoices(connection: connection).read()
      var found: [KeyHandling] = []
      for table in names.compactMap({ tables.table(called: $0) }) where table.isHere {
        let kind: KeyHandling.Kind =
          parentage.numbered.contains(table.id)
          ? .rekey : parentage.derived.contains(table.id) ? .follow : .log
        found.append(
          KeyHandling(
            table: table.nameHere, kind: kind, isChosen: choices[folded(table.name)] == kind,
            next: try numbers.next(table)))
      }
      return found
    }
  }

  /// Triggers of tracked tables that compute something of tracked tables.
  package func totalTriggers() throws(StoreError) -> [TotalTrigger] {
    let names = tables.tracked.filter(\.isHere).map(\.name)
    let isTracked = { (name: String) in names.contains { isSameName($0, name) } }
    return try reporting { () throws(SQLiteError) in
      try connection.rows(
        """
        SELECT name, tbl_name, sql FROM main.sqlite_schema
        WHERE type = 'trigger' AND name NOT GLOB '_flotilla_*' ORDER BY rowid
        """
      ).flatMap { row -> [TotalTrigger] in
        guard let name = row[0].string, let table = row[1].string, let sql = row[2].string,
          isTracked(table)
        else { return [] }
        return TotalTrigger.all(name: name, on: table, sql: sql).filter { isTracked($0.target) }
      }
    }
  }

  /// The foreign keys that a program has broken, and in how many rows.
  package func brokenReferences() throws(StoreError) -> [BrokenReference] {
    try reporting { () throws(SQLiteError) in
      var broken: [BrokenReference] = []
      for reference in references.all {
        let count = try connection.scalar("SELECT count(*) FROM (\(reference.dangling))").integer
        guard let count, count > 0 else { continue }
        broken.append(
          BrokenReference(
            table: reference.child.name, columns: reference.columns,
            parent: reference.parent.name, rows: Int(count)))
      }
      return try broken + brokenLocally()
    }
  }

  private func brokenLocally() throws(SQLiteError) -> [BrokenReference] {
    var broken: [BrokenReference] = []
    for (name, key, parent) in try localKeys() {
      // What SQLite calls a mismatch it names to whoever writes.
      guard let targets = parent.columns(referredToBy: key) else { continue }
      let count = try connection.scalar(
        "SELECT count(*) FROM main.\(quoted(name)) AS c WHERE "
          + parent.lacks(targets, from: key.columns)
      ).integer
      guard let count, count > 0 else { continue }
      broken.append(
        BrokenReference(
          table: name, columns: key.columns, parent: parent.name, rows: Int(count),
          isTracked: false))
    }
    return broken
  }

  /// The foreign keys of tables that are not replicated to such as are.
  package func localReferences() throws(StoreError) -> [LocalReference] {
    try reporting { () throws(SQLiteError) in
      try localKeys().map { name, key, parent in
        LocalReference(table: name, columns: key.columns, parent: parent.name)
      }
    }
  }

  private func localKeys() throws(SQLiteError) -> [(
    table: String, key: ForeignKey, parent: TableSchema
  )] {
    let schemas = tables.tracked.compactMap(\.schema).map { (folded($0.name), $0) }
    let tracked = Dictionary(schemas) { first, _ in first }
    let names = try connection.rows(
      "SELECT name FROM main.sqlite_schema WHERE type = 'table' ORDER BY name")
    let reader = SchemaReader(connection: connection)
    var found: [(table: String, key: ForeignKey, parent: TableSchema)] = []
    for name in names.compactMap({ $0[0].string }) where tracked[folded(name)] == nil {
      for key in try reader.foreignKeys(of: name) {
        if let parent = tracked[folded(key.parent)] { found.append((name, key, parent)) }
      }
    }
    return found
  }
}
