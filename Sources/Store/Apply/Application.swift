import Replication
import SQLite

/// What one merge is doing to the tables.
struct Application {
  /// A row that met a constraint and is tried again once the others stand.
  struct Postponed {
    var table: ReplicaTable
    var key: Key
    var shape: TableShape
    var values: [Replication.Value]
    var reason: String
  }

  var placed = 0
  var shelved = 0
  var postponed: [Postponed] = []
  /// Tables in which something changed, so that parked rows may fit now.
  var changed: Set<Int64> = []
}

extension Store {
  /// Merges one version: if it outranks what stands, its content is put into the table.
  func apply(
    _ row: ShapedRow, _ table: ReplicaTable, _ key: Key, at now: Instant,
    _ application: inout Application
  ) throws {
    let incoming = row.row.version
    let old = try versions.version(table: table.id, key: key)
    if let old {
      guard incoming.rank > old.rank else {
        if incoming.dot == old.dot { try complete(row, table, key, &application) }
        return
      }
    }
    try log(old, replacedBy: incoming, table, key, at: now)
    try keep(incoming, table, key, old: old)
    application.placed += 1
    guard table.isTracked, let statements = table.statements else {
      return try shelve(row, table, key, why: .table, &application)
    }
    switch row.row.content {
    case .deleted(let values):
      try connection.run(statements.deleteByKey, values.map(\.sqlite))
      if old != nil { try shelf.remove(table: table.id, key: key) }
      application.changed.insert(table.id)
    case .withheld:
      try shelve(row, table, key, why: .tooLarge, &application)
    case .values(let values):
      let shelved = old == nil ? nil : try shelf.entry(table: table.id, key: key)
      let isSame = old.map { !$0.isDeleted && $0.hash == incoming.hash } ?? false
      if isSame, shelved?.why.isWhole != true { return }
      if shelved != nil { try shelf.remove(table: table.id, key: key) }
      let exists = old.map { !$0.isDeleted } ?? false && shelved?.why.isWhole != true
      let reason = try place(
        row.shape, values, statements, table, key, exists: exists)
      if let reason {
        application.postponed.append(
          Application.Postponed(
            table: table, key: key, shape: row.shape, values: values, reason: reason))
      }
      application.changed.insert(table.id)
    }
  }

  /// The same version again, this time with the content that was withheld.
  private func complete(
    _ row: ShapedRow, _ table: ReplicaTable, _ key: Key, _ application: inout Application
  ) throws {
    guard case .values(let values) = row.row.content, let statements = table.statements,
      try shelf.entry(table: table.id, key: key)?.why == .tooLarge
    else { return }
    try shelf.remove(table: table.id, key: key)
    let reason = try place(row.shape, values, statements, table, key, exists: true)
    guard let reason else { return }
    application.postponed.append(
      Application.Postponed(
        table: table, key: key, shape: row.shape, values: values, reason: reason))
  }

  /// Writes a row into its table; gives the reason if a constraint forbids it.
  func place(
    _ shape: TableShape, _ values: [Replication.Value], _ statements: RowStatements,
    _ table: ReplicaTable, _ key: Key, exists: Bool
  ) throws -> String? {
    var columns: [Int] = []
    var known: [SQLite.Value] = []
    var extras: [(name: String, value: Replication.Value)] = []
    for (index, name) in shape.columns.enumerated() {
      if let column = statements.column(named: name, at: index) {
        columns.append(column)
        known.append(values[index].sqlite)
      } else if values[index] != .null {
        extras.append((name, values[index]))
      }
    }
    let broken = try brokenConstraint { () throws(SQLiteError) in
      try write(columns, known, statements, table, key, exists: exists)
    }
    if let broken { return broken }
    if !extras.isEmpty {
      try shelf.put(
        Shelf.Entry(why: .columns, values: extras, keyCount: shape.keyCount), table: table.id,
        key: key)
    }
    return nil
  }

  /// INSERT or UPDATE, never REPLACE: it would remove other rows and leave FTS5 indexes malformed.
  private func write(
    _ columns: [Int], _ values: [SQLite.Value], _ statements: RowStatements,
    _ table: ReplicaTable, _ key: Key, exists: Bool
  ) throws(SQLiteError) {
    let keyCount = statements.shape.keyCount
    if exists, try update(columns, values, statements, keyCount: keyCount) { return }
    do {
      try connection.run(statements.insert(columns), values)
    } catch {
      // Perhaps the row is there though no version of it was known.
      guard error.isConstraint, !exists else { throw error }
      try logUnknown(replacedBy: values, at: columns, statements, table, key)
      guard try update(columns, values, statements, keyCount: keyCount)
      else { throw error }
    }
  }

  /// True if the row was there.
  private func update(
    _ columns: [Int], _ values: [SQLite.Value], _ statements: RowStatements, keyCount: Int
  ) throws(SQLiteError) -> Bool {
    let updated = statements.updated(of: columns)
    guard !updated.isEmpty else {
      return try connection.row(statements.existsByKey, Array(values.prefix(keyCount))) != nil
    }
    let wanted = Set(updated)
    var arguments = zip(columns, values).filter { wanted.contains($0.0) }.map(\.1)
    arguments += values.prefix(keyCount)
    return try connection.run(statements.update(updated), arguments) > 0
  }
}
