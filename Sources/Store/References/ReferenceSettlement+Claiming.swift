import Replication
import SQLite

/// Rows that wait for parked parents go on claiming their unique values: they go into their table
/// while it is decided which rows stand, if others claim the same.
extension ReferenceSettlement {
  /// What rows of a table claim, by its indexes.
  func claims(of table: ReplicaTable, _ statements: RowStatements) -> Claims {
    if let known = claimsByTable[table.id] { return known }
    let claims = Claims(table, statements)
    claimsByTable[table.id] = claims
    return claims
  }

  /// Looks at all that wait for parked parents in a table, where nobody knows what has changed.
  func lookAtClaimants(of table: ReplicaTable, _ statements: RowStatements) throws {
    let claims = claims(of: table, statements)
    guard !claims.areNone else { return }
    for key in try shelf.keys(of: table.id, why: .parent) {
      guard let entry = try shelf.entry(table: table.id, key: key),
        let version = try settlement.versions.version(table: table.id, key: key)
      else { continue }
      let known = Placement(entry, version, table, key).parts(in: statements).known
      let numbers = try claims.numbers(of: known, on: connection)
      parking.obstacles[table.id]?.claimants.put(key, numbers)
      if try !claims.areAll(of: known) || !claims.holders(of: known, on: connection).isEmpty {
        try restore(Export.RowID(table: table.id, key: key), entry)
      }
    }
  }

  /// Lets those claim their values that claim one of a row which has changed.
  func restore(
    _ table: ReplicaTable, _ statements: RowStatements, beside changed: Set<Key>
  ) throws {
    for key in changed where parking.obstacles[table.id]?.claimants.isEmpty == false {
      let values = try connection.row(statements.selectByKey, (key.values ?? []).map(\.sqlite))
      guard let values else { continue }
      let known = values.enumerated().map { (column: $0, value: Replication.Value($1)) }
      try restore(table, statements, claiming: known)
    }
  }

  /// The same of a row that has these values, or is to have them.
  func restore(
    _ table: ReplicaTable, _ statements: RowStatements,
    claiming known: [(column: Int, value: Replication.Value)]
  ) throws {
    guard parking.obstacles[table.id]?.claimants.isEmpty == false,
      !restoredTables.contains(table.id)
    else { return }
    let numbers = try claims(of: table, statements).numbers(of: known, on: connection)
    if numbers == nil { restoredTables.insert(table.id) }
    for key in parking.obstacles[table.id]?.claimants.rows(claiming: numbers) ?? [] {
      let row = Export.RowID(table: table.id, key: key)
      guard !restored.contains(row) else { continue }
      if let entry = try shelf.entry(table: table.id, key: key), entry.why == .parent {
        try restore(row, entry)
      } else {
        parking.obstacles[table.id]?.claimants.remove(key)
      }
    }
  }

  private func restore(_ row: Export.RowID, _ entry: Shelf.Entry) throws {
    restored.insert(row)
    try lift(row, entry, isForClaims: true)
  }

  /// A row waits for a parked parent from now on.
  func noteClaims(of row: Export.RowID, _ entry: Shelf.Entry, _ version: Version) throws {
    guard let obstacles = parking.obstacles[row.table],
      let table = settlement.tables.byID[row.table], let statements = table.statements,
      case let claims = claims(of: table, statements), !claims.areNone
    else { return }
    let known = Placement(entry, version, table, row.key).parts(in: statements).known
    obstacles.claimants.put(row.key, try claims.numbers(of: known, on: connection))
  }
}
