import FoundationEssentials
import Glibc
import Network
import Replication

/// The joiner's side of a pairing: finds the inviter, shows the code, gets the schema.
struct Pairing: Sendable {
  struct Result: Sendable {
    var offer: Offer
    var admit: Admit
    var inviter: Hello
    var address: String
    /// Four words that the inviter shows, too.
    var words: String
    var objects: [SchemaObject]
  }

  let code: InviteCode
  let keys: NodeKeys
  let name: String
  /// Throws if the file cannot take in this schema; then nobody was admitted, and the code stays
  /// good.
  let accept: @Sendable ([SchemaObject]) throws(FlotillaError) -> Void
  /// Where the key is kept from when it is shown until the file is a replica.
  var note: PairingNote?
  var air = Air.lan
  /// The air is searched for the inviter until nothing new was seen on it for so long.
  var quiet: Duration = .seconds(15)

  var secret: InvitationSecret { InvitationSecret(code) }

  /// Pairs with the node at an address, or with the one that shows the hint of the code.
  func pair(at address: String?) async throws(FlotillaError) -> Result {
    if address == nil, let result = try await pairAgain() { return result }
    if let address {
      let endpoint: Endpoint
      do {
        endpoint = try Endpoint(parsing: address, defaultPort: Endpoint.defaultPort)
      } catch {
        throw FlotillaError(.usage, "\(address) is no address: \(error)")
      }
      let seen = SeenSite()
      let channel: TLSChannel
      do {
        channel = try await connect(to: endpoint, seen)
      } catch  where error.code == .invitation {
        throw await whose(besides: endpoint, seen.site)
      }
      return try await pair(over: channel, endpoint)
    }
    return try await findAndPair()
  }

  /// With the inviter of the try before this one, if it is where it was: it shows no hint any more
  /// once the copy has begun. Nil if nobody there knows the code.
  private func pairAgain() async throws(FlotillaError) -> Result? {
    guard let place = note?.address, let endpoint = try? Endpoint(parsing: place),
      let channel = try? await connect(to: endpoint, SeenSite())
    else { return nil }
    return try await pair(over: channel, endpoint)
  }

