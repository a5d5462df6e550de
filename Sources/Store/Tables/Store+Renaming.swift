import Replication
import SQLite

/// Tables that this file has under another name than the site knows.
extension Store {
  /// Finds out which tables were renamed since the schema was looked at last, and tells the site.
  func recogniseTables() throws {
    let renames = tables.renames
    var hasChanged = false
    for table in tables.tracked {
      let last = tables.names.last(table.id, table.name)
      var (name, isOwn) = (table.nameHere, true)
      if !tables.names.isOutdated(table.id, table.name) {
        guard let new = try newName(of: table) else { continue }
        (name, isOwn) = new
      }
      try RowsView.remove(of: last, on: connection)
      let isFirst = isSameName(name, table.name)
      try renames.name(table.id, isFirst ? nil : name, first: table.name)
      if !isOwn, try !isConsented(name) { try tables.choices.set(.asked, for: table.name) }
      if isOwn, !isFirst, let settings = tables.table(Renames.settings), mayWrite(settings) {
        _ = try renames.publish(
          name, first: table.name, of: TableNames.owner, number: settings.id)
      }
      hasChanged = true
    }
    if hasChanged { try tables.reload() }
  }

  /// What a table that is here under none of its names, and without its triggers, is called by now.
  /// `isOwn`: its rows say so; else others call one so that is here.
  func newName(of table: ReplicaTable) throws(StoreError) -> (name: String, isOwn: Bool)? {
    guard table.schema == nil, !tables.names.isPresent(table.id, table.name) else { return nil }
    let choices = try reporting { () throws(SQLiteError) in try tables.choices.all() }
    let choice = choices[folded(table.name)]
    guard choice != .asked, choice != .declined else { return nil }
    let present = tables.tracked.filter { tables.names.isPresent($0.id, $0.name) }
    for name in tables.names.others(table.name) where !TableSchema.isReserved(name) {
      let isOther =
        tables.table(name)?.isTracked == true || present.contains { isSameName($0.nameHere, name) }
      if !isOther, choices[folded(name)] != .declined { return (name, false) }
    }
    return try remade(table).map { ($0, true) }
  }

  /// Rows that are looked at to know a table again.
  private static let sample = 200

  /// The table that holds most of what this file had in one that is gone: a migration has made it
  /// anew, and renamed it or given the copy another name, before anybody looked.
  private func remade(_ table: ReplicaTable) throws(StoreError) -> String? {
    let hadIt = try reporting { () throws(SQLiteError) in
      try !tables.renames.read(table.name).known.isEmpty
    }
    guard hadIt else { return nil }
    let rows = try reporting { () throws(SQLiteError) in
      try connection.rows(
        """
        SELECT key, hash FROM _flotilla_version WHERE tbl = ?1 AND hash <> 0
        UNION ALL SELECT key, hash FROM _flotilla_lost WHERE name = ?2 AND why = 0 AND hash <> 0
        LIMIT \(Self.sample)
        """, [.integer(table.id), .string(table.name)])
    }
    guard !rows.isEmpty else { return nil }
    for other in try tables.strangers(for: table) {
      guard let statements = other.statements, other.keyShape?.count == table.keyShape?.count
      else { continue }
      let same = try reporting { () throws(SQLiteError) in
        var same = 0
        for row in rows {
          let key = Key(bytes: row[0].blob ?? [])
          let shelved = try shelf.entry(table: table.id, key: key)
          let standing = try connection.with(
            statements.selectByKey, (key.values ?? []).map(\.sqlite)
          ) { (statement) throws(SQLiteError) in
            try statement.step() ? StandingRow(statement, statements) : nil
          }
          guard let standing else { continue }
          let hash = try standing.hash(beside(standing, shelved, statements, key))
          if hash == row[1].integer.map(UInt64.init(bitPattern:)) { same += 1 }
        }
        return same
      }
      if same * 2 > rows.count { return other.nameHere }
    }
    return nil
  }

  /// Whether a table of this file may be taken for one that the site has under another name, as it
  /// would be under its own (see `welcome`).
  private func isConsented(_ name: String) throws -> Bool {
    let choice = try tables.choices[name]
    if try choice == .ended || meta.text(.joining) != nil { return true }
    guard choice == nil else { return false }
    return try meta.integer(.takesNewTables) != nil || !hasRows(name)
  }

  /// The name under which the site knows what this file, or the site, calls so.
  package func siteName(_ name: String) -> String { tables.table(called: name)?.name ?? name }

  /// The name in this file of a table of the site.
  package func nameHere(_ name: String) -> String { tables.table(name)?.nameHere ?? name }
}
