import Replication
import SQLite

/// The derived triggers of the tracked tables, as TEMP triggers on the connection that applies.
final class DerivedTriggers: FilePart {
  /// What they are doing.
  struct Derivation {
    var triggers: [DerivedTrigger] = []
    /// How many TEMP triggers are installed.
    var installed = 0
    /// As many may have been made: a transaction that is rolled back brings some back.
    var made = 0
    /// What they have failed with, and how much of that is in the file.
    var troubles = DerivedTroubles()
    var saved = DerivedTroubles()
    /// In how many rows of the open transaction one has failed. After some they are off until it
    /// ends, for each is written twice.
    var failures = 0
    static let mostFailures = 16
    /// Those of which one has had SQLite roll a whole transaction back: they are not tried again.
    var refused: [DerivedTrigger] = []

    /// Whether a trigger can be read otherwise after this error of one.
    mutating func readText(after error: SQLiteError) -> Bool {
      var isOther = false
      for index in triggers.indices where triggers[index].readText(after: error) { isOther = true }
      return isOther
    }

    /// What was tried was undone, so all is as it was.
    mutating func restore(_ before: Derivation) {
      let (refused, made) = (refused, made)
      self = before
      (self.refused, self.made) = (refused, max(made, self.made))
    }
  }

  private let connection: Connection
  private let meta: Meta
  private let tables: Tables
  private var derivation = Derivation()

  init(_ connection: Connection, _ meta: Meta, _ tables: Tables) {
    (self.connection, self.meta, self.tables) = (connection, meta, tables)
  }

  /// Whether any is to run when a row is written.
  var isOn: Bool { derivation.installed > 0 }

  /// What one of them has failed with, if one has.
  var trouble: String? { derivation.troubles.text }

  /// The same in a replica whose schema nobody has looked at.
  func keptTrouble() throws(SQLiteError) -> String? {
    var troubles = try kept()
    troubles.keep(of: try find())
    return troubles.text
  }

  private func kept() throws(SQLiteError) -> DerivedTroubles {
    try meta.blob(.derivedTroubles).map(DerivedTroubles.init) ?? DerivedTroubles()
  }

  /// In a new transaction rows may fit again what they do.
  func locked() throws(SQLiteError) {
    guard derivation.failures > 0 else { return }
    derivation.failures = 0
    if derivation.installed == 0, derivation.triggers != derivation.refused { try install() }
  }

  /// Keeps what they have failed with, in the transaction of the rows.
  func save() throws(SQLiteError) {
    let troubles = derivation.troubles
    guard troubles != derivation.saved else { return }
    try meta.set(.derivedTroubles, troubles.isEmpty ? .null : .blob(troubles.bytes))
    derivation.saved = troubles
  }

  /// Does something that is undone unless it gives true: then the triggers, which a failure may
  /// have switched off, are as they were, too.
  func attempt(_ body: () throws -> Bool) throws -> Bool {
    let before = derivation
    let isDone = try connection.attempt(body)
    if !isDone { derivation.restore(before) }
    return isDone
  }

  /// Does something that is undone in any case.
  func whileLooking<Result>(_ body: () throws -> Result) throws -> Result {
    let before = derivation
    defer { derivation.restore(before) }
    return try body()
  }

  /// Finds the derived triggers of the tracked tables and installs them anew.
  func renew() throws(SQLiteError) {
    derivation.triggers = try find()
    derivation.saved = try kept()
    if derivation.troubles.isEmpty { derivation.troubles = derivation.saved }
    derivation.troubles.keep(of: derivation.triggers)
    if !derivation.triggers.isEmpty, derivation.triggers == derivation.refused {
      return try remove()
    }
    try install()
  }

  private func find() throws(SQLiteError) -> [DerivedTrigger] {
    let rows = try connection.rows(
      """
      SELECT name, tbl_name, sql FROM main.sqlite_schema
      WHERE type = 'trigger' AND name NOT GLOB '_flotilla_*' ORDER BY rowid
      """)
    let tracked = tables.tracked
    let isTracked = { (name: String) in tracked.contains { isSameName($0.nameHere, name) } }
    return rows.compactMap { row in
      guard let name = row[0].string, !TableSchema.isReserved(name), let sql = row[2].string,
        let table = row[1].string, isTracked(table)
      else { return nil }
      return DerivedTrigger(sql: sql, of: table, isTracked: isTracked)
    }
  }

  private func install() throws(SQLiteError) {
    try remove()
    guard !derivation.triggers.isEmpty else { return }
    for (number, trigger) in derivation.triggers.enumerated() {
      derivation.made = max(derivation.made, number + 1)
      try connection.execute(trigger.temporary(number))
      derivation.installed = number + 1
    }
  }

  private func remove() throws(SQLiteError) {
    for number in 0..<derivation.made {
      try connection.execute(
        "DROP TRIGGER IF EXISTS temp.\(DerivedTrigger.temporaryName(number))")
    }
    derivation.installed = 0
  }

  /// Writing a row has failed: whether it can be tried again, for a trigger can be read otherwise.
  func isReadOtherwise(
    after error: SQLiteError, of table: ReplicaTable
  ) throws(SQLiteError) -> Bool {
    guard !connection.isAutocommit else {
      // What follows would be in no transaction. RAISE(ROLLBACK) and its like do that as well.
      if isOn, error.isConstraint {
        derivation.refused = derivation.triggers
        note(error, table)
      }
      throw error
    }
    guard isOn, !error.isBusy, !error.isFull, derivation.readText(after: error) else {
      return false
    }
    try install()
    return true
  }

  /// Writes a row after an error; gives the constraint that it would break, or nil.
  ///
  /// An error inside a derived trigger never stops an apply: the write is tried again without
  /// them, and if that goes through the trouble is reported. They are on again for the next row, if
  /// it was the row that was to blame: else one member could leave an index stale for good.
  func write(
    after error: SQLiteError, of table: ReplicaTable, _ body: () throws(SQLiteError) -> Void
  ) throws(SQLiteError) -> String? {
    guard isOn, !error.isBusy, !error.isFull else {
      guard error.refusesRow else { throw error }
      return error.message
    }
    try remove()
    let broken = try brokenConstraint(body)
    if broken == nil {
      note(error, table)
      derivation.failures += 1
    }
    let isOfRow = error.wasRunning && derivation.failures <= Derivation.mostFailures
    if broken != nil || isOfRow { try install() }
    return broken
  }

  private func note(_ error: SQLiteError, _ table: ReplicaTable) {
    derivation.troubles.note(
      error.message, at: table.nameHere, among: derivation.triggers)
  }
}
