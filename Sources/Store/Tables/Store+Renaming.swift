import Replication
import SQLite

/// Tables that this file has under another name than the site knows.
extension Store {
  /// Finds out which tables were renamed since the schema was looked at last, and tells the site.
  func recogniseTables() throws {
    let renames = tables.renames
    var hasChanged = try endTwins()
    if hasChanged { try tables.reload() }
    for table in tables.tracked {
      let last = tables.names.last(table.id, table.name)
      var (name, isOwn) = (table.nameHere, true)
      if !tables.names.isOutdated(table.id, table.name) {
        guard let new = try recognition.newName(of: table) else { continue }
        (name, isOwn) = new
      }
      try RowsView.remove(of: last, on: connection)
      try renames.name(table.id, name, first: table.name)
      if isOwn {
        try recognition.tell(name, of: table)
      } else if try !recognition.isConsented(name, to: table) {
        try tables.choices.set(.asked, for: table.name)
      }
      // It may have been a table of its own until then.
      try lost.rename(name, to: table.name)
      try shelf.giveBack(name, to: table)
      hasChanged = true
    }
    if hasChanged { try tables.reload() }
  }

  /// Ends tables of the site that are others under a later name.
  ///
  /// A migration has made `pub`, and another one has renamed it to `publ`. A machine that has
  /// looked after both, and alone, tracks `publ` as a table of its own. Once it hears that this is
  /// `pub` its rows go on as rows of that: images of what they were, as in a table made anew.
  private func endTwins() throws -> Bool {
    tables.twins = []
    var hasEnded = false
    for twin in tables.tracked where twin.isHere && !twin.isSettings {
      guard let first = tables.names.first(of: twin.name), let table = tables.table(first),
        try recognition.mayBeTwin(twin, of: table)
      else { continue }
      // A name alone is no proof; its rows, once there is one, have the same columns.
      guard let names = try shelf.columns(of: table.id) else {
        tables.twins.append(table.id)
        continue
      }
      guard names.allSatisfy({ twin.statements?.column(named: $0, at: nil) != nil })
      else { continue }
      try end(twin, as: table)
      hasEnded = true
    }
    return hasEnded
  }

  private func end(_ twin: ReplicaTable, as table: ReplicaTable) throws {
    try connection.run("DELETE FROM _flotilla_table WHERE name = ?", [.string(twin.name)])
    try Journal.note(settings().id, [.string(twin.name)], on: connection)
    try forget(twin, as: table.name)
  }

  /// Says for the whole site that its table `old` is the one that is called `new` in this file, as
  /// its owner knows and its rows do not tell.
  package func nameTable(
    _ old: String, _ new: String, at now: Instant
  ) throws(StoreError) {
    try edit(at: now) { edits in
      let (table, name, twin) = try recognition.naming(old, new)
      if let twin { try self.end(twin, as: table) }
      try self.tables.choices.remove(table.name)
      try self.tables.choices.remove(name)
      try self.tables.renames.name(table.id, name, first: table.name)
      try recognition.tell(name, of: table)
      if twin == nil {
        // What is in it may be older than what came for it meanwhile, as with `consent`.
        try self.tables.setBaseline(true, of: table.id)
      } else {
        try self.lost.rename(name, to: table.name)
        try self.shelf.giveBack(name, to: table)
      }
      try self.renewSchema()
      guard now.site != nil else { return }
      try self.foldRest(&edits, at: now)
    }
  }
}
