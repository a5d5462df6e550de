import Replication
import SQLite

/// The site's tracked tables, and what each replica must do for them.
extension Store {
  /// Merge rules by name.
  package static let rules = [
    "newest-wins", "server-wins", "server-wins-on-conflict", "client-wins",
  ]

  /// Tracks tables for the whole site; the caller has checked that they can be.
  ///
  /// Their rows become versions in the folds that follow.
  package func track(_ names: [String], rule: String?, at now: Instant) throws(StoreError) {
    try edit(at: now) { edits in
      for name in names {
        let key = try self.settingsKey(name)
        let standing = try self.connection.scalar(
          "SELECT rule FROM _flotilla_table WHERE name = ?", [.string(name)]
        ).string
        try self.connection.run(
          "INSERT OR REPLACE INTO _flotilla_table(name, rule) VALUES (?, ?)",
          [.string(name), .string(rule ?? standing ?? Self.rules[0])])
        try self.fold(
          self.settings(), key, keyValues: [.string(name)], madeAt: now.wall, &edits)
      }
    }
  }

  /// Stops replicating tables, on every node; the rows stay where they are.
  package func untrack(_ names: [String], at now: Instant) throws(StoreError) {
    try edit(at: now) { edits in
      for name in names {
        try self.connection.run("DELETE FROM _flotilla_table WHERE name = ?", [.string(name)])
        try self.fold(
          self.settings(), try self.settingsKey(name), keyValues: [.string(name)],
          madeAt: now.wall, &edits)
      }
    }
  }

  /// The tracked tables with their rules.
  package func trackedTables() throws(StoreError) -> [(name: String, rule: String)] {
    try reporting { () throws(SQLiteError) in
      try connection.rows("SELECT name, rule FROM _flotilla_table ORDER BY name").map {
        ($0[0].string ?? "", $0[1].string ?? Self.rules[0])
      }
    }
  }

  /// An edit of the settings, folded in its own transaction after what applications wrote.
  private func edit(
    at now: Instant, _ body: (inout Edits) throws -> Void
  ) throws(StoreError) {
    while try fold(at: now).hasMore {}
    try transaction {
      var edits = Edits(from: origins.frontier[own])
      while try foldSlice(&edits, at: now) {}
      try body(&edits)
      try finish(&edits)
    }
  }

  private func settings() throws(StoreError) -> ReplicaTable {
    guard let table = tables.table(Tables.settings) else {
      throw StoreError(.notInitialised, "the table of settings is missing")
    }
    return table
  }

  private func settingsKey(_ name: String) throws(StoreError) -> Key {
    guard let key = try settings().key([.text(Array(name.utf8))]) else {
      throw StoreError(.table, "a table has no name")
    }
    return key
  }

  /// Gives the tracked tables their triggers, and takes everything from those no longer tracked.
  ///
  /// `isLocal`: the tables were chosen here, so their rows are the site's. Otherwise rows that are
  /// here already rank below all that the site holds: stamped "now", an old copy would undo what
  /// others did since.
  func applySettings(isLocal: Bool) throws {
    let names = try tables.trackedNames()
    for table in tables.byID.values
    where table.isTracked && table.name != Tables.settings
      && !names.contains(where: { isSameName($0, table.name) })
    {
      try forget(table)
    }
    for name in names {
      let known = try tables.tableOrNew(name)
      guard !known.isTracked else { continue }
      try connection.run(
        "UPDATE _flotilla_local SET baseline = ? WHERE id = ?",
        [.integer(isLocal ? 0 : 1), .integer(known.id)])
    }
    try tables.reload()
    try ensureCapture()
  }

  /// Installs missing triggers; a table that went without them is compared with its versions.
  func ensureCapture() throws {
    for table in tables.tracked {
      guard let schema = table.schema else { continue }
      guard try !Capture.isIntact(schema, id: table.id, on: connection) else { continue }
      try Capture.install(schema, id: table.id, on: connection)
      try compare(table.id)
    }
    schemaVersion = try connection.schemaVersion()
  }

  private func forget(_ table: ReplicaTable) throws {
    try Capture.remove(id: table.id, on: connection)
    try forgetVersions(table)
    try connection.run("DELETE FROM _flotilla_shelf WHERE tbl = ?", [.integer(table.id)])
    try connection.run("DELETE FROM _flotilla_journal WHERE tbl = ?", [.integer(table.id)])
    try connection.run("DELETE FROM _flotilla_conflict WHERE tbl = ?", [.integer(table.id)])
    try connection.run("DELETE FROM _flotilla_local WHERE id = ?", [.integer(table.id)])
  }

  private func forgetVersions(_ table: ReplicaTable) throws {
    try connection.with(
      """
      SELECT origin, seq, stamp, hash, corigin, cseq, key FROM _flotilla_version WHERE tbl = ?
      """, [.integer(table.id)]
    ) { (statement) throws(SQLiteError) in
      while try statement.step() {
        guard let version = versions.version(from: statement, at: 0) else { continue }
        digests.replace(
          table: table.seed, key: Key(bytes: statement.bytes(6)), old: version, new: nil)
      }
    }
    try connection.run("DELETE FROM _flotilla_version WHERE tbl = ?", [.integer(table.id)])
  }

  /// Drops what came for tables that the site does not track: after a whole exchange the settings
  /// are known as far as the rows are.
  func forgetUntracked() throws {
    for table in tables.byID.values where !table.isTracked { try forget(table) }
    try tables.reload()
  }

  /// True if every tracked table has its triggers and no row waits for a table or a column.
  private func isSettled() throws(SQLiteError) -> Bool {
    guard try shelf.isEmpty else { return false }
    for table in tables.tracked {
      guard let schema = table.schema else { continue }
      guard try Capture.isIntact(schema, id: table.id, on: connection) else { return false }
    }
    return true
  }

  /// Notices a changed schema: renews triggers, reads the columns again, unpacks the shelf.
  ///
  /// When a replica is opened there is mostly nothing to do, and to look needs no write lock.
  func inspectSchema(isOpening: Bool = false) throws(StoreError) {
    let current = try reporting { () throws(SQLiteError) in try connection.schemaVersion() }
    guard current != schemaVersion else { return }
    connection.clearStatements()
    if isOpening, try reporting({ () throws(SQLiteError) in try isSettled() }) {
      schemaVersion = current
      return
    }
    try transaction {
      try tables.reload()
      try ensureCapture()
      for table in tables.tracked where table.schema != nil {
        try unpack(table, why: [.table, .columns])
      }
    }
  }
}
