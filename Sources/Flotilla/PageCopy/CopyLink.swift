import Network
import Replication

/// Frames of a copy by pages, one after another over a stream.
actor CopyLink {
  private let channel: any ByteChannel
  /// Whether both ends know chunks that are packed.
  private let packs: Bool
  private var pace = LinkPace()
  private var frames: FrameBuffer
  /// When something has come last, by uptime.
  private(set) var lastHeard = Uptime.now

  /// `limit`: how long the frames of the other side may be.
  init(_ channel: TLSChannel, limit: Int) {
    self.channel = channel
    packs = channel.purpose == .packedCopying
    frames = FrameBuffer(limit: limit)
  }

  /// Closes the stream if the other side does not take the message in so many ms.
  func send(
    _ message: CopyMessage, within patience: Int64? = nil
  ) async throws(FlotillaError) {
    let alarm = patience.map(closing)
    defer { alarm?.cancel() }
    do {
      let start = Uptime.now
      let frame = (packs && pace.isSlow(at: start) ? message.packed : message).frame
      try await channel.write(frame)
      pace.note(frame.count, from: start, to: Uptime.now)
    } catch {
      throw FlotillaError(.peer, "the connection broke: \(error)")
    }
  }

  /// The next message; wrong ones are told apart from a stream that has ended.
  func receive() async throws(FlotillaError) -> CopyMessage {
    while true {
      do throws(WireError) {
        if let frame = try frames.next() {
          let message = try CopyMessage(frame: frame)
          return packs ? try message.unpacked() : message
        }
      } catch {
        throw FlotillaError(.wrongCopy, "\(channel.remote) sends no copy: \(error)")
      }
      do throws(NetworkError) {
        let bytes = try await channel.read(upTo: CopyMessage.chunkBytes)
        guard !bytes.isEmpty else { throw NetworkError(.closed, "the peer closed the connection") }
        frames.append(bytes)
        lastHeard = Uptime.now
      } catch {
        throw FlotillaError(.peer, "the copy from \(channel.remote) broke off: \(error)")
      }
    }
  }

  /// The next message; closes the stream if it is not here in so many ms.
  func receive(within patience: Int64) async throws(FlotillaError) -> CopyMessage {
    let alarm = closing(after: patience)
    defer { alarm.cancel() }
    return try await receive()
  }

  private nonisolated func closing(after patience: Int64) -> Task<Void, Never> {
    Task {
      guard (try? await Task.sleep(for: .milliseconds(patience))) != nil else { return }
      close()
    }
  }

  nonisolated func close() { channel.close() }
}

extension FlotillaError.Code {
  /// What an inviter sends is no copy that could be taken.
  static let wrongCopy = FlotillaError.Code("wrong-copy")

  /// An inviter has no copy for this node.
  static let noCopy = FlotillaError.Code("no-copy")
}
