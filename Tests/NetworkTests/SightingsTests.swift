import CAvahi
import Testing

@testable import Network

@Suite struct `What is in sight` {
  @Test func `is told once for each address, and lost with the last`() throws {
    var sightings = Sightings()
    let (v4, v6) = (sighting("a", family: 0), sighting("a", family: 1))
    let isNew = [v4, v4, v6].map { sightings.appeared($0) }
    #expect(isNew == [true, false, true])
    let (service, moved) = (try service("a", "10.0.0.1:5"), try service("a", "10.0.0.2:5"))
    let told = [
      sightings.resolved(v4, to: service), sightings.resolved(v4, to: service),
      sightings.resolved(v4, to: moved), sightings.vanished(v4),
      sightings.resolved(v4, to: service), sightings.vanished(v6), sightings.vanished(v6),
    ]
    #expect(told == [.found(service), nil, .found(moved), nil, nil, .lost("a"), nil])
  }

  @Test func `is never what this process announces, also when word of it comes late`() {
    var sightings = Sightings()
    sightings.announces("a")
    sightings.announces("b")
    sightings.restart()
    let isNew = ["a", "b", "c"].map { sightings.appeared(sighting($0)) }
    #expect(isNew == [false, false, true])
  }

  @Test func `may have a name that this process gave up to it`() {
    var sightings = Sightings()
    sightings.announces("a")
    sightings.yields("a")
    sightings.announces("mine")
    let isNew = ["a", "mine"].map { sightings.appeared(sighting($0)) }
    #expect(isNew == [true, false])
  }

  @Test func `is compared with the latest names of this process alone`() {
    var sightings = Sightings()
    for number in 0...Sightings.ownLimit { sightings.announces("\(number)") }
    let isNew = [0, 1, Sightings.ownLimit].map { sightings.appeared(sighting("\($0)")) }
    #expect(isNew == [true, false, false])
  }

  @Test func `is not lost if it was never told`() {
    var sightings = Sightings()
    _ = sightings.appeared(sighting("a"))
    let told = sightings.vanished(sighting("a"))
    #expect(told == nil)
  }

  @Test func `is told again after a restart, and lost only if it stays away`() throws {
    var sightings = Sightings()
    let services = [try service("a", "10.0.0.1:5"), try service("b", "10.0.0.1:5")]
    var told: [DiscoveryEvent?] = []
    for service in services + [services[0]] {
      if told.count == 2 { sightings.restart() }
      _ = sightings.appeared(sighting(service.name))
      told.append(sightings.resolved(sighting(service.name), to: service))
    }
    told += sightings.settled()
    #expect(told == [.found(services[0]), .found(services[1]), .found(services[0]), .lost("b")])
    let again = sightings.settled()
    #expect(again == [])
  }

  @Test func `is looked at in turn, however many false services there are`() throws {
    var sightings = Sightings()
    var open: [Sighting] = []
    for number in 0..<1_000 where sightings.appeared(sighting("false\(number)")) {
      open.append(sighting("false\(number)"))
    }
    let isNew = sightings.appeared(sighting("true"))
    #expect(!isNew && open.count == Sightings.limit)
    // Half of them lead nowhere.
    var looks = 0
    while let done = open.first, !open.contains(sighting("true")) {
      open.removeFirst()
      let next = sightings.next(after: done, in: "local", leadsSomewhere: looks.isMultiple(of: 2))
      open.append(try #require(next).sighting)
      looks += 1
    }
    #expect(looks <= 1_000)
    let found = sightings.resolved(sighting("true"), to: try service("true", "10.0.0.1:5"))
    #expect(found != nil)
    // It makes room in its turn, and its end is told.
    _ = sightings.next(after: sighting("true"), in: "local", leadsSomewhere: true)
    let told = [sightings.settled(), [sightings.vanished(sighting("true"))].compactMap(\.self)]
    #expect(told == [[], [.lost("true")]])
  }

  @Test func `is looked at when all before it lead somewhere, and where a place is free`() throws {
    var sightings = Sightings()
    for number in 0..<Sightings.limit {
      let name = "true\(number)"
      _ = sightings.appeared(sighting(name))
      _ = sightings.resolved(sighting(name), to: try service(name, "10.0.0.1:5"))
    }
    let isNew = sightings.appeared(sighting("late"), domain: "local")
    let next = sightings.next()
    #expect(!isNew && next?.sighting == sighting("late") && next?.domain == "local")
    // What was resolved longest ago makes room; its end is told all the same.
    #expect(next?.done == sighting("true0"))
    let told = [sightings.settled(), [sightings.vanished(sighting("true0"))].compactMap(\.self)]
    #expect(told == [[], [.lost("true0")]])
    let none = sightings.next()?.sighting
    #expect(none == nil)

    // All places are of announcements that are looked at: the next one waits until one is free.
    sightings.restart()
    for number in 0...Sightings.limit { _ = sightings.appeared(sighting("false\(number)")) }
    let early = sightings.next()?.sighting
    #expect(early == nil)
    _ = sightings.vanished(sighting("false3"))
    let free = sightings.next()
    #expect(free?.sighting == sighting("false\(Sightings.limit)") && free?.done == nil)
  }

  @Test func `has a bound`() {
    var sightings = Sightings()
    let taken = (0..<1000).filter { sightings.appeared(sighting("n\($0)")) }
    #expect(taken.count == Sightings.limit)
    _ = sightings.vanished(sighting("n0"))
    let isTaken = sightings.appeared(sighting("late"))
    #expect(isTaken)
  }

  private func sighting(_ name: String, family: Int32 = 0) -> Sighting {
    Sighting(interface: 1, family: family, name: name)
  }

  private func service(_ name: String, _ endpoint: String) throws -> DiscoveredService {
    DiscoveredService(name: name, endpoint: try Endpoint(parsing: endpoint), txt: [:])
  }
}

@Suite struct `The text of a service` {
  @Test func `is read back as it was announced`() throws {
    let record = try TXTRecord(announcing: ["v": "1", "h": "", "j": "a=b="])
    #expect(record.withList { TXTRecord(copying: $0) } == record)
  }

  @Test func `is taken from others within bounds`() {
    var list: UnsafeMutablePointer<AvahiStringList>?
    for index in 0..<100 { list = avahi_string_list_add_pair(list, "k\(index)", "x") }
    list = avahi_string_list_add(list, "=nameless")
    list = avahi_string_list_add_pair_arbitrary(list, "bad", [0xff, 0xfe], 2)
    list = avahi_string_list_add(list, "flag")
    defer { avahi_string_list_free(list) }
    let record = TXTRecord(copying: list)
    #expect(record.pairs.count == 16)
    #expect(record.pairs["flag"] == "")
    #expect(record.pairs["bad"] == nil)
  }
}
