import COpenSSL
import Glibc

/// The certificate by which a node shows its key in a handshake, and in it its credential.
///
/// It is signed by the node itself: who is a member is told by the signed statements of the
/// credential, never by this signature. It carries no name and no date that means anything, for
/// devices without a clock make certificates too.
package struct Certificate: Sendable, Equatable {
  /// The extension that holds the credential: an object identifier under 2.25, where every UUID
  /// stands for itself (ITU-T X.667).
  static let credentialIdentifier = "2.25.134817263905415572810963348208146720391"
  /// Longer credentials are not looked at.
  package static let credentialLimit = 4 << 10

  /// DER.
  package let bytes: [UInt8]

  /// Makes a certificate of a key.
  package init(of key: SigningKey, credential: [UInt8]) throws(NetworkError) {
    guard let certificate = X509_new() else { throw .tls("make a certificate") }
    defer { X509_free(certificate) }
    let isMade =
      X509_set_version(certificate, 2) == 1
      && ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1) == 1
      // RFC 5280, 4.1.2.5: a certificate without end has the date 99991231235959Z.
      && ASN1_TIME_set_string(X509_getm_notBefore(certificate), "20200101000000Z") == 1
      && ASN1_TIME_set_string(X509_getm_notAfter(certificate), "99991231235959Z") == 1
      && X509_set_pubkey(certificate, key.handle) == 1
      && Self.add(credential, to: certificate)
      && X509_sign(certificate, key.handle, nil) > 0
    guard isMade else { throw .tls("make a certificate") }
    let length = Int(i2d_X509(certificate, nil))
    guard length > 0 else { throw .tls("encode a certificate") }
    bytes = [UInt8](unsafeUninitializedCapacity: length) { buffer, count in
      var end = buffer.baseAddress
      count = Int(i2d_X509(certificate, &end))
    }
  }

  private static func add(_ credential: [UInt8], to certificate: OpaquePointer) -> Bool {
    guard let identifier = OBJ_txt2obj(credentialIdentifier, 1) else { return false }
    defer { ASN1_OBJECT_free(identifier) }
    guard let value = ASN1_OCTET_STRING_new() else { return false }
    defer { ASN1_OCTET_STRING_free(value) }
    guard ASN1_OCTET_STRING_set(value, credential, Int32(credential.count)) == 1,
      let part = X509_EXTENSION_create_by_OBJ(nil, identifier, 0, value)
    else { return false }
    defer { X509_EXTENSION_free(part) }
    return X509_add_ext(certificate, part, -1) == 1
  }

  /// The key of a certificate, and the credential that it carries; nil if the key is no Ed25519
  /// key.
  static func content(of certificate: OpaquePointer) -> (key: [UInt8], credential: [UInt8])? {
    guard let handle = X509_get0_pubkey(certificate), EVP_PKEY_get_id(handle) == EVP_PKEY_ED25519
    else { return nil }
    var key = [UInt8](repeating: 0, count: 32)
    var length = key.count
    guard EVP_PKEY_get_raw_public_key(handle, &key, &length) == 1, length == 32 else {
      return nil
    }
    return (key, credential(in: certificate))
  }

  private static func credential(in certificate: OpaquePointer) -> [UInt8] {
    guard let identifier = OBJ_txt2obj(credentialIdentifier, 1) else { return [] }
    defer { ASN1_OBJECT_free(identifier) }
    let place = X509_get_ext_by_OBJ(certificate, identifier, -1)
    guard place >= 0, let part = X509_get_ext(certificate, place),
      let value = X509_EXTENSION_get_data(part)
    else { return [] }
    let length = Int(ASN1_STRING_length(value))
    guard 1...credentialLimit ~= length, let start = ASN1_STRING_get0_data(value) else {
      return []
    }
    return Array(UnsafeBufferPointer(start: start, count: length))
  }
}
