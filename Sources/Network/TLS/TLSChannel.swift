/// A stream secured by TLS: feeds the engine, and carries its bytes over another channel.
package final class TLSChannel: ByteChannel {
  private struct State: ~Copyable {
    var engine: TLSEngine
    /// What was decrypted and not yet asked for.
    var plain: [UInt8] = []
    /// How much was decrypted so far.
    var bytesIn: UInt64 = 0
    /// The last of the writes under way, each of which waits for the one before: records must
    /// leave in the order in which the engine made them.
    var lastWrite: Task<Result<Void, NetworkError>, Never>?
  }

  package let peer: TLSEngine.Peer
  package let purpose: TLSContext.Purpose
  private let inner: any ByteChannel
  private let state: Locked<State>

  package var remote: Endpoint { inner.remote }

  private init(
    _ engine: consuming TLSEngine, _ peer: TLSEngine.Peer, for purpose: TLSContext.Purpose,
    over inner: any ByteChannel
  ) {
    self.peer = peer
    self.purpose = purpose
    self.inner = inner
    state = Locked(State(engine: engine))
  }

  /// Opens the end that others dial. Closes the stream if that fails or takes too long.
  package static func accept(
    over inner: any ByteChannel, _ context: TLSContext, timeout: Duration
  ) async throws(NetworkError) -> TLSChannel {
    try await shakeHands(try TLSEngine(accepting: context), over: inner, timeout)
  }

  /// Opens the end that dials. Closes the stream if that fails or takes too long.
  package static func dial(
    over inner: any ByteChannel, _ context: TLSContext, for purpose: TLSContext.Purpose,
    timeout: Duration
  ) async throws(NetworkError) -> TLSChannel {
    try await shakeHands(try TLSEngine(dialling: context, for: purpose), over: inner, timeout)
  }

  private static func shakeHands(
    _ start: consuming TLSEngine, over inner: any ByteChannel, _ timeout: Duration
  ) async throws(NetworkError) -> TLSChannel {
    let isLate = Locked(false)
    let alarm = Task {
      guard (try? await Task.sleep(for: timeout)) != nil else { return }
      isLate.withLock { $0 = true }
      inner.close()
    }
    defer { alarm.cancel() }
    var engine = start
    var plain: [UInt8] = []
    do throws(NetworkError) {
      while true {
        let output = engine.takeOutput()
        if !output.isEmpty { try await inner.write(output) }
        if let failure = engine.failure { throw failure }
        if let peer = engine.peer, let purpose = engine.purpose {
          let channel = TLSChannel(engine, peer, for: purpose, over: inner)
          channel.state.withLock { $0.plain = plain }
          return channel
        }
        let bytes = try await inner.read(upTo: handshakeRead)
        guard !bytes.isEmpty else {
          throw NetworkError(.closed, "the peer closed the connection before it was known")
        }
        plain = try engine.receive(bytes)
      }
    } catch {
      let words = engine.takeOutput()
      if !words.isEmpty { try? await inner.write(words) }
      inner.close()
      if isLate.withLock({ $0 }) {
        throw NetworkError(.timedOut, "the peer did not say in time who it is")
      }
      throw error
    }
  }

  /// A handshake has a few KiB.
  private static let handshakeRead = 16 << 10

  /// The bytes that the peer has said so far.
  package var bytesIn: UInt64 { state.withLock { $0.bytesIn } }

  /// Bytes that both ends of this connection can compute and nobody else.
  package func exported(_ label: String, length: Int) -> [UInt8] {
    state.withLock { $0.engine.exported(label, length: length) }
  }

  package func read(upTo limit: Int) async throws(NetworkError) -> [UInt8] {
    while true {
      let (plain, isOver, failure) = state.withLock { state in
        (Self.take(limit, from: &state.plain), state.engine.state != .open, state.engine.failure)
      }
      if !plain.isEmpty { return plain }
      if let failure { throw failure }
      if isOver { return [] }
      let bytes = try await inner.read(upTo: max(limit, Self.handshakeRead))
      if bytes.isEmpty { return [] }
      let answer = try state.withLock { (state) throws(NetworkError) in
        state.plain = try state.engine.receive(bytes)
        state.bytesIn += UInt64(state.plain.count)
        return Self.flush(&state, over: inner)
      }
      if let answer { try await answer.value.get() }
    }
  }

  package func write(_ bytes: [UInt8]) async throws(NetworkError) {
    let write = try state.withLock { (state) throws(NetworkError) in
      try state.engine.write(bytes)
      return Self.flush(&state, over: inner)
    }
    if let write { try await write.value.get() }
  }

  package func close() { inner.close() }

  private static func take(_ limit: Int, from plain: inout [UInt8]) -> [UInt8] {
    guard plain.count > limit else {
      defer { plain = [] }
      return plain
    }
    defer { plain.removeFirst(limit) }
    return Array(plain.prefix(limit))
  }

  /// Sends what the engine has made, after what it made before.
  private static func flush(
    _ state: inout State, over inner: any ByteChannel
  ) -> Task<Result<Void, NetworkError>, Never>? {
    let output = state.engine.takeOutput()
    guard !output.isEmpty else { return nil }
    let before = state.lastWrite
    let write = Task { () -> Result<Void, NetworkError> in
      if case .failure(let error)? = await before?.value { return .failure(error) }
      do throws(NetworkError) {
        try await inner.write(output)
        return .success(())
      } catch {
        return .failure(error)
      }
    }
    state.lastWrite = write
    return write
  }
}
