import Replication
import Store

/// How the schema here differs from that of another member, and taking over what is missing.
extension Node {
  /// Shows it; with `adopts` adds what can be added.
  func compareSchema(
    with name: String, adopts: Bool, timeout: Duration
  ) async throws(FlotillaError) -> SchemaReport {
    let member = try otherMember(
      named: name, otherwise: ", so its schema is not known",
      itself: "Name another member: flotilla members \(shellWord(path))")
    // A trigger or a view acts for who writes here, whatever its author may do.
    guard rights(of: member.node).isWhole else {
      throw FlotillaError(
        .notAllowed,
        "\(member.name) may not read and write every table, so its schema is none to adopt",
        remedy: "Name a member that may: flotilla members \(shellWord(path))")
    }
    let objects = try await schema(of: member, within: timeout)
    if adopts { try await foldNow() }
    let (adoption, columns) = try await reporting(path) { () async throws(StoreError) in
      try await store.run { (store) throws(StoreError) in
        let adoption =
          adopts
          ? try store.adopt(objects, of: member.name, at: self.clock.now)
          : try store.compare(with: objects, of: member.name)
        return (adoption, try store.columns.all())
      }
    }
    if adopts {
      for step in adoption.steps {
        log("adopted from \(member.name): \(step.sql)", about: member.name)
      }
      // Rows that waited for what is here now are put in their place.
      try await foldNow()
      await announce()
    }
    var report = SchemaReport(columns, remark: nil)
    report.adoption = SchemaReport.Adoption(adoption, of: member.name, isMade: adopts)
    report.adoption?.missing = adoption.missing
    return report
  }

  /// Asks a member, and waits until it is there and has answered.
  private func schema(
    of member: Roll.Entry, within timeout: Duration
  ) async throws(FlotillaError) -> [SchemaObject] {
    let deadline = Uptime.now + timeout.milliseconds
    _ = await until(deadline) { peers[member.node]?.session != nil }
    guard let session = peers[member.node]?.session else {
      throw FlotillaError(
        .timedOut, "\(member.name) is not in reach",
        remedy: "Start its node, or name another member: flotilla peers \(shellWord(path))")
    }
    guard questions.askForSchema(session.id) else {
      throw FlotillaError(
        .timedOut, "the schema of \(member.name) is being asked for already",
        remedy: "Try again in a moment.")
    }
    await session.feed(.describe)
    _ = await until(deadline) {
      sessions[session.id] == nil || questions.hasSchema(session.id)
    }
    guard let objects = questions.takeSchema(session.id) else {
      throw FlotillaError(
        .peer, "\(member.name) has not told its schema",
        remedy: "See that both machines have this version of Flotilla, and try again.")
    }
    return objects
  }

  /// A member asks; it may join with this schema as well.
  func describe(to session: PeerSession) async {
    do {
      try await offer(session)
    } catch {
      warn("could not tell a member the schema: \(error.message)")
      await session.feed(.close(Bye(.storage, error.message)))
    }
  }
}
