import Replication
import SQLite
import Store

extension Node {
  /// Chooses tables for the whole site; all are checked before one is tracked.
  func track(
    _ selection: TableSelection, rule: String?, onCollision: String? = nil,
    telling listener: WorkProgress.Listener? = nil
  ) async throws(FlotillaError) -> TrackReport {
    try Self.check(rule: rule)
    let onCollision = try onCollision.map(Self.collisionChoice)
    let path = path
    // Whether a table of this file is the site's is for its owner to say, whatever else he may do.
    let areOwn = try await areHeldBack(selection)
    if rule != nil || onCollision != nil || !areOwn { try requireWhole("choose tables") }
    if rule != nil { try requireSay() }
    var report = try await reporting(path) { () async throws(StoreError) in
      try await store.run { (store) throws(StoreError) in
        try TableChoice(store: store, clock: self.clock).track(
          selection, rule: rule, onCollision: onCollision)
      }
    }
    let tables = report.tables
    report.rows = try await reporting(path) { () async throws(StoreError) in
      try await store.run { (store) throws(StoreError) in
        try TableChoice(store: store, clock: self.clock).rows(of: tables)
      }
    }
    // The rows that are there become versions slice by slice, beside the applications.
    let total = report.rows
    try await foldNow { rows in listener?(WorkProgress(.takingIn, rows, of: total)) }
    await announce()
    return report
  }

  /// Begins or ends that the site takes in new tables by itself.
  func take(newTables isWanted: Bool) async throws(FlotillaError) -> TrackReport {
    try requireWhole("choose tables")
    try await reporting(path) { () async throws(StoreError) in
      try await store.run { (store) throws(StoreError) in
        try store.track([], rule: nil, takesNew: isWanted, at: self.clock.now)
      }
    }
    await announce()
    return TrackReport(tables: [], rows: 0, warnings: [], takes_new_tables: isWanted)
  }

  /// Says that tables of this file are not those that the site tracks under their names.
  func decline(_ names: [String]) async throws(FlotillaError) -> TrackReport {
    let report = try await reporting(path) { () async throws(StoreError) in
      try await store.run { (store) throws(StoreError) in
        try TableChoice(store: store, clock: self.clock).decline(names)
      }
    }
    await announce()
    return report
  }

  func untrack(_ names: [String]) async throws(FlotillaError) -> TrackReport {
    try requireWhole("choose tables")
    if let table = try await tableWithRule(names) {
      try requireSay(to: "untrack \(table), which was given a rule")
    }
    let report = try await reporting(path) { () async throws(StoreError) in
      try await store.run { (store) throws(StoreError) in
        try TableChoice(store: store, clock: self.clock).untrack(names)
      }
    }
    await announce()
    return report
  }

  /// Whether all of these are tables that the site tracks and that are held back here.
  private func areHeldBack(_ selection: TableSelection) async throws(FlotillaError) -> Bool {
    guard case .named(let names) = selection else { return false }
    return try await reporting(path) { () async throws(StoreError) in
      try await store.run { (store) throws(StoreError) in
        let held = try store.tableSurvey.askedTables() + store.tableSurvey.declinedTables()
        return names.allSatisfy { name in held.contains { isSameName($0, name) } }
      }
    }
  }

  /// One of these tables that somebody has given a rule: who may not set rules may not end that.
  private func tableWithRule(_ names: [String]) async throws(FlotillaError) -> String? {
    let tracked = try await reporting(path) { () async throws(StoreError) in
      try await store.run { (store) throws(StoreError) in try store.trackedTables() }
    }
    return tracked.first { table in
      table.rule != MergeRules.standard.name && names.contains { isSameName($0, table.name) }
    }?.name
  }

  func rule(table: String?, rule: String?) async throws(FlotillaError) -> RuleReport {
    try Self.check(rule: rule)
    if rule != nil {
      try requireWhole("set rules")
      try requireSay()
    }
    let hasAnchor = anchor != nil
    var (report, waiting) = try await reporting(path) { () async throws(StoreError) in
      try await store.run { (store) throws(StoreError) in
        let report = try TableChoice(store: store, clock: self.clock)
          .rule(table: table, rule: rule, hasAnchor: hasAnchor)
        return (report, try store.verdicts.openCount())
      }
    }
    report.remark = undecidedRemark(withoutVerdict: waiting)
    if rule != nil { await announce() }
    return report
  }

  /// Rules are for the anchor to set, for members of its role, and for admins.
  private func requireSay(to what: String = "set rules") throws(FlotillaError) {
    guard !isAnchor, keys.site == nil, (ownEntry?.role ?? .reader) < .anchor else { return }
    throw FlotillaError(
      .notAllowed, "\(identity.name) may not \(what): it is neither the anchor nor an admin",
      remedy: "Do it on \(anchor.map { "\($0.name), or on " } ?? "")an admin: flotilla members "
        + "\(shellWord(path)) shows them.")
  }

  /// Tells the store whose changes of rules it lets pass where it judges them.
  func followSay() async {
    let roll = roster.roll
    let setters = RuleSetters(
      members: Set(
        roll.members.filter { $0.role >= .anchor || $0.node == roll.anchor?.node }.map(\.node)),
      anchors: Set(roll.appointments.compactMap(\.node)))
    await store.tell { $0.ruleSetters = setters }
  }

  /// Tells the store by which number this node counts: its place among all who were ever admitted,
  /// once it knows of them all. While it is alone it needs none.
  func followNumber() async {
    let everybody = roster.roll.everybody.sorted { ($0.since, $0.node) < ($1.since, $1.node) }
    guard everybody.count > 1, !isStopping, trouble.current == nil,
      let number = everybody.firstIndex(where: { $0.node == identity.node })
    else { return }
    do {
      try await store.run { (store) throws(StoreError) in
        if try store.firstCopy() == nil {
          try store.setMember(Int64(number), of: Int64(everybody.count))
        }
      }
    } catch {
      // It is told again with the next news of members, and at the next start.
      warn("could not arrange which numbers this node gives: \(error.message)")
    }
  }

  /// Tells the sessions that this replica has moved on.
  func announce() async {
    guard
      let position = try? await store.run({ (store) throws(StoreError) in store.position })
    else { return }
    await folded(FoldResult(versions: 0, push: nil, hasMore: false), position)
  }

  static func check(rule: String?) throws(FlotillaError) {
    guard let rule, MergeRules.named(rule) == nil else { return }
    throw FlotillaError(
      .usage, "\(rule) is no merge rule",
      remedy: "Rules: \(MergeRules.all.map { $0.name }.joined(separator: ", "))")
  }

  private static func collisionChoice(_ word: String) throws(FlotillaError) -> KeyHandling.Kind {
    if let kind = KeyHandling.Kind(rawValue: word), KeyHandling.Kind.choices.contains(kind) {
      return kind
    }
    throw FlotillaError(
      .usage, "\(quoted(word)) is nothing that can become of two rows under one key",
      remedy: "Choices: \(Replica.collisionChoices.joined(separator: ", "))")
  }
}
