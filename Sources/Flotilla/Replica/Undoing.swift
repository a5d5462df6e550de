import Replication
import SQLite
import Store

/// Puts rows back as they stood before a member wrote over them, as any program would write them.
struct Undoing {
  /// What has become of one row.
  enum Outcome: Sendable, Equatable {
    case done
    case left(String)
  }

  private static let mostPasses = 20

  let rows: [UndoReport.Row]
  /// The versions that these rows have in the file.
  let places: [UndoableRow.Place]
  /// The keys as versions have them.
  let keys: [[UInt8]]

  /// Undoes the chosen rows in the open transaction. A row that others stand in the way of is tried
  /// again once more of them are done: so children go before their parents. Each time it goes the
  /// other way through them, so a chain takes two; what takes very many is left.
  func write(_ chosen: [Int], on connection: Connection) throws -> [Int: Outcome] {
    var outcomes: [Int: Outcome] = [:]
    var waiting = chosen
    var (isMoving, passes) = (true, 0)
    while !waiting.isEmpty, isMoving, passes < Self.mostPasses {
      (isMoving, passes) = (false, passes + 1)
      var (again, claiming): ([Int], [Int]) = ([], [])
      for index in waiting {
        let (outcome, isClaiming) = try write(index, on: connection)
        outcomes[index] = outcome
        if outcome == .done { isMoving = true } else { again.append(index) }
        if isClaiming { claiming.append(index) }
      }
      if !isMoving {
        let moved = try exchange(claiming, on: connection)
        for index in moved { outcomes[index] = .done }
        again.removeAll(where: moved.contains)
        isMoving = !moved.isEmpty
      }
      waiting = again.reversed()
    }
    return outcomes
  }

  /// Undoes rows of which each is to have a unique value that another one of them has; gives those
  /// that could be. None can go first, so all are taken out, and put in again as they were before.
  private func exchange(_ indices: [Int], on connection: Connection) throws -> Set<Int> {
    let restorations = indices.map(restoration)
    let circle = RowCircle(restorations: restorations)
    return Set(
      try circle.write(on: connection) { place in
        try stands(indices[place], on: connection)
          && !hasUnnotedChild(restorations[place], on: connection)
          && !hasTrigger(restorations[place].conflict.table, on: connection)
      }.map { indices[$0] })
  }

  /// Whether a trigger of the application acts on rows of a table: one that goes for a moment may
  /// take others along that nobody tracks.
  private func hasTrigger(_ table: String, on connection: Connection) throws -> Bool {
    try connection.row(
      """
      SELECT 1 FROM main.sqlite_schema
      WHERE type = 'trigger' AND tbl_name = ? COLLATE NOCASE AND name NOT GLOB '_flotilla_*'
      """, [.string(table)]) != nil
  }

  private func restoration(_ index: Int) -> Restoration {
    let row = rows[index]
    return Restoration(
      conflict: ConflictReport.Conflict(
        id: 0, table: row.table, key: row.key, rule: "", reason: "", at: "", state: "",
        loser: row.way == "remove" ? nil : row.before),
      keyColumns: row.key_columns)
  }

  /// Also says whether another row has a unique value that this one is to have.
  private func write(
    _ index: Int, on connection: Connection
  ) throws -> (Outcome, isClaiming: Bool) {
    guard try stands(index, on: connection) else {
      return (.left("it has changed while this command ran"), false)
    }
    if rows[index].way != "remove", rows[index].before?.isUnknown == true {
      return (.left("what it was is not known here"), false)
    }
    let restoration = restoration(index)
    let isDelete = restoration.conflict.loser?.row == nil
    var (reason, isClaiming) = ("other rows would change with it", false)
    do {
      let isDone = try connection.attempt {
        if isDelete, try hasUnnotedChild(restoration, on: connection) { return false }
        let mark = try Journal.lastEntry(on: connection) ?? 0
        try restoration.write(on: connection)
        // A reference that is looked at with the commit would make all of it fail then.
        guard !connection.hasOpenReferences else {
          reason = "other rows refer to it, or it to a row that is not there"
          return false
        }
        return try !isDelete || Journal.touchedRows(after: mark, on: connection) <= 1
      }
      if isDone { return (.done, false) }
    } catch let error as SQLiteError {
      // SQLite may have taken the whole transaction back.
      guard error.isConstraint || error.code == 1, !connection.isAutocommit else { throw error }
      (reason, isClaiming) = (error.message, error.isOfUniqueValue)
    }
    return (.left(reason), isClaiming)
  }

  /// Whether a row of a table that nobody tracks would go or change with this one: no journal notes
  /// that.
  private func hasUnnotedChild(
    _ restoration: Restoration, on connection: Connection
  ) throws(SQLiteError) -> Bool {
    let keys = try connection.rows(
      """
      SELECT m.name, f.id, f."from", coalesce(f."to", (
        SELECT name FROM pragma_table_info(?1) WHERE pk = f.seq + 1))
      FROM main.sqlite_schema AS m JOIN pragma_foreign_key_list(m.name) AS f
      WHERE m.type = 'table' AND f."table" = ?1 COLLATE NOCASE AND m.name <> ?1 COLLATE NOCASE
        AND f.on_delete IN ('CASCADE', 'SET NULL', 'SET DEFAULT')
      ORDER BY m.name, f.id, f.seq
      """, [.string(restoration.conflict.table)])
    var conditions: [(table: String, id: Int64, terms: [String])] = []
    for key in keys {
      guard let table = key[0].string, let id = key[1].integer, let child = key[2].string,
        let parent = key[3].string
      else { continue }
      let term = "p.\(quoted(parent)) = c.\(quoted(child))"
      if let last = conditions.last, last.table == table, last.id == id {
        conditions[conditions.count - 1].terms.append(term)
      } else {
        conditions.append((table, id, [term]))
      }
    }
    for (table, _, terms) in conditions {
      let match = terms.joined(separator: " AND ")
      if try restoration.isReferred(from: table, by: match, on: connection) { return true }
    }
    return false
  }

  /// Whether the row is as it was when it was looked for.
  private func stands(_ index: Int, on connection: Connection) throws(SQLiteError) -> Bool {
    let place = places[index]
    let row = try connection.row(
      "SELECT origin, seq FROM _flotilla_version WHERE tbl = ? AND key = ?",
      [.integer(place.table), .blob(keys[index])])
    return row?[0].integer == place.origin && row?[1].integer == place.seq
  }
}
