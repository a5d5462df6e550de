import Network
import Replication
import Synchronization
import Testing

@testable import Flotilla

/// Streams that come in, before anybody has said who it is.
@Suite struct StrangersTests {
  /// A stream that only remembers whether it was closed.
  private final class Stream: ByteChannel {
    let remote: Endpoint
    private let closed = Atomic(false)

    init(_ host: String = "192.0.2.1") throws { remote = try Endpoint(host: host, port: 1) }

    var isClosed: Bool { closed.load(ordering: .relaxed) }

    func read(upTo limit: Int) async throws(NetworkError) -> [UInt8] { [] }
    func write(_ bytes: [UInt8]) async throws(NetworkError) {}
    func close() { closed.store(true, ordering: .relaxed) }
  }

  @Test func `who has waited longest makes room, and streams of our own take none`() throws {
    var it = Strangers()
    let dialled = try Stream()
    _ = it.enter(dialled, isDialled: true)
    let streams = try (0...Vestibule.placesOfOne).map { _ in try Stream() }
    let ids = streams.map { it.enter($0, isDialled: false) }
    #expect(Set(ids).count == streams.count)
    #expect(streams.map(\.isClosed) == [true] + streams.dropFirst().map { _ in false })
    #expect(!dialled.isClosed)
  }

  /// Thousands that had to make room would else wake up for each turn, and take it.
  @Test func `who has made room takes no turn`() throws {
    var it = Strangers()
    let ids = try (0..<1_000).map { _ in it.enter(try Stream(), isDialled: false) }
    let now = Instant(uptime: 1_000, wall: 0)
    let waiting = ids.filter { it.pause($0, at: now) != nil }
    #expect(waiting == ids.suffix(Vestibule.placesOfOne))
    for _ in 0..<64 - Vestibule.placesOfOne { #expect(it.pause(ids[999], at: now) == 0) }
    #expect(it.pause(ids[999], at: now) == 50)
    #expect(try it.pause(it.enter(Stream("192.0.2.2"), isDialled: false), at: now) == 0)
  }

  @Test func `a place that is free is taken, and its stream is closed at the end alone`() throws {
    var it = Strangers()
    let copy = try Stream()
    it.free(it.enter(copy, isDialled: false))
    let streams = try (0..<Vestibule.placesOfOne).map { _ in try Stream() }
    let ids = streams.map { it.enter($0, isDialled: false) }
    #expect(!copy.isClosed && !streams.contains(where: \.isClosed))
    it.close { $0 == ids[0] }
    #expect(copy.isClosed)
    #expect(streams.map(\.isClosed) == [false] + streams.dropFirst().map { _ in true })
  }

  @Test func `nobody is left when all have said Hello`() throws {
    var it = Strangers()
    let ids = try (0..<3).map { _ in it.enter(try Stream(), isDialled: false) }
    #expect(!it.isEmpty)
    for id in ids { it.leave(id) }
    #expect(it.isEmpty)
    #expect(it.enter(try Stream(), isDialled: false) == ids[2] + 1)
  }

  @Test func `nobody comes in while several that had to make room still have a thread`() throws {
    var it = Strangers()
    let ids = try (0..<Vestibule.placesOfOne + 4).map { _ in
      let id = it.enter(try Stream(), isDialled: false)
      #expect(it.pause(id, at: Instant(uptime: 0, wall: 0)) == 0)
      return id
    }
    #expect(it.isCrowded)
    it.leave(ids[0])
    #expect(!it.isCrowded)
  }
}
