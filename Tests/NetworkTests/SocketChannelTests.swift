import Glibc
import Testing

@testable import Network

@Suite(.timeLimit(.minutes(1))) struct `A socket channel` {
  @Test func `carries bytes both ways and counts them`() async throws {
    let pair = try await Pair()
    defer { pair.close() }
    try await pair.here.write([1, 2, 3])
    #expect(try await pair.there.read(exactly: 3) == [1, 2, 3])
    try await pair.there.write([4])
    #expect(try await pair.here.read(upTo: 10) == [4])
    #expect(pair.here.traffic == .init(bytesIn: 1, bytesOut: 3))
    #expect(pair.there.traffic == .init(bytesIn: 3, bytesOut: 1))
    #expect(pair.here.remote == pair.there.local)
    #expect(pair.there.remote == pair.here.local)
  }

  @Test func `carries 10 MB past a reader that lags, with back-pressure`() async throws {
    let pair = try await Pair()
    defer { pair.close() }
    let bytes = (0..<10_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
    async let writing: Void = pair.here.write(bytes)
    var received = try await pair.there.read(upTo: 1000)
    // The buffers of the kernel are smaller: the rest cannot have been taken yet.
    #expect(pair.here.traffic.bytesOut == 0)
    received += try await pair.there.read(exactly: bytes.count - received.count)
    try await writing
    #expect(received == bytes)
    #expect(pair.here.traffic.bytesOut == 10_000_000)
  }

  @Test func `sends lost bytes again within a second, where the kernel can`() throws {
    let socket = try Descriptor(streamSocket: AF_INET)
    var value: Int32 = 0
    var size = socklen_t(MemoryLayout<Int32>.size)
    let isKnown = getsockopt(socket.raw, Int32(IPPROTO_TCP), 44, &value, &size) == 0
    try socket.setTCPOptions()
    guard isKnown else { return }
    _ = getsockopt(socket.raw, Int32(IPPROTO_TCP), 44, &value, &size)
    #expect(value == 1_000)
  }

  @Test func `ends the reads of a peer when it closes`() async throws {
    let pair = try await Pair()
    defer { pair.close() }
    try await pair.here.write([1])
    pair.here.close()
    #expect(try await pair.there.read(upTo: 10) == [1])
    #expect(try await pair.there.read(upTo: 10) == [])
    #expect(try await pair.there.read(upTo: 10) == [])
  }

  @Test func `still receives after it has finished writing`() async throws {
    let pair = try await Pair()
    defer { pair.close() }
    try await pair.here.write([1])
    pair.here.finishWriting()
    #expect(try await pair.there.read(exactly: 2) == [1])
    try await pair.there.write([2, 3])
    #expect(try await pair.here.read(exactly: 2) == [2, 3])
    let error = await #expect(throws: NetworkError.self) { try await pair.here.write([4]) }
    #expect(error?.code == .closed)
  }

  @Test func `fails to write, without a signal, when the peer is gone`() async throws {
    let pair = try await Pair()
    defer { pair.close() }
    pair.there.close()
    #expect(try await pair.here.read(upTo: 1) == [])
    let error = await #expect(throws: NetworkError.self) {
      while true { try await pair.here.write([1]) }
    }
    #expect(error?.code == .closed || error?.code == .reset)
  }

  @Test func `ends a read that waits when it is closed`() async throws {
    let pair = try await Pair()
    defer { pair.close() }
    async let reading = Result { () async throws(NetworkError) in
      try await pair.here.read(upTo: 1)
    }
    for _ in 0..<10 { await Task.yield() }
    pair.here.close()
    #expect(await reading == .failure(.closedHere))
  }

  @Test func `ends a write that waits when it is closed`() async throws {
    let pair = try await Pair()
    defer { pair.close() }
    async let writing = Result { () async throws(NetworkError) in
      try await pair.here.write([UInt8](repeating: 0, count: 50_000_000))
    }
    _ = try await pair.there.read(upTo: 1)
    pair.here.close()
    let outcome = await writing
    let error = #expect(throws: NetworkError.self) { try outcome.get() }
    #expect(error == .closedHere)
  }

  @Test func `may be closed many times and by many tasks`() async throws {
    let pair = try await Pair()
    defer { pair.close() }
    await withTaskGroup { group in
      for _ in 0..<20 {
        group.addTask { pair.here.close() }
        group.addTask { _ = try? await pair.here.read(upTo: 1) }
        group.addTask { _ = try? await pair.here.write([1]) }
      }
    }
    let error = await #expect(throws: NetworkError.self) { try await pair.here.read(upTo: 1) }
    #expect(error == .closedHere)
  }

  @Test func `never touches a descriptor that another channel reuses`() async throws {
    for _ in 0..<50 {
      let old = try await Pair()
      async let reading = try? old.here.read(upTo: 1)
      old.here.close()
      let fresh = try await Pair()
      try await fresh.there.write([7])
      #expect(try await fresh.here.read(upTo: 9) == [7])
      #expect(await reading == nil)
      old.close()
      fresh.close()
    }
  }

  @Test func `works beside a hundred others that wait`() async throws {
    var pairs: [Pair] = []
    for _ in 0..<50 { pairs.append(try await Pair()) }
    let all = pairs
    async let waiting = withTaskGroup(of: [UInt8]?.self, returning: Int.self) { group in
      for pair in all {
        group.addTask { try? await pair.here.read(upTo: 1) }
        group.addTask { try? await pair.there.read(upTo: 1) }
      }
      var ended = 0
      for await outcome in group where outcome == nil || outcome == [] { ended += 1 }
      return ended
    }
    let pair = try await Pair()
    try await pair.here.write([9])
    #expect(try await pair.there.read(upTo: 1) == [9])
    for pair in all { pair.close() }
    #expect(await waiting == 100)
    pair.close()
  }
}

extension Result where Failure == NetworkError {
  /// The outcome of an asynchronous call as a value.
  init(_ body: () async throws(NetworkError) -> Success) async {
    do throws(NetworkError) {
      self = .success(try await body())
    } catch {
      self = .failure(error)
    }
  }
}
