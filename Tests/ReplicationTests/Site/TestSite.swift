import Replication

/// Keys whose signatures are hashes: enough to tell right from wrong, and fast.
enum PlainNotary {
  static let notary = Notary(
    digest: { Identity(high: hash64($0, seed: 11), low: hash64($0, seed: 12)) },
    isSigned: { bytes, signature, key in signature == sign(bytes, key) })

  static func sign(_ bytes: [UInt8], _ key: [UInt8]) -> [UInt8] {
    var writer = ByteWriter()
    for seed in 0..<8 { writer.word(hash64(bytes + key, seed: UInt64(seed))) }
    return writer.bytes
  }

  static func key(_ number: UInt8) -> [UInt8] { [UInt8](repeating: number, count: 32) }
}

/// A key and who it stands for.
struct TestNode {
  let key: [UInt8]
  var identity: Identity { PlainNotary.notary.digest(key) }

  init(_ number: UInt8) { key = PlainNotary.key(number) }
}

/// A site with its root key, and what is said in it.
struct TestSite {
  static let root = TestNode(255)
  static let (first, second) = (TestNode(1), TestNode(2))
  static let (ward, desk, thief) = (TestNode(10), TestNode(11), TestNode(66))

  var membership = Membership(rootKey: root.key, notary: PlainNotary.notary)

  /// A site whose root has made two admins.
  static var withTwoAdmins: TestSite {
    var site = TestSite()
    for admin in [first, second] { site.say(.admit(key: admin.key, role: .admin), by: root) }
    return site
  }

  /// Signs, and takes in what is said, if it is allowed.
  @discardableResult
  mutating func say(
    _ kind: SiteStatement.Kind, by node: TestNode, at time: Int64 = 0
  ) -> SignedStatement {
    let signed = sign(kind, by: node, at: time)
    _ = membership.unite([signed])
    return signed
  }

  func sign(_ kind: SiteStatement.Kind, by node: TestNode, at time: Int64 = 0) -> SignedStatement {
    Self.sign(membership.draft(kind, by: node.identity, at: time), by: node)
  }

  static func sign(_ statement: SiteStatement, by node: TestNode) -> SignedStatement {
    SignedStatement(statement, signature: PlainNotary.sign(statement.bytes, node.key))
  }

  func role(of node: TestNode) -> Role? { membership.roll.member(node.identity)?.role }
}
