import CEvent

/// A socket on which clients of other machines are listened to, and what is shown to them in the
/// handshake.
struct SecureSocket: Sendable {
  var descriptor: Int32
  /// DER, as the next one.
  var certificate: [UInt8]
  var privateKey: [UInt8]

  /// What OpenSSL makes of it; nil if certificate and key are not as they should be. Who asked for
  /// it frees it.
  func context() -> OpaquePointer? {
    flotilla_tls_new(certificate, Int32(certificate.count), privateKey, privateKey.count)
  }

  /// Whether it can be served.
  var isWhole: Bool {
    guard let context = context() else { return false }
    flotilla_tls_free(context)
    return true
  }
}
