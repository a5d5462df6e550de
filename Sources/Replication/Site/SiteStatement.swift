/// Something about the site's members that its issuer has put a signature to.
package struct SiteStatement: Sendable, Equatable {
  package enum Kind: Sendable, Equatable {
    /// The owner of this key is a member.
    case admit(key: [UInt8], role: Role)
    /// What a member is called, and the four words that both sides saw when it joined.
    case introduce(node: Identity, name: String, words: String)
    /// What a member may do with a table, whatever its role says.
    case grant(node: Identity, table: String, right: Right)
    /// A member is none any more, for good. Of what it has itself issued, as an admin, `heads` and
    /// what they follow stands.
    case revoke(node: Identity, heads: [Identity])
    /// The issuer is no member any more, of its own will.
    case leave
    /// A member is the anchor from now on; or nobody is. Forced: it does not wait until the one
    /// before has stood down.
    case appoint(number: UInt64, node: Identity?, isForced: Bool)
    /// A member is not waited for any more, as long as it goes on in one of these lives.
    case forget(node: Identity, lives: [UInt64])
    /// From now on origins count for which their owners have signed, and these, which are older.
    case close(besides: [Origin])
  }

  /// What a statement is about: of several about one thing the last stands, or the first.
  package struct Subject: Sendable, Hashable {
    package var node: Identity
    var kind: UInt8
    /// Of a grant, as names are compared.
    var table = ""
  }

  func subject(_ notary: Notary) -> Subject {
    switch kind {
    case .admit(let key, _): Subject(node: notary.digest(key), kind: 1)
    case .introduce(let node, _, _): Subject(node: node, kind: 2)
    case .grant(let node, let table, _):
      Subject(node: node, kind: 3, table: table.foldedForNames)
    case .revoke(let node, _): Subject(node: node, kind: 4)
    case .leave: Subject(node: issuer, kind: 5)
    // The office is nobody's, so that an admin may appoint another one.
    case .appoint: Subject(node: .none, kind: 6)
    // It takes nothing from anybody, so that an admin may forget another one.
    case .forget: Subject(node: .none, kind: 7)
    case .close: Subject(node: .none, kind: 8)
    }
  }

  package var site: Identity
  /// A node; or the site, for what its root key has signed.
  package var issuer: Identity
  /// The issuer's statement before this one, so that nothing can be put in between later.
  package var previous: Identity
  /// The issuer's clock, ms since 1970, but later than every statement about the same that it knew.
  package var time: Int64
  package var kind: Kind

  package init(
    site: Identity, issuer: Identity, previous: Identity, time: Int64, kind: Kind
  ) {
    self.site = site
    self.issuer = issuer
    self.previous = previous
    self.time = time
    self.kind = kind
  }

  /// Whether others read what is said: names are no longer than may be.
  package static func isReadable(_ kind: Kind) -> Bool {
    let statement = SiteStatement(
      site: .none, issuer: .none, previous: .none, time: 0, kind: kind)
    let bytes = statement.bytes
    return (try? SiteStatement(bytes)) == statement
      && bytes.count <= SignedStatement.limit - SignedStatement.signatureLength
  }

  /// What is signed.
  package var bytes: [UInt8] {
    var writer = ByteWriter()
    writer.raw(Self.magic)
    writer.identity(site)
    writer.identity(issuer)
    writer.identity(previous)
    writer.int(time)
    switch kind {
    case .admit(let key, let role):
      writer.byte(1)
      writer.raw(key)
      writer.byte(role.rawValue)
    case .introduce(let node, let name, let words):
      writer.byte(2)
      writer.identity(node)
      writer.text(name)
      writer.text(words)
    case .grant(let node, let table, let right):
      writer.byte(3)
      writer.identity(node)
      writer.text(table)
      writer.byte(right.rawValue)
    case .revoke(let node, let heads):
      writer.byte(4)
      writer.identity(node)
      writer.uint(heads.count)
      for head in heads { writer.identity(head) }
    case .leave: writer.byte(5)
    case .appoint(let number, let node, let isForced):
      writer.byte(6)
      writer.uint(number)
      writer.byte(isForced ? 1 : 0)
      writer.identity(node ?? .none)
    case .forget(let node, let lives):
      writer.byte(7)
      writer.identity(node)
      writer.uint(lives.count)
      for life in lives { writer.word(life) }
    case .close(let origins):
      writer.byte(8)
      writer.uint(origins.count)
      for origin in origins { writer.word(origin.rawValue) }
    }
    return writer.bytes
  }

  /// No other thing that a node signs begins like this.
  static let magic = Array("FLOTILLA statement 1\n".utf8)
  package static let keyLength = 32
  /// No site appoints so often.
  package static let highestTerm: UInt64 = 1 << 32
  /// Heads of one revocation, at most.
  static let mostHeads = 64
  /// Origins that one statement exempts, at most.
  package static let mostExempt = 400

  package init(_ bytes: [UInt8]) throws(WireError) {
    var reader = ByteReader(bytes)
    for byte in Self.magic {
      guard try reader.byte("statement") == byte else { throw WireError(.malformed, "statement") }
    }
    site = try reader.identity("statement: site")
    issuer = try reader.identity("statement: issuer")
    previous = try reader.identity("statement: previous")
    time = try reader.clock("statement: time")
    kind = try Self.kind(&reader)
    try reader.finish("statement")
  }

  private static func kind(_ reader: inout ByteReader) throws(WireError) -> Kind {
    switch try reader.byte("statement: kind") {
    case 1:
      let key = try reader.raw("statement: key", count: keyLength)
      guard let role = Role(rawValue: try reader.byte("statement: role")) else {
        throw WireError(.malformed, "statement: role")
      }
      return .admit(key: key, role: role)
    case 2:
      return .introduce(
        node: try reader.identity("statement: node"), name: try reader.text("statement: name"),
        words: try reader.text("statement: words"))
    case 3:
      let node = try reader.identity("statement: node")
      let table = try reader.text("statement: table")
      guard let right = Right(rawValue: try reader.byte("statement: right")) else {
        throw WireError(.malformed, "statement: right")
      }
      return .grant(node: node, table: table, right: right)
    case 4:
      let node = try reader.identity("statement: node")
      var heads: [Identity] = []
      for _ in 0..<(try reader.count("statement: heads", limit: mostHeads)) {
        heads.append(try reader.identity("statement: head"))
      }
      return .revoke(node: node, heads: heads)
    case 5: return .leave
    case 6:
      let number = try reader.uint("statement: number")
      let flag = try reader.byte("statement: forced")
      guard 1...highestTerm ~= number, flag < 2 else {
        throw WireError(.malformed, "statement: appointment")
      }
      let node = try reader.identity("statement: node")
      return .appoint(number: number, node: node == .none ? nil : node, isForced: flag == 1)
    case 7:
      let node = try reader.identity("statement: node")
      var lives: [UInt64] = []
      for _ in 0..<(try reader.count("statement: lives", limit: Limits.lives)) {
        lives.append(try reader.word("statement: life"))
      }
      return .forget(node: node, lives: lives)
    case 8:
      var origins: [Origin] = []
      for _ in 0..<(try reader.count("statement: origins", limit: mostExempt)) {
        origins.append(Origin(rawValue: try reader.word("statement: origin")))
      }
      return .close(besides: origins)
    default: throw WireError(.malformed, "statement: kind")
    }
  }
}
