import Replication
import SQLite

/// Derived triggers on the connection that applies.
extension Store {
  /// What the derived triggers are doing.
  struct Derivation {
    var triggers: [DerivedTrigger] = []
    /// How many TEMP triggers are installed.
    var installed = 0
    /// What one of them failed with; they are off until the schema changes.
    var trouble: String?
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
      let refused = refused
      self = before
      self.refused = refused
    }
  }

  /// Finds the derived triggers of the tracked tables and installs them anew.
  func renewDerived() throws {
    let rows = try connection.rows(
      """
      SELECT name, tbl_name, sql FROM main.sqlite_schema
      WHERE type = 'trigger' AND name NOT GLOB '_flotilla_*' ORDER BY rowid
      """)
    let tracked = tables.tracked
    let isTracked = { (name: String) in tracked.contains { isSameName($0.nameHere, name) } }
    derivation.triggers = rows.compactMap { row in
      guard let name = row[0].string, !TableSchema.isReserved(name), let sql = row[2].string,
        row[1].string.map(isTracked) == true
      else { return nil }
      return DerivedTrigger(sql: sql, isTracked: isTracked)
    }
    if !derivation.triggers.isEmpty, derivation.triggers == derivation.refused {
      return try removeDerived()
    }
    derivation.trouble = nil
    try installDerived()
  }

  private func installDerived() throws(SQLiteError) {
    try removeDerived()
    guard !derivation.triggers.isEmpty else { return }
    for (number, trigger) in derivation.triggers.enumerated() {
      try connection.execute(trigger.temporary(number))
      derivation.installed = number + 1
    }
  }

  private func removeDerived() throws(SQLiteError) {
    for number in 0..<derivation.installed {
      try connection.execute(
        "DROP TRIGGER IF EXISTS temp.\(DerivedTrigger.temporaryName(number))")
    }
    derivation.installed = 0
  }

  /// Writes a row of a table of the application; gives the constraint that it would break, or nil.
  ///
  /// An error inside a derived trigger never stops an apply: the write is tried again without
  /// them, and if that goes through they stay off and the trouble is reported.
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
          (derivation.refused, derivation.trouble) = (derivation.triggers, error.message)
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
        derivation.trouble = first.message
      } else {
        try installDerived()
      }
      return broken
    }
  }

  /// What a trigger that keeps something derived has failed with, if one has.
  package var derivedTrouble: String? { derivation.trouble }
}
