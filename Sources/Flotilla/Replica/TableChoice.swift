import Replication
import SQLite
import Store

/// Choosing tables and rules, with every reason that speaks against it.
struct TableChoice {
  let store: Store
  let clock: NodeClock

  func track(
    _ selection: TableSelection, rule: String?, onCollision: KeyHandling.Kind? = nil
  ) throws(StoreError) -> TrackReport {
    let names: [String]
    var warnings: [String] = []
    switch selection {
    case .none: names = []
    case .named(let wanted): names = wanted
    case .all: names = try store.tableSurvey.askedTables() + everyTable(skipped: &warnings)
    }
    var accepted: [String] = []
    var remarks: [TableRemark] = []
    for name in names {
      switch try store.tableSurvey.trackability(of: name, onCollision: onCollision) {
      case .refused(let reason, let remedy):
        guard selection == .all else { throw StoreError(.table, reason, remedy: remedy) }
        warnings.append("\(name) was left out: \(reason)")
      case .accepted(let texts):
        let table = try store.tableSurvey.declaredName(name)
        accepted.append(table)
        remarks += texts.map { TableRemark(table: table, text: $0) }
        if selection != .all, try store.tableSurvey.isBook(table) {
          remarks.append(TableRemark(table: table, text: quoted(table) + " " + Self.bookWarning))
        }
      }
    }
    let held = try store.tableSurvey.askedTables() + store.tableSurvey.declinedTables()
    let (own, site) = (
      accepted.filter { held.contains($0) && rule == nil && onCollision == nil },
      accepted.filter { !held.contains($0) || rule != nil || onCollision != nil }
    )
    if !own.isEmpty { try store.admit(own, at: clock.now) }
    let takesNew = selection == .all ? true : nil
    if !site.isEmpty || takesNew != nil {
      try store.track(
        site.map(store.tables.siteName), rule: rule, takesNew: takesNew, onCollision: onCollision,
        at: clock.now)
    }
    remarks += try totals(among: accepted)
    warnings += TableRemark.gathered(remarks)
    let keys = try store.tableSurvey.keyHandling(of: accepted).map { handling in
      if handling.kind == .follow, onCollision != nil {
        warnings.append(
          "\(quoted(handling.table)) has the key of another table's row in its own: its rows "
            + "move with those, whatever --on-collision says")
      }
      return TrackReport.Key(
        table: handling.table, on_collision: handling.kind.rawValue,
        next: handling.next.map { Int($0) })
    }
    return TrackReport(
      tables: accepted, rows: 0, warnings: warnings, keys: keys,
      takes_new_tables: try store.untracked.areTakenIn())
  }

  /// Totals that triggers keep, of which two machines each count their own part.
  private func totals(among chosen: [String]) throws(StoreError) -> [TableRemark] {
    var told: Set<String> = []
    return try store.tableSurvey.totalTriggers().compactMap { trigger in
      let isChosen = chosen.contains {
        isSameName($0, trigger.source) || isSameName($0, trigger.target)
      }
      guard isChosen, told.insert(trigger.target).inserted else { return nil }
      return TableRemark(
        table: trigger.target,
        text: "\(quoted(trigger.target)) has a column \(trigger.column) that the trigger "
          + "\(trigger.name) of \(quoted(trigger.source)) computes: where two machines write, one "
          + "result replaces the other, and neither counts both; better compute it when it is "
          + "read, in a view. If \(quoted(trigger.target)) holds nothing but totals, flotilla "
          + "untrack \(shellWord(store.path)) \(shellWord(trigger.target)) lets each machine keep "
          + "its own")
    }
  }

  private static let bookWarning =
    "is the book of a migration tool: a machine that gets its rows takes for done what was done "
    + "on another one"

