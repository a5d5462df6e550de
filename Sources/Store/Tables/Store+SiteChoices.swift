import Replication
import SQLite

/// What is chosen for the whole site: which tables, by which rule, and what becomes of two rows
/// under one number.
extension Store {
  /// The table that holds the site's choice of tables and rules. It has no triggers: `track` and
  /// `untrack` edit it, and of what else is written into it nobody hears.
  package static let settings = Tables.settings

  /// Whether a table holds choices for the whole site.
  package static func isForSite(_ table: String) -> Bool { Tables.isSettings(table) }

  /// Tracks tables for the whole site; the caller has checked that they can be.
  ///
  /// Their rows become versions in the folds that follow. It is also the word of this machine for
  /// tables that were held back here. `takesNew` begins or ends that the site takes in new tables
  /// by itself. `onCollision` says what becomes of two rows of these tables under one key.
  package func track(
    _ names: [String], rule: String?, takesNew: Bool? = nil,
    onCollision: KeyHandling.Kind? = nil, at now: Instant
  ) throws(StoreError) {
    try edit(at: now) { edits in
      try self.requireRoom(for: names)
      if let takesNew { try self.set(takesNew: takesNew, &edits, at: now) }
      for name in names { try self.consent(to: name) }
      try self.verdicts.whileRulesMayChange {
        for name in names {
          let key = try self.tables.settingsKey(name)
          let standing = try self.connection.scalar(
            "SELECT rule FROM _flotilla_table WHERE name = ?", [.string(name)]
          ).string
          try self.connection.run(
            "INSERT OR REPLACE INTO _flotilla_table(name, rule) VALUES (?, ?)",
            [.string(name), .string(rule ?? standing ?? "")])
          try self.note(name, key, &edits, at: now)
          if let onCollision { try self.set(onCollision, of: name, &edits, at: now) }
        }
      }
    }
  }

  private func requireRoom(for names: [String]) throws {
    let tracked = Set(try tables.trackedNames().map(folded))
    let added = Set(names.map(folded)).subtracting(tracked)
    guard !added.isEmpty, tracked.count + added.count > tables.limit else { return }
    throw StoreError(
      .table,
      "the site tracks \(tracked.count) tables, and cannot track more than \(tables.limit)",
      remedy: "Stop tracking those that nobody needs: flotilla untrack \(path) TABLE…")
  }

  private func set(
    _ choice: KeyHandling.Kind?, of name: String, _ edits: inout Edits, at now: Instant
  ) throws {
    guard try CollisionChoices(connection: connection).set(choice, of: name) else { return }
    let settings = CollisionChoices.settings
    try note(
      name, try tables.settingsKey(name, in: settings), in: settings, &edits, at: now)
  }

  /// The site's setting is a row like any other, with a name that no table can have.
  private func set(takesNew: Bool, _ edits: inout Edits, at now: Instant) throws {
    let name: SQLite.Value = .string(Tables.takesNew)
    if takesNew {
      try connection.run("INSERT OR IGNORE INTO _flotilla_table(name, rule) VALUES (?, '')", [name])
    } else {
      try connection.run("DELETE FROM _flotilla_table WHERE name = ?", [name])
    }
    try note(Tables.takesNew, try tables.settingsKey(Tables.takesNew), &edits, at: now)
  }

  /// Stops replicating tables, on every node; the rows stay where they are.
  package func untrack(_ names: [String], at now: Instant) throws(StoreError) {
    try edit(at: now) { edits in
      for name in names {
        try self.connection.run("DELETE FROM _flotilla_table WHERE name = ?", [.string(name)])
        try self.note(name, try self.tables.settingsKey(name), &edits, at: now)
        try self.set(nil, of: name, &edits, at: now)
      }
    }
  }

  /// Says for the whole site that a column which one machine calls `old` is called `new` by
  /// another. Values that are kept for it come into the column in the same commit.
  package func map(
    _ name: String, _ old: String, to new: String, at now: Instant
  ) throws(StoreError) {
    let (table, first) = try columns.mapping(name, old, new)
    try edit(at: now) { edits in
      let settings = try self.settings(Renames.settings)
      guard
        try self.tables.renames.publish(new, first: first, of: table.name, number: settings.id)
      else { return try self.applySettings(isLocal: true) }
      guard now.site != nil else { return }
      try self.foldRest(&edits, at: now)
    }
  }

  /// The tracked tables with their rules.
  package func trackedTables() throws(StoreError) -> [(name: String, rule: String)] {
    try reporting { () throws(SQLiteError) in
      try connection.rows("SELECT name, rule FROM \(Tables.listing) ORDER BY name").map {
        ($0[0].string ?? "", Self.ruleName($0[1].string))
      }
    }
  }

  /// The rule of a table as people read it; one that nobody has set is kept as an empty name.
  static func ruleName(_ stored: String?) -> String {
    guard let stored, !stored.isEmpty else { return MergeRules.standard.name }
    return stored
  }

  /// An edit of the settings, folded in its own transaction after what applications wrote.
  func edit(
    at now: Instant, _ body: (inout Edits) throws -> Void
  ) throws(StoreError) {
    _ = try foldWritten(at: now)
    try transaction {
      var edits = beginEdits()
      guard now.site != nil else {
        try body(&edits)
        return try applySettings(isLocal: true)
      }
      try foldRest(&edits, at: now)
      try body(&edits)
      try conclude(&edits, at: now)
    }
  }

  /// Makes a version of a setting, or notes it for when it can be stamped.
  func note(
    _ name: String, _ key: Key, in settings: String = Tables.settings, _ edits: inout Edits,
    at now: Instant
  ) throws {
    let table = try tables.settingsTable(settings)
    guard now.site == nil else {
      return try fold(table, key, madeAt: Dating.Moment(now.moment), &edits)
    }
    try Journal.note(table.id, [.string(name)], at: now.wall, on: connection)
  }

  func settings(_ name: String = Tables.settings) throws(StoreError) -> ReplicaTable {
    try tables.settingsTable(name)
  }
}
