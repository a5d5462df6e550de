import Replication
import SQLite

/// What rows were under the keys that their tables had before a migration changed these.
struct FormerRows {
  let connection: Connection
  let tables: Tables
  let versions: VersionTable
  let shelf: Shelf

  /// A row as it was under another shape of key.
  struct Former {
    var table: ReplicaTable
    var key: Key
    var version: Version
    /// What is kept beside the row, or in place of it.
    var shelved: Shelf.Entry?

    /// Whether no row of the table can have shown it.
    var isHidden: Bool { version.isDeleted || shelved?.why.isWhole == true }
  }

  /// What the columns of a row tell of it.
  enum Descent {
    case former(Former, KeyMapping)
    /// No such row was there.
    case new
    /// The columns do not tell.
    case unknown
  }

  /// Every column of a row that is too long to be held as a whole: of its key alone.
  func values(
    of key: Key, _ statements: RowStatements
  ) throws(SQLiteError) -> [Replication.Value] {
    try connection.row(statements.selectByKey, (key.values ?? []).map(\.sqlite))?
      .map(Replication.Value.init) ?? []
  }

  /// Whether the row is what the version of before says, or what stood there before that came: then
  /// nobody has written it here since.
  func isImage(
    _ row: StandingRow, _ values: [Replication.Value], _ descent: Descent,
    _ statements: RowStatements, _ beside: Beside
  ) throws -> Bool {
    guard case .former(let former, let map) = descent, !former.version.isDeleted else {
      return false
    }
    if former.shelved?.why.isWhole == true { return true }
    let before = map.hash(of: row, values, statements, beside)
    return before == former.version.hash
  }

  /// What a row was under the other shapes of its table's key.
  func descent(
    of values: [Replication.Value], in table: ReplicaTable, _ shape: TableShape
  ) throws(SQLiteError) -> Descent {
    let (formers, isTold) = try formers(of: values, in: table, shape)
    return formers.first.map { .former($0.former, $0.map) } ?? (isTold ? .new : .unknown)
  }

  /// What a row that is new under the key that its table has now was under an earlier one: who
  /// writes it has seen that, or that it was deleted.
  func former(
    of row: StandingRow, _ table: ReplicaTable, _ key: Key, _ statements: RowStatements
  ) throws(SQLiteError) -> Version? {
    guard tables.hasHeld else { return nil }
    let values: [Replication.Value]
    if let all = row.values { values = all } else { values = try self.values(of: key, statements) }
    guard case .former(let former, _) = try descent(of: values, in: table, statements.shape),
      former.version.isDeleted || !former.isHidden
    else { return nil }
    return former.version
  }

  /// The same of a row that is here. What others have made of it under a key that the table did not
  /// have here, it does not show. It is what it was before if it says the same.
  func descent(
    of row: StandingRow, _ values: [Replication.Value], _ statements: RowStatements, _ key: Key,
    _ formers: [(former: Former, map: KeyMapping)], _ isTold: Bool
  ) throws -> Descent {
    guard let last = formers.first else { return isTold ? .new : .unknown }
    guard last.former.isHidden else { return .former(last.former, last.map) }
    let shown = try formers.dropFirst().first { former, map in
      guard !former.isHidden else { return false }
      let beside = try row.beside(former.shelved, statements, key, on: connection)
      return map.hash(of: row, values, statements, beside) == former.version.hash
    }
    return .former(shown?.former ?? last.former, shown?.map ?? last.map)
  }

  /// What a row was under each of the other shapes, the newest first, and whether the columns tell.
  func formers(
    of values: [Replication.Value], in table: ReplicaTable, _ shape: TableShape
  ) throws(SQLiteError) -> (all: [(former: Former, map: KeyMapping)], isTold: Bool) {
    var (formers, isTold): ([(former: Former, map: KeyMapping)], Bool) = ([], false)
    for other in tables.held(of: table.name) {
      guard let key = other.keyShape, let map = KeyMapping(key, in: shape) else { continue }
      if map.isByName { isTold = true }
      guard let before = map.key(of: values),
        let version = try versions.version(table: other.id, key: before)
      else { continue }
      let shelved = try shelf.entry(table: other.id, key: before)
      formers.append(
        (Former(table: other, key: before, version: version, shelved: shelved), map))
    }
    return (formers, isTold)
  }
}
