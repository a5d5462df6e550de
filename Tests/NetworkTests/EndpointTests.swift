import Foundation
import Testing

@testable import Network

@Suite struct `An endpoint` {
  @Test(arguments: [
    ("192.168.1.2:7391", "192.168.1.2", 7391),
    ("[fe80::1%eth0]:7391", "fe80::1%eth0", 7391),
    ("host.name:80", "host.name", 80),
    ("[::1]:5", "::1", 5),
    ("Raspberry-Pi.Local.:65535", "raspberry-pi.local", 65535),
    ("[2001:DB8:0:0::1]:1", "2001:db8::1", 1),
    ("[::ffff:10.0.0.9]:7391", "10.0.0.9", 7391),
    ("my_host:1", "my_host", 1),
  ])
  func `is read from text in canonical spelling`(text: String, host: String, port: UInt16) throws {
    let endpoint = try Endpoint(parsing: text)
    #expect(endpoint.host == host)
    #expect(endpoint.port == port)
    #expect(try Endpoint(parsing: endpoint.description) == endpoint)
  }

  @Test(arguments: [
    ("10.0.0.1", "10.0.0.1:7391"),
    ("10.0.0.1:1", "10.0.0.1:1"),
    ("::1", "[::1]:7391"),
    ("[::1]", "[::1]:7391"),
    ("fe80::1%eth0", "[fe80::1%eth0]:7391"),
    ("nas", "nas:7391"),
  ])
  func `may come without a port where a default is named`(text: String, printed: String) throws {
    let endpoint = try Endpoint(parsing: text, defaultPort: Endpoint.defaultPort)
    #expect(endpoint.description == printed)
  }

  @Test(arguments: [
    "", ":", ":80", "host", "host:", "host:0", "host:65536", "host:-1", "host:+1", "host:8 0",
    "host:٣", "[::1]", "[::1", "[::1]5", "[::1]:", "[host]:5", "::1:5:", "1.2.3:5", "1.2.3.256:5",
    "1.2.3.4.5:5", "[::g]:5", "[fe80::1%]:5", "[fe80::1%sixteen-letters-]:5", "[fe80::1%a%b]:5",
    "ho st:5", "host\n:5", "hôst:5", "-host:5", "host-:5", "a..b:5", ".:5", "a/b:5",
    String(repeating: "a", count: 64) + ":5", String(repeating: "a.", count: 130) + "b:5",
  ])
  func `is refused when the text is none`(text: String) {
    let error = #expect(throws: NetworkError.self) { try Endpoint(parsing: text) }
    #expect(error?.code == .invalidAddress)
    #expect(text.utf8.count < 8 || error?.description.contains(text) == false)
  }

  @Test func `is one string in JSON`() throws {
    let endpoint = try Endpoint(parsing: "[fe80::1%eth0]:7391")
    let data = try JSONEncoder().encode([endpoint])
    #expect(String(decoding: data, as: UTF8.self) == #"["[fe80::1%eth0]:7391"]"#)
    #expect(try JSONDecoder().decode([Endpoint].self, from: data) == [endpoint])
  }

  @Test(arguments: [
    ("[fe80::1%lo]:5", "[fe80::1%lo]:5"), ("[fe80::1%1]:5", "[fe80::1%lo]:5"),
    ("127.0.0.1:5", "127.0.0.1:5"), ("[::1]:5", "[::1]:5"),
  ])
  func `resolves an address with its interface`(text: String, resolved: String) async throws {
    let addresses = try await Endpoint(parsing: text).resolve(before: .now + .seconds(5))
    #expect(addresses.map(\.endpoint?.description) == [resolved])
  }

  @Test func `resolves a name`() async throws {
    let endpoint = try Endpoint(parsing: "localhost:5")
    let addresses = try await endpoint.resolve(before: .now + .seconds(5))
    #expect(!addresses.isEmpty)
    for address in addresses { #expect(["127.0.0.1", "::1"].contains(address.endpoint?.host)) }
  }

  @Test(arguments: [
    ("[fe80::1%nosuch]:5", NetworkError.Code.unreachable), ("[fe80::1]:5", .invalidAddress),
  ])
  func `needs an interface that exists`(text: String, code: NetworkError.Code) async throws {
    let endpoint = try Endpoint(parsing: text)
    let error = await #expect(throws: NetworkError.self) {
      try await endpoint.resolve(before: .now + .seconds(5))
    }
    #expect(error?.code == code)
  }

  @Test func `does not wait for a name longer than the deadline`() async throws {
    let endpoint = try Endpoint(parsing: "localhost:5")
    let result = try? await endpoint.resolve(before: .now - .seconds(1))
    // Either the look-up was quicker than a deadline that is over, or the deadline held.
    #expect(result == nil || result?.isEmpty == false)
  }

  @Test(arguments: [
    (Duration.zero, 0), (.nanoseconds(1), 1), (.milliseconds(1500), 1500),
    (.seconds(1_000_000_000), 86_400_000), (.seconds(-5), 0),
  ])
  func `counts durations in whole milliseconds`(duration: Duration, milliseconds: Int) {
    #expect(duration.wholeMilliseconds == milliseconds)
  }
}
