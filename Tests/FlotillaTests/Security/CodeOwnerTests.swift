import Glibc
import Network
import Replication
import Testing

@testable import Flotilla

extension NodeTests {
  /// Codes that the node at a given address does not know: whose they are is told, if it can be.
  @Suite struct `A code that is not known there` {
    /// A service on the air with the hints of invitations.
    private func service(
      _ name: String, at address: String, _ hints: String...
    ) throws -> DiscoveryEvent {
      var text = ["v": "1"]
      if let first = hints.first { text["j"] = first }
      if hints.count > 1 { text["k"] = hints.dropFirst().joined(separator: ",") }
      let endpoint = try Endpoint(parsing: address)
      return .found(DiscoveredService(name: name, endpoint: endpoint, txt: text))
    }

    private func air(_ events: [DiscoveryEvent]) -> Air {
      Air { _ in
        AsyncStream { continuation in
          for event in events { continuation.yield(event) }
          continuation.finish()
        }
      }
    }

    private func failure(
      _ code: String, at address: String?, _ events: [DiscoveryEvent]
    ) async throws -> FlotillaError {
      let pairing = Pairing(
        code: try InviteCode(code), keys: NodeKeys(), name: "n",
        accept: { _ throws(FlotillaError) in throw FlotillaError(.usage, "it would have joined") },
        air: air(events))
      let error = await #expect(throws: FlotillaError.self) {
        _ = try await pairing.pair(at: address)
      }
      return try #require(error)
    }

