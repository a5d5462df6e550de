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
        let key = try self.tables.settingsKey(name)
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
