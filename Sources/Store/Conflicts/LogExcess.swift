import Replication
import SQLite

/// What logs keep beyond their bounds: conflicts, rulings and verdicts.
///
/// It is found without the write lock and let go of in slices. Of a million entries that are too
/// many, some hundred go in one commit, and programs write in between.
package struct LogExcess: Sendable {
  /// Entries of the conflict log.
  var conflicts: [Int64] = []
  var rulings: [RulingTable.Name] = []
  /// Origins that have said too much about the office.
  var talkers: [Int64] = []
  /// Own edits whose verdicts are settled, the earliest first.
  var verdicts: [Int64] = []

  /// The same in slices of so many entries of each log.
  func slices(of limit: Int) -> [LogExcess] {
    let length = max(conflicts.count, rulings.count, talkers.count, verdicts.count)
    return stride(from: 0, to: length, by: limit).map { start in
      LogExcess(
        conflicts: Array(conflicts.dropFirst(start).prefix(limit)),
        rulings: Array(rulings.dropFirst(start).prefix(limit)),
        talkers: Array(talkers.dropFirst(start).prefix(limit)),
        verdicts: Array(verdicts.dropFirst(start).prefix(limit)))
    }
  }
}

extension Store {
  /// What the logs keep too much of, in slices for `letGo`.
  package func logExcess(at now: Instant) throws(StoreError) -> [LogExcess] {
    let conflicts = try conflictLog.excess(at: now)
    return try reporting { () throws(SQLiteError) in
      LogExcess(
        conflicts: conflicts, rulings: try rulings.excess(), talkers: try rulings.talkers(),
        verdicts: try verdicts.excess(at: now)
      ).slices(of: pace.comparedRows)
    }
  }

  /// Lets go of a slice of it, in one transaction.
  package func letGo(of excess: LogExcess) throws(StoreError) {
    try transaction {
      try conflictLog.remove(excess.conflicts)
      try rulings.remove(excess.rulings)
      for origin in excess.talkers { try rulings.trimWords(of: origin) }
      try verdicts.remove(excess.verdicts)
    }
  }
}
