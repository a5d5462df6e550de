import Testing

@testable import Network

@Suite("The networks of this machine") struct LocalNetworksTests {
  private let networks = LocalNetworks([
    LocalNetworks.Network(address: [192, 168, 1, 7], mask: [255, 255, 254, 0]),
    LocalNetworks.Network(
      address: [0xfe, 0x80] + [UInt8](repeating: 1, count: 14),
      mask: [UInt8](repeating: 255, count: 8) + [UInt8](repeating: 0, count: 8)),
  ])

  @Test(
    arguments: [
      ("192.168.1.200", true), ("192.168.0.3", true), ("192.168.2.1", false), ("10.0.0.1", false),
      ("8.8.8.8", false), ("desk.local", false), ("2001:db8::1", false),
      ("fe80:101:101:101::5", true), ("fe80:101:101:101::5%no-such-one", false),
    ])
  func `contain an address or not`(host: String, isInside: Bool) throws {
    #expect(networks.contain(try Endpoint(host: host, port: 1)) == isInside)
  }

  @Test func `of here contain the loopback and nothing far away`() throws {
    #expect(LocalNetworks.here.contain(try Endpoint(host: "127.0.0.1", port: 1)))
    // This machine may be on one of the networks for documentation (RFC 5737).
    let away = try ["192.0.2.1", "198.51.100.1", "203.0.113.1"].filter {
      !LocalNetworks.here.contain(try Endpoint(host: $0, port: 1))
    }
    #expect(away.count >= 2)
  }
}
