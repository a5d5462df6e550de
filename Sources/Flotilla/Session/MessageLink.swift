import Network
import Replication

/// Messages one after another over a stream, for the short talk of a joiner.
final class MessageLink: Sendable {
  private let channel: any ByteChannel
  private let buffer = Buffer()

  /// What was read but not yet taken; used by one talk alone, as an actor for the compiler's sake.
  private actor Buffer {
    private var frames = FrameBuffer()

    func next() throws(WireError) -> [UInt8]? { try frames.next() }
    func append(_ bytes: [UInt8]) { frames.append(bytes) }
    func raise(to limit: Int) { frames.limit = limit }
  }

  init(channel: any ByteChannel) { self.channel = channel }

  /// Accepts long frames from now on.
  func acceptLongFrames() async { await buffer.raise(to: Limits.frame) }

  func send(_ message: Message) async throws(FlotillaError) {
    do {
      try await channel.write(message.frame)
    } catch {
      throw FlotillaError(.peer, "the connection broke: \(error)")
    }
  }

  func receive() async throws(FlotillaError) -> Message {
    do {
      while true {
        if let frame = try await buffer.next() { return try Message(frame: frame) }
        let bytes = try await channel.read(upTo: 64 << 10)
        guard !bytes.isEmpty else {
          throw NetworkError(.closed, "the peer closed the connection")
        }
        await buffer.append(bytes)
      }
    } catch {
      throw FlotillaError(.peer, "the talk with \(channel.remote) failed: \(error)")
    }
  }

  func close() { channel.close() }
}
