import Replication

/// Who signs, in a world without keys: whoever is named as the issuer.
enum SimulatedSite {
  /// Keys are names: 32 bytes of which the first half is the node's. All else is hashed.
  static let notary = Notary(
    digest: { bytes in
      guard bytes.count == SiteStatement.keyLength else {
        return Identity(high: hash64(bytes, seed: 1), low: hash64(bytes, seed: 2))
      }
      return Identity(high: word(bytes[..<8]), low: word(bytes[8..<16]))
    },
    isSigned: { _, _, _ in true })

  /// Nobody here can make the signature of another node but by this.
  static func signature(of word: any Signable) -> [UInt8] {
    if let reach = word as? Reach { return signature(of: reach) }
    return padded(hash64(word.text(in: Templates.site)))
  }

  private static func signature(of reach: Reach) -> [UInt8] {
    var word = mix(reach.origin.rawValue ^ mix(reach.node.high ^ mix(reach.node.low)))
    for part in [reach.life, reach.seq, reach.run] { word = mix(word ^ part) }
    return padded(word)
  }

  private static func padded(_ word: UInt64) -> [UInt8] {
    bytes(word) + Array(repeating: 0, count: Reach.signatureLength - 8)
  }

  static let surety = Surety(
    exempt: { [] }, holdsCut: { $0.signature == signature(of: $0) },
    isNamed: { $0.isNamed(by: notary.digest) },
    isSigned: { $0.signature == signature(of: $0) })

  static func key(of identity: Identity) -> [UInt8] {
    bytes(identity.high) + bytes(identity.low) + Array(repeating: 0, count: 16)
  }

  private static func bytes(_ word: UInt64) -> [UInt8] {
    (0..<8).map { UInt8(truncatingIfNeeded: word >> (56 - 8 * $0)) }
  }

  private static func word(_ bytes: ArraySlice<UInt8>) -> UInt64 {
    bytes.reduce(0) { $0 << 8 | UInt64($1) }
  }

  /// A site of an admin, which is the first node, and others of a random role each; what they may
  /// do with single tables differs from that now and then.
  ///
  /// In a line only the last one may have less than all rights: those behind a leaf get nothing.
  static func founded(
    count: Int, isLine: Bool, tables: [String], _ random: inout Seeded
  ) -> Membership {
    var membership = Membership(rootKey: key(of: Templates.site), notary: notary)
    for number in 0..<count {
      let isFree = number == 0 || isLine && number < count - 1
      let role = number == 0 ? Role.admin : !isFree && random.chance(350) ? .reader : .writer
      say(.admit(key: key(of: Templates.node(number)), role: role), in: &membership)
      guard !isFree else { continue }
      while random.chance(400) {
        let right = Right.allCases[random.below(3)]
        let table = random.pick(tables)
        guard mayBeGranted(table) else { continue }
        say(.grant(node: Templates.node(number), table: table, right: right), in: &membership)
      }
    }
    return membership
  }

  /// Rows that wait to be put back and rows that are written beside them, with a right that came
  /// meanwhile, may claim one unique value: who keeps it is not said yet (docs/limits.md).
  static func mayBeGranted(_ table: String) -> Bool { table != Badges.name }

  /// Signs in the name of the root, and gives what was signed.
  @discardableResult
  static func say(_ kind: SiteStatement.Kind, in membership: inout Membership) -> SignedStatement {
    let statement = membership.draft(kind, by: membership.site, at: SimulatedClock.start)
    let signed = SignedStatement(
      statement, signature: Array(repeating: 0, count: SignedStatement.signatureLength))
    _ = membership.unite([signed])
    return signed
  }
}
