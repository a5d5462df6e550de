import Network
import Replication
import Store

/// Who belongs to the site: what is heard of it, what is said about it, and what follows.
extension Node {
  /// Two nodes that know different statements tell each other all of them.
  func compareMembers(_ session: PeerSession, _ hello: Hello) async {
    let membership = roster.membership
    guard hello.statements != membership.hash else { return }
    await session.feed(.tell(membership.all))
  }

  /// A peer tells what was signed.
  ///
  /// Nodes pass on what they have checked: one forged statement is enough to end the connection. A
  /// few others may rest on what is not known here yet.
  func hear(_ statements: [SignedStatement], from session: PeerSession) async {
    let hearing = await roster.hear(statements)
    await spread(hearing.taken, besides: session.id)
    if hearing.isForged {
      return await session.feed(.close(Bye(.badMessage, "a statement that is forged")))
    }
    guard let doubtful = heard.doubt(hearing.doubtful, of: session.id) else { return }
    await session.feed(.close(Bye(.badMessage, "\(doubtful) statements that do not hold")))
  }

  /// This node, as the site knows it.
  var ownEntry: Roll.Entry? { roster.roll.entries[identity.node] }
  var roleName: String { ownEntry?.role.name ?? "none" }

  /// Keeps what is new, passes it on, and does what follows from it.
  func spread(
    _ news: [SignedStatement], besides: Mesh.ConnectionID?, areKept: Bool = false
  ) async {
    guard !news.isEmpty else { return }
    // Before anything is said that follows from it.
    for (id, session) in sessions where id != besides && peer(of: session) != nil {
      await session.feed(.tell(news))
    }
    if !areKept { await save(news) }
    await followRoll()
    // What was left out for a key was not known, or was not exempt, may count by now.
    for session in sessions.values { await session.feed(.advanced(position)) }
    await advertise()
  }

  /// Members that were admitted are waited for, who is none any more is shut out.
  func followRoll() async {
    // Who leaves has nothing to do but to say so.
    guard !isStopping else { return }
    let roll = roster.roll
    await countMembers()
    for entry in roll.everybody where entry.node != identity.node {
      switch entry.ending {
      case nil:
        if peers[entry.node] == nil {
          peers[entry.node] = PeerRecord(entry.node, name: entry.name)
        }
        if !entry.name.isEmpty { peers[entry.node]?.name = entry.name }
        // Its revocation may count no more.
        peers[entry.node]?.isRevoked = false
      case .revoked: await shutOut(entry, "\(entry.name) was revoked")
      case .left: if peers[entry.node]?.session == nil { await forget(entry.node) }
      }
    }
    await shutOutDisowned(roll)
    if mode == .lasting { await pages.review() }
    await followRights()
    await followSay()
    await followNumber()
    await followOffice()
    await nameAuthors()
    await followAuthors()
    await comeBack()
    if let own = roll.entries[identity.node], !own.isMember {
      log("this node is no member of the site any more")
      for session in sessions.values {
        await session.feed(.close(Bye(.revoked, "\(identity.name) is no member any more")))
      }
    }
  }

  /// Shuts out whoever was admitted by what does not count any more: by a thief of an admin's key,
  /// or by an admin that was disowned.
  private func shutOutDisowned(_ roll: Roll) async {
    for session in sessions.values {
      guard case .member(let key) = session.link.peer,
        roll.entries[Notary.openSSL.digest(key)] == nil
      else { continue }
      log("cutting a connection: who had admitted the peer could not do so")
      await session.feed(.close(Bye(.revoked, "your admission does not count")))
    }
    // A newcomer may know its inviter before it knows who that is.
    for node in Array(peers.keys) where roll.entries[node] == nil {
      if node != copy.unfinished?.inviter { await forget(node) }
    }
  }

  private func shutOut(_ entry: Roll.Entry, _ reason: String) async {
    peers[entry.node]?.isRevoked = true
    await perform(mesh.receive(.left(entry.node), at: .now))
    // All of them: one that has not said Hello yet is no peer's session so far.
    for session in sessions.values where session.link.peer == .member(key: entry.key) {
      log("cutting the connection with \(entry.name): it was revoked", about: entry.name)
      await session.feed(.close(Bye(.revoked, reason)))
    }
  }

  /// Shuts a member out, for good; if it is disowned, nothing that it has signed counts either.
  /// Nobody else is let in again by that, or may do more: what it had taken is taken anew.
  func revoke(_ name: String, disowning: Bool) async throws(FlotillaError) -> RevokeReport {
    // Refuses a name that may be that of another one.
    _ = try await members().member(named: name)
    let entry = try revocable(name, disowning: disowning)
    if entry.role == .admin, keys.site == nil {
      throw FlotillaError(
        .notAllowed, "\(name) is an admin, and only the site key ends an admin",
        remedy: "Do it on the machine that has the site key, or bring it here: flotilla "
          + "import-site-key \(shellWord(path)) FILE")
    }
    guard !disowning || entry.role == .admin else {
      throw FlotillaError(
        .refused, "\(name) is no admin: it has signed nothing that counts",
        remedy: "Leave out --disown.")
    }
    let (before, anchor) = (roster.roll, anchor?.node)
    let connected = peers.values.filter { $0.session != nil && $0.node != entry.node }
    let revocations =
      disowning
      ? [.revoke(node: entry.node, heads: [])] : roster.membership.revocations(of: entry.node)
    let opened = try before.openings(in: roll(after: revocations))
    try await say(revocations + opened.revocations + opened.grants)
    let after = roster.roll
    let also = before.members.filter { $0.node != entry.node && after.member($0.node) == nil }
    var report = RevokeReport(
      node: entry.name, id: entry.node.description, told: connected.map(\.name).sorted(),
      also: also.map(\.name).sorted(),
      wasAnchor: anchor != nil && after.anchor?.node != anchor)
    report.stay_out = opened.returned.map(\.name).sorted()
    report.stay_limited = opened.widened.map(\.name).sorted()
    return report
  }

