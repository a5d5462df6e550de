import Network

/// In which order a joiner tries services that show the hint of its code.
///
/// Anybody on the LAN can show any number of them. So hosts have their turn one after the other,
/// and a host never more than a few places: the inviter is tried soon, whenever it is seen.
struct SearchQueue {
  /// Services that are tried at a time, ...
  static let places = 64
  /// ... and those of one host.
  static let placesOfOne = 8
  /// So many are remembered at most.
  static let most = 8_192

  private var seen: Set<Endpoint> = []
  /// By host, in the order in which they came, the next one last.
  private var waiting: [String: [Endpoint]] = [:]
  /// Hosts for which something waits, in the order of their turns.
  private var turns: [String] = []
  private var running: [String: Int] = [:]
  private var count = 0

  var isIdle: Bool { count == 0 && waiting.isEmpty }

  mutating func add(_ endpoint: Endpoint) {
    guard seen.count < Self.most, seen.insert(endpoint).inserted else { return }
    if waiting[endpoint.host] == nil { turns.append(endpoint.host) }
    waiting[endpoint.host, default: []].insert(endpoint, at: 0)
  }

  /// What is to be tried now, if there is a place for it.
  mutating func next() -> Endpoint? {
    guard count < Self.places,
      let turn = turns.firstIndex(where: { running[$0, default: 0] < Self.placesOfOne })
    else { return nil }
    let host = turns.remove(at: turn)
    guard let next = waiting[host]?.popLast() else { return nil }
    if waiting[host]?.isEmpty == false { turns.append(host) } else { waiting[host] = nil }
    running[host, default: 0] += 1
    count += 1
    return next
  }

  mutating func ended(_ endpoint: Endpoint) {
    running[endpoint.host, default: 1] -= 1
    count -= 1
  }
}
