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

  /// The key of a PEM text (RFC 7468) as `pem` gives it; nil for anything else.
  package init?(pem: String) {
    let handle = Array(pem.utf8).withUnsafeBytes { Self.read($0) }
    guard let handle else { return nil }
    self.handle = handle
  }

  /// BIO_new_mem_buf(3) copies nothing: the bytes must outlive the reading.
  private static func read(_ pem: UnsafeRawBufferPointer) -> OpaquePointer? {
    let length = Int32(clamping: pem.count)
    guard let input = BIO_new_mem_buf(pem.baseAddress, length) else { return nil }
    defer {
      BIO_free(input)
      ERR_clear_error()
    }
    guard let handle = PEM_read_bio_PrivateKey(input, nil, nil, nil) else { return nil }
    guard EVP_PKEY_get_id(handle) == EVP_PKEY_ED25519 else {
      EVP_PKEY_free(handle)
      return nil
    }
    return handle
  }

  /// The secret as PEM text, PKCS #8 (RFC 8410): what other programs read, too.
  package var pem: String {
    let output = BIO_new(BIO_s_mem())
    defer { BIO_free(output) }
    let isDone = PEM_write_bio_PrivateKey(output, handle, nil, nil, 0, nil, nil)
    precondition(isDone == 1, "writing a key needs nothing but memory")
    let length = flotilla_bio_pending(output!)
    let bytes = [UInt8](unsafeUninitializedCapacity: length) { buffer, count in
      count = Int(BIO_read(output, buffer.baseAddress, Int32(length)))
    }
    return String(decoding: bytes, as: UTF8.self)
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
