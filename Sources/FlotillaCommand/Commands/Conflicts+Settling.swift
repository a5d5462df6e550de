import Flotilla

/// What was done about several conflicts and parked rows. JSON: `{conflicts:[{id, state, …}],
/// parked:[{id, state, row}], kept:[{table, why, because, rows}], failed:[{id, error}]}`.
struct ConflictChanges: Encodable {
  /// Parked rows that `all` does not mean: nothing that is here keeps them out of their table.
  struct Kept: Encodable, Equatable {
    var table: String
    /// `table` or `too-large`.
    var why: String
    /// Of rows whose table is not here: why it is not, if it is known.
    var because: String?
    var rows: Int
  }

  /// One of several that stays as it was.
  struct Failed: Encodable, Equatable {
    var id: String
    var error: String
  }

  var conflicts: [ConflictChange] = []
  var parked: [ParkedChange] = []
  var kept: [Kept] = []
  var failed: [Failed] = []
  var lines: [String] = []

  private enum CodingKeys: CodingKey { case conflicts, parked, kept, failed }
}

/// One conflict or parked row after the other.
extension Conflicts {
  /// The numbers that were given, or all that are open. All parked rows are settled at once.
  static func ids(
    _ action: String, _ call: Call, _ changes: inout ConflictChanges
  ) async throws(FlotillaError) -> [String] {
    let given = call.arguments.texts("ID")
    guard !given.isEmpty else {
      throw FlotillaError(
        .usage, "\(action) needs the number of a conflict, or of a parked row",
        remedy: "See: flotilla conflicts \(call.shellPath)")
    }
    guard given == ["all"], action != "show" else {
      guard call.arguments.text("--table") == nil else {
        throw FlotillaError(
          .usage, "--table goes with the list and with all, not with single numbers",
          remedy: "flotilla conflicts \(call.shellPath) \(action) all --table TABLE")
      }
      return given
    }
    let report = try await ofTable(call.replica.conflicts(), call)
    guard call.arguments.has("--parked") else {
      // Of a row that goes on under a fresh key nothing is lost. The list begins with the latest:
      // of two that lost of one row that is to stand in the end.
      let meant = report.conflicts.filter { action == "dismiss" || !$0.isFresh }
      return meant.map { String($0.id) }.reversed()
    }
    let isMeant = { (row: ConflictReport.Parked) in
      ["constraint", "reference", "parent"].contains(row.why)
    }
    for row in report.parked where !isMeant(row) {
      let index = changes.kept.firstIndex { $0.table == row.table && $0.why == row.why }
      if let index {
        changes.kept[index].rows += 1
      } else {
        changes.kept.append(
          ConflictChanges.Kept(
            table: row.table, why: row.why, because: row.because, rows: 1))
      }
    }
    let meant = report.parked.filter(isMeant)
    if !meant.isEmpty {
      try await settleParked(in: Set(meant.map(\.table)), action, call, &changes)
    }
    return []
  }

  /// All parked rows of these tables: their names are for people, and two may have one.
  private static func settleParked(
    in tables: Set<String>, _ action: String, _ call: Call, _ changes: inout ConflictChanges
  ) async throws(FlotillaError) {
    let bar = ProgressBar(call.output)
    defer { bar.clear() }
    let isRestore = action == "restore"
    let settled = try await call.replica.settleParked(
      in: tables, restores: isRestore, setting: isRestore ? settings(call) : [:],
      progress: bar.show)
    bar.clear()
    for row in settled {
      switch row.outcome {
      case .success(let change):
        changes.parked.append(change)
        changes.lines.append(line(change))
      case .failure(let error): note(error, of: row.id, call, &changes)
      }
    }
  }

  private static func line(_ change: ParkedChange) -> String {
    let became =
      change.state == "restored" ? "is in its table again" : "was deleted, on every machine"
    return "\(change.id) \(became): \(assignments(change.row))"
  }

  /// Of several the others go on.
  static func note(
    _ error: FlotillaError, of id: String, _ call: Call, _ changes: inout ConflictChanges
  ) {
    changes.failed.append(ConflictChanges.Failed(id: id, error: error.message))
    if !call.json { call.output.failure(error.message, remedy: error.remedy) }
  }

