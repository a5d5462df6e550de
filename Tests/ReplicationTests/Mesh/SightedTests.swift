import Testing

@testable import Replication

/// A neighbour shows very many services on the air, and the true one is among them.
@Suite struct SightedTests {
  private typealias Clocked = MeshTests.Clocked

  private static let member = "10.0.0.7:7391"

  private static func addresses(_ directives: [Mesh.Directive]) -> [String] {
    directives.compactMap { if case .dial(let address) = $0 { address } else { nil } }
  }

  /// Lets dials fail after 5 s each, and gives in which ms an address was dialled, and how many
  /// dials there were.
  private static func wait(
    for wanted: String, _ it: inout Clocked, _ begun: [String], within limit: Int64
  ) -> (at: Int64?, dials: Int) {
    var (ends, dials) = (begun.map { (it.now.uptime + 5_000, $0) }, begun.count)
    let start = it.now.uptime
    if begun.contains(wanted) { return (0, dials) }
    while it.now.uptime - start < limit {
      it.now.uptime += 100
      var dialled = addresses(it.feed(.tick))
      for (_, address) in ends where !ends.isEmpty {
        guard let end = ends.first(where: { $0.1 == address }), end.0 <= it.now.uptime else {
          continue
        }
        dialled += addresses(it.feed(.dialFailed(address: address)))
      }
      ends.removeAll { $0.0 <= it.now.uptime }
      ends += dialled.map { (it.now.uptime + 5_000, $0) }
      dials += dialled.count
      #expect(ends.count <= Candidate.dialsAtOnce)
      if dialled.contains(wanted) { return (it.now.uptime - start, dials) }
    }
    return (nil, dials)
  }

  @Test func `the true one is dialled next if one host shows a thousand`() {
    var it = Clocked()
    var begun: [String] = []
    for number in 0..<1_000 {
      begun += Self.addresses(
        it.feed(.discovered(service: "s\(number)", address: "10.0.0.9:\(1_000 + number)")))
    }
    begun += Self.addresses(it.feed(.discovered(service: "true", address: Self.member)))
    let found = Self.wait(for: Self.member, &it, begun, within: 60_000)
    // It waits for a place among those that are kept, and one among those that are dialled.
    #expect(found.at.map { $0 <= 10_000 } == true, "\(found)")
  }

  @Test func `the true one has its turn if a thousand hosts are shown`() {
    var it = Clocked()
    var begun: [String] = []
    for number in 0..<1_000 {
      let address = "10.1.\(number / 250).\(number % 250):1"
      begun += Self.addresses(it.feed(.discovered(service: "s\(number)", address: address)))
    }
    begun += Self.addresses(it.feed(.discovered(service: "true", address: Self.member)))
    let found = Self.wait(for: Self.member, &it, begun, within: 600_000)
    // A thousand at sixteen in 5 s.
    #expect(found.at.map { $0 <= 330_000 } == true, "\(found)")
    #expect(found.dials <= 1_100, "\(found)")
  }

  @Test func `what has gone is not dialled any more, and leaves its place`() {
    var it = Clocked()
    for number in 0..<1_000 {
      it.feed(.discovered(service: "s\(number)", address: "10.0.0.9:\(1_000 + number)"))
    }
    it.feed(.discovered(service: "true", address: Self.member))
    for number in 0..<1_000 { it.feed(.lost(service: "s\(number)")) }
    #expect(it.mesh.sighted.isEmpty)
    var dialled: [String] = []
    for number in 0..<1_000 {
      let address = "10.0.0.9:\(1_000 + number)"
      dialled += Self.addresses(it.feed(.dialFailed(address: address)))
    }
    #expect(Array(it.mesh.candidates.keys) == [Self.member])
    #expect(it.mesh.candidates[Self.member]?.isDialling == true)
  }

  @Test func `where a member was is dialled as often as before`() {
    var it = Clocked()
    it.feed(.remembered(node: MeshTests.high, address: "h:1"))
    for number in 0..<1_000 {
      it.feed(.discovered(service: "s\(number)", address: "10.0.0.9:\(1_000 + number)"))
    }
    for _ in 0..<10 {
      it.feed(.dialFailed(address: "h:1"))
      #expect(Self.addresses(it.wait(Candidate.slowest)).contains("h:1"))
    }
  }

  @Test func `so many wait, and no more`() {
    var it = Clocked()
    for number in 0..<6_000 {
      it.feed(.discovered(service: "s\(number)", address: "10.0.0.9:\(number)"))
    }
    #expect(it.mesh.candidates.count == Candidate.limit)
    #expect(it.mesh.sighted.waiting.count == Sighted.most)
  }
}
