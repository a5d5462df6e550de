import Network
import Replication

/// Frames on their way out of one session.
struct Outbox {
  /// Above this many bytes the session is told that its peer is slow, and below `low` that there
  /// is room.
  static let full = 2 << 20
  static let low = 512 << 10
  /// With so much waiting the peer is given up: what answers it wants has no end.
  static let most = 48 << 20

  let channel: any ByteChannel
  private var frames: [[UInt8]] = []
  private(set) var bytes = 0
  var isWriting = false
  var task: Task<Void, Never>?

  init(channel: any ByteChannel) { self.channel = channel }

  var isFull: Bool { bytes > Self.full }
  var isOverfull: Bool { bytes > Self.most }
  var hasRoom: Bool { bytes < Self.low }

  mutating func append(_ frame: [UInt8]) {
    frames.append(frame)
    bytes += frame.count
  }

  /// Of frames that are packed so many bytes are written at a time: how long that takes tells
  /// whether it was worth it.
  private static let packedAtOnce = 256 << 10

  /// What is to be written next: everything that waits, or some of it, packed.
  mutating func take(packs: Bool) -> [UInt8]? {
    guard !frames.isEmpty else { return nil }
    if packs { return takePacked() }
    if frames.count == 1 {
      defer { clear() }
      return frames[0]
    }
    var all: [UInt8] = []
    all.reserveCapacity(bytes)
    for frame in frames { all.append(contentsOf: frame) }
    clear()
    return all
  }

  private mutating func takePacked() -> [UInt8] {
    var (all, plain, count): ([UInt8], Int, Int) = ([], 0, 0)
    while count < frames.count, plain < Self.packedAtOnce {
      let frame = frames[count]
      all.append(contentsOf: Packed.frame(of: frame) ?? frame)
      plain += frame.count
      count += 1
    }
    frames.removeFirst(count)
    bytes -= plain
    return all
  }

  mutating func clear() {
    frames = []
    bytes = 0
  }
}
