import Replication
import Store

/// Who is the anchor of the site, and what that means for this node.
extension Node {
  /// Sees to it that the store knows who judges now.
  func followOffice() async {
    if unfollowed == nil { await stopAwaiting() }
    do {
      // Who stands down for nobody judges first, in slices, and then hears of it again.
      while let heard = unfollowed, !isStopping { try await follow(heard) }
    } catch {
      if !note(error) { warn("could not follow an appointment: \(error.message)") }
    }
    await followSessions()
  }

  /// What is known of appointments, if the store has not heard of it.
  ///
  /// An earlier appointment that is heard of late leaves the term as it is. But it tells whom to
  /// wait for, or that this node was meant once and has to say that it stands down.
  private var unfollowed: Governance? {
    let heard = Appointments.governance(of: roster.roll.appointments, for: identity.node)
    return clock.now.site == nil || heard == contact.appointment ? nil : heard
  }

  private func follow(_ heard: Governance) async throws(StoreError) {
    let governance = heard.without { roster.roll.member($0) == nil }
    let (terms, result, position) = try await store.patiently { (store) throws(StoreError) in
      let before = store.currentOffice.term
      let result = try store.govern(governance, at: self.clock.now)
      return ((before: before, after: store.currentOffice.term), result, store.position)
    }
    if terms.after >= governance.term { contact.note(heard) }
    await folded(result, position)
    if terms.before < terms.after { log(appointmentText(governance)) }
    if result.hasMore, !isStopping { try await foldAll() }
  }

  /// A predecessor that has left or was shut out says no more that it stands down.
  private func stopAwaiting() async {
    let gone = Set(roster.roll.everybody.filter { !$0.isMember }.map(\.node))
    guard isAnchor, !gone.isEmpty, clock.now.site != nil else { return }
    do {
      let (result, position) = try await store.patiently { (store) throws(StoreError) in
        (try store.stopAwaiting(gone, at: self.clock.now), store.position)
      }
      guard let result else { return }
      log("the anchor before this one is no member any more, so it is not waited for")
      await folded(result, position)
      if result.hasMore, !isStopping { try await foldAll() }
    } catch {
      if !note(error) { warn("could not take office: \(error.message)") }
    }
  }

  /// After a life has begun: no peer can tell of an office that the file has forgotten, for here is
  /// all that the peer holds, or the node appoints itself now.
  func becomeSure() async {
    guard !life.isSure, clock.now.site != nil else { return }
    do {
      let (result, position) = try await store.patiently { (store) throws(StoreError) in
        (try store.becomeSure(at: self.clock.now), store.position)
      }
      life.becomeSure()
      guard let result else { return }
      await folded(result, position)
      if result.hasMore, !isStopping { try await foldAll() }
    } catch {
      if !note(error) { warn("could not note that nothing is missing here: \(error.message)") }
    }
  }

  private func appointmentText(_ governance: Governance) -> String {
    if governance.isOwn { return "this node was appointed the anchor of the site" }
    guard let anchor = roster.roll.anchor else { return "the site has no anchor any more" }
    return "the anchor of the site is \(anchor.name)"
  }

  /// The member that is the anchor now.
  var anchor: Roll.Entry? { roster.roll.anchor }

  var isAnchor: Bool { anchor?.node == identity.node }

  /// Shows who the anchor is.
  func office() async throws(FlotillaError) -> AnchorReport {
    let office = try await reporting(path) { () async throws(StoreError) in
      try await store.run { (store) throws(StoreError) in store.currentOffice }
    }
    let state = try await hasStoodDown() ? "stood-down" : state(of: office)
    return AnchorReport(
      anchor: anchor?.name, term: Int(clamping: roster.roll.appointments.last?.term.number ?? 0),
      state: state, changed: [])
  }

  /// Whether the anchor does not judge any more: it goes on with a new life.
  func hasStoodDown() async throws(FlotillaError) -> Bool {
    let appointments = roster.roll.appointments
    guard let node = anchor?.node, let term = appointments.last?.term else { return false }
    let wasAppointed = appointments.dropLast().contains { $0.node == node }
    return try await reporting(path) { () async throws(StoreError) in
      try await store.run { (store) throws(StoreError) in
        try store.hasResigned(node, in: term, wasAppointed: wasAppointed)
      }
    }
  }

  /// Whether this node may say who is the anchor.
  var mayAppoint: Bool { keys.site != nil || ownEntry?.role == .admin }

  /// How somebody is appointed: here, or on a node that may.
  func appointing(_ what: String, _ argument: String) -> String {
    if mayAppoint { return "\(what): flotilla anchor \(shellWord(path)) \(argument)" }
    return "\(what) on \(anAdmin): flotilla anchor DB \(argument)"
  }

  /// The admins of the site, by name.
  private var anAdmin: String {
    let names = roster.roll.members.filter { $0.role == .admin }.map(\.name).sorted()
    return names.isEmpty ? "an admin" : "an admin (\(names.joined(separator: ", ")))"
  }

  private func state(of office: Office) -> String {
    guard let anchor else {
      return roster.roll.appointments.last?.node == nil ? "none" : "gone"
    }
    guard anchor.node == identity.node else {
      return peers[anchor.node]?.session == nil ? "away" : "connected"
    }
    switch office.part {
    case .judging: return "judging"
    case .taking: return "taking-office"
    case .waiting, .none: return "waiting"
    }
  }

