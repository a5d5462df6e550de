/// A frame of rows as it travels where the connection is slow.
package struct Packed: Sendable, Equatable {
  /// How long type and body of that frame are.
  package var size: Int
  /// These, compressed (Zstandard, RFC 8878).
  package var bytes: [UInt8]

  package init(size: Int, bytes: [UInt8]) { (self.size, self.bytes) = (size, bytes) }

  /// What is shorter stays as it is.
  private static let least = 512

  /// Who speaks this version of the protocol, or a later one, takes it.
  package static let version: UInt64 = 5

  /// Whether a whole frame, with its length, may travel so.
  package static func takes(_ frame: [UInt8]) -> Bool {
    frame.count >= least
      && (frame[4] == MessageType.rows.rawValue || frame[4] == MessageType.part.rawValue)
  }

  /// What such a frame said; nothing else may be in it, nor a second one.
  package static func message(_ frame: [UInt8]) throws(WireError) -> Message {
    switch try Message(frame: frame) {
    case let message where message.isOfRows: return message
    default: throw WireError(.malformed, "a packed frame that is none of rows")
    }
  }
}

extension Packed {
  init(from reader: inout ByteReader, _ what: String, limit: Int) throws(WireError) {
    let size = try reader.uint(what)
    guard size <= UInt64(limit) else { throw WireError(.tooLong, what) }
    self.init(size: Int(size), bytes: reader.rest())
  }

  func write(to body: inout ByteWriter) {
    body.uint(size)
    body.raw(bytes)
  }
}

extension Message {
  fileprivate var isOfRows: Bool {
    switch self {
    case .rows, .part: true
    default: false
    }
  }
}
