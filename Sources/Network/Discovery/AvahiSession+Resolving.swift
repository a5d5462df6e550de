import CAvahi
import Glibc

/// One resolver of Avahi, or the time at which a failed one is to be made again.
struct AvahiResolver {
  let domain: String
  var handle: OpaquePointer?
  var retry: ContinuousClock.Instant?
}

extension AvahiSession {
  /// Asks where an announcement leads, and goes on asking while it is in sight.
  ///
  /// A resolver that stays open tells changes of the text, which the browser does not. Asking
  /// for the family through which it was announced gives one address for each.
  func resolve(_ sighting: Sighting, domain: String) {
    let handle = avahi_service_resolver_new(
      client, sighting.interface, sighting.family, sighting.name, serviceType, domain,
      sighting.family, AvahiLookupFlags(0),
      { _, interface, family, event, name, _, _, _, address, port, txt, flags, context in
        guard let name else { return }
        let sighting = Sighting(interface: interface, family: family, name: String(cString: name))
        let session = AvahiSession.from(context)
        if event == AVAHI_RESOLVER_FOUND, let address {
          session.found(sighting, address.pointee, port: port, TXTRecord(copying: txt))
        } else {
          session.leave(.unresolved(sighting))
        }
      }, context)
    resolvers[sighting] = AvahiResolver(domain: domain, handle: handle)
    if handle == nil { leave(.unresolved(sighting)) }
  }

  func stopResolving(_ sighting: Sighting) {
    if let handle = resolvers.removeValue(forKey: sighting)?.handle {
      avahi_service_resolver_free(handle)
    }
  }

  /// Frees a resolver that failed, and has it made again at `time` if its service stays in sight.
  func resolveAgain(_ sighting: Sighting, at time: ContinuousClock.Instant) {
    guard let failed = resolvers[sighting] else { return }
    if let handle = failed.handle { avahi_service_resolver_free(handle) }
    resolvers[sighting] = AvahiResolver(domain: failed.domain, handle: nil, retry: time)
  }

  func retryResolvers(at now: ContinuousClock.Instant) {
    for (sighting, resolver) in resolvers {
      if let retry = resolver.retry, retry <= now { resolve(sighting, domain: resolver.domain) }
    }
  }

  private func found(
    _ sighting: Sighting, _ address: AvahiAddress, port: UInt16, _ txt: TXTRecord
  ) {
    guard port > 0, let host = Self.host(of: address, interface: sighting.interface),
      let endpoint = try? Endpoint(host: host, port: port)
    else { return leave(.unresolved(sighting)) }
    leave(
      .resolved(
        sighting, DiscoveredService(name: sighting.name, endpoint: endpoint, txt: txt.pairs)))
  }

  /// The address as text, with the interface if it is link-local.
  ///
  /// `AvahiAddress` has no scope, and connect(2) to a link-local address without one gives EINVAL.
  private static func host(of address: AvahiAddress, interface: Int32) -> String? {
    var address = address
    var buffer = [CChar](repeating: 0, count: Int(AVAHI_ADDRESS_STR_MAX))
    guard avahi_address_snprint(&buffer, buffer.count, &address) != nil else { return nil }
    let text = String(cBuffer: buffer)
    guard let bytes = HostText.IPv6(text),
      withUnsafeBytes(of: bytes, { $0[0] == 0xfe && $0[1] & 0xc0 == 0x80 })
    else { return text }
    var name = [CChar](repeating: 0, count: Int(IF_NAMESIZE))
    guard if_indextoname(UInt32(interface), &name) != nil else { return "\(text)%\(interface)" }
    return "\(text)%\(String(cBuffer: name))"
  }
}
