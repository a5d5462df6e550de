import Replication
import SQLite
import Store

/// Choosing tables and rules, with every reason that speaks against it.
struct TableChoice {
  let store: Store
  let clock: NodeClock

  func track(
    _ selection: TableSelection, rule: String?
  ) throws(StoreError) -> TrackReport {
    let names: [String]
    var warnings: [String] = []
    switch selection {
    case .none: names = []
    case .named(let wanted): names = wanted
    case .all: names = try store.trackableNames(skipped: &warnings)
    }
    var accepted: [String] = []
    var remarks: [TableRemark] = []
    for name in names {
      switch try store.trackability(of: name) {
      case .refused(let reason, let remedy):
        guard selection == .all else { throw StoreError(.table, reason, remedy: remedy) }
        warnings.append("\(name) was left out: \(reason)")
      case .accepted(let texts):
        let table = try store.declaredName(name)
        accepted.append(table)
        remarks += texts.map { TableRemark(table: table, text: $0) }
      }
    }
    if !accepted.isEmpty { try store.track(accepted, rule: rule, at: clock.now) }
    warnings += TableRemark.gathered(remarks)
    return TrackReport(tables: accepted, rows: 0, warnings: warnings)
  }

  /// How many rows these tables have.
  func rows(of tables: [String]) throws(StoreError) -> Int {
    try store.figures().tables.filter { figures in
      tables.contains { isSameName($0, figures.name) }
    }.reduce(0) { $0 + $1.rows }
  }

  func untrack(_ names: [String]) throws(StoreError) -> TrackReport {
    let tracked = try store.trackedTables().map(\.name)
    var found: [String] = []
    for name in names {
      guard let match = tracked.first(where: { isSameName($0, name) }) else {
        throw try notTracked(name) {
          tracked.isEmpty
            ? "No table is tracked." : "Tracked: \(tracked.joined(separator: ", "))"
        }
      }
      found.append(match)
    }
    try store.untrack(found, at: clock.now)
    return TrackReport(tables: found, rows: 0, warnings: [])
  }

  func rule(
    table: String?, rule: String?, hasAnchor: Bool
  ) throws(StoreError) -> RuleReport {
    let tracked = try store.trackedTables()
    if let table {
      guard let match = tracked.first(where: { isSameName($0.name, table) }) else {
        throw try notTracked(table) {
          "Track it first: flotilla track \(shellWord(store.path)) \(shellWord(table))"
        }
      }
      if let rule { try store.track([match.name], rule: rule, at: clock.now) }
    }
    let entries = try store.trackedTables()
      .filter { entry in table.map { isSameName($0, entry.name) } ?? true }
      .map {
        RuleReport.Entry(
          table: $0.name, rule: $0.rule,
          acting_rule: hasAnchor ? $0.rule : MergeRules.standard.name)
      }
    return RuleReport(rules: entries)
  }

  /// A name that is not tracked: most likely it is mistyped.
  private func notTracked(
    _ name: String, _ remedy: () -> String
  ) throws(StoreError) -> StoreError {
    var hint: String?
    if case .refused(let reason, let better) = try store.trackability(of: name) {
      hint = better ?? reason.prefix(1).uppercased() + reason.dropFirst() + "."
    }
    return StoreError(.table, "\(name) is not tracked", remedy: hint ?? remedy())
  }
}
