import COpenSSL

/// SHA-256 and what is built from it.
package enum Hashing {
  /// SHA-256 (FIPS 180-4): 32 bytes.
  package static func sha256(_ bytes: [UInt8]) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: 32) { buffer, count in
      var length: UInt32 = 0
      let isDone = EVP_Digest(bytes, bytes.count, buffer.baseAddress, &length, EVP_sha256(), nil)
      precondition(isDone == 1 && length == 32, "SHA-256 gives 32 bytes")
      count = 32
    }
  }

  /// HKDF (RFC 5869) with SHA-256 of a uniformly random secret: `length` bytes, at most 8,160.
  package static func derive(from secret: [UInt8], _ purpose: String, length: Int) -> [UInt8] {
    let zero = [UInt8](repeating: 0, count: 32)
    let key = hmac(key: zero, secret)
    var output: [UInt8] = []
    var block: [UInt8] = []
    var number: UInt8 = 1
    while output.count < length {
      block = hmac(key: key, block + Array(purpose.utf8) + [number])
      output += block
      number += 1
    }
    return Array(output.prefix(length))
  }

  /// HMAC (RFC 2104) with SHA-256: 32 bytes.
  package static func hmac(key: [UInt8], _ bytes: [UInt8]) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: 32) { buffer, count in
      var length: UInt32 = 0
      let made = HMAC(
        EVP_sha256(), key, Int32(key.count), bytes, bytes.count, buffer.baseAddress, &length)
      precondition(made != nil && length == 32, "HMAC with SHA-256 gives 32 bytes")
      count = 32
    }
  }
}

/// Random bytes for secrets.
package enum Randomness {
  package static func bytes(_ count: Int) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      // RAND_bytes(3): "1 on success, -1 if not supported … or 0 on other failure"; a key that is
      // not random must not come into being.
      precondition(RAND_bytes(buffer.baseAddress, Int32(count)) == 1, "no randomness")
      filled = count
    }
  }
}
