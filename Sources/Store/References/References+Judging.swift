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

  /// Which references lead nowhere, from this row or from those that referred to it.
  func broken(
    _ table: ReplicaTable, _ key: [SQLite.Value], _ before: Referred, on connection: Connection
  ) throws(SQLiteError) -> Set<Int> {
    var broken: Set<Int> = []
    for reference in of(table.id) {
      let sql = "\(reference.dangling) AND \(reference.childStatements.keyCondition)"
      if try connection.row(sql, key) != nil { broken.insert(reference.number) }
    }
    for (number, values) in before.values {
      let sql = "\(all[number].lookUp) AND \(all[number].unmet) LIMIT 1"
      if try connection.row(sql, values) != nil { broken.insert(number) }
    }
    return broken
  }
}