  /// What is of the table that `--table` names; all without it.
  static func ofTable(
    _ report: ConflictReport, _ call: Call
  ) async throws(FlotillaError) -> ConflictReport {
    guard let name = call.arguments.text("--table") else { return report }
    let tables = try await call.replica.tables().tables.filter { $0.kind == nil }
    let here = tables.first { ($0.first ?? $0.table).lowercased() == name.lowercased() }?.table
    let isMeant = { (table: String) in
      table.lowercased() == name.lowercased() || table == here
    }
    var found = report
    found.conflicts = report.conflicts.filter { isMeant($0.table) }
    found.parked = report.parked.filter { isMeant($0.table) }
    if found.conflicts.isEmpty, found.parked.isEmpty {
      // Of a table that is gone there may be some; of one that never was the name is mistyped.
      guard tables.map(\.table).contains(where: isMeant) else {
        throw FlotillaError(
          .refused, "there is no table \(printable(name)), and no conflict of one of that name",
          remedy: "The tables: flotilla track \(call.shellPath)")
      }
    }
    return found
  }

  /// Why rows stay that nobody can give up here, and what to do.
  static func staying(_ kept: ConflictChanges.Kept, _ call: Call) -> String {
    let (table, path) = (printable(kept.table), call.shellPath)
    let rows = counted(kept.rows, "row") + " of \(table)" + (kept.rows == 1 ? " stays" : " stay")
    guard kept.why == "table" else {
      return "\(rows): the content is too large to travel, and stands where it was written"
    }
    if let because = kept.because {
      return "\(rows): \(because)\n  see: flotilla status \(path)"
    }
    return "\(rows): the table is not here, and other machines have them in theirs\n"
      + "  create it here, or end that it is replicated: flotilla untrack \(path) "
      + printable(shellWord(kept.table))
  }

  /// The number of a conflict; nil if it is the name of a parked row.
  static func number(
    _ id: String, _ action: String, _ call: Call
  ) throws(FlotillaError) -> Int? {
    if id.first == "p" { return nil }
    guard let number = Int(id), number > 0, "\(number)" == id else {
      throw FlotillaError(
        .usage,
        "\(action) needs the number of a conflict, or of a parked row; \(printable(id)) is none",
        remedy: "See: flotilla conflicts \(call.shellPath)")
    }
    return number
  }

  /// All at once, and one line for them.
  static func dismissAll(
    _ ids: [String], _ call: Call, _ changes: inout ConflictChanges
  ) async throws(FlotillaError) {
    changes.conflicts = try await call.replica.dismissConflicts(ids.compactMap(Int.init))
    let count = changes.conflicts.count
    guard count > 0 else { return }
    changes.lines = [
      counted(count, "conflict") + (count == 1 ? " was" : " were")
        + " dismissed; they can still be read: flotilla conflicts \(call.shellPath) --all"
    ]
  }

  private static let mostPasses = 20

  private struct Row: Equatable {
    var table: String
    var key: [String: SQLValue]
  }

  /// One after the other. Of `all` what fails is tried again once more of them are done, for a row
  /// may refer to one that comes later. Of one row what lost last stays, if that was done.
  static func settle(
    _ ids: [String], _ action: String, isAll: Bool, _ call: Call, _ changes: inout ConflictChanges
  ) async throws(FlotillaError) {
    var (waiting, passes) = (ids, 0)
    var rows: [String: Row] = [:]
    var kept: [(id: String, error: FlotillaError)] = []
    if isAll, action == "restore" {
      for one in try await call.replica.conflicts().conflicts {
        rows[String(one.id)] = Row(table: one.table, key: one.key)
      }
    }
    while !waiting.isEmpty {
      passes += 1
      var failed: [(id: String, error: FlotillaError)] = []
      for id in waiting {
        do {
          try await settle(id, action, call, &changes)
          guard let row = rows[id] else { continue }
          kept += failed.filter { rows[$0.id] == row }
          failed.removeAll { rows[$0.id] == row }
        } catch {
          guard ids.count > 1, isAll || error.code != .usage else { throw error }
          failed.append((id, error))
        }
      }
      let goesOn = isAll && failed.count < waiting.count && passes < mostPasses
      if !goesOn { kept += failed }
      waiting = goesOn ? failed.map(\.id) : []
    }
    for (id, error) in kept { note(error, of: id, call, &changes) }
  }

