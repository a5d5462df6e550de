import Network
import Replication

@testable import Flotilla

/// What is read before anybody has shown who it is, and what people type.
extension FuzzTarget {
  /// Strangers get no further than the handshake.
  func readHandshake(_ bytes: [UInt8]) {
    guard let context = Self.door, var engine = try? TLSEngine(accepting: context) else {
      fatalError("no engine to be fed")
    }
    var rest = bytes[...]
    while !rest.isEmpty {
      let piece = rest.prefix(1 + Int(rest.count) / 2)
      rest = rest.dropFirst(piece.count)
      let said = (try? engine.receive(Array(piece))) ?? []
      demand(said.isEmpty && engine.peer == nil, "a stranger was let in")
      _ = engine.takeOutput()
    }
  }

  private static let door: TLSContext? = {
    let key = SigningKey(seed: [UInt8](repeating: 5, count: 32))!
    guard let certificate = try? Certificate(of: key, credential: [1, 2, 3]) else { return nil }
    return try? TLSContext(accepting: key, certificate, judge: { _, _ in .unknown }) { _ in
      [UInt8](repeating: 6, count: 32)
    }
  }()

  /// What is read as a site key is written so that it is read as the same key.
  func readSiteKey(_ bytes: [UInt8]) {
    guard let key = try? SiteKeyText(String(decoding: bytes, as: UTF8.self)) else { return }
    guard let again = try? SiteKeyText(key.text(site: "s")) else {
      fatalError("a site key is not read as it was written")
    }
    demand(again.key.seed == key.key.seed, "another site key is read than was written")
  }

  /// A key that can be read is written so that it is read as the same key.
  func readPEM(_ bytes: [UInt8]) {
    guard let key = SigningKey(pem: String(decoding: bytes, as: UTF8.self)) else { return }
    demand(SigningKey(pem: key.pem)?.seed == key.seed, "another key is read than was written")
  }
}

extension Seeds {
  /// The beginnings of records; the first flights of a member and of a joiner, which are random,
  /// lie in the corpus.
  static let handshakes: [[UInt8]] = [
    [0x16, 3, 1, 0, 5, 1, 0, 0, 1, 3], [0x16, 3, 3, 0xFF, 0xFF, 1], [0x15, 3, 3, 0, 2, 2, 40],
    [0x14, 3, 3, 0, 1, 1], [0x17, 3, 3, 0, 1, 0],
  ]

  static var statements: [[UInt8]] {
    [SignedStatement.encode([statement]), SignedStatement.encode([statement, statement])]
  }
}
