import Network
import Replication

/// How a node shows itself on the LAN, and whom it takes for a node of its site there.
///
/// What is on the air tells nobody outside which site it is of. It is changed only when there is
/// something else to tell. Identity comes from the handshake all the same.
struct Announcement: Sendable {
  private let name = RandomNumbers.serviceName()
  private let rootKey: [UInt8]
  private var discovery: Discovery?
  /// What is on the air.
  private var shown: [String: String] = [:]

  init(rootKey: [UInt8]) { self.rootKey = rootKey }

  /// Begins to search; gives what is found, by and by.
  mutating func start() -> AsyncStream<DiscoveryEvent> {
    let discovery = Discovery(serviceType: "_flotilla._tcp")
    self.discovery = discovery
    return discovery.events
  }

  /// Shows where this node listens; while invitations are open also their hints, so that joiners
  /// find it. Of too many those that come first go.
  mutating func show(port: UInt16, hints: [String]) throws(NetworkError) {
    guard let discovery else { return }
    let text = Self.text(["v": "1", "s": SiteHint.of(rootKey, service: name)], hints: hints)
    guard text != shown else { return }
    shown = text
    try discovery.advertise(name: name, port: port, txt: text)
  }

  /// What is said on the air, with as many hints as fit.
  static func text(_ text: [String: String], hints: [String]) -> [String: String] {
    var text = text
    text["j"] = hints.first
    for hint in hints.dropFirst() {
      var longer = text
      longer["k"] = text["k"].map { "\($0),\(hint)" } ?? hint
      guard Discovery.fits(longer) else { break }
      text = longer
    }
    return text
  }

  /// Whether a service is another node of this site. Another site's node shows another hint.
  func isOfSite(_ service: DiscoveredService) -> Bool {
    service.name != name && service.txt["s"] == SiteHint.of(rootKey, service: service.name)
  }

  /// Ends the search, and takes this node off the air.
  func stop() async { await discovery?.stop() }
}

/// What a service on the air shows of its site: only who has the site's public key can tell, and
/// that is told to members alone.
enum SiteHint {
  static func of(_ rootKey: [UInt8], service: String) -> String {
    InvitationBook.digits(Array(Hashing.hmac(key: rootKey, Array(service.utf8)).prefix(4)))
  }
}
