import COpenSSL

/// One end of a TLS 1.3 connection as a machine: bytes in, bytes out, no socket.
///
/// Successors of the states: handshaking → open or failed; open → ended or failed.
package struct TLSEngine: ~Copyable {
  package enum State: Sendable, Equatable {
    /// Nothing that was received may be believed yet.
    case handshaking
    /// The peer has shown who it is.
    case open
    /// The peer has said that nothing more will come.
    case ended
    /// What came was no TLS, was not trusted, or the peer has refused us.
    case failed
  }

  /// Who is at the other end.
  package enum Peer: Sendable, Equatable {
    /// A member, by its public key.
    case member(key: [UInt8])
    /// A joiner or its inviter, by the identity of the secret that both know.
    case pairing(identity: [UInt8])
  }

  package private(set) var state = State.handshaking
  package private(set) var peer: Peer?
  /// What the connection is for; nil until the peer is known.
  package private(set) var purpose: TLSContext.Purpose?
  /// Why the machine has failed.
  package private(set) var failure: NetworkError?
  /// By how much more came than twice what it said.
  private var excess = 0
  /// Until when that was counted.
  private var countedAt = ContinuousClock.now
  /// A record has 22 bytes of its own, so who says anything in it has no excess for long, and 4 KiB
  /// of it are forgiven each second: some messages are shorter. Each record of one byte, and each
  /// change of keys, costs about as much as a long one.
  private static let mostExcess = 64 << 10
  private static let forgivenEachMillisecond = 4.0
  private let context: TLSContext
  private let connection: OpaquePointer
  private let input: OpaquePointer
  private let output: OpaquePointer

  /// The end that others dial.
  package init(accepting context: TLSContext) throws(NetworkError) {
    guard let connection = SSL_new(context.handle) else { throw .tls("start TLS") }
    SSL_set_accept_state(connection)
    self.init(context, connection)
  }

  /// The end that dials; the first bytes are ready at once.
  package init(
    dialling context: TLSContext, for purpose: TLSContext.Purpose
  ) throws(NetworkError) {
    guard let connection = SSL_new(context.handle) else { throw .tls("start TLS") }
    SSL_set_connect_state(connection)
    let offer = purpose.offer
    // SSL_set_alpn_protos(3): "return 0 on success and non-0 on failure".
    guard SSL_set_alpn_protos(connection, offer, UInt32(offer.count)) == 0 else {
      SSL_free(connection)
      throw .tls("start TLS")
    }
    self.init(context, connection)
    // The first flight needs nothing from the peer; what goes wrong shows at the next call.
    SSL_do_handshake(connection)
  }

  /// Takes over the connection.
  private init(_ context: TLSContext, _ connection: OpaquePointer) {
    // BIO_s_mem(3): an empty one asks to be read again later, and grows when it is written to.
    guard let input = BIO_new(BIO_s_mem()), let output = BIO_new(BIO_s_mem()) else {
      preconditionFailure("no memory for two buffers")
    }
    SSL_set_bio(connection, input, output)
    self.context = context
    self.connection = connection
    self.input = input
    self.output = output
  }

  deinit { SSL_free(connection) }

  /// Takes what came from the peer and gives what it says. When the machine has failed, its last
  /// output tells the peer why.
  package mutating func receive(_ bytes: [UInt8]) throws(NetworkError) -> [UInt8] {
    guard state == .handshaking || state == .open else { return [] }
    if !bytes.isEmpty {
      guard BIO_write(input, bytes, Int32(bytes.count)) == Int32(bytes.count) else {
        throw fail(.tls("take what the peer sent"))
      }
    }
    guard state == .handshaking else { return try measured(bytes.count) }
    try advance()
    return state == .open ? read() : []
  }

  /// What there is to read, if so many bytes are not too many for it.
  private mutating func measured(_ count: Int) throws(NetworkError) -> [UInt8] {
    let (plain, now) = (read(), ContinuousClock.now)
    let forgiven = (now - countedAt) / .milliseconds(1) * Self.forgivenEachMillisecond
    countedAt = now
    excess = max(0, excess + count - 2 * plain.count - Int(min(forgiven, 1e9)))
    guard excess <= Self.mostExcess else {
      throw fail(NetworkError(.notTLS, "the peer sends next to nothing in very many records"))
    }
    return plain
  }

  /// Takes what is to be said to the peer.
  package mutating func write(_ bytes: [UInt8]) throws(NetworkError) {
    precondition(state != .handshaking, "nothing may be said before the peer is known")
    guard state == .open else { throw .closedHere }
    guard !bytes.isEmpty else { return }
    ERR_clear_error()
    var count = 0
    guard SSL_write_ex(connection, bytes, bytes.count, &count) == 1, count == bytes.count else {
      throw fail(TLSFailure.reason(side: context.side))
    }
  }

  /// The bytes for the peer, in order.
  package mutating func takeOutput() -> [UInt8] {
    let waiting = flotilla_bio_pending(output)
    guard waiting > 0 else { return [] }
    return [UInt8](unsafeUninitializedCapacity: waiting) { buffer, count in
      count = max(0, Int(BIO_read(output, buffer.baseAddress, Int32(waiting))))
    }
  }

  /// Bytes that both ends of this connection can compute and nobody else (RFC 8446, 7.5).
  package func exported(_ label: String, length: Int) -> [UInt8] {
    precondition(state == .open, "there is no secret yet")
    return [UInt8](unsafeUninitializedCapacity: length) { buffer, count in
      let isDone = SSL_export_keying_material(
        connection, buffer.baseAddress, length, label, label.utf8.count, nil, 0, 0)
      precondition(isDone == 1, "an open connection has a secret")
      count = length
    }
  }

  private mutating func advance() throws(NetworkError) {
    ERR_clear_error()
    let result = SSL_do_handshake(connection)
    guard result == 1 else {
      if SSL_get_error(connection, result) == SSL_ERROR_WANT_READ { return }
      throw fail(TLSFailure.reason(side: context.side))
    }
    guard let purpose = seenPurpose(), let peer = seenPeer(for: purpose) else {
      throw fail(NetworkError(.untrusted, "the peer does not say what it came for"))
    }
    (self.peer, self.purpose) = (peer, purpose)
    state = .open
  }

  /// What the two have agreed on.
  private func seenPurpose() -> TLSContext.Purpose? {
    var name: UnsafePointer<UInt8>?
    var length: UInt32 = 0
    SSL_get0_alpn_selected(connection, &name, &length)
    let text = String(
      decoding: UnsafeBufferPointer(start: name, count: Int(length)), as: UTF8.self)
    return TLSContext.Purpose(rawValue: text)
  }

  /// Who the peer has proved to be; nil if that does not fit what it came for.
  private func seenPeer(for purpose: TLSContext.Purpose) -> Peer? {
    switch purpose {
    case .member, .copying, .packedCopying:
      guard let certificate = SSL_get0_peer_certificate(connection),
        let (key, _) = Certificate.content(of: certificate)
      else { return nil }
      return .member(key: key)
    case .joining:
      // The only sessions that this side knows are those of pre-shared keys.
      guard SSL_session_reused(connection) == 1, let identity = sharedIdentity() else {
        return nil
      }
      return .pairing(identity: identity)
    }
  }

  /// Reads what there is; an error after it is kept for the next call.
  private mutating func read() -> [UInt8] {
    var plain: [UInt8] = []
    while true {
      ERR_clear_error()
      var isDone: Int32 = 0
      // A record carries up to 16 KiB.
      let part = [UInt8](unsafeUninitializedCapacity: 16 << 10) { buffer, count in
        isDone = SSL_read_ex(connection, buffer.baseAddress, 16 << 10, &count)
        if isDone != 1 { count = 0 }
      }
      guard isDone == 1 else { break }
      plain += part
    }
    switch SSL_get_error(connection, 0) {
    case SSL_ERROR_WANT_READ: break
    case SSL_ERROR_ZERO_RETURN: state = .ended
    default: _ = fail(TLSFailure.reason(side: context.side))
    }
    return plain
  }

  private func sharedIdentity() -> [UInt8]? {
    if case .dialling(let shared) = context.side { return shared?.identity }
    var data: UnsafeMutableRawPointer?
    var length = 0
    guard let session = SSL_get_session(connection),
      SSL_SESSION_get0_ticket_appdata(session, &data, &length) == 1, let data
    else { return nil }
    return Array(UnsafeRawBufferPointer(start: data, count: length))
  }

  private mutating func fail(_ error: NetworkError) -> NetworkError {
    state = .failed
    failure = error
    return error
  }
}
