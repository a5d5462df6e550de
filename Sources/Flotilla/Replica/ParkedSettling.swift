import Replication
import SQLite
import Store

/// Puts parked rows into their tables, as any program would, or gives them up: so many in a commit
/// that programs do not wait for long.
final class ParkedSettling {
  private static let mostRows = 1_000
  private static let mostBytes = 16 << 20

  private let path: String
  private let store: Store
  private let state: Conflict.State
  private let values: [String: SQLValue]
  private let listener: WorkProgress.Listener?
  private let connection: Connection
  private let wall: Int64
  private let total: Int
  private var waiting: [ParkedRow] = []
  private var bytes = 0
  private var settled: [Replica.SettledRow] = []
  private var failure: StoreError?

  init(
    path: String, _ store: Store, as state: Conflict.State, setting values: [String: SQLValue],
    telling listener: WorkProgress.Listener?
  ) throws(StoreError) {
    (self.path, self.store, self.state, self.values) = (path, store, state, values)
    self.listener = listener
    wall = try NodeClock(store, .here).now.wall
    total = listener == nil ? 0 : try store.tableSurvey.shelvedRows().reduce(0) { $0 + $1.rows }
    connection = try reporting { () throws(SQLiteError) in
      let connection = try Connection(path: store.path)
      connection.setBusyTimeout(milliseconds: 10_000)
      try connection.execute("PRAGMA foreign_keys = ON")
      return connection
    }
  }

  /// Takes one row; false if a commit has failed, and nothing was settled before.
  func take(_ row: ParkedRow) -> Bool {
    waiting.append(row)
    if failure != nil { return give(up: waiting) }
    bytes += row.size
    guard waiting.count >= Self.mostRows || bytes >= Self.mostBytes else { return true }
    return commit()
  }

  /// Settles the rest; gives what came of each row. Throws if nothing could be written at all.
  func end() throws(StoreError) -> [Replica.SettledRow] {
    if failure == nil { _ = commit() }
    if let failure, settled.isEmpty { throw failure }
    return settled
  }

  /// What a commit has brought stays, whatever becomes of the rows after it.
  private func give(up rows: [ParkedRow]) -> Bool {
    guard let failure, !settled.isEmpty else { return false }
    let error = FlotillaError(failure, path: path)
    settled += rows.map { Replica.SettledRow(id: $0.id, outcome: .failure(error)) }
    (waiting, bytes) = ([], 0)
    return true
  }

  private func commit() -> Bool {
    do {
      while !waiting.isEmpty {
        let news = try commit(waiting)
        settled += news
        waiting.removeFirst(news.count)
      }
      bytes = 0
      listener?(WorkProgress(.settling, settled.count, of: max(total, settled.count)))
      return true
    } catch {
      connection.rollBack()
      failure = StoreError.wrapping(error)
      return give(up: waiting)
    }
  }

  /// Gives what came of the first ones. A trigger may take back the whole transaction with
  /// `RAISE(ROLLBACK)`: the rows before that one are settled without it.
  private func commit(_ rows: [ParkedRow]) throws -> [Replica.SettledRow] {
    var news: [Replica.SettledRow] = []
    try connection.execute("BEGIN IMMEDIATE")
    for row in rows {
      let outcome = try settle(row)
      guard !connection.isAutocommit else {
        let before = news.isEmpty ? [] : try commit(Array(rows.prefix(news.count)))
        guard before.count == news.count else { return before }
        return before + [Replica.SettledRow(id: row.id, outcome: outcome)]
      }
      news.append(Replica.SettledRow(id: row.id, outcome: outcome))
    }
    try connection.execute("COMMIT")
    return news
  }

  private func settle(_ row: ParkedRow) throws -> Result<ParkedChange, FlotillaError> {
    if case .refused = try store.permission(toWrite: row.key, of: row.table) {
      return .failure(
        FlotillaError(
          .notAllowed, "this node may not write \(row.table)",
          remedy: "An admin can allow it: flotilla grant"))
    }
    let (before, written): ([String: SQLValue], [String: SQLValue])
    do {
      before = Replica.row(row.values)
      written = try changed(before, row.table)
    } catch {
      return .failure(error)
    }
    var reason = "it refers to a row that is not there, or such a row to it"
    do {
      let isDone = try connection.attempt {
        guard try row.stands(on: connection) else {
          reason = "it has changed while this command ran"
          return false
        }
        try write(row, before, written)
        // A reference that is looked at with the commit would make all of it fail then.
        return !connection.hasOpenReferences
      }
      if isDone {
        return .success(ParkedChange(id: row.id, state: state.rawValue, row: written))
      }
    } catch let error as SQLiteError {
      guard error.isOfRow else { throw error }
      reason = error.message
    }
    let deed = state == .restored ? "be put into \(row.table)" : "be given up"
    return .failure(
      FlotillaError(
        .sql, "\(row.id) cannot \(deed): \(reason)",
        remedy: "It stays as it was. Give it other values: flotilla conflicts "
          + "\(shellWord(path)) restore \(row.id) --set COLUMN=VALUE"))
  }

  private func write(
    _ row: ParkedRow, _ before: [String: SQLValue], _ written: [String: SQLValue]
  ) throws(SQLiteError) {
    guard state == .restored else {
      return try row.giveUp(isDeleted: true, at: wall, on: connection)
    }
    try OneRowWrite.insert(written, into: row.table).run(on: connection)
    let key = store.tables.keyNames(of: row.key, of: row.table)
    let isMoved = key.contains { written[$0] != before[$0] }
    try row.giveUp(isDeleted: isMoved, at: wall, on: connection)
  }

  /// A row with the values that it is to have. Its author may not have every column that the table
  /// has here.
  private func changed(
    _ row: [String: SQLValue], _ table: String
  ) throws(FlotillaError) -> [String: SQLValue] {
    guard !values.isEmpty else { return row }
    let columns = store.tables.columns(of: table)
    let known = columns + row.keys.filter { !columns.contains($0) }.sorted()
    var row = row
    for (name, value) in values {
      guard let column = known.first(where: { isSameName($0, name) }) else {
        throw FlotillaError(
          .refused, "\(table) has no column \(name)",
          remedy: "It has: \(known.joined(separator: ", "))")
      }
      row[column] = value
    }
    return row
  }
}
