import Replication
import SQLite
import Store

/// The conflict log: read and dismissed by id, restored as a new edit.
extension Replica {
  /// Conflicts, the latest first, and parked rows; `all` shows settled ones, too.
  public func conflicts(all: Bool = false) async throws(FlotillaError) -> ConflictReport {
    var report = try await withFile { store throws(StoreError) in
      let names = try AuthorNames(store)
      return ConflictReport(
        conflicts: try store.conflictLog.list(all: all).map { conflict throws(StoreError) in
          try names.report(conflict, store)
        },
        parked: [], now: Node.text(try NodeClock(store, .here).now.moment),
        keeps: try Self.bounds(store), gone: try store.conflictLog.gone())
    }
    report.parked = try await parkedRows(cutTo: ConflictReport.Parked.longest)
    for (place, reason) in await hindrances(report.conflicts.map(\.parkedRow)).enumerated() {
      report.conflicts[place].because = reason ?? report.conflicts[place].because
    }
    await addStanding(to: &report.conflicts)
    return report
  }

  /// So many rows are asked about at most.
  private static let mostAsked = 1_000

  /// What is in the way of each row. A remark must not make the command fail.
  private func hindrances(_ rows: [ParkedRow?]) async -> [String?] {
    let file = sidecar.database
    guard rows.contains(where: { $0 != nil }) else { return rows.map { _ in nil } }
    return await offPool {
      let hindrance = try? Hindrance(path: file)
      var asked = 0
      return rows.map { row in
        guard let row, asked < Self.mostAsked else { return nil }
        asked += 1
        return try? hindrance?.words(
          row.table, key: row.key, row: row.row, isWaiting: row.isWaiting)
      }
    }
  }

  /// Where the log does not have what stood, it is what stands: a row that was put back, or none.
  private func addStanding(to conflicts: inout [ConflictReport.Conflict]) async {
    let places = conflicts.indices.filter { conflicts[$0].lacksWinner }.prefix(Self.mostAsked)
    guard !places.isEmpty else { return }
    let rows = places.map {
      TouchedRow(table: conflicts[$0].table, key: conflicts[$0].key, columns: [], values: nil)
    }
    // A remark must not make the command fail.
    guard let found = try? await standingIfThere(rows) else { return }
    for (place, row) in zip(places, found) {
      guard let row else { continue }
      let values = row.values.map {
        Dictionary(zip(row.columns, $0), uniquingKeysWith: { first, _ in first })
      }
      // What was refused is still there until the row has come again.
      let loser = conflicts[place].loser
      let isRefused =
        values.map { values in
          loser?.row?.allSatisfy { values[$0.key] == $0.value } ?? false
        } ?? (loser?.deleted ?? true)
      if !isRefused { conflicts[place].stands = ConflictReport.Standing(row: values) }
    }
  }

  private static func bounds(_ store: Store) throws(StoreError) -> ConflictReport.Bounds {
    let bounds = try store.conflictLog.bounds()
    return ConflictReport.Bounds(count: bounds.count, days: bounds.days, bytes: bounds.bytes)
  }

  /// Sets how many conflicts are kept on this node, and for how many days.
  public func keepConflicts(count: Int?, days: Int?) async throws(FlotillaError)
    -> ConflictReport.Bounds
  {
    try await withFile { store throws(StoreError) in
      try store.conflictLog.setBounds(count: count, days: days, at: NodeClock(store, .here).now)
      return try Self.bounds(store)
    }
  }

  /// Keeps as many as if nobody had ever set it.
  public func keepConflictsByDefault() async throws(FlotillaError) -> ConflictReport.Bounds {
    try await withFile { store throws(StoreError) in
      try store.conflictLog.setBoundsByDefault(at: NodeClock(store, .here).now)
      return try Self.bounds(store)
    }
  }

  /// One conflict by its number.
  public func conflict(_ id: Int) async throws(FlotillaError) -> ConflictReport.Conflict {
    let found = try await withFile { store throws(StoreError) in
      let names = try AuthorNames(store)
      return try store.conflictLog.entry(Int64(id)).map { conflict throws(StoreError) in
        try names.report(conflict, store)
      }
    }
    guard var found else { throw unknown(id) }
    found.because = await hindrances([found.parkedRow]).first?.flatMap(\.self) ?? found.because
    var all = [found]
    await addStanding(to: &all)
    return all[0]
  }