  /// What is not decided where nobody judges any more, and what ends that; nil if somebody does, or
  /// nobody ever did.
  func undecidedRemark(withoutVerdict count: Int) -> String? {
    guard anchor == nil, let last = roster.roll.appointments.last else { return nil }
    let edits = count == 1 ? "1 edit of this node" : "\(count) edits of this node"
    guard let node = last.node else {
      guard count > 0 else { return nil }
      return "\(edits) \(count == 1 ? "has" : "have") no verdict, for the site has no anchor any "
        + "more: newest wins. An anchor would judge what stands of them. "
        + appointing("Appoint one", "--here")
    }
    let name = roster.roll.entries[node]?.name ?? "the anchor"
    let wait = count == 1 ? "\(edits) waits" : count > 1 ? "\(edits) wait" : "what is written waits"
    return "\(name), the anchor, is no member any more: \(wait) for a verdict that nobody gives. "
      + appointing("Appoint another", "--here") + "; or let newest win, with --none"
  }

  /// Makes a member the anchor, or ends that there is one; for admins.
  func appoint(
    _ choice: AnchorChoice, isForced: Bool, rule: String?
  ) async throws(FlotillaError) -> AnchorReport {
    try Self.check(rule: rule)
    let wanted: Roll.Entry?
    switch choice {
    case .here: wanted = try member(named: identity.node.description)
    case .node(let name): wanted = try member(named: name)
    case .none: wanted = nil
    }
    try checkFitness(of: wanted)
    let isFirst = !roster.roll.appointments.contains { $0.node != nil }
    try checkUse(of: rule, by: wanted, isFirst: isFirst)
    if try await isInOffice(wanted), !isForced || wanted == nil { return try await office() }
    if !isForced { try checkReach(of: wanted) }
    let number = roster.roll.highestTerm + 1
    guard number <= SiteStatement.highestTerm else {
      throw FlotillaError(.refused, "this site has had too many anchors")
    }
    try checkMayAppoint()
    if wanted?.node == identity.node { await becomeSure() }
    let changed = wanted != nil && isFirst ? try await chooseRules(rule) : []
    try await say(.appoint(number: number, node: wanted?.node, isForced: isForced))
    var report = try await office()
    report.changed = changed
    return report
  }

  /// Whether that is what counts already; with nobody, that the site has no anchor.
  private func isInOffice(_ wanted: Roll.Entry?) async throws(FlotillaError) -> Bool {
    guard wanted?.node == roster.roll.appointments.last?.node else { return false }
    return try await !hasStoodDown()
  }

  /// A rule comes with the first appointment alone: later ones find rules that count already.
  private func checkUse(
    of rule: String?, by wanted: Roll.Entry?, isFirst: Bool
  ) throws(FlotillaError) {
    guard let rule else { return }
    guard wanted != nil else {
      throw FlotillaError(
        .usage, "--rule is for an appointment, and --none appoints nobody; nothing was changed",
        remedy: "Without an anchor newest wins in every table. Leave --rule out.")
    }
    guard !isFirst else { return }
    throw FlotillaError(
      .refused,
      "--rule is for the first appointment of a site, and this is another; nothing was changed",
      remedy: "Leave it out, and set the rule of a table with: flotilla rule \(shellWord(path)) "
        + "TABLE \(rule)")
  }

  private func checkMayAppoint() throws(FlotillaError) {
    guard !mayAppoint else { return }
    throw FlotillaError(
      .notAllowed, "\(identity.name) may not appoint the anchor: it is no admin of this site",
      remedy: "Do it on an admin: flotilla members \(shellWord(path)) shows them.")
  }

  private func checkFitness(of wanted: Roll.Entry?) throws(FlotillaError) {
    guard let wanted else { return }
    guard wanted.isMember else {
      throw FlotillaError(
        .refused, "\(wanted.name) is no member of the site any more",
        remedy: "Choose one that is: flotilla members \(shellWord(path)) shows them.")
    }
    guard !isForgotten(wanted) else {
      throw FlotillaError(
        .refused, "\(wanted.name) was forgotten, so nobody waits for what it would decide",
        remedy: "Start it again first, or choose another node.")
    }
    guard wanted.rights.isWhole else {
      throw FlotillaError(
        .refused, "\(wanted.name) may not read and write every table, so it cannot be the anchor",
        remedy: "Grant it the rights that it lacks, or choose another node.")
    }
  }

  /// Without force, an appointment is for those who can follow it at once: else nobody would judge
  /// until they can.
  private func checkReach(of wanted: Roll.Entry?) throws(FlotillaError) {
    for entry in [wanted, anchor].compactMap({ $0 }) {
      guard entry.node != identity.node, peers[entry.node]?.session == nil else { continue }
      let isOld = entry.node == anchor?.node
      throw FlotillaError(
        .peer,
        isOld
          ? "\(entry.name), the anchor until now, is not in reach to hand over"
          : "\(entry.name) is not in reach to take office",
        remedy: isOld
          ? "If it will not come back: the same with --force. What it has judged and told nobody "
            + "is judged again."
          : "Try again when it is connected, or add --force.")
    }
  }

  /// At the first appointment tables whose rule nobody has ever set get that of a site with an
  /// anchor.
  private func chooseRules(
    _ rule: String?
  ) async throws(FlotillaError) -> [AnchorReport.Change] {
    let rule = rule ?? ServerWins.name
    let changed = try await reporting(path) { () async throws(StoreError) in
      try await store.run { (store) throws(StoreError) in
        let tables = try store.tables.tablesWithoutRule()
        if !tables.isEmpty { try store.track(tables, rule: rule, at: self.clock.now) }
        return tables
      }
    }
    if !changed.isEmpty { await announce() }
    guard rule != MergeRules.standard.name else { return [] }
    return changed.map { AnchorReport.Change(table: $0, rule: rule) }
  }
}
