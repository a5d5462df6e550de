import Replication
import SQLite

/// New rows of one table on their way into it, several with one statement.
///
/// They wait for each other while nothing but their versions is written. Once they go in, one may
/// break a constraint. Then each goes alone, as if none had waited.
struct NewRows {
  private(set) var table: ReplicaTable?
  private(set) var rows: [(placement: Placement, key: Key)] = []
  /// The row that is being applied is new, and may wait.
  var mayWait = false

  /// A longer row goes alone: it would be copied.
  private static let longest = 2048

  static func holds(_ values: [Replication.Value]) -> Bool {
    var size = 0
    for value in values {
      switch value {
      case .text(let bytes), .blob(let bytes): size += bytes.count
      default: size += 8
      }
    }
    return size <= longest
  }

  mutating func add(_ placement: Placement, _ table: ReplicaTable, _ key: Key) {
    self.table = table
    rows.append((placement, key))
  }

  mutating func take() -> [(placement: Placement, key: Key)] {
    defer { rows.removeAll(keepingCapacity: true) }
    return rows
  }
}

extension Settlement {
  /// Whether a row that comes may wait for others, if there is none of its key.
  @_optimize(speed)
  func mayGather(_ row: ShapedRow) -> Bool {
    guard case .values(let values) = row.row.content, !derived.isOn, !tables.hasHeld
    else { return false }
    let version = row.row.version
    return (!version.hasNumbering || version.numbering.former.isEmpty) && NewRows.holds(values)
  }

  /// Lets a row wait for others; false if its table may not show it as it came.
  @_optimize(speed)
  func gather(
    _ placement: Placement, _ statements: RowStatements, _ table: ReplicaTable, _ key: Key,
    _ application: inout Application
  ) throws -> Bool {
    guard application.newRows.mayWait, let whole = statements.whole(placement.shape),
      statements.shows(placement.values, whole, placement.hash)
    else { return false }
    if let last = application.newRows.rows.last,
      application.newRows.table !== table || last.placement.shape != placement.shape
    {
      try placeGathered(&application)
    }
    application.newRows.add(placement, table, key)
    if application.newRows.rows.count >= together(whole) { try placeGathered(&application) }
    return true
  }

  private func together(_ whole: WholeRow) -> Int { min(whole.most, rowsTogether) }

  /// Puts the rows that wait for each other into their table.
  func placeGathered(_ application: inout Application) throws {
    guard let table = application.newRows.table, let statements = table.statements else { return }
    let rows = application.newRows.take()
    if try placeTogether(rows, statements, table) { return }
    for (placement, key) in rows where try !contents.place(placement, statements, table, key) {
      try postpone(placement, statements, table, key, &application)
    }
  }

  /// False if they are too few, or one of them does not fit: then some may be in their table.
  private func placeTogether(
    _ rows: [(placement: Placement, key: Key)], _ statements: RowStatements, _ table: ReplicaTable
  ) throws -> Bool {
    guard let first = rows.first, let whole = statements.whole(first.placement.shape),
      rows.count >= together(whole), rows.count > 1
    else { return false }
    let broken = try contents.writing(table, first.key) { () throws(SQLiteError) in
      try whole.insert(rows.map(\.placement), on: connection)
    }
    guard broken == nil else { return false }
    for row in rows { changeLog.note(table, row.key) }
    return true
  }
}
