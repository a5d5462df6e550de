import COpenSSL

/// The certificate by which a node shows itself to browsers, and the key that it is of.
///
/// Browsers take no Ed25519, so the key is one on P-256 that is derived from the node's own: the
/// same one each time. The certificate is signed by itself, for a site has no authority that a
/// browser would know. Its dates mean nothing, since machines without a clock make certificates,
/// too.
package struct WebCertificate: Sendable {
  /// DER, as the next one.
  package let bytes: [UInt8]
  package let privateKey: [UInt8]
  /// SHA-256 of the public key (RFC 5280, SubjectPublicKeyInfo): it stays, whatever becomes of the
  /// certificate.
  package let keyDigest: [UInt8]

  /// SHA-256 of the certificate, which browsers show.
  package var digest: [UInt8] { Hashing.sha256(bytes) }

  /// A certificate for these names and addresses: the one in `pem`, if it is of this key and for
  /// all of them, else a new one.
  package init(
    of key: SigningKey, names: [String], addresses: [String], keeping pem: String?
  ) throws(NetworkError) {
    let number = Hashing.derive(from: key.seed, "flotilla gateway P-256", length: 48)
    guard let own = flotilla_p256_key(number, number.count) else { throw .tls("derive a key") }
    defer {
      EVP_PKEY_free(own)
      ERR_clear_error()
    }
    privateKey = Self.encoded { i2d_PrivateKey(own, $0) }
    keyDigest = Hashing.sha256(Self.encoded { i2d_PUBKEY(own, $0) })
    if let pem, let kept = Self.read(pem, of: own, names, addresses) {
      bytes = kept
      return
    }
    guard let certificate = X509_new() else { throw .tls("make a certificate") }
    defer { X509_free(certificate) }
    guard Self.fill(certificate, names, addresses), X509_set_pubkey(certificate, own) == 1,
      X509_sign(certificate, own, EVP_sha256()) > 0
    else { throw .tls("make a certificate") }
    bytes = Self.encoded { i2d_X509(certificate, $0) }
    guard !bytes.isEmpty else { throw .tls("encode a certificate") }
  }

  /// The certificate as PEM text: what `curl --cacert` takes.
  package var pem: String {
    let text = Array(Self.base64(bytes))
    let lines = stride(from: 0, to: text.count, by: 64).map {
      String(decoding: text[$0..<min($0 + 64, text.count)], as: UTF8.self)
    }
    return (["-----BEGIN CERTIFICATE-----"] + lines + ["-----END CERTIFICATE-----", ""])
      .joined(separator: "\n")
  }

  private static func base64(_ bytes: [UInt8]) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: (bytes.count + 2) / 3 * 4 + 1) { buffer, count in
      count = Int(EVP_EncodeBlock(buffer.baseAddress, bytes, Int32(bytes.count)))
    }
  }

  /// What OpenSSL writes: once to learn the length, once into the bytes.
  private static func encoded(
    _ write: (UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?) -> Int32
  ) -> [UInt8] {
    let length = Int(write(nil))
    guard length > 0 else { return [] }
    return [UInt8](unsafeUninitializedCapacity: length) { buffer, count in
      var end = buffer.baseAddress
      count = Int(write(&end))
    }
  }

  private static func fill(
    _ certificate: OpaquePointer, _ names: [String], _ addresses: [String]
  ) -> Bool {
    let subject = X509_get_subject_name(certificate)
    let serial = Randomness.bytes(8).reduce(Int(0)) { $0 << 8 | Int($1) } & .max
    let all = names.map { "DNS:\($0)" } + addresses.map { "IP:\($0)" }
    // The text is read as a list with names of its own: nothing else may come into it.
    guard !all.isEmpty, (names + addresses).allSatisfy(isPlain) else { return false }
    return X509_set_version(certificate, 2) == 1
      && ASN1_INTEGER_set(X509_get_serialNumber(certificate), serial) == 1
      && ASN1_TIME_set_string(X509_getm_notBefore(certificate), "20200101000000Z") == 1
      && ASN1_TIME_set_string(X509_getm_notAfter(certificate), "20491231235959Z") == 1
      && X509_NAME_add_entry_by_txt(
        subject, "CN", MBSTRING_ASC, names.first ?? "flotilla", -1, -1, 0) == 1
      && X509_set_issuer_name(certificate, subject) == 1
      && add(NID_basic_constraints, "critical,CA:FALSE", to: certificate)
      && add(NID_key_usage, "critical,digitalSignature", to: certificate)
      && add(NID_ext_key_usage, "serverAuth", to: certificate)
      && add(NID_subject_alt_name, all.joined(separator: ","), to: certificate)
  }

  private static func isPlain(_ name: String) -> Bool {
    !name.isEmpty && name.utf8.count <= 64
      && name.utf8.allSatisfy { byte in
        (0x30...0x3A).contains(byte) || (0x61...0x7A).contains(byte | 0x20) || byte == 0x2D
          || byte == 0x2E
      }
  }

  private static func add(_ kind: Int32, _ text: String, to certificate: OpaquePointer) -> Bool {
    guard let part = X509V3_EXT_conf_nid(nil, nil, kind, text) else { return false }
    defer { X509_EXTENSION_free(part) }
    return X509_add_ext(certificate, part, -1) == 1
  }

  /// The certificate of a PEM text, if it is of this key and for these names.
  private static func read(
    _ pem: String, of key: OpaquePointer, _ names: [String], _ addresses: [String]
  ) -> [UInt8]? {
    let certificate = Array(pem.utf8).withUnsafeBytes { text -> OpaquePointer? in
      // BIO_new_mem_buf(3) copies nothing: the bytes must outlive the reading.
      guard let input = BIO_new_mem_buf(text.baseAddress, Int32(clamping: text.count)) else {
        return nil
      }
      defer { BIO_free(input) }
      return PEM_read_bio_X509(input, nil, nil, nil)
    }
    guard let certificate else { return nil }
    defer { X509_free(certificate) }
    guard let its = X509_get0_pubkey(certificate), EVP_PKEY_eq(its, key) == 1,
      X509_verify(certificate, key) == 1,
      names.allSatisfy({ X509_check_host(certificate, $0, $0.utf8.count, 0, nil) == 1 }),
      addresses.allSatisfy({ X509_check_ip_asc(certificate, $0, 0) == 1 })
    else { return nil }
    return encoded { i2d_X509(certificate, $0) }
  }
}