  private func findAndPair() async throws(FlotillaError) -> Result {
    var trouble: String?
    var sites = 0
    let (attempts, told) = AsyncStream<Attempt>.makeStream()
    let search = Task { await self.search(told) }
    defer { search.cancel() }
    for await attempt in attempts {
      switch attempt {
      case .seen: sites += 1
      case .blind(let reason):
        throw FlotillaError(
          .invitation,
          "no inviting node was found: there is no discovery on this machine (\(reason))",
          remedy: "Give its address and the port that invite names there: --at HOST:PORT; or start "
            + "avahi-daemon on both machines.")
      case .trouble(let reason): trouble = reason
      case .open(let channel, let endpoint):
        do {
          return try await pair(over: channel, endpoint)
        } catch  where error.code == .peer {
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
        : "Check the code, give the address and the port that invite names there: --at HOST:PORT; "
          + "or make a new code: flotilla invite DB")
  }

  /// Whether a service shows the hint of the code.
  func shows(_ service: DiscoveredService) -> Bool {
    let more = (service.txt["k"] ?? "").split(separator: ",").map(String.init)
    return ([service.txt["j"]] + more).contains(secret.hint)
  }

  private func pair(
    over channel: TLSChannel, _ endpoint: Endpoint
  ) async throws(FlotillaError) -> Result {
    let link = MessageLink(channel: channel)
    defer { link.close() }
    // A peer that says nothing must not hold the joiner for ever.
    let alarm = Task {
      guard (try? await Task.sleep(for: .seconds(30))) != nil else { return }
      link.close()
    }
    defer { alarm.cancel() }
    return try await talk(link, channel, endpoint)
  }

  func connect(
    to endpoint: Endpoint, _ seen: SeenSite
  ) async throws(FlotillaError) -> TLSChannel {
    do throws(NetworkError) {
      let socket = try await SocketChannel.connect(to: endpoint, timeout: .seconds(5))
      let context = try TLSContext(joining: secret.shared) { seen.note($0) }
      return try await TLSChannel.dial(over: socket, context, for: .joining, timeout: .seconds(10))
    } catch {
      switch error.code {
      case .untrusted, .refusedByPeer:
        throw FlotillaError(
          .invitation, "the node at \(endpoint) knows no such code",
          remedy: Self.newCode)
      case .notTLS, .closed:
        throw FlotillaError(
          .peer, "no Flotilla node answers at \(endpoint): \(error.message)",
          remedy: "Check address and port: flotilla invite names the port, on a machine of the "
            + "site.")
      default:
        throw FlotillaError(
          .peer, "no node answers at \(endpoint): \(error)",
          remedy: "Check the address, and that the node runs there.")
      }
    }
  }

  private func talk(
    _ link: MessageLink, _ channel: TLSChannel, _ endpoint: Endpoint
  ) async throws(FlotillaError) -> Result {
    let (inviter, offer) = try await greet(link, endpoint)
    let objects = try await schema(of: offer, link, inviter.name)
    try accept(objects)
    try note?.keep(endpoint.description)
    let proof = keys.node.sign(JoinProof.bytes(channel))
    try await link.send(.join(Join(name: name, key: keys.node.publicKey, proof: proof)))
    let admit: Admit
    switch try await link.receive() {
    case .admit(let answer): admit = answer
    case .bye(let bye):
      if Self.refusals.contains(bye.code) { note?.forget() }
      throw refusal(bye, inviter.name)
    default: throw unexpected(endpoint)
    }
    try check(admit, inviter)
    try? await link.send(.bye(Bye(.stopping, "paired")))
    return Result(
      offer: offer, admit: admit, inviter: inviter, address: endpoint.description,
      words: JoinProof.words(channel), objects: objects)
  }

  /// Says Hello and hears what the inviter offers; nothing is agreed to yet.
  func greet(
    _ link: MessageLink, _ endpoint: Endpoint
  ) async throws(FlotillaError) -> (Hello, Offer) {
    try await link.send(
      .hello(
        Hello(
          version: Session.versions.upperBound, purpose: .join, site: .none,
          node: keys.identity, name: name, run: .random(in: 0 ... .max), clock: Uptime.wall,
          port: 0, schema: 0)))
    let inviter = try await hear(link, at: endpoint.description)
    // One that is a version ahead speaks ours, too.
    let versions = Session.versions.lowerBound...Session.versions.upperBound + 1
    guard versions.contains(inviter.version) else {
      throw FlotillaError(
        .peer, "\(inviter.name) speaks another version of the protocol (\(inviter.version))",
        remedy: "Use the same version of Flotilla on both machines.")
    }
    switch try await link.receive() {
    case .offer(let offer): return (inviter, offer)
    case .bye(let bye): throw refusal(bye, inviter.name)
    default: throw unexpected(endpoint)
    }
  }

  private func schema(
    of offer: Offer, _ link: MessageLink, _ inviter: String
  ) async throws(FlotillaError) -> [SchemaObject] {
    await link.acceptLongFrames()
    var objects: [SchemaObject] = []
    var bytes = 0
    for _ in 0..<offer.objects {
      guard case .schema(let object) = try await link.receive() else {
        throw FlotillaError(.peer, "the schema that \(inviter) sends ends too early")
      }
      bytes += object.size
      guard bytes <= Limits.schemaBytes else {
        throw FlotillaError(.peer, "the schema that \(inviter) sends has no end")
      }
      objects.append(object)
    }
    return objects
  }

  /// What the inviter has signed must make this node a member, or no other member lets it in.
  private func check(_ admit: Admit, _ inviter: Hello) throws(FlotillaError) {
    var membership = Membership(rootKey: admit.rootKey, notary: .openSSL)
    _ = membership.unite(admit.statements)
    guard membership.site == inviter.site, membership.roll.member(keys.identity) != nil else {
      note?.forget()
      throw FlotillaError(
        .peer, "the admission that \(inviter.name) has sent does not hold",
        remedy: "Update Flotilla on both machines, and join with a new code.")
    }
  }

  private func unexpected(_ endpoint: Endpoint) -> FlotillaError {
    FlotillaError(.peer, "what answers at \(endpoint) is no Flotilla node of this version")
  }

  /// After which this key is never let in.
  private static let refusals: [Bye.Code] = [
    .invitationUsed, .invitationExpired, .invitationUnknown,
  ]

  static let newCode = "Check the code, or make a new one on a member: flotilla invite DB"

  private func refusal(_ bye: Bye, _ inviter: String) -> FlotillaError {
    let again = "Make a new one on a member: flotilla invite DB"
    switch bye.code {
    case .invitationUsed:
      return FlotillaError(.invitation, "the code was used already", remedy: again)
    case .invitationExpired:
      return FlotillaError(.invitation, "the code has expired", remedy: again)
    case .invitationUnknown:
      // It knew it in the handshake a moment ago.
      return FlotillaError(
        .invitation, "\(inviter) has just forgotten the code", remedy: again)
    default: return FlotillaError(.invitation, "\(inviter) refused: \(bye.reason)")
    }
  }
}
