import Replication
import SQLite

/// Whether all rows of a table are found by their keys, as `PRAGMA integrity_check` tells.
///
/// An index that lacks an entry hides a row that is there. `quick_check` does not see it: "it does
/// not verify that index content matches table content" (sqlite.org/pragma.html).
enum IndexCheck {
  /// What is damaged of a table of this name in the file; nil if all is well.
  static func damage(of table: String, on connection: Connection) throws(SQLiteError) -> String? {
    let said: [String]
    do {
      try connection.execute("PRAGMA ignore_check_constraints = ON")
      defer { try? connection.execute("PRAGMA ignore_check_constraints = OFF") }
      said = try connection.rows("PRAGMA main.integrity_check(\(quoted(table)))")
        .compactMap { $0[0].string }
    } catch {
      // What only its program can read nobody else can check.
      guard error.isOfProgram else { throw error }
      return nil
    }
    // SQLite tells no more than these: what comes after many of values nobody knows.
    let isCut = said.count >= mostTold
    return said.first { $0 != "ok" && (isCut || !isOfValue($0)) }
  }

  /// "The default is 100": so many findings are told (sqlite.org/pragma.html).
  private static let mostTold = 100

  /// Whether a finding is of a value that a column may not hold, as "NULL value in t.v": the row is
  /// found all the same.
  private static func isOfValue(_ finding: String) -> Bool {
    finding.contains(" value in ") && !finding.contains(" index ")
  }
}

extension Store {
  /// So long a table whose index is damaged is left aside before it is looked at again, in ms.
  private static let pause: Int64 = 600_000

  /// Whether a table has lost the row of a key. What a damaged index does not find would be deleted
  /// everywhere.
  ///
  /// The check reads the whole table, so it is not done under the write lock where a fold can do it
  /// before.
  func hasLost(
    _ key: Key, _ values: [SQLite.Value], _ table: ReplicaTable, _ statements: RowStatements,
    at now: Instant
  ) throws -> Bool {
    guard try connection.row(statements.existsByKey, values) == nil else { return false }
    if try shelf.why(table: table.id, key: key)?.isWhole == true { return true }
    try requireSound(table, at: now)
    return true
  }

  /// Whether a row that is not found by its key stands where its trigger has seen it: then an index
  /// hides it. What was written into it counts once the table is compared.
  ///
  /// `UPDATE t SET v = 1 WHERE v = 0` finds the row by its rowid, and changes no index of the key.
  func isHidden(
    _ touch: Backlog.Touch, _ table: ReplicaTable, _ statements: RowStatements
  ) throws(SQLiteError) -> Bool {
    guard let place = touch.row, let select = statements.selectKeyByRowID,
      let values = try connection.row(select, [.integer(place)]),
      table.key(values.map(Replication.Value.init)) == touch.key
    else { return false }
    try suspect(table.id)
    return true
  }

  /// Throws unless the comparison that is under way may go by what the indexes find.
  func requireSound(_ table: ReplicaTable, at now: Instant) throws(StoreError) {
    if verification.sound.contains(table.id) { return }
    guard !verification.isAsked else {
      verification.doubt = table.id
      throw StoreError(.unchecked, "the indexes of \(table.nameHere) are to be checked first")
    }
    try checkIndexes(of: table, at: now)
  }

  /// Checks what a fold has asked for, once its transaction has been rolled back.
  func checkIndexes(at now: Instant) throws(StoreError) {
    guard let table = verification.doubt.flatMap({ tables.byID[$0] }) else { return }
    verification.doubt = nil
    do {
      try checkIndexes(of: table, at: now)
    } catch {
      // What it hides was not looked at: that begins anew once all is found.
      if error.code == .damaged { try transaction { try suspect(table.id) } }
      throw error
    }
  }

  /// Throws if they are damaged; then comparisons leave the table aside for some minutes.
  private func checkIndexes(of table: ReplicaTable, at now: Instant) throws(StoreError) {
    let finding = try reporting { () throws(SQLiteError) in
      try IndexCheck.damage(of: table.nameHere, on: connection)
    }
    guard let finding else {
      verification.sound.insert(table.id)
      return
    }
    tables.damaged[table.id] = now.uptime + Self.pause
    throw StoreError.damaged(table.nameHere, in: path, finding)
  }
}

extension StoreError.Code {
  /// Whether rows are found by their keys is to be checked before a comparison goes on.
  static let unchecked = StoreError.Code("unchecked")
  /// The file does not hold what SQLite has written to it.
  package static let damaged = StoreError.Code("damaged")
}

extension StoreError {
  /// A row that no index finds must not be taken for deleted.
  static func damaged(_ table: String, in path: String, _ finding: String) -> StoreError {
    StoreError(
      .damaged, "the table \(table) in \(path) is damaged: \(finding)",
      remedy: "Make its indexes anew: sqlite3 \(path) REINDEX, then: flotilla verify \(path)")
  }
}
