import Replication

extension Pairing {
  /// A Flotilla node says Hello as soon as it is connected; so long is waited for it.
  static let greeting: Duration = .seconds(5)

  /// The Hello of the inviter; a failure says that no node has answered, and why.
  func hear(_ link: MessageLink, at address: String) async throws(FlotillaError) -> Hello {
    let alarm = Alarm(after: Self.greeting) { link.close() }
    defer { alarm.cancel() }
    let cause: String
    do {
      if case .hello(let hello) = try await link.receive() { return hello }
      cause = "it says something else than Hello"
    } catch {
      cause =
        alarm.hasRung
        ? "what answers there has said nothing for \(Self.greeting.components.seconds) s"
        : error.message
    }
    throw FlotillaError(
      .peer, "no Flotilla node answers at \(address): \(cause)",
      remedy: "Check address and port: flotilla invite names the port, on a machine of the site.")
  }
}