  /// Another member; or an admin that has left, for the site key alone says which of its
  /// statements stand if there were two of it.
  private func revocable(
    _ name: String, disowning: Bool
  ) throws(FlotillaError) -> Roll.Entry {
    let entry = try member(named: name)
    switch entry.ending {
    case .revoked? where disowning: throw alreadyShutOut(entry)
    case .left? where entry.role == .admin && keys.site != nil && entry.node != identity.node:
      return entry
    default: return try otherMember(named: name, otherwise: "; nothing to revoke")
    }
  }

  /// What an admin had signed when it was shut out stands by that word, for good.
  private func alreadyShutOut(_ entry: Roll.Entry) -> FlotillaError {
    let invited = roster.roll.members.filter { $0.admittedBy == entry.node }.map(\.name).sorted()
    return FlotillaError(
      .refused, "\(entry.name) is no member any more, and what it signed before stands",
      remedy: invited.isEmpty
        ? "It has let in nobody who is a member still."
        : "Shut out whom it has let in, one by one: flotilla revoke \(shellWord(path)) NODE, for "
          + invited.joined(separator: ", "))
  }

  /// Another node that is a member still, by its name; `otherwise` ends the sentence that it is
  /// none any more, and `itself` is the remedy if it is this node.
  func otherMember(
    named name: String, otherwise: String, itself: String? = nil
  ) throws(FlotillaError) -> Roll.Entry {
    let entry = try member(named: name)
    guard entry.isMember else {
      throw FlotillaError(.refused, "\(name) is no member any more\(otherwise)")
    }
    guard entry.node != identity.node else {
      throw FlotillaError(
        .refused, "\(name) is this node itself",
        remedy: itself ?? "To take it out of the site: flotilla leave \(shellWord(path))")
    }
    return entry
  }

  /// The member of this name, or whose id begins like this.
  func member(named name: String) throws(FlotillaError) -> Roll.Entry {
    let everybody = roster.roll.everybody
    let named = everybody.filter { $0.name == name }
    if let member = named.first(where: \.isMember) ?? named.first { return member }
    let byID = everybody.filter {
      name.count >= 8 && $0.node.description.hasPrefix(name.lowercased())
    }
    guard let entry = byID.first, byID.count == 1 else {
      let names = everybody.filter(\.isMember).map(\.name).sorted().joined(separator: ", ")
      throw FlotillaError(
        .refused, "there is no member \(name) in this site", remedy: "Members are: \(names)")
    }
    return entry
  }

  func members() async -> MembersReport {
    let roll = roster.roll
    let everybody = roll.everybody.sorted { ($0.since, $0.node) < ($1.since, $1.node) }
    let tables = Array(Set(everybody.flatMap(\.tables.keys)))
    let names = Dictionary(uniqueKeysWithValues: zip(tables, await store.namesHere(tables)))
    return MembersReport(
      site: identity.siteName, node: identity.name,
      members: everybody.map { entry in
        let isSelf = entry.node == identity.node
        let isConnected = isSelf || peers[entry.node]?.session != nil
        return MembersReport.Member(
          node: entry.name, id: entry.node.description, role: entry.role.name,
          state: state(of: entry), since: Self.text(entry.since),
          last_seen: (isConnected ? Uptime.wall : lastSeen(entry)).map(Self.text),
          admitted_by: roll.entries[entry.admittedBy]?.name ?? "site key",
          words: entry.words.isEmpty ? nil : entry.words,
          rights: Dictionary(
            entry.tables.map { (names[$0.key] ?? $0.key, $0.value.name) }, uniquingKeysWith: min),
          is_this_node: isSelf, is_anchor: entry.node == anchor?.node,
          program: isSelf ? ProgramVersion.current : program(of: entry.node))
      })
  }

  /// The program that a member runs, if it is connected and has told.
  private func program(of node: Identity) -> String? {
    peers[node].flatMap { $0.session == nil ? nil : $0.program }
  }

  /// Who has said that it leaves was there then, whoever has heard it.
  private func lastSeen(_ entry: Roll.Entry) -> Int64? {
    guard case .left(let at)? = entry.ending else { return peers[entry.node]?.seen }
    return max(at, peers[entry.node]?.seen ?? at)
  }

  private func state(of entry: Roll.Entry) -> String {
    switch entry.ending {
    case nil: isForgotten(entry) ? "forgotten" : "member"
    case .revoked: "revoked"
    case .left: "left"
    }
  }
}
