/// Cuts a stream of bytes into frames, whatever pieces the bytes arrive in.
package struct FrameBuffer: Sendable {
  private var bytes: [UInt8] = []
  private var start = 0
  /// The longest frame accepted at present.
  package var limit: Int

  package init(limit: Int = Limits.greetingFrame) { self.limit = limit }

  /// Bytes that were not taken yet.
  package var count: Int { bytes.count - start }

  package mutating func append(_ more: [UInt8]) {
    bytes.removeFirst(start)
    start = 0
    if bytes.isEmpty {
      bytes = more
    } else {
      bytes.append(contentsOf: more)
    }
  }

  /// Whether the next frame is here, whole.
  package var isReady: Bool {
    guard let length else { return false }
    return length > 0 && length <= limit && count >= 4 + length
  }

  /// What the next frame says of its length.
  private var length: Int? {
    guard count >= 4 else { return nil }
    return bytes.withUnsafeBytes {
      Int(UInt32(bigEndian: $0.loadUnaligned(fromByteOffset: start, as: UInt32.self)))
    }
  }

  /// The next whole frame without its length, or nil if more bytes are needed.
  ///
  /// A length of 0 or beyond the limit is refused before any memory is taken for it.
  package mutating func next() throws(WireError) -> [UInt8]? {
    guard let length else { return nil }
    guard length > 0 else { throw WireError(.malformed, "a frame of length 0") }
    guard length <= limit else { throw WireError(.tooLong, "a frame of \(length) bytes") }
    guard count >= 4 + length else { return nil }
    defer { start += 4 + length }
    return Array(bytes[start + 4..<start + 4 + length])
  }
}
