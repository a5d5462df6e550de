import Replication
import SQLite

/// A row as it stands before another version takes its place in the table.
struct Leaving {
  var version: Version
  /// What it says, if the log or somebody who undoes may want it.
  var content: Shelf.Entry?
  /// What others refer to in it, where that does not follow from its key.
  var referred: [Int: [SQLite.Value]]
}

extension Store {
  /// Looks at the row that `version` is to take the place of; nil if none stands.
  func leaving(
    _ old: Version?, to version: Version, isLogged: Bool = false, _ table: ReplicaTable, _ key: Key
  ) throws -> Leaving? {
    guard let old, !old.isDeleted else { return nil }
    let isWanted = isLogged || mayWantBack(old, under: version, table)
    return Leaving(
      version: old, content: isWanted ? try contents.content(of: old, table, key) : nil,
      referred: try settlement.referred(in: table, key))
  }
}
