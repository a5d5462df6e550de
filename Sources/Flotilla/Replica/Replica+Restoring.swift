import Replication
import SQLite
import Store

/// Bringing back what lost.
extension Replica {
  /// Writes what lost again, as a new edit of this node that knows what stands. With other values
  /// in some columns, so that it can stand under another key, beside what has won.
  public func restoreConflict(
    _ id: Int, setting values: [String: SQLValue] = [:]
  ) async throws(FlotillaError) -> ConflictChange {
    var found = try await conflict(id)
    let key = found.key
    // Who has dismissed the wrong one can still bring it back.
    let isOpen = [Conflict.State.open, .dismissed].map(\.rawValue).contains(found.state)
    guard isOpen, found.became == nil else { throw settled(found) }
    // A delete that was not allowed is kept without its row, too.
    guard found.loser != nil || found.reason == Reason.notAllowed.name else {
      throw FlotillaError(
        .table, "what lost in conflict \(id) is not here, so it cannot be restored",
        remedy: "It is with the node that made it.")
    }
    guard found.key_columns != nil || found.loser?.row != nil else {
      throw FlotillaError(
        .table,
        "\(found.table) may have had another key when conflict \(id) was noted, so nothing tells "
          + "which row that was",
        remedy: "conflicts show \(id) prints its key, to write it by hand.")
    }
    if !values.isEmpty { try found.set(values) }
    guard !Store.isForSite(found.table) else {
      try await restoreSetting(found)
      try await withFile { store throws(StoreError) in
        try store.conflictLog.settle(Int64(id), as: .restored)
      }
      return ConflictChange(id: id, state: Conflict.State.restored.rawValue)
    }
    return try await restoreRow(found, isMoved: found.key != key)
  }

  /// Makes the choice that lost again, as its command would.
  private func restoreSetting(_ conflict: ConflictReport.Conflict) async throws(FlotillaError) {
    guard conflict.isOfSettings else { return try await restoreChoice(conflict) }
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

  private func restoreChoice(_ conflict: ConflictReport.Conflict) async throws(FlotillaError) {
    guard case .text(let table)? = conflict.key["tbl"],
      case .text(let choice)? = conflict.loser?.row?["on_collision"]
    else {
      throw FlotillaError(
        .refused,
        "what lost in conflict \(conflict.id) is a choice for the whole site, and restore cannot "
          + "make it again",
        remedy: "Make it by its own command: flotilla schema \(shellWord(path)) --map, or "
          + "flotilla track \(shellWord(path)) --on-collision.")
    }
    _ = try await track(.named([table]), rule: nil, onCollision: choice)
  }

  /// Writes a row into its table, as any program would.
  private func restoreRow(
    _ found: ConflictReport.Conflict, isMoved: Bool
  ) async throws(FlotillaError) -> ConflictChange {
    let (id, path, file) = (found.id, path, sidecar.database)
    let (columns, isAllowed, isTaken, isParked, office) = try await withFile {
      store throws(StoreError) in
      (
        store.tables.keyColumns(of: found.table), try Self.mayRestore(found, store),
        try Self.isTaken(found, store), try Self.isParked(found, store), store.currentOffice
      )
    }
    guard !columns.isEmpty else { throw try await untracked(found) }
    guard isMoved || !isTaken else {
      let column = columns.first ?? "id"
      throw FlotillaError(
        .refused,
        "another row of \(found.table) has got its number since, so conflict \(id) cannot be "
          + "restored",
        remedy: "Give it another one: flotilla conflicts \(shellWord(path)) restore \(id) "
          + "--set \(shellWord(column))=NUMBER")
    }
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
          var change = try restoration.news(
            on: connection, isMoved: isMoved, isParked: isParked)
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

  /// Whether it was a new row of this node, and another one has its number by now.
  private static func isTaken(
    _ conflict: ConflictReport.Conflict, _ store: Store
  ) throws(StoreError) -> Bool {
    guard conflict.reason == Reason.notAllowed.name, conflict.winner == nil, !conflict.isDelete,
      let key = try store.tables.key(of: conflict.table, conflict.key.mapValues(\.travelling))
    else { return false }
    return try store.isTaken(key, of: conflict.table)
  }

  /// Whether what stands is held beside its table: that has no row, and nobody has deleted one.
  private static func isParked(
    _ conflict: ConflictReport.Conflict, _ store: Store
  ) throws(StoreError) -> Bool {
    guard let key = try store.tables.key(of: conflict.table, conflict.key.mapValues(\.travelling))
    else { return false }
    return try store.tableSurvey.isParked(key, of: conflict.table)
  }

  private static func mayRestore(
    _ conflict: ConflictReport.Conflict, _ store: Store
  ) throws(StoreError) -> Bool {
    guard let key = try store.tables.key(of: conflict.table, conflict.key.mapValues(\.travelling)),
      case .refused = try store.permission(toWrite: key, of: conflict.table)
    else { return true }
    return false
  }
}

extension ConflictReport.Conflict {
  /// Gives what lost other values.
  fileprivate mutating func set(_ values: [String: SQLValue]) throws(FlotillaError) {
    guard var row = loser?.row, !Store.isForSite(table) else {
      throw FlotillaError(
        .refused, "what lost in conflict \(id) is no row, so it has no column to set")
    }
    for (name, value) in values {
      guard let column = row.keys.first(where: { isSameName($0, name) }) else {
        throw FlotillaError(
          .refused, "what lost in conflict \(id) has no column \(name)",
          remedy: "It has: \(row.keys.sorted().joined(separator: ", "))")
      }
      row[column] = value
      if let column = key.keys.first(where: { isSameName($0, name) }) { key[column] = value }
    }
    loser?.row = row
  }
}
