import Replication
import SQLite

/// Reading the rows of an account, slice by slice.
extension AccountWalk {
  /// Reads one slice in the snapshot, in which `versions` are read as well.
  func read(_ snapshot: Export, _ versions: VersionTable) throws(SQLiteError) {
    let (name, table) = tables[self.table]
    let columns = VersionTable.columnCount
    var found: [(Key, Version)] = []
    var (count, bytes, last) = (0, 0, after)
    var isFull = false
    try snapshot.connection.with(
      """
      SELECT \(VersionTable.columns), key FROM _flotilla_version
      WHERE tbl = ? AND key > ? ORDER BY key LIMIT \(Self.walked)
      """, [.integer(table.id), .blob(after.bytes)]
    ) { (statement) throws(SQLiteError) in
      while !isFull, try statement.step() {
        count += 1
        last = Key(bytes: statement.bytes(columns))
        guard buckets.contains(Digest.bucket(table: table.seed, key: last)),
          last.bytes.count <= Limits.wantedKey,
          let version = versions.version(from: statement, at: 0)
        else { continue }
        found.append((last, version))
        bytes += last.bytes.count
        isFull = bytes > Limits.wholeBytes
      }
    }
    var rows: [AccountRow] = []
    for (key, version) in found { rows.append(try row(version, table, key, snapshot)) }
    after = last
    guard count < Self.walked, !isFull else {
      ready = mixed(rows, upTo: AccountRow.Place(table: name, key: last))[...]
      return
    }
    self.table += 1
    after = Key(bytes: [])
    // Everything up to the next table.
    let next = isDone ? nil : tables[self.table].name
    ready = mixed(rows, upTo: next.map { AccountRow.Place(table: $0, key: Key(bytes: [])) })[...]
  }

  /// Versions that are read in one slice.
  private static let walked = 1_000

  /// A row as it stands, whatever its version says.
  private func row(
    _ version: Version, _ table: ReplicaTable, _ key: Key, _ snapshot: Export
  ) throws(SQLiteError) -> AccountRow {
    var row = AccountRow(
      table: table.name, key: key, state: .live, dot: version.dot, stamp: version.stamp,
      hash: version.hash)
    if version.isDeleted { row.state = .deleted }
    guard !version.isDeleted, table.isTracked, let statements = table.statements,
      !snapshot.isWaiting(table, key)
    else { return row }
    if let standing = try StandingRow.read(key, statements, on: snapshot.connection) {
      row.hash = try snapshot.standingHash(standing, version, table, key)
      if row.hash != version.hash { row.state = .changed }
      return row
    }
    let shelved = try snapshot.shelved(table, key)
    guard shelved?.why.isWhole != true else { return row }
    row.state = .missing
    row.hash = 0
    return row
  }
}
