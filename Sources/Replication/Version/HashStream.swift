/// `hash64` of bytes that come in pieces.
package struct HashStream: Sendable {
  private var hash: UInt64
  /// What is left of the pieces so far: fewer bytes than a word has.
  private var tail: UInt64 = 0
  private var tailCount = 0

  /// `count`: how many bytes come in all.
  package init(count: Int, seed: UInt64) { hash = mix(seed ^ UInt64(count)) }

  /// The content hash of a text or a blob.
  package init(count: Int, isText: Bool) { self.init(count: count, seed: isText ? 3 : 4) }

  package mutating func add(_ bytes: some Collection<UInt8>) {
    for byte in bytes {
      // The first byte of a word is its lowest.
      tail |= UInt64(byte) << UInt64(8 * tailCount)
      tailCount += 1
      if tailCount == 8 { take() }
    }
  }

  private mutating func take() {
    hash = hashed(hash, word: tail)
    (tail, tailCount) = (0, 0)
  }

  package var value: UInt64 {
    var last: UInt64 = 0
    for index in 0..<tailCount { last = last << 8 | tail >> UInt64(8 * index) & 0xFF }
    return mix(hash ^ mix(last))
  }
}
