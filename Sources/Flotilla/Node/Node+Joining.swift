import Foundation
import Replication
import Store

/// Invitations, and letting joiners in.
extension Node {
  /// Opens an invitation; a running node serves it at once.
  func invite(timeToLive: Duration, role: String) async throws(FlotillaError) -> InviteReport {
    let code = RandomNumbers.inviteCode()
    let expires = Uptime.wall + timeToLive.milliseconds
    let invitation = Invitation(
      fingerprint: code.fingerprint, hint: code.hint, expires: expires, role: role,
      isUsed: false)
    try await reporting(path) { () async throws(StoreError) in
      try await store.run { (store) throws(StoreError) in
        try store.add(invitation, at: .now)
      }
    }
    await advertise()
    return InviteReport(
      code: code.description, expires: Self.text(expires), role: role,
      served: mode == .lasting, port: port.map(Int.init))
  }

  func openInvitationHints() async -> [String] {
    let open =
      (try? await store.run { (store) throws(StoreError) in
        try store.openInvitations(at: .now)
      }) ?? []
    return open.map(\.hint)
  }

  /// Whether this process only serves an invitation, so that a starting `run` may take over.
  var yields: Bool { servesInvitationOnly }

  /// Looks at the code that a joiner shows; lets it in or tells it why not.
  func judge(_ join: Join, _ session: PeerSession) async {
    guard let code = try? InviteCode(join.code) else {
      return await refuse(session, .invitationUnknown, "the code is mistyped")
    }
    do {
      let names = namesGiven.union(peers.values.map(\.name)).union([identity.name])
      let site = identity
      // Given away before anybody else asks, though the code may turn out to be no good.
      let name = JoinVerdict.free(join.name, beside: names)
      namesGiven.insert(name)
      let verdict = try await store.run { (store) throws(StoreError) -> JoinVerdict in
        guard let invitation = try store.invitation(code.fingerprint) else { return .unknown }
        if invitation.isUsed { return .used }
        guard try store.use(code.fingerprint, at: .now) else { return .expired }
        let objects = try store.schemaObjects()
        let admit = Admit(
          site: site.site, siteName: site.siteName,
          nodeName: name,
          rows: UInt64(try store.liveRowCount()), objects: UInt64(objects.count))
        return .admitted(admit, objects)
      }
      if case .admitted = verdict {} else { namesGiven.remove(name) }
      await advertise()
      switch verdict {
      case .unknown:
        await refuse(session, .invitationUnknown, "this site knows no such invitation")
      case .used: await refuse(session, .invitationUsed, "the invitation was used already")
      case .expired: await refuse(session, .invitationExpired, "the invitation has expired")
      case .admitted(let admit, let objects):
        log("\(admit.nodeName) joins the site")
        admissions[session.id] = Admission(
          fingerprint: code.fingerprint, name: name, before: admitted)
        admitted = admit.nodeName
        await session.feed(.admitted(admit, objects))
      }
    } catch {
      await refuse(session, .storage, error.message)
    }
  }

  private func refuse(_ session: PeerSession, _ code: Bye.Code, _ reason: String) async {
    log("a joiner was refused: \(reason)")
    await session.feed(.close(Bye(code, reason)))
  }
}

/// What an inviter decides about a code.
enum JoinVerdict: Sendable {
  case unknown
  case used
  case expired
  case admitted(Admit, [SchemaObject])

  /// The wished name, or that with the next free number.
  static func free(_ name: String, beside names: Set<String>) -> String {
    guard names.contains(name) else { return name }
    var number = 2
    while names.contains("\(name)-\(number)") { number += 1 }
    return "\(name)-\(number)"
  }
}