  /// What `--all` means: every table that can be replicated, but for those that describe the file
  /// that they are in, and those that their owner has declined.
  private func everyTable(skipped: inout [String]) throws(StoreError) -> [String] {
    let declined = try store.tableSurvey.declinedTables()
    for table in declined {
      skipped.append(
        "\(table) was left out: it was declined on this machine (flotilla track "
          + "\(shellWord(store.path)) \(shellWord(table)) takes it in)")
    }
    var names: [String] = []
    for name in try store.tableSurvey.trackableNames(skipped: &skipped) {
      guard try store.tableSurvey.isBook(name) else {
        names.append(name)
        continue
      }
      skipped.append(
        "\(name) was left out: a migration tool notes in it what it has done to this very file "
          + "(flotilla track \(shellWord(store.path)) \(shellWord(name)) replicates it all the "
          + "same)")
    }
    return names
  }

  /// Every table and view of the file, and every table that the site tracks.
  func list() throws(StoreError) -> TablesReport {
    let tracked = try store.survey.figures().tables
    let waiting = try store.tableSurvey.waitingTables()
    let declined = try store.tableSurvey.declinedTables()
    let chosen = Dictionary(
      try store.tableSurvey.keyHandling(of: tracked.map(\.name)).map { ($0.table, $0) },
      uniquingKeysWith: { $1 })
    var entries = tracked.map { table in
      if declined.contains(table.name) {
        return TablesReport.Entry(table: table.name, state: "declined")
      }
      guard let wait = waiting.first(where: { $0.name == table.name }) else {
        let handling = chosen[table.name]
        return TablesReport.Entry(
          table: table.name, first: table.first == table.name ? nil : table.first,
          state: "replicated", note: handling?.choice,
          next: handling?.next.map { Int($0) })
      }
      guard let question = wait.question else {
        return TablesReport.Entry(table: table.name, state: "missing", note: wait.reason)
      }
      return TablesReport.Entry(
        table: table.name, state: "asked",
        note: (question.node.map { "\($0) tracks" } ?? "the site tracks")
          + " a table of this name")
    }
    let takesNew = try store.untracked.areTakenIn()
    for table in try store.untracked.all() {
      var entry = table.entry(takesNew: takesNew)
      if table.kind == .old,
        case .refused(let why, _) = try store.tableSurvey.trackability(of: table.name)
      {
        entry.note = why
      }
      entries.append(entry)
    }
    entries += try store.tableSurvey.untrackableObjects().map(\.entry)
    return TablesReport(
      takes_new_tables: takesNew, tables: entries.sorted { $0.table < $1.table })
  }

  /// Says that tables of this file are not those that the site tracks under their names.
  func decline(_ names: [String]) throws(StoreError) -> TrackReport {
    var found: [String] = []
    for name in names {
      let table = try store.tableSurvey.declaredName(name)
      guard store.tableSurvey.mayDecline(table) else {
        throw StoreError(
          .table, "\(table) is replicated here already",
          remedy: "To end that on every node: flotilla untrack \(shellWord(store.path)) "
            + shellWord(table))
      }
      found.append(table)
    }
    try store.decline(found)
    return TrackReport(
      tables: found, rows: 0, warnings: [], takes_new_tables: try store.untracked.areTakenIn())
  }

  /// How many rows these tables have.
  func rows(of tables: [String]) throws(StoreError) -> Int {
    try store.survey.figures().tables.filter { figures in
      tables.contains { isSameName($0, figures.name) }
    }.reduce(0) { $0 + $1.rows }
  }

  func untrack(_ names: [String]) throws(StoreError) -> TrackReport {
    let tracked = try store.trackedTables().map(\.name)
    var (found, stray): ([String], [String]) = ([], [])
    for name in names {
      let known = store.tables.siteName(name)
      guard let match = tracked.first(where: { isSameName($0, known) }) else {
        if let match = try store.tableSurvey.strayTables().first(where: {
          isSameName($0.name, name)
        }) {
          stray.append(match.name)
          continue
        }
        throw try notTracked(name, isWanted: false) {
          tracked.isEmpty
            ? "No table is tracked."
            : "Tracked: \(tracked.map(store.tables.nameHere).joined(separator: ", "))"
        }
      }
      found.append(match)
    }
    if !stray.isEmpty { try store.endStrayTables(stray, at: clock.now) }
    if !found.isEmpty { try store.untrack(found, at: clock.now) }
    let ended = found.map(store.tables.nameHere)
    return TrackReport(
      tables: ended + stray, rows: 0, warnings: try localReferences(of: ended),
      takes_new_tables: try store.untracked.areTakenIn())
  }

