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
        conflicts: try store.conflictList(all: all).map { conflict throws(StoreError) in
          try names.report(conflict, store)
        },
        parked: try store.parkedRows().map { row in
          ConflictReport.Parked(
            table: row.table, key: Self.key(row.key, of: row.table, in: store), why: row.why,
            row: Self.row(row.values))
        }, keeps: try Self.bounds(store), gone: try store.conflictsGone())
    }
    let reasons = await hindrances(
      report.conflicts.map(\.parkedRow)
        + report.parked.map { $0.why == "constraint" ? ($0.table, $0.key, $0.row) : nil })
    for (index, reason) in reasons.enumerated() {
      let parked = index - report.conflicts.count
      if parked < 0 {
        report.conflicts[index].because = reason
      } else {
        report.parked[parked].because = reason
      }
    }
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
        return try? hindrance?.words(row.table, key: row.key, row: row.row)
      }
    }
  }

  private static func bounds(_ store: Store) throws(StoreError) -> ConflictReport.Bounds {
    let bounds = try store.conflictBounds()
    return ConflictReport.Bounds(
      count: bounds.count, days: bounds.days,
      bytes: bounds.bytes.map { Swift.max($0, 0) })
  }

  /// Sets how many conflicts are kept on this node, and for how many days.
  public func keepConflicts(count: Int?, days: Int?) async throws(FlotillaError)
    -> ConflictReport.Bounds
  {
    try await withFile { store throws(StoreError) in
      try store.setConflictBounds(count: count, days: days, at: NodeClock(store, .here).now)
      return try Self.bounds(store)
    }
  }

  /// One conflict by its number.
  public func conflict(_ id: Int) async throws(FlotillaError) -> ConflictReport.Conflict {
    let found = try await withFile { store throws(StoreError) in
      let names = try AuthorNames(store)
      return try store.conflict(Int64(id)).map { conflict throws(StoreError) in
        try names.report(conflict, store)
      }
    }
    guard var found else { throw unknown(id) }
    found.because = await hindrances([found.parkedRow]).first ?? nil
    return found
  }

  /// Takes a conflict off the list; what it holds stays readable with `all`.
  public func dismissConflict(_ id: Int) async throws(FlotillaError) -> ConflictChange {
    let found = try await conflict(id)
    guard found.state == Conflict.State.open.rawValue else { throw settled(found) }
    try await withFile { store throws(StoreError) in try store.settle(Int64(id), as: .dismissed) }
    return ConflictChange(id: id, state: Conflict.State.dismissed.rawValue)
  }

  /// Writes what lost again, as a new edit of this node that knows what stands.
  public func restoreConflict(_ id: Int) async throws(FlotillaError) -> ConflictChange {
    let found = try await conflict(id)
    guard found.state == Conflict.State.open.rawValue else { throw settled(found) }
    // A delete that was not allowed is kept without its row, too.
    guard found.loser != nil || found.reason == Reason.notAllowed.name else {
      throw FlotillaError(
        .table, "what lost in conflict \(id) is not here, so it cannot be restored",
        remedy: "It is with the node that made it.")
    }
    guard !found.isOfSettings else {
      try await restoreSetting(found)
      try await withFile { store throws(StoreError) in try store.settle(Int64(id), as: .restored) }
      return ConflictChange(id: id, state: Conflict.State.restored.rawValue)
    }
    return try await restoreRow(found)
  }

  /// Makes the choice that lost again, as its command would.
  private func restoreSetting(_ conflict: ConflictReport.Conflict) async throws(FlotillaError) {
    guard case .text(let table)? = conflict.key["name"] else { throw unknown(conflict.id) }
    guard let row = conflict.loser?.row else {
      _ = try await untrack([table])
      return
    }
    let isTracked = try await rule(table: nil, rule: nil).rules.contains {
      isSameName($0.table, table)
    }
    var rule: String?
    if case .text(let name)? = row["rule"], !name.isEmpty { rule = name }
    // The rule that nobody had set is the standard one.
    if isTracked, rule == nil { rule = MergeRules.standard.name }
    _ = try await track(.named([table]), rule: rule)
  }

  /// Writes a row into its table, as any program would.
  private func restoreRow(
    _ found: ConflictReport.Conflict
  ) async throws(FlotillaError) -> ConflictChange {
    let (id, path, file) = (found.id, path, sidecar.database)
    let (columns, isAllowed, office) = try await withFile { store throws(StoreError) in
      (store.keyColumns(of: found.table), try Self.mayRestore(found, store), store.currentOffice)
    }
    guard !columns.isEmpty else { throw try await untracked(found) }
    guard isAllowed else {
      throw FlotillaError(
        .notAllowed, "this node may not write \(found.table), so conflict \(id) cannot be restored",
        remedy: "An admin can allow it (flotilla grant); conflicts show \(id) prints what lost.")
    }
    return try await offPool { () throws(FlotillaError) in
      do throws(SQLiteError) {
        let connection = try Connection(path: file)
        connection.setBusyTimeout(milliseconds: 10_000)
        try connection.execute("PRAGMA foreign_keys = ON")
        return try connection.transaction { () throws(SQLiteError) in
          let restoration = Restoration(conflict: found, keyColumns: columns)
          var change = try restoration.news(on: connection)
          try restoration.write(on: connection)
          try connection.run(
            "UPDATE _flotilla_conflict SET state = 'restored' WHERE id = ?",
            [.integer(Int64(id))])
          change.awaits_verdict = office.isHeld && !office.certifies
          return change
        }
      } catch {
        throw FlotillaError(
          .sql, "conflict \(id) cannot be restored: \(error.message)",
          remedy: "Nothing was changed; conflicts show \(id) prints what lost, to write it by hand "
            + "(\(shellWord(path))).")
      }
    }
  }

  /// Says that the table of a conflict is not replicated here, or is not here.
  private func untracked(
    _ conflict: ConflictReport.Conflict
  ) async throws(FlotillaError) -> FlotillaError {
    let (path, file, table) = (path, sidecar.database, conflict.table)
    let isThere = try await offPool { () throws(FlotillaError) in
      do throws(SQLiteError) {
        return try Connection(path: file).row(
          "SELECT 1 FROM main.sqlite_schema WHERE type = 'table' AND name = ? COLLATE NOCASE",
          [.string(table)]) != nil
      } catch {
        throw FlotillaError(error, path: path)
      }
    }
    let shows = "conflicts show \(conflict.id) prints what lost"
    return FlotillaError(
      .table,
      "\(table) is not \(isThere ? "tracked" : "here") any more, so conflict \(conflict.id) cannot "
        + "be restored",
      remedy: isThere
        ? "\(shows), to write it by hand; or track the table again: flotilla track "
          + "\(shellWord(path)) \(shellWord(table))" : "\(shows).")
  }

  private static func mayRestore(
    _ conflict: ConflictReport.Conflict, _ store: Store
  ) throws(StoreError) -> Bool {
    guard let key = try store.key(of: conflict.table, conflict.key.mapValues(\.travelling)),
      case .refused = try store.permission(toWrite: key, of: conflict.table)
    else { return true }
    return false
  }

  private func unknown(_ id: Int) -> FlotillaError {
    FlotillaError(
      .usage, "there is no conflict \(id) on this node",
      remedy: "See: flotilla conflicts \(shellWord(path))")
  }

  private func settled(_ conflict: ConflictReport.Conflict) -> FlotillaError {
    FlotillaError(
      .usage, "conflict \(conflict.id) was \(conflict.state) already", remedy: nil)
  }

  /// Reads the file beside a node that may run.
  func withFile<Result: Sendable>(
    _ body: @escaping @Sendable (Store) throws(StoreError) -> Result
  ) async throws(FlotillaError) -> Result {
    if let result = try await read(body) { return result }
    // Whoever opens it to write brings it up to date.
    _ = try await status(all: false)
    guard let result = try await read(body) else {
      throw FlotillaError(
        .node, "the node of \(path) is one of an older version",
        remedy: "Stop and start it: flotilla stop \(shellWord(path))")
    }
    return result
  }

  /// Nil if the file is of an older format.
  private func read<Result: Sendable>(
    _ body: @escaping @Sendable (Store) throws(StoreError) -> Result
  ) async throws(FlotillaError) -> Result? {
    let (path, sidecar) = (path, sidecar)
    return try await offPool { () throws(FlotillaError) in
      let file = try OpeningCheck(path: path, sidecar: sidecar).check()
      return try reporting(path) { () throws(StoreError) in
        let store = try Store(path: file, inspects: false)
        return try store.isOutdated ? nil : body(store)
      }
    }
  }

  fileprivate static func row(
    _ values: [(name: String, value: Replication.Value)]
  ) -> [String: SQLValue] {
    Dictionary(values.map { ($0.name, SQLValue($0.value)) }) { first, _ in first }
  }

  fileprivate static func key(
    _ key: Key, of table: String, in store: Store
  ) -> [String: SQLValue] {
    store.named(key, of: table).mapValues(SQLValue.init)
  }
}

