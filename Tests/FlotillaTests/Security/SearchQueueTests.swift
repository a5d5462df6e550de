import Network
import Testing

@testable import Flotilla

/// In which order a joiner tries what is on the air.
@Suite struct SearchQueueTests {
  private func endpoint(_ host: String, _ port: UInt16 = 1) throws -> Endpoint {
    try Endpoint(host: host, port: port)
  }

  @Test func `the inviter is tried at once, whatever another host shows`() throws {
    var queue = SearchQueue()
    for port in 1...1_000 as ClosedRange<UInt16> { queue.add(try endpoint("10.0.0.9", port)) }
    var running: [Endpoint] = []
    while let next = queue.next() { running.append(next) }
    #expect(running.count == SearchQueue.placesOfOne)
    let inviter = try endpoint("10.0.0.7")
    queue.add(inviter)
    #expect(queue.next() == inviter)
    #expect(queue.next() == nil)
    queue.ended(running[0])
    #expect(queue.next() == (try endpoint("10.0.0.9", 9)))
  }

  @Test func `each is tried once, so many at a time, of each host in turn`() throws {
    var queue = SearchQueue()
    for _ in 0..<2 {
      for host in 1...200 {
        for port in 1...5 as ClosedRange<UInt16> {
          queue.add(try endpoint("10.0.0.\(host)", port))
        }
      }
    }
    var (tried, running): ([Endpoint], [Endpoint]) = ([], [])
    while !queue.isIdle {
      while let next = queue.next() {
        tried.append(next)
        running.append(next)
      }
      #expect(running.count <= SearchQueue.places)
      queue.ended(running.removeFirst())
    }
    #expect(tried.count == 1_000 && Set(tried).count == 1_000)
    #expect(Set(tried.prefix(200).map(\.host)).count == 200)
  }

  @Test func `so many are remembered, and no more`() throws {
    var queue = SearchQueue()
    for host in 0..<10_000 { queue.add(try endpoint("10.1.\(host / 250).\(host % 250)")) }
    var count = 0
    while let next = queue.next() {
      count += 1
      queue.ended(next)
    }
    #expect(count == SearchQueue.most && queue.isIdle)
  }
}
