import Replication
import SQLite

/// What an anchor asks when it tries whether an edit fits.
extension References {
  /// What other rows refer to in one row: by reference, the values in the columns referred to.
  struct Referred {
    fileprivate var values: [(reference: Int, values: [SQLite.Value])] = []
  }

  func referred(
    of table: ReplicaTable, _ key: [SQLite.Value], on connection: Connection
  ) throws(SQLiteError) -> Referred {
    var referred = Referred()
    for reference in to(table.id) {
      let row = try connection.row(reference.selectTargets, key)
      if let row, !row.contains(.null) { referred.values.append((reference.number, row)) }
    }
    return referred
  }

  /// Which references lead nowhere, from this row or from those that referred to it, and the key of
  /// a row that refers so.
  func broken(
    _ table: ReplicaTable, _ key: [SQLite.Value], _ before: Referred, on connection: Connection
  ) throws(SQLiteError) -> [Int: [SQLite.Value]] {
    var broken: [Int: [SQLite.Value]] = [:]
    for (number, values) in before.values {
      let sql = "\(all[number].lookUp) AND \(all[number].unmet) LIMIT 1"
      if let row = try connection.row(sql, values) { broken[number] = row }
    }
    for reference in of(table.id) {
      let sql = "\(reference.dangling) AND \(reference.childStatements.keyCondition)"
      if let row = try connection.row(sql, key) { broken[reference.number] = row }
    }
    return broken
  }
}
