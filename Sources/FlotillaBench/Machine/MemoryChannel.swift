import Network

/// One end of a stream in memory: what an exchange costs without sockets and TLS.
///
/// Of the bench alone: a node takes no stream that is not TLS.
final class MemoryChannel: ByteChannel {
  /// Bytes on their way in one direction, for one reader and one writer.
  private final class Lane: Sendable {
    private typealias Waiter = CheckedContinuation<Void, Never>

    private struct State {
      var pieces: [[UInt8]] = []
      var count = 0
      var isClosed = false
      var reader: Waiter?
      var writer: Waiter?
    }

    /// About as much as the two sockets of a connection on loopback hold.
    private static let most = 4 << 20
    private let state = Locked(State())

    func write(_ bytes: [UInt8]) async throws(NetworkError) {
      await withCheckedContinuation { (writer: Waiter) in
        let free = state.withLock { state -> Waiter? in
          guard state.count >= Self.most, !state.isClosed else { return writer }
          state.writer = writer
          return nil
        }
        free?.resume()
      }
      let (isClosed, reader) = state.withLock { state in
        if !state.isClosed, !bytes.isEmpty {
          state.pieces.append(bytes)
          state.count += bytes.count
        }
        return (state.isClosed, state.reader.take())
      }
      reader?.resume()
      if isClosed { throw NetworkError(.closed, "the stream is closed") }
    }

    func read(upTo limit: Int) async -> [UInt8] {
      await withCheckedContinuation { (reader: Waiter) in
        let ready = state.withLock { state -> Waiter? in
          guard state.pieces.isEmpty, !state.isClosed else { return reader }
          state.reader = reader
          return nil
        }
        ready?.resume()
      }
      let (bytes, writer) = state.withLock { state in
        let bytes = Self.take(limit, from: &state.pieces)
        state.count -= bytes.count
        return (bytes, state.writer.take())
      }
      writer?.resume()
      return bytes
    }

    func close() {
      let waiting = state.withLock { state in
        state.isClosed = true
        return [state.reader.take(), state.writer.take()]
      }
      for end in waiting { end?.resume() }
    }

    private static func take(_ limit: Int, from pieces: inout [[UInt8]]) -> [UInt8] {
      guard let first = pieces.first else { return [] }
      guard first.count > limit else { return pieces.removeFirst() }
      pieces[0] = Array(first[limit...])
      return Array(first[..<limit])
    }
  }

  let remote: Endpoint
  private let incoming: Lane
  private let outgoing: Lane

  private init(_ remote: Endpoint, _ incoming: Lane, _ outgoing: Lane) {
    self.remote = remote
    self.incoming = incoming
    self.outgoing = outgoing
  }

  /// Both ends of a new stream.
  static func pair() throws -> (MemoryChannel, MemoryChannel) {
    let nowhere = try Endpoint(host: "127.0.0.1", port: 1)
    let (there, back) = (Lane(), Lane())
    return (MemoryChannel(nowhere, back, there), MemoryChannel(nowhere, there, back))
  }

  func read(upTo limit: Int) async throws(NetworkError) -> [UInt8] {
    await incoming.read(upTo: limit)
  }

  func write(_ bytes: [UInt8]) async throws(NetworkError) {
    try await outgoing.write(bytes)
  }

  func close() {
    incoming.close()
    outgoing.close()
  }
}
