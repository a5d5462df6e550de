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

  /// Dials HOST:PORT and gives the member that answers there, or that nobody does: in time, or as
  /// soon as the connection is refused. Throws as soon as it is known that something else answers.
  func dialled(
    _ address: String, deadline: Int64
  ) async throws(FlotillaError) -> Dialled {
    let text = try endpoint(address).description
    connectionEnds.forget(text)
    await perform(mesh.receive(.named(address: text), at: .now))
    _ = await until(deadline) { member(at: text) != nil || objection(to: text) != nil }
    if let member = member(at: text) { return .member(member) }
    guard let objection = objection(to: text) else {
      return .nobody("no member of this site answers there")
    }
    if !options.peers.contains(text) {
      await perform(mesh.receive(.dismissed(address: text), at: .now))
    }
    if objection == ConnectionEnds.refused { return .nobody(objection) }
    throw FlotillaError(
      .peer, "no other node of \"\(identity.siteName)\" answers at \(text): \(objection)",
      remedy: "Check the address: flotilla peers \(shellWord(path)) shows those that are known.")
  }

  private func endpoint(_ address: String) throws(FlotillaError) -> Endpoint {
    do {
      guard address.contains(":") || address.contains(".") else {
        throw NetworkError(.invalidAddress, "no such member")
      }
      return try Endpoint(parsing: address, defaultPort: Endpoint.defaultPort)
    } catch {
      let known = others.map(\.name).sorted().joined(separator: ", ")
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
    mesh.isSelf(at: address) ? "that is this node itself" : connectionEnds.reason(address)
  }
}