  /// Takes a conflict off the list; what it holds stays readable with `all`.
  public func dismissConflict(_ id: Int) async throws(FlotillaError) -> ConflictChange {
    let found = try await conflict(id)
    let known = [Conflict.State.open, .rekeyed].map(\.rawValue)
    guard known.contains(found.state) else { throw settled(found) }
    try await withFile { store throws(StoreError) in
      try store.conflictLog.settle(Int64(id), as: .dismissed)
    }
    return ConflictChange(id: id, state: Conflict.State.dismissed.rawValue)
  }

  /// Takes several off the list in one go; gives those that were on it.
  package func dismissConflicts(_ ids: [Int]) async throws(FlotillaError) -> [ConflictChange] {
    try await withFile { store throws(StoreError) in
      try store.conflictLog.dismiss(ids.map(Int64.init)).map {
        ConflictChange(id: Int($0), state: Conflict.State.dismissed.rawValue)
      }
    }
  }

  func unknown(_ id: Int) -> FlotillaError {
    FlotillaError(
      .refused, "there is no conflict \(id) on this node",
      remedy: "See: flotilla conflicts \(shellWord(path))")
  }

  func settled(_ conflict: ConflictReport.Conflict) -> FlotillaError {
    if conflict.became != nil {
      return FlotillaError(
        .refused, "nothing was lost in conflict \(conflict.id): the row goes on under another key",
        remedy: "See: flotilla conflicts \(shellWord(path)) show \(conflict.id)")
    }
    return FlotillaError(
      .refused, "conflict \(conflict.id) was \(conflict.state) already",
      remedy: "What it holds: flotilla conflicts \(shellWord(path)) show \(conflict.id)")
  }

  /// Reads the file beside a node that may run.
  @_semantics("optimize.sil.specialize.generic.never")
  func withFile<Result: Sendable>(
    _ body: @escaping @Sendable (Store) throws(StoreError) -> Result
  ) async throws(FlotillaError) -> Result {
    if let result = try await read(body) { return result }
    // Whoever opens it to write brings it up to date.
    _ = try await status(all: false)
    guard let result = try await read(body) else {
      throw FlotillaError(
        .node, "the node of \(path) is one of an older version",
        remedy: "Stop and start it: flotilla stop \(shellWord(path))",
        cause: "the node is one of an older version")
    }
    return result
  }

  /// Nil if the file is of an older format. It is in the program once, not for each type of a
  /// result (decision 0087).
  @_semantics("optimize.sil.specialize.generic.never")
  private func read<Result: Sendable>(
    _ body: @escaping @Sendable (Store) throws(StoreError) -> Result
  ) async throws(FlotillaError) -> Result? {
    let (path, sidecar) = (path, sidecar)
    return try await offPool { () throws(FlotillaError) in
      let file = try OpeningCheck(path: path, sidecar: sidecar).check()
      return try reporting(path) { () throws(StoreError) in
        let store = try Store(path: file, inspects: false)
        return try store.file.isOutdated ? nil : body(store)
      }
    }
  }

  static func row(
    _ values: [(name: String, value: Replication.Value)]
  ) -> [String: SQLValue] {
    Dictionary(values.map { ($0.name, SQLValue($0.value)) }) { first, _ in first }
  }

  static func key(
    _ key: Key, of table: String, in store: Store
  ) -> [String: SQLValue] {
    store.tables.named(key, of: table).mapValues(SQLValue.init)
  }
}

/// A row that may not fit into its table; without values if what did not fit was a delete. One that
/// `isWaiting` lacks what it refers to.
private typealias ParkedRow = (
  table: String, key: [String: SQLValue], row: [String: SQLValue]?, isWaiting: Bool
)

extension ConflictReport.Conflict {
  /// Whether the log knows that it was refused, and not what stood.
  fileprivate var lacksWinner: Bool {
    let isLacking = winner.map(\.isUnknown) ?? true
    return isLacking && reason == Reason.notAllowed.name && !isOfSettings
  }

  /// What did not fit; nil if it lost for another reason.
  fileprivate var parkedRow: ParkedRow? {
    reason == Reason.parked.name ? (table, key, loser?.row, false) : nil
  }
}
