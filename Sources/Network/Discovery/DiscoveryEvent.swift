/// What the search for other nodes tells.
package enum DiscoveryEvent: Sendable, Hashable {
  /// A service at one address; told again when its text or address changes, and once more for
  /// each further address.
  case found(DiscoveredService)
  /// The service of this name is gone from every interface, or its announcement has run out.
  case lost(String)
  /// The search works, from now on or again.
  case available
  /// The search does not work at present, and why; it is tried again by itself.
  case unavailable(reason: String)
}

/// One address of a service that somebody announces: a hint, for anybody can announce anything.
package struct DiscoveredService: Sendable, Hashable {
  package let name: String
  package let endpoint: Endpoint
  package let txt: [String: String]

  package init(name: String, endpoint: Endpoint, txt: [String: String]) {
    self.name = name
    self.endpoint = endpoint
    self.txt = txt
  }
}

/// What this process announces.
struct Advertisement: Sendable, Hashable {
  var name: String
  let port: UInt16
  let txt: TXTRecord

  /// The same under a name that nobody else can have chosen.
  ///
  /// `avahi_alternative_service_name` would count up, and two clones would count alike.
  func renamed() -> Advertisement {
    var copy = self
    copy.name = String(UInt64.random(in: .min ... .max), radix: 36)
    return copy
  }
}
