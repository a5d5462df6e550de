import Replication
import SQLite

/// Rows that came under the name of a table that the site does not track.
package struct StrayTable: Sendable, Equatable {
  package var name: String
  package var rows: Int
  /// The replicas that wrote them.
  package var authors: Set<Origin>
  /// Whether this file has a table of that name.
  package var isHere: Bool
}

extension Store {
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

  /// Drops such rows, on every node: the site says that it tracks the table no more, as of the last
  /// of them. Who holds rows of before lets them go, and takes none again. Who has tracked a table
  /// of that name since then goes on.
  package func endStrayTables(_ names: [String], at now: Instant) throws(StoreError) {
    guard now.site != nil else {
      throw StoreError(
        .table, "the time of the site is not known yet", remedy: "Let the node meet another one.")
    }
    try edit(at: now) { edits in
      for name in names {
        let key = try self.settingsKey(name)
        let last = try self.connection.scalar(
          "SELECT max(stamp) FROM _flotilla_version WHERE tbl = ?",
          [self.tables.table(name).map { .integer($0.id) } ?? .null]
        ).integer
        var then = now
        if let last {
          then.site = min(now.moment, Stamp(rawValue: last).millisecondsSince1970 + 1)
        }
        // There is no edit that deletes what was never there.
        try self.connection.run(
          "INSERT OR IGNORE INTO _flotilla_table(name, rule) VALUES (?, '')", [.string(name)])
        try self.note(name, key, &edits, at: then)
        try self.connection.run("DELETE FROM _flotilla_table WHERE name = ?", [.string(name)])
        try self.note(name, key, &edits, at: then)
      }
    }
    try transaction { try forgetUntracked() }
  }
}
