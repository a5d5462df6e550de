import Foundation
import Network
import Replication

/// The joiner's side of a pairing: finds the inviter, shows the code, gets the schema.
struct Pairing: Sendable {
  /// How long the air is searched for the inviter.
  static let search: Duration = .seconds(15)

  struct Result: Sendable {
    var admit: Admit
    var inviter: Hello
    var address: String
    var objects: [SchemaObject]
  }

  let code: InviteCode
  let node: Identity
  let name: String
  /// Throws if the file cannot take in this schema; then the joiner declines, and the code stays
  /// good.
  let accept: @Sendable ([SchemaObject]) throws(FlotillaError) -> Void

  /// Pairs with the node at an address, or with the one that shows the hint of the code.
  func pair(at address: String?) async throws(FlotillaError) -> Result {
    if let address {
      let endpoint: Endpoint
      do {
        endpoint = try Endpoint(parsing: address, defaultPort: Endpoint.defaultPort)
      } catch {
        throw FlotillaError(.usage, "\(address) is no address: \(error)")
      }
      return try await pair(with: endpoint)
    }
    return try await findAndPair()
  }

  private func findAndPair() async throws(FlotillaError) -> Result {
    let discovery = Discovery(serviceType: "_flotilla._tcp")
    let alarm = Task {
      try? await Task.sleep(for: Self.search)
      await discovery.stop()
    }
    defer { alarm.cancel() }
    var trouble: String?
    var sites = 0
    for await event in discovery.events {
      switch event {
      case .unavailable(let reason): trouble = reason
      case .available: trouble = nil
      case .lost: break
      case .found(let service):
        sites += 1
        let hints =
          [service.txt["j"]] + (service.txt["k"] ?? "").split(separator: ",").map(String.init)
        guard hints.contains(code.hint) else { continue }
        do {
          let result = try await pair(with: service.endpoint)
          await discovery.stop()
          return result
        } catch  where error.code == .peer {
          // Another address of the same service may do.
          trouble = error.message
        }
      }
    }
    if let trouble {
      throw FlotillaError(
        .invitation, "no inviting node was found: \(trouble)",
        remedy: "Give its address and the port that invite names there: --at HOST:PORT")
    }
    throw FlotillaError(
      .invitation,
      sites == 0
        ? "no site is in reach of this machine"
        : "no node in reach has such an invitation open",
      remedy: sites == 0
        ? "Check that both machines are on one network, or give the address: --at HOST:PORT"
        : "Check the code, or make a new one: flotilla invite DB")
  }

  private func pair(with endpoint: Endpoint) async throws(FlotillaError) -> Result {
    let link: MessageLink
    do {
      let channel = try await SocketChannel.connect(to: endpoint, timeout: .seconds(5))
      link = MessageLink(channel: channel)
    } catch {
      throw FlotillaError(
        .peer, "no node answers at \(endpoint): \(error)",
        remedy: "Check the address, and that the node runs there.")
    }
    defer { link.close() }
    // A peer that says nothing must not hold the joiner for ever.
    let alarm = Task {
      guard (try? await Task.sleep(for: .seconds(30))) != nil else { return }
      link.close()
    }
    defer { alarm.cancel() }
    return try await talk(link, endpoint)
  }

  private func talk(_ link: MessageLink, _ endpoint: Endpoint) async throws(FlotillaError) -> Result
  {
    try await link.send(
      .hello(
        Hello(
          version: Session.versions.upperBound, purpose: .join, site: .none, node: node,
          name: name, run: .random(in: 0 ... .max), clock: Uptime.wall, port: 0, schema: 0)))
    let inviter = try await hear(link, at: endpoint.description)
    guard Session.versions.contains(inviter.version) else {
      throw FlotillaError(
        .peer, "\(inviter.name) speaks another version of the protocol (\(inviter.version))",
        remedy: "Use the same version of Flotilla on both machines.")
    }
    try await link.send(.join(Join(code: code.description, name: name)))
    let admit: Admit
    switch try await link.receive() {
    case .admit(let answer): admit = answer
    case .bye(let bye): throw refusal(bye, inviter.name)
    default: throw unexpected(endpoint)
    }
    await link.acceptLongFrames()
    var objects: [SchemaObject] = []
    var bytes = 0
    for _ in 0..<admit.objects {
      guard case .schema(let object) = try await link.receive() else { throw unexpected(endpoint) }
      bytes += object.sql.utf8.count
      guard bytes <= Limits.schemaBytes else {
        throw FlotillaError(.peer, "the schema that \(inviter.name) sends has no end")
      }
      objects.append(object)
    }
    do {
      try accept(objects)
    } catch {
      try? await link.send(.bye(Bye(.declined, "the joiner's file does not fit")))
      throw error
    }
    try? await link.send(.bye(Bye(.stopping, "paired")))
    return Result(
      admit: admit, inviter: inviter, address: endpoint.description, objects: objects)
  }

  private func unexpected(_ endpoint: Endpoint) -> FlotillaError {
    FlotillaError(.peer, "what answers at \(endpoint) is no Flotilla node of this version")
  }

  private func refusal(_ bye: Bye, _ inviter: String) -> FlotillaError {
    let again = "Make a new one on a member: flotilla invite DB"
    switch bye.code {
    case .invitationUsed:
      return FlotillaError(.invitation, "the code was used already", remedy: again)
    case .invitationExpired:
      return FlotillaError(.invitation, "the code has expired", remedy: again)
    case .invitationUnknown:
      return FlotillaError(
        .invitation, "\(inviter) knows no such code: it is wrong, or of another site",
        remedy: "Check the code. \(again)")
    default: return FlotillaError(.invitation, "\(inviter) refused: \(bye.reason)")
    }
  }
}
