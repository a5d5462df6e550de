/// What is said on a connection for a first copy by pages (docs/protocol.md, "A copy by pages").
package enum CopyMessage: Sendable, Equatable {
  /// What a joiner asks for, and what it has of it.
  package struct Ask: Sendable, Equatable {
    /// The version of Flotilla's tables that it can read.
    package var format: UInt64
    /// The copy that it has begun to fetch; `.none` if there is none.
    package var copy: Identity
    /// How many of its chunks are here, and the check of these.
    package var chunks: UInt64
    package var check: [UInt8]

    package init(
      format: UInt64, copy: Identity = .none, chunks: UInt64 = 0,
      check: [UInt8] = CopyMessage.noCheck
    ) {
      (self.format, self.copy, self.chunks, self.check) = (format, copy, chunks, check)
    }
  }

  /// The copy that follows.
  package struct Head: Sendable, Equatable {
    package var copy: Identity
    package var format: UInt64
    package var pageSize: UInt64
    package var bytes: UInt64
    /// The chunk with which it begins; those before it are at the joiner.
    package var first: UInt64

    package init(
      copy: Identity, format: UInt64, pageSize: UInt64, bytes: UInt64, first: UInt64
    ) {
      (self.copy, self.format, self.pageSize, self.bytes, self.first) = (
        copy, format, pageSize, bytes, first
      )
    }
  }

  case ask(Ask)
  /// The copy is being made, and has so many bytes by now.
  case making(bytes: UInt64)
  case head(Head)
  case chunk(number: UInt64, hash: [UInt8], bytes: [UInt8])
  /// The same, compressed; `hash` is that of the chunk as it was.
  case packedChunk(number: UInt64, hash: [UInt8], Packed)
  /// The hash of the hashes of all chunks.
  case end(check: [UInt8])
  /// There is no copy by pages, for a reason that a person understands: the rows follow as ever.
  case rows(reason: String)
  /// All has come.
  case done

  /// The check of no chunk.
  package static let noCheck = [UInt8](repeating: 0, count: hashBytes)
  package static let hashBytes = 32
  /// Every chunk but the last one has so many bytes; it fits a frame with what goes with it.
  package static let chunkBytes = 256 << 10
}

extension CopyMessage {
  private enum Kind: UInt8 {
    case ask = 1
    case making = 2
    case head = 3
    case chunk = 4
    case end = 5
    case rows = 6
    case done = 7
    case packedChunk = 8
  }

  /// The whole frame: length, type, body.
  package var frame: [UInt8] {
    var frame = ByteWriter(capacity: size + 128)
    frame.raw([0, 0, 0, 0, 0])
    let kind = write(to: &frame)
    let length = UInt32(frame.bytes.count - 4)
    for index in 0..<4 { frame.set(index, to: UInt8(length >> (24 - 8 * index) & 0xFF)) }
    frame.set(4, to: kind.rawValue)
    return frame.bytes
  }

  /// How long what it carries is, if that is long.
  private var size: Int {
    switch self {
    case .chunk(_, _, let bytes): bytes.count
    case .packedChunk(_, _, let packed): packed.bytes.count
    default: 0
    }
  }

  private func write(to body: inout ByteWriter) -> Kind {
    switch self {
    case .ask(let ask):
      body.uint(ask.format)
      body.identity(ask.copy)
      body.uint(ask.chunks)
      body.raw(ask.check)
      return .ask
    case .making(let bytes):
      body.uint(bytes)
      return .making
    case .head(let head):
      body.identity(head.copy)
      body.uint(head.format)
      body.uint(head.pageSize)
      body.uint(head.bytes)
      body.uint(head.first)
      return .head
    case .chunk(let number, let hash, let bytes):
      body.uint(number)
      body.raw(hash)
      body.raw(bytes)
      return .chunk
    case .packedChunk(let number, let hash, let packed):
      body.uint(number)
      body.raw(hash)
      packed.write(to: &body)
      return .packedChunk
    case .end(let check):
      body.raw(check)
      return .end
    case .rows(let reason):
      // By scalars, of at most four bytes: one Character may be of any length.
      body.text(String(reason.unicodeScalars.prefix(Limits.reason / 4)))
      return .rows
    case .done: return .done
    }
  }

  /// Reads a frame without its length, to its last byte.
  package init(frame: [UInt8]) throws(WireError) {
    var reader = ByteReader(frame)
    let type = try reader.byte("a frame")
    guard let kind = Kind(rawValue: type) else { throw WireError(.unknownType, "\(type)") }
    self = try Self.read(kind, &reader)
    try reader.finish("message \(type)")
  }

  private static func read(
    _ kind: Kind, _ reader: inout ByteReader
  ) throws(WireError) -> CopyMessage {
    switch kind {
    case .ask:
      return .ask(
        Ask(
          format: try reader.number("Ask"), copy: try reader.identity("Ask"),
          chunks: try reader.number("Ask"), check: try reader.raw("Ask", count: hashBytes)))
    case .making: return .making(bytes: try reader.number("Making"))
    case .head:
      return .head(
        Head(
          copy: try reader.identity("Copy"), format: try reader.number("Copy"),
          pageSize: try reader.number("Copy"), bytes: try reader.number("Copy"),
          first: try reader.number("Copy")))
    case .chunk:
      return .chunk(
        number: try reader.number("Chunk"), hash: try reader.raw("Chunk", count: hashBytes),
        bytes: reader.rest())
    case .packedChunk:
      return .packedChunk(
        number: try reader.number("Chunk"), hash: try reader.raw("Chunk", count: hashBytes),
        try Packed(from: &reader, "a packed chunk", limit: chunkBytes))
    case .end: return .end(check: try reader.raw("End", count: hashBytes))
    case .rows: return .rows(reason: try reader.text("Rows", limit: Limits.reason))
    case .done: return .done
    }
  }
}
