import Replication
import SQLite
import Store

/// Parked rows: put back by hand with other values, or given up.
extension Replica {
  /// A parked row by its name.
  public func parkedRow(_ id: String) async throws(FlotillaError) -> ConflictReport.Parked {
    let found = try await parkedRows(cutTo: nil, named: id)
    guard let row = found.first else { throw noneParked(id) }
    guard found.count == 1 else {
      throw FlotillaError(
        .refused, "two rows here are parked as \(id)",
        remedy: "Write the key of the one that you mean into its table with SQL; see them with "
          + "flotilla conflicts \(shellWord(path)) --parked")
    }
    return row
  }

  /// Puts a parked row into its table, as any program would, with other values in some columns.
  public func restoreParked(
    _ id: String, setting values: [String: SQLValue] = [:]
  ) async throws(FlotillaError) -> ParkedChange {
    try await settle(id, as: .restored, setting: values)
  }

  /// Deletes a parked row, on every machine.
  public func dismissParked(_ id: String) async throws(FlotillaError) -> ParkedChange {
    try await settle(id, as: .dismissed)
  }

  private func settle(
    _ id: String, as state: Conflict.State, setting values: [String: SQLValue] = [:]
  ) async throws(FlotillaError) -> ParkedChange {
    let found = try await parkedRow(id)
    guard Self.isKeptOut(found.why) else {
      throw FlotillaError(
        .table, "\(id) is not kept out by other rows (\(found.why))",
        remedy: "See: flotilla doctor \(shellWord(path))")
    }
    // Another one may have come meanwhile that has the same name.
    let settled = try await settleParked(as: state, setting: values) { row in
      guard row.id == id, row.table == found.table else { return false }
      let now = Self.row(row.values)
      return found.key.allSatisfy { now[$0.key] == $0.value }
    }
    guard let one = settled.first else { throw noneParked(id) }
    return try one.outcome.get()
  }

  /// What came of one parked row.
  package struct SettledRow: Sendable {
    package var id: String
    package var outcome: Result<ParkedChange, FlotillaError>
  }

  /// Restores or dismisses all rows of these tables that others keep out of them, in one walk and
  /// with many in a commit.
  package func settleParked(
    in tables: Set<String>, restores: Bool, setting values: [String: SQLValue] = [:],
    progress: (@Sendable (WorkProgress) -> Void)? = nil
  ) async throws(FlotillaError) -> [SettledRow] {
    try await settleParked(
      as: restores ? .restored : .dismissed, setting: values, progress: progress
    ) { tables.contains($0.table) }
  }

  private func settleParked(
    as state: Conflict.State, setting values: [String: SQLValue],
    progress: (@Sendable (WorkProgress) -> Void)? = nil,
    _ isMeant: @escaping @Sendable (ParkedRow) -> Bool
  ) async throws(FlotillaError) -> [SettledRow] {
    let path = path
    return try await withFile { store throws(StoreError) in
      let settling = try ParkedSettling(
        path: path, store, as: state, setting: values, telling: progress)
      try store.tableSurvey.eachParkedRow { row in
        guard Self.isKeptOut(row.why), isMeant(row) else { return true }
        return settling.take(row)
      }
      return try settling.end()
    }
  }

  private func noneParked(_ id: String) -> FlotillaError {
    FlotillaError(
      .refused, "no row here is parked as \(id)",
      remedy: "See: flotilla conflicts \(shellWord(path)) --parked")
  }

  /// Says where the row is if a statement has changed nothing because that row is parked.
  func explainNothing(
    _ statement: String, _ values: [SQLite.Value]
  ) throws(FlotillaError) {
    let file = sidecar.database
    guard let row = try? Self.parkedTarget(of: statement, values, in: file) else { return }
    let key = (row.key.values ?? []).map { value in
      switch value {
      case .text(let bytes): String(decoding: bytes, as: UTF8.self)
      case .integer(let number): "\(number)"
      case .real(let number): "\(number)"
      case .blob(let bytes): "of \(bytes.count) bytes"
      case .null: "NULL"
      }
    }.joined(separator: ", ")
    throw FlotillaError(
      .sql,
      "no row was changed: the row \(key) of \(row.table) is parked, so it is not in its table",
      remedy: "See: flotilla conflicts \(shellWord(path)) show \(row.id)")
  }

  /// A parked row that a statement would have changed if it were in its table; nil if there is
  /// none.
  ///
  /// A TEMP table of the same name, which SQLite takes before the one of the file, holds one parked
  /// row at a time, and the statement is run on that.
  private static func parkedTarget(
    of statement: String, _ values: [SQLite.Value], in file: String
  ) throws -> ParkedRow? {
    let store = try Store(path: file, inspects: false)
    let connection = try Connection(path: file, mode: .readOnly)
    let text = statement.lowercased()
    var (tried, hit): (Int, ParkedRow?) = (0, nil)
    try store.tableSurvey.eachParkedRow { row in
      guard isKeptOut(row.why), text.contains(row.table.lowercased()) else { return true }
      tried += 1
      // One that cannot be tried says nothing of the next.
      let isHit = try? wouldChange(row, statement, values, on: connection)
      if isHit == true { hit = row }
      return hit == nil && tried < mostTried
    }
    return hit
  }

  private static func wouldChange(
    _ row: ParkedRow, _ statement: String, _ values: [SQLite.Value], on connection: Connection
  ) throws -> Bool {
    let name = quoted(row.table)
    var isHit = false
    _ = try connection.attempt {
      try connection.execute("CREATE TEMP TABLE \(name) AS SELECT * FROM main.\(name) WHERE 0")
      let columns = row.values.map { quoted($0.name) }.joined(separator: ", ")
      let marks = row.values.map { _ in "?" }.joined(separator: ", ")
      try connection.run(
        "INSERT INTO temp.\(name)(\(columns)) VALUES (\(marks))", row.values.map(\.value.sqlite))
      isHit = try connection.run(statement, values) > 0
      return false
    }
    return isHit
  }

  private static let mostTried = 200

  /// Whether other rows keep it out of its table.
  static func isKeptOut(_ why: String) -> Bool {
    ["constraint", "reference", "parent"].contains(why)
  }
}

/// What was done with a parked row. JSON: `{id, state, row}`.
public struct ParkedChange: Codable, Sendable, Equatable {
  /// `p` and six digits.
  public var id: String
  /// `restored` or `dismissed`.
  public var state: String
  /// What was written, or given up, by column.
  public var row: [String: SQLValue]
}
