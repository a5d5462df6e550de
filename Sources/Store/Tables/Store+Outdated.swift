import Replication
import SQLite

/// Rows that others have replaced while their table was not here.
extension Store {
  /// A table has its name again, and rows that others have replaced or deleted meanwhile: those go.
  /// One that a program has written since is an edit, and what came again as it was has been in its
  /// table all the time. Gives those that went.
  func removeReplaced(_ table: ReplicaTable) throws -> [Export.RowID] {
    var gone: [Export.RowID] = []
    for (key, old) in try lost.replaced(table) {
      if try versions.version(table: table.id, key: key)?.dot == old.dot {
        try shelf.remove(table: table.id, key: key)
      } else if try remove(table, key, ifIs: old) {
        gone.append(Export.RowID(table: table.id, key: key))
      }
    }
    try lost.forget(table.name, .replaced)
    return gone
  }

  /// The same of one that was dropped, and that is here again with rows of before.
  func removeOutdated(_ table: ReplicaTable) throws -> [Export.RowID] {
    guard table.isHere else { return [] }
    return try lost.comeAgain(table).compactMap { key, old in
      let isAsItWas = try versions.version(table: table.id, key: key)?.dot == old.dot
      guard try !isAsItWas && remove(table, key, ifIs: old) else { return nil }
      return Export.RowID(table: table.id, key: key)
    }
  }

  /// Takes a row out of its table that shows what a version of before says, if it does.
  private func remove(_ table: ReplicaTable, _ key: Key, ifIs old: Version) throws -> Bool {
    guard let statements = table.statements,
      let row = try StandingRow.read(key, statements, on: connection)
    else { return false }
    let shelved = try shelf.entry(table: table.id, key: key)
    guard try row.hash(row.beside(shelved, statements, key, on: connection)) == old.hash
    else { return false }
    try logOutdated(old, table, key)
    try settlement.noteReferred(table, key)
    _ = try contents.writing(table, key) { () throws(SQLiteError) in
      try connection.run(statements.deleteByKey, (key.values ?? []).map(\.sqlite))
    }
    return true
  }

  /// What others have replaced while the table was not here: its author lost it if they had not
  /// seen it, and here it is still to be read.
  private func logOutdated(_ old: Version, _ table: ReplicaTable, _ key: Key) throws {
    guard isOwn(old.edit.origin),
      let standing = try versions.version(table: table.id, key: key),
      viewpoint.isLost(old, to: standing)
    else { return }
    let content = try contents.tableContent(table, key)
    let moment = standing.stamp.millisecondsSince1970
    let now = Instant(at: moment)
    if standing.collides(with: old) {
      let isKept = try noteCollision(old, content, under: standing, table, key, at: now) {
        try standingSide(table, key)
      }
      if isKept { return }
    }
    try logLoser(
      old, content, table, key, standingSide(table, key), isTold: !standing.isApart(from: old),
      at: now)
  }
}
