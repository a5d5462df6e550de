import CZstd

/// Bytes made shorter, and back (Zstandard, RFC 8878).
package enum Zstandard {
  /// The fastest level with which letters and digits alone become shorter, too
  /// (docs/decisions/0094).
  private static let level: Int32 = 1

  /// Nil if that saves less than a tenth.
  package static func pack(_ bytes: ArraySlice<UInt8>) -> [UInt8]? {
    // zstd.h: "@return : compressed size written into `dst` …, or an error code if it fails".
    // It fails where there is not enough room.
    made(atMost: bytes.count - bytes.count / 10) { target, room in
      bytes.withUnsafeBytes { ZSTD_compress(target, room, $0.baseAddress, $0.count, level) }
    }
  }

  /// Nil if this is not what `size` bytes have become. Takes memory for no more than these.
  package static func unpack(_ bytes: [UInt8], to size: Int) -> [UInt8]? {
    // zstd.h: "`compressedSize` : must be the _exact_ size of some number of compressed and/or
    // skippable frames". What they say of their own length and window takes no memory.
    let plain = made(atMost: size) { target, room in
      ZSTD_decompress(target, room, bytes, bytes.count)
    }
    return plain?.count == size ? plain : nil
  }

  private static func made(
    atMost room: Int, _ make: (UnsafeMutableRawPointer?, Int) -> Int
  ) -> [UInt8]? {
    var isMade = false
    let made = [UInt8](unsafeUninitializedCapacity: room) { buffer, count in
      let length = make(buffer.baseAddress, room)
      isMade = ZSTD_isError(length) == 0
      count = isMade ? length : 0
    }
    return isMade ? made : nil
  }
}
