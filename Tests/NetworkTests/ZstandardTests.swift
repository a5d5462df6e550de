import Network
import Testing

/// Streams of Zstandard, as honest peers make them and as others do.
@Suite struct ZstandardTests {
  static let plain: [UInt8] = (0..<20_000).flatMap { Array("row \($0 % 700) of the ward\n".utf8) }
  static let packed = Zstandard.pack(plain[...]) ?? []

  @Test func `what was packed comes back`() {
    #expect(Self.packed.count * 3 < Self.plain.count && !Self.packed.isEmpty)
    #expect(Zstandard.unpack(Self.packed, to: Self.plain.count) == Self.plain)
    #expect(Zstandard.pack([1, 2, 3] + Self.plain[100...]) != nil)
  }

  @Test func `what would save less than a tenth stays as it is`() {
    #expect(Zstandard.pack(Randomness.bytes(100_000)[...]) == nil)
    #expect(Zstandard.pack([]) == nil)
    #expect(Zstandard.pack([7]) == nil)
  }

  @Test func `another length than was said is refused`() {
    let count = Self.plain.count
    for size in [0, 1, count - 1, count + 1, 2 * count] {
      #expect(Zstandard.unpack(Self.packed, to: size) == nil, "\(size)")
    }
  }

  @Test func `a stream that ends early, goes on or was changed is refused`() {
    let count = Self.plain.count
    for length in stride(from: 0, to: Self.packed.count, by: 97) {
      #expect(Zstandard.unpack(Array(Self.packed.prefix(length)), to: count) == nil, "\(length)")
    }
    #expect(Zstandard.unpack(Self.packed + [0], to: count) == nil)
    #expect(Zstandard.unpack(Self.packed + Self.packed, to: count) == nil)
    for place in 0..<14 {
      var changed = Self.packed
      changed[place] ^= 0xFF
      #expect(Zstandard.unpack(changed, to: count) != Self.plain, "\(place)")
    }
  }

  @Test func `noise is refused`() {
    for size in [0, 1, 1_000, 1 << 20] {
      #expect(Zstandard.unpack(Randomness.bytes(1_000), to: size) == nil)
    }
  }

  /// RFC 8878, 3.1.1: a window and a length of 2⁴⁰ bytes and more, and then blocks of one byte:
  /// each stands for 128 KiB.
  @Test func `what claims a terabyte takes no more than was allowed`() {
    let head: [UInt8] = [0x28, 0xB5, 0x2F, 0xFD]
    let length: [UInt8] = [0, 0, 0, 0, 0, 1, 0, 0]
    let block: [UInt8] = [2, 0, 0x10, 7]
    for descriptor in [[0xC0, 0xF8], [0xE0]] as [[UInt8]] {
      let stream = head + descriptor + length + Array(repeating: block, count: 100).joined()
      #expect(Zstandard.unpack(stream, to: 1 << 20) == nil)
    }
    // Many frames one after the other, each of them short.
    let frame: [UInt8] = head + [0x20, 1, 0x09, 0, 0, 7]
    #expect(Zstandard.unpack(frame, to: 1) == [7])
    #expect(Zstandard.unpack(Array(Array(repeating: frame, count: 50).joined()), to: 49) == nil)
  }

  /// The one of docs/protocol.md, made by hand.
  @Test func `the example of the document is what it says`() {
    let stream: [UInt8] = [
      0x28, 0xB5, 0x2F, 0xFD, 0x60, 0x5A, 0x01, 0x10, 0, 0, 5, 1, 0xC3, 0x12, 0, 0,
    ]
    #expect(Zstandard.unpack(stream, to: 602) == [5, 1] + [UInt8](repeating: 0, count: 600))
  }
}
