import Network

/// The two ends of connections on loopback, in this process.
struct SocketPair: Sendable {
  let accepted: SocketChannel
  let dialled: SocketChannel

  /// Dials the listener, or the proxy before it.
  init(over listener: Listener, through proxy: String? = nil) async throws {
    async let accepted = listener.accept()
    dialled = try await SocketChannel.connect(
      to: Endpoint(parsing: proxy ?? "127.0.0.1:\(listener.port)"))
    self.accepted = try await accepted
  }

  /// Opens TLS on both ends; returns when both know each other.
  func secured(
    _ accepting: TLSContext, _ dialling: TLSContext, for purpose: TLSContext.Purpose
  ) async throws -> (accepted: TLSChannel, dialled: TLSChannel) {
    async let answer = TLSChannel.accept(over: accepted, accepting, timeout: .seconds(10))
    let question = try await TLSChannel.dial(
      over: dialled, dialling, for: purpose, timeout: .seconds(10))
    return (try await answer, question)
  }

  func close() {
    accepted.close()
    dialled.close()
  }
}