    /// A port at which connections are taken and nothing is said.
    private func tarPit(
      at host: UInt32 = 0x7F00_0001
    ) throws -> (descriptor: Int32, endpoint: Endpoint) {
      let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_addr.s_addr = host.bigEndian
      var length = socklen_t(MemoryLayout<sockaddr_in>.size)
      withUnsafeMutablePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          _ = bind(descriptor, $0, length)
          _ = listen(descriptor, 8)
          _ = getsockname(descriptor, $0, &length)
        }
      }
      return (
        descriptor,
        try Endpoint(host: "127.0.0.\(host & 255)", port: UInt16(bigEndian: address.sin_port))
      )
    }

    /// Avahi tells one service after the other, and the inviter may be the last one.
    @Test func `is found after all others, as long as there is news`() async throws {
      try await TestSite.with { site in
        let a = try await site.replica("a")
        let first = try await site.run(a)
        let code = try await a.library.invite(timeToLive: .seconds(60), role: "writer").code
        let hint = InvitationSecret(try InviteCode(code)).hint
        let (others, inviter) = try (
          (0..<40).map { try service("s\($0)", at: "127.0.0.1:\(20_000 + $0)", "XXXX") },
          service("a", at: try await first.address, hint)
        )
        func attempt(_ events: [DiscoveryEvent]) async throws -> FlotillaError {
          var pairing = Pairing(
            code: try InviteCode(code), keys: NodeKeys(), name: "n",
            accept: { _ throws(FlotillaError) in throw FlotillaError(.usage, "it would join") })
          pairing.quiet = .seconds(2)
          // A search that lasts: nothing ends it but the silence.
          pairing.air = Air { _ in
            AsyncStream { continuation in
              let telling = Task {
                for event in events {
                  try await Task.sleep(for: .milliseconds(75))
                  continuation.yield(event)
                }
              }
              continuation.onTermination = { _ in telling.cancel() }
            }
          }
          let error = await #expect(throws: FlotillaError.self) {
            _ = try await pairing.pair(at: nil)
          }
          return try #require(error)
        }
        #expect(try await attempt(others + [inviter]).message == "it would join")
        let nothing = "no node in reach has such an invitation open"
        #expect(try await attempt(Array(others.prefix(3))).message == nothing)
      }
    }

    @Test func `is found among services that show its hint and say nothing`() async throws {
      try await TestSite.with { site in
        let a = try await site.replica("a")
        let first = try await site.run(a)
        let code = try await a.library.invite(timeToLive: .seconds(60), role: "writer").code
        let text = ["j": InvitationSecret(try InviteCode(code)).hint]
        let pits = try (0..<24).map { _ in try tarPit() }
        defer { for pit in pits { close(pit.descriptor) } }
        let ends = pits.map(\.endpoint) + [try Endpoint(parsing: try await first.address)]
        let error = try await failure(
          code, at: nil,
          ends.enumerated().map {
            .found(DiscoveredService(name: "s\($0.offset)", endpoint: $0.element, txt: text))
          })
        #expect(error.message == "it would have joined")
      }
    }

    @Test func `is found at once, however many services another host shows`() async throws {
      try await TestSite.with { site in
        let a = try await site.replica("a")
        let first = try await site.run(a)
        let code = try await a.library.invite(timeToLive: .seconds(60), role: "writer").code
        let text = ["j": InvitationSecret(try InviteCode(code)).hint]
        let pits = try (0..<200).map { _ in try tarPit(at: 0x7F00_0002) }
        defer { for pit in pits { close(pit.descriptor) } }
        let ends = pits.map(\.endpoint) + [try Endpoint(parsing: try await first.address)]
        let start = ContinuousClock.now
        let error = try await failure(
          code, at: nil,
          ends.enumerated().map {
            .found(DiscoveredService(name: "s\($0.offset)", endpoint: $0.element, txt: text))
          })
        #expect(error.message == "it would have joined")
        // The others take ten seconds each.
        #expect(ContinuousClock.now - start < .seconds(8))
      }
    }

    @Test func `is not looked for where there is no discovery, and it says what helps`()
      async throws
    {
      let code = RandomNumbers.inviteCode().description
      let pit = try tarPit()
      defer { close(pit.descriptor) }
      let text = ["j": InvitationSecret(try InviteCode(code)).hint]
      // What comes after the first word is not waited for.
      let error = try await failure(
        code, at: nil,
        [
          .unavailable(reason: "no Avahi here"),
          .found(DiscoveredService(name: "s", endpoint: pit.endpoint, txt: text)),
        ])
      #expect(error.code == .invitation)
      #expect(
        error.message
          == "no inviting node was found: there is no discovery on this machine (no Avahi here)")
      #expect(error.remedy?.contains("--at HOST:PORT") == true, "\(error)")
    }

    @Test func `is told to be another site's, another node's, or nobody's`() async throws {
      try await TestSite.with { here in
        try await TestSite.with { there in
          let a = try await here.replica("a")
          let first = try await here.run(a)
          let b = try await here.replica("b", role: .admin)
          let second = try await here.run(b)
          let c = try await there.replica("c")
          let third = try await there.run(c)
          let addresses = [try await first.address, try await second.address]
          let far = try await third.address
          let foreign = try await c.library.invite(timeToLive: .seconds(60), role: "writer").code
          let sisters = try await b.library.invite(timeToLive: .seconds(60), role: "writer").code
          let made = RandomNumbers.inviteCode().description
          func hint(_ code: String) throws -> String {
            InvitationSecret(try InviteCode(code)).hint
          }
          let seen = [
            // Anybody can show any hint.
            try service("liar", at: addresses[1], try hint(foreign), try hint(made)),
            try service("first", at: addresses[0]),
            try service("second", at: addresses[1], try hint(made), try hint(sisters)),
            try service("third", at: far, try hint(foreign)),
          ]
          let others = try await failure(foreign, at: addresses[0], seen)
          #expect(
            others.message
              == "the code is of another site: \"Test\", where c at \(far) has it open, not of the "
              + "one at \(addresses[0])")
          let sister = try await failure(sisters, at: addresses[0], seen)
          #expect(sister.message.contains("b of the same site has it open"), "\(sister)")
          #expect(sister.remedy == "Join there: --at \(addresses[1])")
          let nobodys = try await failure(made, at: addresses[0], seen)
          #expect(nobodys.message.contains("no node that is seen from here has it open"))
          let blind = try await failure(
            foreign, at: addresses[0], [.unavailable(reason: "no Avahi here")])
          #expect(blind.message.contains("cannot be looked up: no Avahi here"), "\(blind)")
          for error in [others, sister, nobodys, blind] { #expect(error.code == .invitation) }
          // Nobody has joined for all that, and the codes are good where they were made; a liar
          // on the air costs a failed handshake.
          #expect(await third.roster.roll.members.count == 1)
          for (code, at) in [(foreign, nil), (foreign, far), (sisters, addresses[1])] {
            #expect(try await failure(code, at: at, seen).message == "it would have joined")
          }
        }
      }
    }
  }
}
