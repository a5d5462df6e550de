import COpenSSL
import Glibc

/// Why TLS has failed, from the errors that OpenSSL leaves behind.
enum TLSFailure {
  /// The error of the last call on this thread; forgets it.
  static func reason(side: TLSContext.Side) -> NetworkError {
    let error = ERR_peek_error()
    defer { ERR_clear_error() }
    let alert = flotilla_alert(error)
    if alert >= 0 { return refusal(alert) }
    if flotilla_error_is(error, SSL_R_CERTIFICATE_VERIFY_FAILED) != 0 {
      if case .dialling(_?) = side {
        return NetworkError(.untrusted, "the node there does not know the code")
      }
      return NetworkError(.untrusted, "the peer is no member of this site")
    }
    if flotilla_error_is(error, SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE) != 0 {
      return NetworkError(.untrusted, "the peer shows no certificate")
    }
    let text = ERR_reason_error_string(error).map { String(cString: $0) } ?? "no reason given"
    return NetworkError(.notTLS, "what is at the other end is no Flotilla node (\(text))")
  }

  /// What the peer has said about us, by the number of its alert (RFC 8446, 6.2).
  private static func refusal(_ alert: Int32) -> NetworkError {
    switch alert {
    case SSL_AD_CERTIFICATE_REVOKED:
      NetworkError(.refusedByPeer(.revoked), "the peer says that this node is shut out")
    case SSL_AD_UNKNOWN_CA:
      NetworkError(.refusedByPeer(.unknown), "the peer does not know this node as a member")
    case SSL_AD_CERTIFICATE_REQUIRED:
      NetworkError(.refusedByPeer(.unknown), "the peer wants a certificate")
    default:
      NetworkError(
        .refusedByPeer(.other), "the peer has ended the handshake (alert \(alert))")
    }
  }
}

extension NetworkError {
  /// A call of OpenSSL failed that should not: there is no memory, or it is set up otherwise.
  static func tls(_ attempt: String) -> NetworkError {
    let error = ERR_peek_error()
    defer { ERR_clear_error() }
    let text = ERR_reason_error_string(error).map { String(cString: $0) } ?? "no reason given"
    return NetworkError(.system(ENOMEM), "\(attempt): \(text)")
  }
}
