import Testing

@testable import Flotilla

extension NodeTests {
  @Suite struct `A node that has met a copy of itself` {
    @Test func `leaves like any other once it was met alone`() async throws {
      try await TestSite.with { site in
        let (_, (b, second)) = try await site.two()
        await second.meetTwin(by: "a")
        #expect(try await eventually { try await second.isInSync })
        // As long as the copy may be about, what is said here could be meant for that one.
        _ = try await b.library.sync(with: nil, timeout: .seconds(10))
        await #expect(throws: FlotillaError.self) { try await b.library.leave(force: false) }
        await second.stop()
        await #expect(throws: FlotillaError.self) { try await b.library.leave(force: false) }
        let report = try await b.library.sync(with: nil, timeout: .seconds(10))
        #expect(report.peers.map(\.error) == [nil])
        let left = try await b.library.leave(force: false)
        #expect(left.left)
        #expect(left.told == ["a"])
        #expect(!left.may_be_copy)
      }
    }
  }
}
