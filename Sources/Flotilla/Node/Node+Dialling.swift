import Network
import Replication

/// Reaching one address because a person named it.
extension Node {
  /// What dialling an address has come to.
  enum Dialled: Sendable {
    case member(Identity)
    /// Nobody answers, and why.
    case nobody(String)
  }

  /// Why nobody answers where no program listens.
  static let refused = "nobody listens there: the connection was refused"

  /// Dials HOST:PORT and gives the member that answers there, or that nobody does: in time, or as
  /// soon as the connection is refused. Throws as soon as it is known that something else answers.
  func dialled(
    _ address: String, deadline: Int64
  ) async throws(FlotillaError) -> Dialled {
    let text = try endpoint(address).description
    // What is learned from now on counts.
    lastReasons[end(of: text)] = nil
    await perform(mesh.receive(.named(address: text), at: .now))
    _ = await until(deadline) { member(at: text) != nil || objection(to: text) != nil }
    if let member = member(at: text) { return .member(member) }
    guard let objection = objection(to: text) else {
      return .nobody("no member of this site answers there")
    }
    if !options.peers.contains(text) {
      await perform(mesh.receive(.dismissed(address: text), at: .now))
    }
    if objection == Self.refused { return .nobody(objection) }
    throw FlotillaError(
      .peer, "no other node of \"\(identity.siteName)\" answers at \(text): \(objection)",
      remedy: "Check the address: flotilla peers \(shellWord(path)) shows those that are known.")
  }

  /// A host is there, and no program behind that port.
  func noteRefused(_ address: String) {
    lastReasons[end(of: address)] = Self.refused
    changed()
  }

  private func endpoint(_ address: String) throws(FlotillaError) -> Endpoint {
    do {
      guard address.contains(":") || address.contains(".") else {
        throw NetworkError(.invalidAddress, "no such member")
      }
      return try Endpoint(parsing: address, defaultPort: Endpoint.defaultPort)
    } catch {
      let known = peers.values.map(\.name).sorted().joined(separator: ", ")
      throw FlotillaError(
        .refused, "\(address) is no member that this node knows, and no address",
        remedy: known.isEmpty
          ? "Nobody has joined this site yet: flotilla invite \(shellWord(path))"
          : "Known: \(known)")
    }
  }

  /// The member that is connected at an address.
  private func member(at address: String) -> Identity? {
    mesh.node(at: address).flatMap { peers[$0]?.session == nil ? nil : $0 }
  }

  /// Why what answers at an address is no other member, if that is known.
  private func objection(to address: String) -> String? {
    mesh.isSelf(at: address) ? "that is this node itself" : lastReasons[end(of: address)]
  }

  /// The other end of a dialled connection, by which its end is remembered.
  func end(of address: String) -> String { "to \(address)" }
}
