import SQLite
import Store

/// Rows of which each is to have a unique value that another one has, as 1 and 2 that were swapped.
struct RowCircle {
  private static let mostTries = 20

  let restorations: [Restoration]

  /// Takes the rows out and puts them in again as they are to stand, all or those that go together;
  /// gives their places. `mayGo` says of each whether it may be taken out for a moment.
  func write(on connection: Connection, _ mayGo: (Int) throws -> Bool) throws -> [Int] {
    var places = Array(restorations.indices)
    for _ in 0..<Self.mostTries where places.count > 1 {
      var failed: Set<Int> = []
      // What refers to a row finds it again at the end.
      try connection.execute("PRAGMA defer_foreign_keys = ON")
      let isDone = try connection.attempt {
        let mark = try Journal.lastEntry(on: connection) ?? 0
        failed = try exchange(places, on: connection, mayGo)
        return try failed.isEmpty && !connection.hasOpenReferences
          && Journal.touchedRows(after: mark, on: connection) <= places.count
      }
      try connection.execute("PRAGMA defer_foreign_keys = OFF")
      if isDone { return places }
      guard !failed.isEmpty else { break }
      // A row that cannot move stays in the way of others, perhaps.
      places.removeAll(where: failed.contains)
    }
    return []
  }

  /// Gives those that did not go.
  private func exchange(
    _ places: [Int], on connection: Connection, _ mayGo: (Int) throws -> Bool
  ) throws -> Set<Int> {
    var failed: Set<Int> = []
    var rows: [(place: Int, row: [String: SQLValue])] = []
    func attempt(_ place: Int, _ body: () throws -> Bool) throws {
      do {
        if try !connection.attempt(body) { failed.insert(place) }
      } catch let error as SQLiteError {
        guard error.isOfRow, !connection.isAutocommit else { throw error }
        failed.insert(place)
      }
    }
    for place in places {
      try attempt(place) {
        guard try mayGo(place), let row = try restorations[place].merged(on: connection) else {
          return false
        }
        try restorations[place].delete(on: connection)
        rows.append((place, row))
        return true
      }
    }
    for (place, row) in rows {
      try attempt(place) {
        try OneRowWrite.insert(row, into: restorations[place].conflict.table).run(on: connection)
        return true
      }
    }
    return failed
  }
}
