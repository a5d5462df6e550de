import Network
import Replication

/// Where a joiner looks for services.
struct Air: Sendable {
  /// What is seen until the time is over.
  let services: @Sendable (Duration) -> AsyncStream<DiscoveryEvent>

  /// The LAN, as Avahi shows it.
  static let lan = Air { limit in
    let (stream, continuation) = AsyncStream<DiscoveryEvent>.makeStream(
      bufferingPolicy: .bufferingNewest(Discovery.unread))
    let search = Task {
      let discovery = Discovery(serviceType: "_flotilla._tcp")
      let alarm = Task {
        try? await Task.sleep(for: limit)
        await discovery.stop()
      }
      for await event in discovery.events { continuation.yield(event) }
      continuation.finish()
      alarm.cancel()
      await discovery.stop()
    }
    // Whoever has found what it wants goes on; the search ends behind its back.
    continuation.onTermination = { _ in search.cancel() }
    return stream
  }
}

/// The site that a node has shown in a handshake that came to nothing.
///
/// It is what the node says and no more: good for a message to a person, for nothing else.
final class SeenSite: Sendable {
  private let value = Locked<Identity?>(nil)

  var site: Identity? { value.withLock { $0 } }

  func note(_ credential: [UInt8]) {
    let shown = try? SignedStatement.decode(credential, most: Limits.credentialStatements)
    value.withLock { $0 = shown?.first?.statement.site }
  }
}

/// Whose a code is that the node at a given address does not know.
///
/// An inviter shows 20 bits of a hash of the code on the air, and answers only who knows the code.
/// So whether there is one in reach can be found out by the joiner alone: nothing more is told to
/// anybody than in any other join, and the node at the given address learns nothing.
extension Pairing {
  /// How long the air is searched for the owner of a code.
  static let ownerSearch: Duration = .seconds(3)

  /// What to say of a code that the node at an address, of that site, does not know.
  func whose(besides refused: Endpoint, _ site: Identity?) async -> FlotillaError {
    var blind: String?
    search: for await event in air.services(Self.ownerSearch) {
      switch event {
      case .unavailable(let reason):
        blind = reason
        break search
      case .available, .lost: break
      case .found(let service):
        guard shows(service), service.endpoint != refused,
          let (inviter, offer) = await owner(at: service.endpoint)
        else { continue }
        return belongs(to: inviter, offer, at: service.endpoint, refused, site)
      }
    }
    let what = "the node at \(refused) knows no such code"
    if let blind {
      return FlotillaError(
        .invitation,
        "\(what): it is wrong, or of another site (where it belongs cannot be looked up: \(blind))",
        remedy: Self.newCode)
    }
    return FlotillaError(
      .invitation,
      "\(what), and no node that is seen from here has it open: it is wrong, or of a site that is "
        + "not in reach",
      remedy: Self.newCode)
  }

  /// Who has the code open at an address; nobody if what is there does not know it.
  private func owner(at endpoint: Endpoint) async -> (Hello, Offer)? {
    guard let channel = try? await connect(to: endpoint, SeenSite()) else { return nil }
    let link = MessageLink(channel: channel)
    let alarm = Alarm(after: Self.greeting) { link.close() }
    defer {
      alarm.cancel()
      link.close()
    }
    return try? await greet(link, endpoint)
  }

  private func belongs(
    to inviter: Hello, _ offer: Offer, at place: Endpoint, _ refused: Endpoint, _ site: Identity?
  ) -> FlotillaError {
    guard inviter.site != site else {
      return FlotillaError(
        .invitation,
        "the node at \(refused) did not make this code; \(inviter.name) of the same site has it "
          + "open",
        remedy: "Join there: --at \(place)")
    }
    return FlotillaError(
      .invitation,
      "the code is of another site: \"\(offer.siteName)\", where \(inviter.name) at \(place) has "
        + "it open, not of the one at \(refused)",
      remedy: "To join that site leave out --at, or say --at \(place); for the other one make a "
        + "code there: flotilla invite DB")
  }
}
