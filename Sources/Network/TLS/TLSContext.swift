import COpenSSL

/// How this side shows itself and whom it lets in: the settings of every connection of one kind.
///
/// TLS 1.3 (RFC 8446) alone, one signature algorithm, no tickets, no early data, no compression,
/// no dates. `@unchecked Sendable` is right because the handle is changed only in `init`, and
/// OpenSSL counts its users with atomic numbers.
package final class TLSContext: @unchecked Sendable {
  /// What a connection is for, as ALPN (RFC 7301) names it.
  package enum Purpose: String, Sendable, CaseIterable {
    case member = "flotilla/1"
    case joining = "flotilla-join/1"
    case copying = "flotilla-copy/1"
    /// The same of who takes chunks that are packed.
    case packedCopying = "flotilla-copy/2"

    package var isCopying: Bool { self == .copying || self == .packedCopying }

    /// What a dialler offers, the best first: the other end takes the first that it knows.
    var offer: [UInt8] {
      let names = self == .packedCopying ? [self, .copying] : [self]
      return names.flatMap { [UInt8($0.rawValue.utf8.count)] + Array($0.rawValue.utf8) }
    }
  }

  /// What a look at the certificate of a peer has told.
  package enum Verdict: Sendable, Equatable {
    case trusted
    case unknown
    case revoked
  }

  /// Told the key and the credential of a peer; asked on any thread, and may not block.
  package typealias Judge = @Sendable (_ key: [UInt8], _ credential: [UInt8]) -> Verdict
  /// The secret of an invitation, by the identity that a joiner shows; nil if there is none.
  package typealias Secrets = @Sendable (_ identity: [UInt8]) -> [UInt8]?

  /// The secret that a joiner shares with its inviter, and the name by which the inviter finds it.
  package struct SharedSecret: Sendable, Equatable {
    package var identity: [UInt8]
    /// 32 bytes.
    package var secret: [UInt8]

    package init(identity: [UInt8], secret: [UInt8]) {
      self.identity = identity
      self.secret = secret
    }
  }

  enum Side: Sendable {
    case accepting(secrets: Secrets)
    case dialling(SharedSecret?)
  }

  let handle: OpaquePointer
  let side: Side
  let judge: Judge
  /// The identity of the shared secret, where OpenSSL can point at it.
  let identityBytes: UnsafeMutablePointer<UInt8>?

  /// For connections that others open: of members, and of joiners that know an open secret.
  package convenience init(
    accepting key: SigningKey, _ certificate: Certificate, judge: @escaping Judge,
    secrets: @escaping Secrets
  ) throws(NetworkError) {
    try self.init(.accepting(secrets: secrets), judge: judge)
    try show(key, certificate)
  }

  /// For connections to members.
  package convenience init(
    dialling key: SigningKey, _ certificate: Certificate, judge: @escaping Judge
  ) throws(NetworkError) {
    try self.init(.dialling(nil), judge: judge)
    try show(key, certificate)
  }

  /// For the connection of a joiner, who has no certificate and trusts none: only who knows the
  /// secret can answer. Who does not shows a certificate, whose credential is told.
  package convenience init(
    joining secret: SharedSecret,
    refused: @escaping @Sendable (_ credential: [UInt8]) -> Void = { _ in }
  ) throws(NetworkError) {
    try self.init(
      .dialling(secret),
      judge: { _, credential in
        refused(credential)
        return .unknown
      })
  }

  private init(_ side: Side, judge: @escaping Judge) throws(NetworkError) {
    guard let handle = SSL_CTX_new(TLS_method()) else { throw .tls("set up TLS") }
    self.handle = handle
    self.side = side
    self.judge = judge
    if case .dialling(let shared?) = side {
      identityBytes = .allocate(capacity: shared.identity.count)
      identityBytes?.initialize(from: shared.identity, count: shared.identity.count)
    } else {
      identityBytes = nil
    }
    flotilla_ssl_set_limits(handle, Self.certificateLimit)
    flotilla_ssl_set_owner(handle, Unmanaged.passUnretained(self).toOpaque())
    // Both suites hash with SHA-256, as the secret of an invitation does: a pre-shared key serves
    // only suites of its own hash (RFC 8446, 4.2.11).
    let isSet =
      flotilla_ssl_only_tls13(handle) == 1
      && SSL_CTX_set_ciphersuites(
        handle, "TLS_AES_128_GCM_SHA256:TLS_CHACHA20_POLY1305_SHA256") == 1
      && flotilla_ssl_set_groups(handle, "X25519:P-256") == 1
      && flotilla_ssl_set_signature_algorithms(handle, "ed25519") == 1
      && SSL_CTX_set_num_tickets(handle, 0) == 1
    guard isSet else { throw .tls("set up TLS") }
    SSL_CTX_set_verify(handle, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nil)
    SSL_CTX_set_cert_verify_callback(
      handle, judgeCertificate, Unmanaged.passUnretained(self).toOpaque())
    switch side {
    case .accepting:
      // SSL_CTX_set_session_id_context(3): a server that asks for certificates needs one, or it
      // refuses every session, also that of a pre-shared key.
      SSL_CTX_set_session_id_context(handle, Array("flotilla".utf8), 8)
      SSL_CTX_set_psk_find_session_callback(handle, findSecret)
      SSL_CTX_set_alpn_select_cb(handle, choosePurpose, nil)
    case .dialling: SSL_CTX_set_psk_use_session_callback(handle, useSecret)
    }
  }

  deinit {
    SSL_CTX_free(handle)
    identityBytes?.deallocate()
  }

  /// A chain is one certificate here; more bytes than this are no certificate of a node.
  private static let certificateLimit = 8 << 10

  private func show(_ key: SigningKey, _ certificate: Certificate) throws(NetworkError) {
    let isSet =
      SSL_CTX_use_certificate_ASN1(
        handle, Int32(certificate.bytes.count), certificate.bytes) == 1
      && SSL_CTX_use_PrivateKey(handle, key.handle) == 1
      && SSL_CTX_check_private_key(handle) == 1
    guard isSet else { throw .tls("use this node's certificate") }
  }
}
