import Network
import Replication
import Testing

@testable import Flotilla

/// What a node says of members, and what it has heard, each without a node.
@Suite struct StatementPartsTests {
  private let admin = NodeKeys()
  private let member = NodeKeys()
  private let root = SigningKey()

  /// A site of an admin and a member that may write.
  private var site: Membership {
    var site = Membership.founded(by: admin, root: root, name: "desk")
    let kind = SiteStatement.Kind.admit(key: member.node.publicKey, role: .writer)
    _ = site.sign(kind, by: admin.identity, with: admin.node, at: 1)
    return site
  }

  private func signer(_ keys: NodeKeys) -> StatementSigner {
    StatementSigner(node: keys.identity, name: "laptop", keys, path: "clinic.db")
  }

  @Test func `an admin signs by itself what it may say, one statement after the other`() throws {
    let names = ["a", "b"].map {
      SiteStatement.Kind.introduce(node: member.identity, name: $0, words: "")
    }
    let before = site
    let (signed, after) = try signer(admin).sign(names, over: before, at: 2)
    #expect(signed.map(\.statement.issuer) == [admin.identity, admin.identity])
    #expect(after.roll.entries[member.identity]?.name == "b")
    // Nothing counts yet where it was signed.
    #expect(before.roll.entries[member.identity]?.name != "b")
  }

  @Test func `the site key says what concerns an admin`() throws {
    let keys = NodeKeys(node: admin.node, site: root)
    let kind = SiteStatement.Kind.introduce(node: admin.identity, name: "a", words: "")
    let (signed, _) = try signer(keys).sign([kind], over: site, at: 2)
    #expect(signed.map(\.statement.issuer) == [site.site])
  }

  @Test func `who may not say a thing is told where it can be done`() throws {
    let kind = SiteStatement.Kind.introduce(node: admin.identity, name: "a", words: "")
    let error = #expect(throws: FlotillaError.self) {
      try signer(member).sign([kind], over: site, at: 2)
    }
    #expect(error?.code == .notAllowed)
    #expect(error?.message == "laptop may not do that in this site")
    #expect(error?.remedy?.contains("clinic.db") == true)
  }

  @Test func `what the file did not take goes before what came meanwhile`() {
    let all = site.all
    var heard = HeardStatements()
    heard.add([all[0]])
    let waiting = heard.takeUnsaved()
    #expect(waiting == [all[0]])
    #expect(heard.unsaved.isEmpty)
    heard.add([all[1]])
    heard.putBack(waiting)
    #expect(heard.takeUnsaved() == [all[0], all[1]])
  }

  @Test func `64 statements of one connection may not hold, over all its messages`() {
    var heard = HeardStatements()
    #expect(heard.doubt(64, of: 1) == nil)
    #expect(heard.doubt(0, of: 1) == nil)
    #expect(heard.doubt(64, of: 2) == nil)
    #expect(heard.doubt(1, of: 1) == 65)
    heard.leave(1)
    #expect(heard.doubt(1, of: 1) == nil)
    heard.leave(1)
    heard.leave(2)
    #expect(heard.doubts.isEmpty)
  }
}
