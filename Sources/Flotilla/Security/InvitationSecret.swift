import Network
import Replication

/// What follows from the code of an invitation: none of it leads back to the code.
struct InvitationSecret: Sendable, Equatable {
  /// By what the inviter finds it: travels in the clear.
  let identity: [UInt8]
  /// The pre-shared key of the handshake.
  let secret: [UInt8]
  /// 20 bits that tell a joiner which of the services on the air is its inviter.
  let hint: String

  init(_ code: InviteCode) {
    identity = Hashing.derive(from: code.values, "flotilla invitation identity", length: 16)
    secret = Hashing.derive(from: code.values, "flotilla invitation secret", length: 32)
    let bytes = Hashing.derive(from: code.values, "flotilla invitation hint", length: 3)
    let bits = bytes.reduce(0) { $0 << 8 | Int($1) } & 0xFFFFF
    let digits = String(bits, radix: 16)
    hint = String(repeating: "0", count: 5 - digits.count) + digits
  }

  var shared: TLSContext.SharedSecret {
    TLSContext.SharedSecret(identity: identity, secret: secret)
  }
}

/// What a joiner signs to show that it owns its key, and that it is at this end of the connection.
enum JoinProof {
  /// Labels of RFC 8446, 7.5, that nobody else uses.
  private static let label = "EXPORTER-flotilla-join"
  private static let wordsLabel = "EXPORTER-flotilla-words"

  static func bytes(_ channel: TLSChannel) -> [UInt8] {
    Array("FLOTILLA join 1\n".utf8) + channel.exported(label, length: 32)
  }

  /// Four words that are the same at both ends.
  static func words(_ channel: TLSChannel) -> String {
    PlainWords.of(channel.exported(wordsLabel, length: 4))
  }
}
