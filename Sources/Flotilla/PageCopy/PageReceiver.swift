import Network
import Replication

/// What a joiner makes of the frames of a copy by pages: a pure machine.
///
/// Nothing that an inviter sends may take more room than was free when it began, or come in another
/// order than that of the file.
struct PageReceiver {
  enum Step: Equatable {
    /// Nothing is to be done.
    case wait
    /// The copy begins; of what is here so many bytes stay.
    case begin(Identity, keeping: Int)
    /// These bytes are the next of the file.
    case write([UInt8])
    /// The file is whole.
    case whole
  }

  private enum State: Equatable {
    /// Next: receiving.
    case asking
    /// Next: whole.
    case receiving
    case whole
  }

  /// What is here of a copy that was cut off.
  struct Begun: Equatable {
    var copy = Identity.none
    var hashes: [[UInt8]] = []
  }

  private var state = State.asking
  private let format: UInt64
  private let room: UInt64
  private var begun: Begun
  /// How long the file will be.
  private(set) var bytes: UInt64 = 0
  private var hashes: [[UInt8]] = []

  /// `room`: how many bytes the file may have.
  init(format: UInt64, room: UInt64, begun: Begun = Begun()) {
    (self.format, self.room, self.begun) = (format, room, begun)
  }

  var ask: CopyMessage {
    .ask(
      CopyMessage.Ask(
        format: format, copy: begun.copy, chunks: UInt64(begun.hashes.count),
        check: Self.check(begun.hashes)))
  }

  /// The hash over the hashes of chunks.
  static func check(_ hashes: [[UInt8]]) -> [UInt8] {
    hashes.isEmpty ? CopyMessage.noCheck : Hashing.sha256(hashes.flatMap { $0 })
  }

  mutating func receive(_ message: CopyMessage) throws(WireError) -> Step {
    switch (state, message) {
    case (.asking, .making): return .wait
    case (.asking, .head(let head)): return try begin(head)
    case (.receiving, .chunk(let number, let hash, let bytes)):
      return try take(bytes, number, hash)
    case (.receiving, .end(let check)):
      guard UInt64(hashes.count) == chunks, check == Self.check(hashes) else {
        throw WireError(.malformed, "the end of the copy")
      }
      state = .whole
      return .whole
    default: throw WireError(.notAllowed, "a message of a copy")
    }
  }

  private var chunks: UInt64 {
    let size = UInt64(CopyMessage.chunkBytes)
    return bytes / size + (bytes % size == 0 ? 0 : 1)
  }

  private mutating func begin(_ head: CopyMessage.Head) throws(WireError) -> Step {
    guard head.format == format, head.pageSize == Self.pageSize, head.copy != .none,
      head.bytes > 0, head.bytes % Self.pageSize == 0
    else { throw WireError(.malformed, "what the copy is") }
    guard head.bytes <= room else {
      throw WireError(.tooLong, "the copy: \(head.bytes) bytes, with room for \(room)")
    }
    guard head.first == 0 || head.copy == begun.copy && head.first == begun.hashes.count else {
      throw WireError(.malformed, "where the copy goes on")
    }
    (bytes, state) = (head.bytes, .receiving)
    hashes = Array(begun.hashes.prefix(Int(clamping: head.first)))
    guard UInt64(hashes.count) <= chunks else {
      throw WireError(.malformed, "where the copy goes on")
    }
    let kept = min(UInt64(hashes.count * CopyMessage.chunkBytes), bytes)
    return .begin(head.copy, keeping: Int(clamping: kept))
  }

  private mutating func take(
    _ content: [UInt8], _ number: UInt64, _ hash: [UInt8]
  ) throws(WireError) -> Step {
    guard number == hashes.count, number < chunks else {
      throw WireError(.malformed, "the number of a chunk")
    }
    let rest = bytes - number * UInt64(CopyMessage.chunkBytes)
    guard content.count == min(UInt64(CopyMessage.chunkBytes), rest) else {
      throw WireError(.malformed, "the length of a chunk")
    }
    guard Hashing.sha256(content) == hash else {
      throw WireError(.malformed, "the hash of a chunk")
    }
    hashes.append(hash)
    return .write(content)
  }

  private static let pageSize: UInt64 = 4_096
}
