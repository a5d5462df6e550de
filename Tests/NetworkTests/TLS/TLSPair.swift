import Network

/// A member with a key, as TLS sees it.
struct TestMember {
  let key = SigningKey()
  let credential: [UInt8]

  init(_ credential: String = "member") { self.credential = Array(credential.utf8) }

  func certificate() throws -> Certificate { try Certificate(of: key, credential: credential) }

  /// Trusts who shows the credential "member".
  static let judge: TLSContext.Judge = { _, credential in
    switch String(decoding: credential, as: UTF8.self) {
    case "member": .trusted
    case "revoked": .revoked
    default: .unknown
    }
  }

  func accepting(_ secrets: [[UInt8]: [UInt8]] = [:]) throws -> TLSContext {
    try TLSContext(accepting: key, certificate(), judge: Self.judge) { secrets[$0] }
  }

  func dialling() throws -> TLSContext {
    try TLSContext(dialling: key, certificate(), judge: Self.judge)
  }
}

/// Two engines and the wire between them.
struct TLSPair: ~Copyable {
  var server: TLSEngine
  var client: TLSEngine
  var toServer: [UInt8] = []
  var toClient: [UInt8] = []

  init(
    _ server: TLSContext, _ client: TLSContext, for purpose: TLSContext.Purpose = .member
  ) throws {
    let serving = try TLSEngine(accepting: server)
    let dialling = try TLSEngine(dialling: client, for: purpose)
    self.server = serving
    self.client = dialling
  }

  /// Carries bytes to and fro until nobody says anything more, in pieces of `size` bytes.
  mutating func carry(inPiecesOf size: Int = 1 << 20) {
    while true {
      let request = client.takeOutput()
      let answer = server.takeOutput()
      if request.isEmpty, answer.isEmpty { return }
      for piece in pieces(request, size) { toServer += (try? server.receive(piece)) ?? [] }
      for piece in pieces(answer, size) { toClient += (try? client.receive(piece)) ?? [] }
    }
  }

  private func pieces(_ bytes: [UInt8], _ size: Int) -> [[UInt8]] {
    stride(from: 0, to: bytes.count, by: size).map {
      Array(bytes[$0..<min($0 + size, bytes.count)])
    }
  }
}
