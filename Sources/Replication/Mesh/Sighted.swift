/// Addresses on the air for which there was no room.
///
/// Anybody on the LAN can show any number of services. So those that were tried in vain make room,
/// and come again after all others: the true one has its turn, whenever it is seen.
struct Sighted: Sendable {
  /// So many wait at most.
  static let most = 4_096

  private(set) var waiting: [(service: String, address: String)] = []
  private var addresses: Set<String> = []

  var isEmpty: Bool { waiting.isEmpty }

  mutating func add(_ service: String, at address: String) {
    guard waiting.count < Self.most, addresses.insert(address).inserted else { return }
    waiting.append((service, address))
  }

  /// The one that has waited longest, of the host that has the fewest addresses among those that
  /// are tried.
  mutating func next(besides counts: [Substring: Int]) -> (service: String, address: String)? {
    let first = waiting.indices.min {
      (counts[Mesh.host(waiting[$0].address)] ?? 0, $0)
        < (counts[Mesh.host(waiting[$1].address)] ?? 0, $1)
    }
    guard let first else { return nil }
    let next = waiting.remove(at: first)
    addresses.remove(next.address)
    return next
  }

  mutating func lose(_ service: String) {
    for lost in waiting where lost.service == service { addresses.remove(lost.address) }
    waiting.removeAll { $0.service == service }
  }
}

extension Mesh {
  /// Takes an address that discovery has named, if there is room, else later.
  mutating func sight(_ service: String, at address: String, _ now: Instant) {
    guard candidates[address] != nil || hasRoomForSighted || makeRoom(for: address) else {
      return sighted.add(service, at: address)
    }
    update(address, now) {
      // An address that was ours may be another's today.
      if $0.service != service { $0.isSelf = false }
      $0.service = service
    }
  }

  private var hasRoomForSighted: Bool {
    candidates.values.count { $0.isSightedAlone } < Candidate.limit
  }

  /// Places that have become free are taken by those that wait.
  mutating func takeSighted(_ now: Instant) {
    while hasRoomForSighted, let next = sighted.next(besides: sightedByHost) {
      update(next.address, now) { $0.service = next.service }
    }
  }

  /// One that was tried in vain waits, and another one has its place.
  mutating func giveWay(_ address: String, _ now: Instant) {
    guard let candidate = candidates[address], candidate.isSightedAlone, candidate.failures > 0,
      let service = candidate.service, let next = sighted.next(besides: sightedByHost)
    else { return }
    candidates[address] = nil
    sighted.add(service, at: address)
    update(next.address, now) { $0.service = next.service }
  }

  /// One that was tried in vain, or one of a host that has more of them than this one.
  private mutating func makeRoom(for address: String) -> Bool {
    let counts = sightedByHost
    let most = max(counts.values.max() ?? 0, 2)
    let isFew = (counts[Self.host(address)] ?? 0) < most - 1
    let worst = candidates.filter {
      $0.value.isSightedAlone && !$0.value.isDialling
        && ($0.value.failures > 0 || isFew && counts[Self.host($0.key)] == most)
    }.max { ($0.value.failures, $0.key) < ($1.value.failures, $1.key) }
    guard let worst, let service = worst.value.service else { return false }
    candidates[worst.key] = nil
    sighted.add(service, at: worst.key)
    return true
  }

  private var sightedByHost: [Substring: Int] {
    var counts: [Substring: Int] = [:]
    for (address, candidate) in candidates where candidate.isSightedAlone {
      counts[Self.host(address), default: 0] += 1
    }
    return counts
  }

  /// Of addresses that nobody knows the next ones to be dialled: of each host in turn, for a host
  /// may show as many services as it likes.
  func next(of due: [(key: String, value: Candidate)], room: Int) -> [String] {
    var tries: [Substring: Int] = [:]
    for (address, candidate) in candidates where !candidate.isKnown {
      let count = candidate.failures + (candidate.isDialling ? 1 : 0)
      if count > 0 { tries[Self.host(address), default: 0] += count }
    }
    var rest = due.map { (host: Self.host($0.key), failures: $0.value.failures, address: $0.key) }
    var chosen: [String] = []
    while chosen.count < room, !rest.isEmpty {
      let first = rest.indices.min {
        (tries[rest[$0].host] ?? 0, rest[$0].failures, rest[$0].address)
          < (tries[rest[$1].host] ?? 0, rest[$1].failures, rest[$1].address)
      }
      guard let first else { break }
      tries[rest[first].host, default: 0] += 1
      chosen.append(rest[first].address)
      rest.swapAt(first, rest.count - 1)
      rest.removeLast()
    }
    return chosen
  }

  static func host(_ address: String) -> Substring {
    address.lastIndex(of: ":").map { address[..<$0] } ?? address[...]
  }
}