/// A row that may not fit into its table; without values if what did not fit was a delete.
private typealias ParkedRow = (
  table: String, key: [String: SQLValue], row: [String: SQLValue]?
)

extension ConflictReport.Conflict {
  /// What did not fit; nil if it lost for another reason.
  fileprivate var parkedRow: ParkedRow? {
    reason == Reason.parked.name ? (table, key, loser?.row) : nil
  }
}

/// Who wrote what, by the names that members have now.
struct AuthorNames {
  private let own: (origin: Origin, name: String)
  private let names: [Identity: String]

  init(_ store: Store) throws(StoreError) {
    own = (store.own, store.nodeName)
    var membership = Membership(rootKey: try store.rootKey(), notary: .openSSL)
    _ = membership.unite(try store.statements())
    names = membership.roll.entries.mapValues(\.name)
  }

  func name(_ origin: Origin, _ store: Store) throws(StoreError) -> String? {
    if origin == own.origin { return own.name }
    return try store.author(of: origin).flatMap { names[$0] }
  }

  func report(
    _ conflict: Conflict, _ store: Store
  ) throws(StoreError) -> ConflictReport.Conflict {
    ConflictReport.Conflict(
      id: Int(conflict.id), table: conflict.table,
      key: Replica.key(conflict.key, of: conflict.table, in: store), rule: conflict.rule,
      reason: conflict.reason, at: Node.text(conflict.at), state: conflict.state.rawValue,
      winner: try side(conflict.winner, store), loser: try side(conflict.loser, store))
  }

  /// A row that was there before its table was the site's has no time.
  private static func time(_ stamp: Stamp) -> String? {
    let moment = stamp.millisecondsSince1970
    return moment == 0 ? nil : Node.text(moment)
  }

  private func side(
    _ side: ConflictSide?, _ store: Store
  ) throws(StoreError) -> ConflictReport.Side? {
    guard let side else { return nil }
    return ConflictReport.Side(
      node: try side.author.flatMap { author throws(StoreError) in try name(author, store) },
      stamp: side.stamp.flatMap(Self.time), undated: side.isUndated,
      deleted: side.isDeleted, row: side.isDeleted ? nil : Replica.row(side.values),
      moment: side.stamp?.millisecondsSince1970,
      columns: side.values.map(\.name))
  }
}
