import COpenSSL

// What OpenSSL asks in the middle of a handshake. Each finds its context through the handle: the
// engine of a connection holds its context for as long as it lives.

/// Lets the certificate of the peer be judged; the alert says why not.
let judgeCertificate: @convention(c) (OpaquePointer?, UnsafeMutableRawPointer?) -> Int32 = {
  store, owner in
  guard let owner, let certificate = X509_STORE_CTX_get0_cert(store),
    let (key, credential) = Certificate.content(of: certificate)
  else { return 0 }
  let context = Unmanaged<TLSContext>.fromOpaque(owner).takeUnretainedValue()
  switch context.judge(key, credential) {
  case .trusted: return 1
  case .unknown:
    // Becomes the alert unknown_ca.
    X509_STORE_CTX_set_error(store, X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN)
    return 0
  case .revoked:
    X509_STORE_CTX_set_error(store, X509_V_ERR_CERT_REVOKED)
    return 0
  }
}

private func context(of connection: OpaquePointer?) -> TLSContext? {
  flotilla_ssl_owner(connection).map {
    Unmanaged<TLSContext>.fromOpaque($0).takeUnretainedValue()
  }
}

/// The session that a pre-shared key stands for; the caller owns it.
private func session(
  _ connection: OpaquePointer?, _ secret: [UInt8], _ identity: [UInt8]
) -> OpaquePointer? {
  // TLS_AES_128_GCM_SHA256; of a pre-shared key only the hash of the suite counts.
  let suite: [UInt8] = [0x13, 0x01]
  guard let cipher = SSL_CIPHER_find(connection, suite), let session = SSL_SESSION_new() else {
    return nil
  }
  guard SSL_SESSION_set1_master_key(session, secret, secret.count) == 1,
    SSL_SESSION_set_cipher(session, cipher) == 1,
    SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION) == 1,
    // Travels with the session to where the engine asks who the peer is.
    SSL_SESSION_set1_ticket_appdata(session, identity, identity.count) == 1
  else {
    SSL_SESSION_free(session)
    return nil
  }
  return session
}

/// The inviter's side: looks for the secret that a joiner names.
///
/// SSL_CTX_set_psk_find_session_callback(3): 1 without a session goes on without pre-shared key.
let findSecret:
  @convention(c) (
    OpaquePointer?, UnsafePointer<UInt8>?, Int, UnsafeMutablePointer<OpaquePointer?>?
  ) -> Int32 = { connection, name, length, result in
    result?.pointee = nil
    guard case .accepting(let secrets)? = context(of: connection)?.side else { return 1 }
    let identity = Array(UnsafeBufferPointer(start: name, count: length))
    guard let secret = secrets(identity) else { return 1 }
    result?.pointee = session(connection, secret, identity)
    return result?.pointee == nil ? 0 : 1
  }

/// The joiner's side: names the secret.
///
/// SSL_CTX_set_psk_use_session_callback(3): the identity must live as long as the handshake; it is
/// the context's own.
let useSecret:
  @convention(c) (
    OpaquePointer?, OpaquePointer?, UnsafeMutablePointer<UnsafePointer<UInt8>?>?,
    UnsafeMutablePointer<Int>?, UnsafeMutablePointer<OpaquePointer?>?
  ) -> Int32 = { connection, digest, identity, length, result in
    result?.pointee = nil
    identity?.pointee = nil
    length?.pointee = 0
    guard let context = context(of: connection), case .dialling(let shared?) = context.side else {
      return 1
    }
    guard let made = session(connection, shared.secret, shared.identity) else { return 0 }
    // The callback is asked again after a HelloRetryRequest, with the digest of the suite chosen.
    if let digest, EVP_MD_get_type(digest) != NID_sha256 {
      SSL_SESSION_free(made)
      return 1
    }
    identity?.pointee = UnsafePointer(context.identityBytes)
    length?.pointee = shared.identity.count
    result?.pointee = made
    return 1
  }

/// Takes the purpose that the peer names, if it is one of ours.
let choosePurpose:
  @convention(c) (
    OpaquePointer?, UnsafeMutablePointer<UnsafePointer<UInt8>?>?, UnsafeMutablePointer<UInt8>?,
    UnsafePointer<UInt8>?, UInt32, UnsafeMutableRawPointer?
  ) -> Int32 = { _, chosen, chosenLength, offered, length, _ in
    let list = UnsafeBufferPointer(start: offered, count: Int(length))
    var place = 0
    while place < list.count {
      let end = place + 1 + Int(list[place])
      guard end <= list.count else { break }
      let name = String(decoding: list[place + 1..<end], as: UTF8.self)
      if TLSContext.Purpose(rawValue: name) != nil {
        chosen?.pointee = offered.map { $0 + place + 1 }
        chosenLength?.pointee = list[place]
        return SSL_TLSEXT_ERR_OK
      }
      place = end
    }
    return SSL_TLSEXT_ERR_ALERT_FATAL
  }
