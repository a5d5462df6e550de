/// Scatters the bits of a word: the finaliser of SplitMix64 (Steele, Lea, Flood 2014).
package func mix(_ word: UInt64) -> UInt64 {
  var z = word &+ 0x9E37_79B9_7F4A_7C15
  z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
  z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
  return z ^ (z >> 31)
}

/// The word that `mix` has scattered: each of its steps can be undone.
func unmix(_ word: UInt64) -> UInt64 {
  var z = word ^ (word >> 31) ^ (word >> 62)
  // The inverses of the factors of `mix`, modulo 2⁶⁴.
  z = z &* 0x3196_42B2_D24D_8EC3
  z = z ^ (z >> 27) ^ (z >> 54)
  z = z &* 0x96DE_1B17_3F11_9089
  z = z ^ (z >> 30) ^ (z >> 60)
  return z &- 0x9E37_79B9_7F4A_7C15
}

/// A 64-bit hash of bytes, equal on every node: eight bytes at a time through multiply and mix.
///
/// It guards against accidents, not against a member that forges content.
package func hash64(_ bytes: some Collection<UInt8>, seed: UInt64 = 0) -> UInt64 {
  let whole = bytes.withContiguousStorageIfAvailable {
    hashWords(UnsafeRawBufferPointer($0), seed: seed)
  }
  if let whole { return whole }
  return Array(bytes).withUnsafeBytes { hashWords($0, seed: seed) }
}

/// The same of bytes that lie somewhere else than in an array.
package func hash64(_ bytes: UnsafeRawBufferPointer, seed: UInt64 = 0) -> UInt64 {
  hashWords(bytes, seed: seed)
}

/// What eight more bytes make of a hash.
@inline(__always)
func hashed(_ hash: UInt64, word: UInt64) -> UInt64 {
  let (high, low) = (hash ^ word).multipliedFullWidth(by: 0xA076_1D64_78BD_642F)
  return (high ^ low) &+ word.byteSwapped
}

private func hashWords(_ bytes: UnsafeRawBufferPointer, seed: UInt64) -> UInt64 {
  var hash = mix(seed ^ UInt64(bytes.count))
  var index = 0
  while index + 8 <= bytes.count {
    let word = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self))
    hash = hashed(hash, word: word)
    index += 8
  }
  var tail: UInt64 = 0
  while index < bytes.count {
    tail = tail << 8 | UInt64(bytes[index])
    index += 1
  }
  return mix(hash ^ mix(tail))
}