  /// What becomes of rows that go on referring to replicated ones.
  private func localReferences(of names: [String]) throws(StoreError) -> [String] {
    try store.tableSurvey.localReferences().filter { reference in
      names.contains { isSameName($0, reference.table) }
    }.map { reference in
      "\(reference.table) refers to \(reference.parent) by "
        + "\(reference.columns.joined(separator: ", ")). What other machines delete in "
        + "\(reference.parent) takes no row of \(reference.table) along from now on: doctor "
        + "counts those that refer to nothing"
    }
  }

  func rule(
    table: String?, rule: String?, hasAnchor: Bool
  ) throws(StoreError) -> RuleReport {
    let tracked = try store.trackedTables()
    let known = table.map(store.tables.siteName)
    if let table, let known {
      guard let match = tracked.first(where: { isSameName($0.name, known) }) else {
        throw try notTracked(table, isWanted: true) {
          "Track it first: flotilla track \(shellWord(store.path)) \(shellWord(table))"
        }
      }
      if let rule { try store.track([match.name], rule: rule, at: clock.now) }
    }
    let entries = try store.trackedTables()
      .filter { entry in known.map { isSameName($0, entry.name) } ?? true }
      .map {
        RuleReport.Entry(
          table: store.tables.nameHere($0.name), rule: $0.rule,
          acting_rule: MergeRules.acting(for: $0.rule, hasAnchor: hasAnchor).name)
      }
    return RuleReport(rules: entries)
  }

  /// A name that is not tracked: most likely it is mistyped. If it `isWanted`, what keeps it from
  /// being tracked is told.
  private func notTracked(
    _ name: String, isWanted: Bool, _ remedy: () -> String
  ) throws(StoreError) -> StoreError {
    var hint: String?
    if case .refused(let reason, let better) = try store.tableSurvey.trackability(of: name) {
      let isMissing = reason.hasPrefix("there is no table ")
      hint = isMissing ? better : isWanted ? "It cannot be: \(reason)." : nil
      if isMissing, !isWanted, better?.hasPrefix("Did you mean") != true { hint = nil }
    }
    return StoreError(.table, "\(name) is not tracked", remedy: hint ?? remedy())
  }
}

extension KeyHandling {
  /// What was chosen, in words; nil where it follows from the foreign keys.
  fileprivate var choice: String? {
    guard isChosen else { return nil }
    return kind == .rekey
      ? "of two rows under one number the later gets a fresh one"
      : "of two rows under one number one goes to the conflict log"
  }
}

extension UntrackedTable {
  /// What becomes of it where the site takes in new tables by itself, or does not.
  func entry(takesNew: Bool) -> TablesReport.Entry {
    let state = takesNew && kind == .new ? "new" : "not-replicated"
    return TablesReport.Entry(table: name, state: state, note: note)
  }

  private var note: String? {
    switch kind {
    case .new, .old: nil
    case .book: "the book of a migration tool"
    case .scratch(let original): "by its name a copy of \(original)"
    case .similar(let missing): "it may be \(missing) of the site, which is not here"
    case .refused(let reason, _): reason
    }
  }
}

extension UntrackableObject {
  fileprivate var entry: TablesReport.Entry {
    let note =
      module.map { "a virtual table (\($0)): each node keeps its own, made of tables" }
      ?? "a view: it shows what tables hold, and those are replicated"
    return TablesReport.Entry(
      table: name, kind: module == nil ? "view" : "virtual", state: "not-replicated", note: note)
  }
}
