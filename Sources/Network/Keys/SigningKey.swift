import COpenSSL

/// An Ed25519 private key (RFC 8032): of a node, or of a site.
///
/// `@unchecked Sendable` is right because the handle is never changed after it was made, and
/// OpenSSL's operations on a key that is only read are safe in several threads.
package final class SigningKey: @unchecked Sendable {
  package static let seedLength = 32

  let handle: OpaquePointer

  /// Draws a new key.
  package convenience init() {
    self.init(seed: Randomness.bytes(Self.seedLength))!
  }

  /// The key of a seed of 32 bytes; nil with any other number of bytes.
  package init?(seed: [UInt8]) {
    guard seed.count == Self.seedLength,
      let handle = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nil, seed, seed.count)
    else { return nil }
    self.handle = handle
  }

  deinit { EVP_PKEY_free(handle) }

  /// The 32 bytes that the key is made from: the secret itself.
  package var seed: [UInt8] {
    raw(EVP_PKEY_get_raw_private_key)
  }

  /// The 32 bytes that everybody may know.
  package var publicKey: [UInt8] {
    raw(EVP_PKEY_get_raw_public_key)
  }

  private func raw(
    _ get: (OpaquePointer?, UnsafeMutablePointer<UInt8>?, UnsafeMutablePointer<Int>?) -> Int32
  ) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: 32) { buffer, count in
      count = 32
      precondition(get(handle, buffer.baseAddress, &count) == 1, "an Ed25519 key has 32 bytes")
    }
  }

  /// The signature, 64 bytes; the same for the same bytes.
  package func sign(_ bytes: [UInt8]) -> [UInt8] {
    let context = EVP_MD_CTX_new()
    defer { EVP_MD_CTX_free(context) }
    return [UInt8](unsafeUninitializedCapacity: 64) { buffer, count in
      count = 64
      let isDone =
        EVP_DigestSignInit(context, nil, nil, nil, handle) == 1
        && EVP_DigestSign(context, buffer.baseAddress, &count, bytes, bytes.count) == 1
      precondition(isDone && count == 64, "signing needs nothing but memory")
    }
  }
}

/// Ed25519 signatures of others.
package enum Signature {
  /// Whether the owner of the public key has signed these bytes; malformed input is no.
  package static func isValid(
    _ signature: [UInt8], of bytes: [UInt8], by publicKey: [UInt8]
  ) -> Bool {
    guard signature.count == 64, publicKey.count == 32,
      let key = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nil, publicKey, publicKey.count)
    else { return false }
    defer { EVP_PKEY_free(key) }
    let context = EVP_MD_CTX_new()
    defer {
      EVP_MD_CTX_free(context)
      // A signature that does not hold leaves an error that the next call would find.
      ERR_clear_error()
    }
    return EVP_DigestVerifyInit(context, nil, nil, nil, key) == 1
      && EVP_DigestVerify(context, signature, signature.count, bytes, bytes.count) == 1
  }
}