  private static func settle(
    _ id: String, _ action: String, _ call: Call, _ changes: inout ConflictChanges
  ) async throws(FlotillaError) {
    let number = try number(id, action, call)
    let settings = try settings(call)
    switch (action, number) {
    case ("restore", let number?):
      let change = try await call.replica.restoreConflict(number, setting: settings)
      changes.conflicts.append(change)
      changes.lines.append(restored(change))
    case ("restore", nil):
      let change = try await call.replica.restoreParked(id, setting: settings)
      changes.parked.append(change)
      changes.lines.append(line(change))
    case (_, let number?):
      changes.conflicts.append(try await call.replica.dismissConflict(number))
      changes.lines.append(
        "conflict \(number) was dismissed; it can still be read: flotilla conflicts "
          + "\(call.shellPath) show \(number)")
    case (_, nil):
      let change = try await call.replica.dismissParked(id)
      changes.parked.append(change)
      changes.lines.append(line(change))
    }
  }

  private static func settings(_ call: Call) throws(FlotillaError) -> [String: SQLValue] {
    var values: [String: SQLValue] = [:]
    for text in call.arguments.texts("--set") {
      guard let end = text.firstIndex(of: "="), end > text.startIndex else {
        throw FlotillaError(
          .usage, "--set takes COLUMN=VALUE, not \(printable(text))", remedy: nil)
      }
      let value = String(text[text.index(after: end)...])
      values[String(text[..<end])] = settingValue(value)
    }
    return values
  }

  /// What `--set` says: NULL is none, `x'01ff'` a BLOB, `'NULL'` the text in the quotes, as SQL has
  /// them. All else is what the column makes of the text.
  static func settingValue(_ text: String) -> SQLValue {
    if text == "NULL" { return .null }
    guard text.utf8.count >= 2, text.last == "'" else { return .text(text) }
    if text.first == "'" {
      let inside = String(text.dropFirst().dropLast()).replacing("''", with: "\u{0}")
      return .text(inside.contains("'") ? text : inside.replacing("\u{0}", with: "'"))
    }
    guard text.hasPrefix("x'") || text.hasPrefix("X'"), text.utf8.count >= 3 else {
      return .text(text)
    }
    let digits = Array(text.dropFirst(2).dropLast().utf8)
    let halves = digits.compactMap { Character(UnicodeScalar($0)).hexDigitValue }
    guard halves.count == digits.count, halves.count.isMultiple(of: 2) else { return .text(text) }
    return .blob(
      stride(from: 0, to: halves.count, by: 2).map { UInt8(halves[$0] << 4 | halves[$0 + 1]) })
  }

  static func show(_ ids: [String], _ call: Call) async throws(FlotillaError) -> ExitStatus {
    guard ids.count == 1, let id = ids.first else {
      throw FlotillaError(
        .usage, "show takes one number", remedy: "See: flotilla conflicts \(call.shellPath)")
    }
    let command = "flotilla conflicts \(call.shellPath)"
    guard let number = try number(id, "show", call) else {
      let row = try await call.replica.parkedRow(id)
      let text =
        "\(printable(row.table)) \(words(row.key, in: row.key_columns)): \(why(row))\n"
        + assignments(row.row)
      let isSQL = call.arguments.has("--sql")
      call.print(row, as: isSQL ? insertion(of: row.row, into: row.table) : text)
      if !call.json, !isSQL {
        call.output.remark(
          "to put it back with another value: \(command) restore \(id) --set COLUMN=VALUE\n"
            + "to delete it everywhere:            \(command) dismiss \(id)")
      }
      return .done
    }
    let conflict = try await call.replica.conflict(number)
    if call.arguments.has("--sql") {
      let isDelete = conflict.isDelete
      let isOfKey = isDelete && conflict.key_columns != nil
      guard let row = conflict.loser?.row ?? (isOfKey ? conflict.key : nil) else {
        throw FlotillaError(
          .table, "what lost in conflict \(number) is not known here", remedy: nil)
      }
      let key = conflict.key_columns ?? conflict.key.keys.sorted()
      call.print(
        conflict,
        as: isDelete
          ? deletion(of: conflict.key, from: conflict.table)
          : writing(of: row, key: key, into: conflict.table))
      return .done
    }
    call.print(conflict, as: sides(conflict, colour: call.output.colour) + "\n" + why(conflict))
    if !call.json, conflict.state == "open" || conflict.state == "dismissed" {
      call.output.remark(ways(conflict, call))
    }
    return .done
  }
}
