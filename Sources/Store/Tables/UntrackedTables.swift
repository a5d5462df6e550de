import Replication
import SQLite

/// A table of this file that the site does not track.
package struct UntrackedTable: Sendable, Equatable {
  package enum Kind: Sendable, Equatable {
    /// It has appeared since the site takes in new tables.
    case new
    /// The same, but by its name a migration makes it for a moment, in the place of another one.
    case scratch(of: String)
    /// The same, but it may be a table of the site that is gone from this file: most of the columns
    /// of that are in it.
    case similar(to: String)
    /// The same, but it cannot be replicated.
    case refused(reason: String, remedy: String?)
    /// The book of a migration tool.
    case book
    /// It was here before, or was replicated until somebody stopped that: it is left alone.
    case old
  }

  package var name: String
  package var kind: Kind
  /// The statements that define it: they stay the same while nobody changes it.
  package var definition: String
}

/// The tables of this file that the site does not track, and those among them that it takes in by
/// itself.
package struct UntrackedTables {
  let connection: Connection
  let meta: Meta
  let tables: Tables
  let survey: TableSurvey
  let recognition: TableRecognition

  /// Whether the site takes in new tables by itself.
  package func areTakenIn() throws(StoreError) -> Bool {
    try reporting { () throws(SQLiteError) in
      try connection.row(
        "SELECT 1 FROM _flotilla_table WHERE name = ?", [.string(Tables.takesNew)]) != nil
    }
  }

  /// Notes when the site begins to take in new tables: what is here by then, and was not replicated
  /// before, is not new.
  func follow(isLocal: Bool) throws {
    guard try areTakenIn() else {
      try connection.run(
        "DELETE FROM _flotilla_meta WHERE name = ?", [.string(Meta.Name.takesNewTables.rawValue)])
      return
    }
    guard try meta.integer(.takesNewTables) == nil else { return }
    try meta.set(.takesNewTables, .integer(1))
    let own =
      isLocal
      ? try tables.trackedNames().map { tables.table($0)?.nameHere ?? $0 }
      : tables.tracked.map(\.nameHere)
    let (choices, tracked) = (tables.choices, Set(own.map(folded)))
    let known = try choices.all()
    for name in try TableSchema.all(on: connection)
    where !tracked.contains(folded(name)) && known[folded(name)] == nil {
      try choices.set(.apart, for: name)
    }
  }

  /// Every table of this file that the site does not track, in the order of the names.
  package func all() throws(StoreError) -> [UntrackedTable] {
    let names = try TableSchema.all(on: connection)
    let (choices, here, objects) = try reporting { () throws(SQLiteError) in
      (try tables.choices.all(), try tables.namesHere(), try StoredObjects(connection))
    }
    let tracked = Set(here.map(folded))
    let known = tracked.union(names.map(folded))
    return try names.filter { !tracked.contains(folded($0)) }.map { name throws(StoreError) in
      UntrackedTable(
        name: name, kind: try kind(of: name, choices[folded(name)], among: known),
        definition: objects.definition(of: name).compactMap { $0[2].string }
          .joined(separator: ";\n"))
    }
  }

  /// Those of them that have appeared since the site takes in new tables.
  package func new() throws(StoreError) -> [UntrackedTable] {
    try all().filter { $0.kind != .book && $0.kind != .old }
  }

  /// The same, and the version of the schema in which it is so; nil if that is `before`, or if the
  /// site does not take in new tables.
  package func new(
    since before: Int64?
  ) throws(StoreError) -> (version: Int64, tables: [UntrackedTable]?) {
    let version = try reporting { () throws(SQLiteError) in try connection.schemaVersion() }
    if version == before { return (version, nil) }
    return (version, try areTakenIn() ? try new() : nil)
  }

  private func kind(
    of name: String, _ choice: TableChoices.Choice?, among known: Set<String>
  ) throws(StoreError) -> UntrackedTable.Kind {
    if try MigrationBook.isOne(name, on: connection) { return .book }
    guard choice == nil else { return .old }
    if let first = tables.names.first(of: name), tables.table(first)?.isTracked == true {
      return .scratch(of: tables.nameHere(first))
    }
    if let original = ScratchName.original(of: name, among: known) {
      return .scratch(of: original)
    }
    if case .refused(let reason, let remedy) = try survey.trackability(of: name) {
      return .refused(reason: reason, remedy: remedy)
    }
    for table in tables.tracked where !table.isHere {
      if !tables.names.isPresent(table.id, table.name), try recognition.resembles(table, name) {
        return .similar(to: table.name)
      }
    }
    return .new
  }
}
