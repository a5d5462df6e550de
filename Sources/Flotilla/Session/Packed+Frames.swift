import Network
import Replication

/// What was packed becomes what it was, and the other way round.
extension Packed {
  /// A whole frame as it travels packed; nil if it stays as it is.
  static func frame(of plain: [UInt8]) -> [UInt8]? {
    guard takes(plain), let bytes = Zstandard.pack(plain.dropFirst(4)) else { return nil }
    return Message.packed(Packed(size: plain.count - 4, bytes: bytes)).frame
  }

  /// What travelled so.
  func unpacked(_ what: String) throws(WireError) -> [UInt8] {
    guard let plain = Zstandard.unpack(bytes, to: size) else { throw WireError(.malformed, what) }
    return plain
  }
}

extension Message {
  /// The message itself, or what is packed in it.
  func unpacked() throws(WireError) -> Message {
    guard case .packed(let packed) = self else { return self }
    return try Packed.message(try packed.unpacked("a packed frame"))
  }
}

extension CopyMessage {
  /// A chunk as it travels packed; the message itself if that saves nothing.
  var packed: CopyMessage {
    guard case .chunk(let number, let hash, let bytes) = self,
      let packed = Zstandard.pack(bytes[...])
    else { return self }
    return .packedChunk(number: number, hash: hash, Packed(size: bytes.count, bytes: packed))
  }

  /// The message itself, or the chunk that is packed in it.
  func unpacked() throws(WireError) -> CopyMessage {
    guard case .packedChunk(let number, let hash, let packed) = self else { return self }
    return .chunk(number: number, hash: hash, bytes: try packed.unpacked("a packed chunk"))
  }
}
