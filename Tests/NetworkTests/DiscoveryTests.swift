import Testing

@testable import Network

@Suite(
  .serialized, .timeLimit(.minutes(1)),
  .enabled(if: AvahiLab.isPossible, "needs root, namespaces, D-Bus and Avahi"))
struct `Discovery with a daemon of its own` {
  /// Nodes that other tests of this process run beside are on the same bus under their own type.
  private let type = "_flotilla-lab._tcp"

  @Test func `says once that it is unavailable, and recovers by itself`() async throws {
    let lab = try AvahiLab()
    let discovery = Discovery(serviceType: type)
    var events = discovery.events.makeAsyncIterator()
    #expect(await events.next()?.isUnavailable == true)
    try await lab.run("start_bus near")
    try await lab.run("sleep 4")
    try await lab.run("start_daemon near")
    #expect(await events.next() == .available)
    try await lab.run("stop_bus")
    #expect(await events.next()?.isUnavailable == true)
    try await lab.run("stop_daemon")
    try await lab.run("start_bus near")
    try await lab.run("start_daemon near")
    #expect(await events.next() == .available)
    await discovery.stop()
  }

  @Test func `finds what others announce, its changes and its end`() async throws {
    let lab = try await startedLab()
    let (one, two) = (Discovery(serviceType: type), Discovery(serviceType: type))
    try one.advertise(name: "one", port: 7391, txt: ["v": "1", "h": ""])
    let found = try #require(await two.firstFound { $0.name == "one" })
    #expect(found.txt == ["v": "1", "h": ""])
    #expect(found.endpoint.port == 7391)
    try one.advertise(name: "one", port: 7391, txt: ["v": "1", "j": "abcd"])
    #expect(await two.firstFound { $0.txt["j"] == "abcd" } != nil)
    try one.advertise(name: "one", port: 7392, txt: ["v": "1"])
    #expect(await two.firstFound { $0.endpoint.port == 7392 } != nil)
    one.stopAdvertising()
    #expect(await two.first { $0 == .lost("one") } != nil)
    // What it announces itself it does not find: the next that it finds is the other.
    try one.advertise(name: "again", port: 7391, txt: [:])
    try two.advertise(name: "two", port: 7393, txt: [:])
    let other = await one.firstFound { _ in true }
    #expect(other?.name == "two")
    #expect(await two.firstFound { $0.name == "again" } != nil)
    await one.stop()
    #expect(await two.first { $0 == .lost("again") } != nil)
    await two.stop()
    withExtendedLifetime(lab) {}
  }

  @Test func `takes a random name when its own is taken`() async throws {
    let lab = try await startedLab()
    let all = (0..<3).map { _ in Discovery(serviceType: type) }
    try all[0].advertise(name: "same", port: 1, txt: [:])
    #expect(await all[2].firstFound { $0.name == "same" } != nil)
    try all[1].advertise(name: "same", port: 2, txt: [:])
    let other = try #require(await all[2].firstFound { $0.endpoint.port == 2 })
    #expect(other.name != "same")
    // A change of the text keeps the new name.
    try all[1].advertise(name: "same", port: 2, txt: ["j": "x"])
    #expect(await all[2].firstFound { $0.txt["j"] == "x" }?.name == other.name)
    for discovery in all { await discovery.stop() }
    withExtendedLifetime(lab) {}
  }

  @Test func `survives a restart of the daemon`() async throws {
    let lab = try await startedLab()
    let (one, two) = (Discovery(serviceType: type), Discovery(serviceType: type))
    try one.advertise(name: "one", port: 7391, txt: [:])
    #expect(await two.firstFound { $0.name == "one" } != nil)
    try await lab.run("stop_daemon")
    #expect(await two.first { $0.isUnavailable } != nil)
    try await lab.run("start_daemon near")
    #expect(await two.first { $0 == .available } != nil)
    #expect(await two.firstFound { $0.name == "one" } != nil)
    await one.stop()
    await two.stop()
  }

  @Test func `finds another host by IPv4 and by link-local IPv6 with its interface`() async throws {
    let lab = try await startedLab()
    try await lab.run("publish_far far 7400 v=1")
    let discovery = Discovery(serviceType: type)
    var hosts: Set<String> = []
    _ = await discovery.firstFound { service in
      #expect(service.name == "far" && service.txt == ["v": "1"])
      hosts.insert(service.endpoint.host)
      return hosts.count == 2
    }
    #expect(hosts.contains("10.78.0.2"))
    #expect(hosts.contains { $0.hasPrefix("fe80::") && $0.contains("%") })
    try await lab.run("kill $(cat publisher)")
    #expect(await discovery.first { $0 == .lost("far") } != nil)
    await discovery.stop()
  }

  private func startedLab() async throws -> AvahiLab {
    let lab = try AvahiLab()
    try await lab.run("start_bus near")
    try await lab.run("start_daemon near")
    return lab
  }
}

@Suite(.timeLimit(.minutes(1))) struct `Discovery anywhere` {
  @Test func `stops many times, and its events end`() async {
    let discovery = Discovery(serviceType: "_flotilla-test._tcp")
    await withTaskGroup { group in
      for _ in 0..<4 { group.addTask { await discovery.stop() } }
    }
    await discovery.stop()
    for await _ in discovery.events {}
  }

  @Test func `ends with its last owner`() async {
    let events = Discovery(serviceType: "_flotilla-test._tcp").events
    for await _ in events {}
  }

  @Test(arguments: [
    ("", ["v": "1"]), (String(repeating: "x", count: 64), ["v": "1"]),
    ("ok", ["": "1"]), ("ok", ["a=": "1"]), ("ok", ["ten letter": "1"]), ("ok", ["ü": "1"]),
    ("ok", ["v": String(repeating: "x", count: 197)]), ("ok", ["v": "\0"]),
  ])
  func `refuses to announce what does not fit`(name: String, txt: [String: String]) async {
    let discovery = Discovery(serviceType: "_flotilla-test._tcp")
    await discovery.stop()
    let error = #expect(throws: NetworkError.self) {
      try discovery.advertise(name: name, port: 1, txt: txt)
    }
    #expect(error?.code == .invalidAdvertisement)
  }
}

extension DiscoveryEvent {
  var isUnavailable: Bool { if case .unavailable = self { true } else { false } }
}

extension Discovery {
  /// The first event that fits; events before it are used up.
  func first(where fits: (DiscoveryEvent) -> Bool) async -> DiscoveryEvent? {
    for await event in events where fits(event) { return event }
    return nil
  }

  /// The first service that fits; events before it are used up.
  func firstFound(_ fits: (DiscoveredService) -> Bool) async -> DiscoveredService? {
    for await case .found(let service) in events where fits(service) { return service }
    return nil
  }
}
