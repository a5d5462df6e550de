import Flotilla
import Network
import Replication

/// A site of keys and signed statements, and how its members show themselves.
struct BenchSite: Sendable {
  let founder = NodeKeys()
  let door: Door
  /// What the founder's machine has heard of the members.
  private let heard: Membership

  init() throws {
    heard = .founded(by: founder, root: SigningKey(), name: "founder")
    door = try Door(founder, Roster(heard))
  }

  /// A member just admitted, of whom the founder's machine has not heard yet.
  func newcomer() throws -> Door {
    let keys = NodeKeys()
    var membership = heard
    _ = membership.sign(
      .admit(key: keys.node.publicKey, role: .writer), by: founder.identity, with: founder.node)
    return try Door(keys, Roster(membership))
  }
}
