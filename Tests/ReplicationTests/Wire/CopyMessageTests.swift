import Testing

@testable import Replication

/// Frames of a copy by pages.
@Suite struct CopyMessageTests {
  static let hash = (0..<32).map { UInt8($0) }
  static let all: [CopyMessage] = [
    .ask(CopyMessage.Ask(format: 3)),
    .ask(
      CopyMessage.Ask(format: 3, copy: Identity(high: 7, low: 8), chunks: 300, check: hash)),
    .making(bytes: 1 << 40),
    .head(
      CopyMessage.Head(
        copy: Identity(high: 7, low: 8), format: 3, pageSize: 4_096, bytes: 1 << 20, first: 2)),
    .chunk(number: 5, hash: hash, bytes: [1, 2, 3]), .chunk(number: 0, hash: hash, bytes: []),
    .packedChunk(number: 5, hash: hash, Packed(size: CopyMessage.chunkBytes, bytes: [1, 2])),
    .end(check: hash), .rows(reason: "another version"), .done,
  ]

  @Test(arguments: all) func `is read as it was written`(_ message: CopyMessage) throws {
    let frame = message.frame
    let length = frame.count - 4
    #expect(frame.prefix(4) == [0, 0, UInt8(length >> 8), UInt8(length & 255)])
    #expect(try CopyMessage(frame: Array(frame.dropFirst(4))) == message)
  }

  @Test(arguments: all) func `is refused where it ends early or goes on`(
    _ message: CopyMessage
  ) throws {
    let body = Array(message.frame.dropFirst(4))
    for length in 0..<body.count {
      // A chunk may have any length: who takes it knows how long it should be.
      if message.isChunk, length >= 1 + 1 + 32 { break }
      #expect(throws: WireError.self) { try CopyMessage(frame: Array(body.prefix(length))) }
    }
    if message.isChunk { return }
    #expect(throws: WireError.self) { try CopyMessage(frame: body + [0]) }
  }

  @Test func `of an unknown type is refused`() {
    for type in [UInt8(0), 9, 255] {
      #expect(throws: WireError.self) { try CopyMessage(frame: [type]) }
    }
  }

  @Test func `with more than a chunk packed is refused`() {
    let packed = Packed(size: CopyMessage.chunkBytes + 1, bytes: [1])
    let frame = CopyMessage.packedChunk(number: 5, hash: Self.hash, packed).frame
    let error = #expect(throws: WireError.self) {
      try CopyMessage(frame: Array(frame.dropFirst(4)))
    }
    #expect(error?.code == .tooLong)
  }

  @Test func `with a whole chunk fits a frame`() {
    let bytes = [UInt8](repeating: 9, count: CopyMessage.chunkBytes)
    let frame = CopyMessage.chunk(number: 1 << 62, hash: Self.hash, bytes: bytes).frame
    #expect(frame.count - 4 <= Limits.frame)
  }
}

extension CopyMessage {
  fileprivate var isChunk: Bool {
    switch self {
    case .chunk, .packedChunk: true
    default: false
    }
  }
}
