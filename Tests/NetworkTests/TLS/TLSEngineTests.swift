import Network
import Testing

@Suite("Two ends of TLS in memory")
struct TLSEngineTests {
  @Test("know each other by their keys and understand each other", arguments: [1, 7, 1 << 20])
  func members(pieces: Int) throws {
    let (ward, desk) = (TestMember(), TestMember())
    var pair = try TLSPair(ward.accepting(), desk.dialling())
    pair.carry(inPiecesOf: pieces)
    #expect(pair.server.state == .open && pair.client.state == .open)
    #expect(pair.server.peer == .member(key: desk.key.publicKey))
    #expect(pair.client.peer == .member(key: ward.key.publicKey))
    let long = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    try pair.client.write(long)
    try pair.server.write([1, 2, 3])
    pair.carry(inPiecesOf: pieces)
    #expect(pair.toServer == long)
    #expect(pair.toClient == [1, 2, 3])
  }

  @Test("export the same secret, and another one in the next connection")
  func exported() throws {
    var secrets: Set<[UInt8]> = []
    for _ in 0..<2 {
      var pair = try TLSPair(TestMember().accepting(), TestMember().dialling())
      pair.carry()
      let mine = pair.client.exported("flotilla test", length: 32)
      #expect(mine == pair.server.exported("flotilla test", length: 32))
      #expect(mine != pair.server.exported("flotilla other", length: 32))
      secrets.insert(mine)
    }
    #expect(secrets.count == 2)
  }

  @Test("do not open when the dialler is not trusted")
  func strangerDials() throws {
    for (credential, refusal) in [
      ("stranger", NetworkError.Refusal.unknown), ("revoked", .revoked), ("", .unknown),
    ] {
      var pair = try TLSPair(TestMember().accepting(), TestMember(credential).dialling())
      pair.carry()
      #expect(pair.server.state == .failed)
      #expect(pair.server.failure?.code == .untrusted)
      #expect(pair.client.failure?.code == .refusedByPeer(refusal))
      #expect(pair.toServer.isEmpty && pair.toClient.isEmpty)
    }
  }

  @Test("do not open when who answers is not trusted; then the dialler shows nothing")
  func strangerAnswers() throws {
    var pair = try TLSPair(TestMember("stranger").accepting(), TestMember().dialling())
    pair.carry()
    #expect(pair.client.failure?.code == .untrusted)
    #expect(pair.server.failure?.code == .refusedByPeer(.unknown))
    #expect(pair.server.peer == nil)
  }

  @Test(
    "look at no longer credential than there can be, and at no longer certificate",
    arguments: [
      (1, true), (Certificate.credentialLimit, true), (Certificate.credentialLimit + 1, false),
      (9 << 10, false),
    ])
  func longCredential(length: Int, isTrusted: Bool) throws {
    let (ward, desk) = (TestMember(), TestMember(String(repeating: "m", count: length)))
    let context = try TLSContext(
      accepting: ward.key, ward.certificate(),
      judge: { _, credential in credential.first == UInt8(ascii: "m") ? .trusted : .unknown },
      secrets: { _ in nil })
    var pair = try TLSPair(context, desk.dialling())
    pair.carry()
    #expect((pair.server.state == .open) == isTrusted)
    #expect((pair.client.state == .open) == isTrusted)
  }

  @Test(
    "end where records say next to nothing, and not where they say little",
    arguments: [(1, false), (40, true)])
  func crumbs(length: Int, isOpen: Bool) throws {
    var pair = try TLSPair(TestMember().accepting(), TestMember().dialling())
    pair.carry()
    for _ in 0..<10_000 where pair.server.state == .open {
      try pair.client.write([UInt8](repeating: 7, count: length))
      pair.carry()
    }
    #expect((pair.server.state == .open) == isOpen)
    #expect(pair.toServer.count <= 10_000 * length)
    #expect(isOpen || pair.toServer.count < 6_000)
  }

  @Test("pair by a secret that both know")
  func pairing() throws {
    let identity = Array("an invitation".utf8)
    let secret = [UInt8](repeating: 7, count: 32)
    let joiner = try TLSContext(
      joining: TLSContext.SharedSecret(identity: identity, secret: secret))
    var pair = try TLSPair(TestMember().accepting([identity: secret]), joiner, for: .joining)
    pair.carry()
    #expect(pair.server.failure?.message == nil)
    #expect(pair.client.failure?.message == nil)
    #expect(pair.server.peer == .pairing(identity: identity))
    try #require(pair.client.peer == .pairing(identity: identity))
    #expect(pair.client.exported("words", length: 4) == pair.server.exported("words", length: 4))
    try pair.client.write([42])
    pair.carry()
    #expect(pair.toServer == [42])
  }

  @Test("do not pair by a secret that the inviter does not know, or knows otherwise")
  func wrongSecret() throws {
    let identity = Array("an invitation".utf8)
    let joiner = try TLSContext(
      joining: TLSContext.SharedSecret(
        identity: identity, secret: [UInt8](repeating: 7, count: 32)))
    var unknown = try TLSPair(TestMember().accepting(), joiner, for: .joining)
    unknown.carry()
    #expect(unknown.client.failure?.code == .untrusted)
    #expect(unknown.server.peer == nil)
    let other = [identity: [UInt8](repeating: 8, count: 32)]
    var wrong = try TLSPair(TestMember().accepting(other), joiner, for: .joining)
    wrong.carry()
    #expect(wrong.client.peer == nil && wrong.server.peer == nil)
    #expect(wrong.server.failure != nil)
  }

  @Test("do not let a joiner pass for a member, nor a member for a joiner")
  func purposes() throws {
    let identity = Array("an invitation".utf8)
    let secret = [UInt8](repeating: 7, count: 32)
    let joiner = try TLSContext(
      joining: TLSContext.SharedSecret(identity: identity, secret: secret))
    var sneaking = try TLSPair(
      TestMember().accepting([identity: secret]), joiner, for: .member)
    sneaking.carry()
    #expect(sneaking.server.peer == nil)
    var confused = try TLSPair(TestMember().accepting(), TestMember().dialling(), for: .joining)
    confused.carry()
    #expect(confused.server.peer == nil && confused.client.peer == nil)
  }

  @Test(
    "fail on what is no TLS",
    arguments: [
      Array("GET / HTTP/1.1\r\nHost: a\r\n\r\n".utf8), [0, 0, 0, 70, 1, 0x46, 0x4C, 0x4F, 0x54],
      [UInt8](repeating: 0xFF, count: 5_000),
      [0x16, 0x03, 0x01, 0xFF, 0xFF] + Array(repeating: 0, count: 66_000),
    ])
  func noise(bytes: [UInt8]) throws {
    var server = try TLSEngine(accepting: TestMember().accepting())
    #expect(throws: NetworkError.self) { _ = try server.receive(bytes) }
    #expect(server.state == .failed && server.peer == nil)
    #expect(try server.receive([1, 2, 3]) == [])
  }

  @Test("fail when a byte on the wire is changed")
  func changedByte() throws {
    var pair = try TLSPair(TestMember().accepting(), TestMember().dialling())
    pair.carry()
    try pair.client.write([1, 2, 3])
    var bytes = pair.client.takeOutput()
    bytes[bytes.count - 1] ^= 1
    #expect(try pair.server.receive(bytes) == [])
    #expect(pair.server.state == .failed && pair.server.failure != nil)
  }
}
