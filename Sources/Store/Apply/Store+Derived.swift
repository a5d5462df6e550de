import Replication
import SQLite

/// Derived triggers on the connection that applies.
extension Store {
  /// What the derived triggers are doing.
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

  /// Finds the derived triggers of the tracked tables and installs them anew.
  func renewDerived() throws {
    derivation.triggers = try findDerived()
    try loadDerivedTroubles()
    derivation.troubles.keep(of: derivation.triggers)
    if !derivation.triggers.isEmpty, derivation.triggers == derivation.refused {
      return try removeDerived()
    }
    try installDerived()
  }

  func findDerived() throws(SQLiteError) -> [DerivedTrigger] {
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

  private func installDerived() throws(SQLiteError) {
    try removeDerived()
    guard !derivation.triggers.isEmpty else { return }
    for (number, trigger) in derivation.triggers.enumerated() {
      derivation.made = max(derivation.made, number + 1)
      try connection.execute(trigger.temporary(number))
      derivation.installed = number + 1
    }
  }

  /// In a new transaction rows may fit again what the triggers do.
  func resumeDerived() throws(SQLiteError) {
    guard derivation.failures > 0 else { return }
    derivation.failures = 0
    if derivation.installed == 0, derivation.triggers != derivation.refused {
      try installDerived()
    }
  }

  private func removeDerived() throws(SQLiteError) {
    for number in 0..<derivation.made {
      try connection.execute(
        "DROP TRIGGER IF EXISTS temp.\(DerivedTrigger.temporaryName(number))")
    }
    derivation.installed = 0
  }

  /// Writes a row of a table of the application; gives the constraint that it would break, or nil.
  ///
  /// An error inside a derived trigger never stops an apply: the write is tried again without
  /// them, and if that goes through the trouble is reported. They are on again for the next row, if
  /// it was the row that was to blame: else one member could leave an index stale for good.
  func writing(
    _ table: ReplicaTable, _ key: Key, _ body: () throws(SQLiteError) -> Void
  ) throws(SQLiteError) -> String? {
    // A trigger may look at versions, by the views of rows.
    if derivation.installed > 0 { try connection.flushQueues() }
    changeLog.note(table, key)
    do {
      try body()
      return nil
    } catch {
      guard !connection.isAutocommit else {
        // What follows would be in no transaction. RAISE(ROLLBACK) and its like do that as well.
        if derivation.installed > 0, error.isConstraint {
          derivation.refused = derivation.triggers
          note(error, table)
        }
        throw error
      }
      guard derivation.installed > 0, !error.isBusy, !error.isFull else {
        guard error.refusesRow else { throw error }
        return error.message
      }
      if derivation.readText(after: error) {
        try installDerived()
        return try writing(table, key, body)
      }
      let first = error
      try removeDerived()
      let broken = try brokenConstraint(body)
      if broken == nil {
        note(first, table)
        derivation.failures += 1
      }
      let isOfRow = first.wasRunning && derivation.failures <= Derivation.mostFailures
      if broken != nil || isOfRow { try installDerived() }
      return broken
    }
  }

  private func note(_ error: SQLiteError, _ table: ReplicaTable) {
    derivation.troubles.note(
      error.message, at: table.nameHere, among: derivation.triggers)
  }
}
