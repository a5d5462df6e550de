import Network
import Testing

@Suite("A stream of TLS over sockets")
struct TLSChannelTests {
  private func with(_ body: (TLSChannel, TLSChannel) async throws -> Void) async throws {
    let listener = try await Listener(host: "127.0.0.1", port: 0)
    defer { listener.close() }
    async let stream = listener.accept()
    let dialled = try await SocketChannel.connect(
      to: Endpoint(host: "127.0.0.1", port: listener.port))
    defer { dialled.close() }
    let accepted = try await stream
    let (ward, desk) = (try TestMember().accepting(), try TestMember().dialling())
    async let answer = TLSChannel.accept(over: accepted, ward, timeout: .seconds(10))
    let question = try await TLSChannel.dial(
      over: dialled, desk, for: .member, timeout: .seconds(10))
    try await body(try await answer, question)
  }

  @Test("brings long writes whole and one after the other, though they come at once")
  func longWrites() async throws {
    try await with { reader, writer in
      let length = 1_000_003
      async let first: Void = writer.write([UInt8](repeating: 1, count: length))
      async let second: Void = writer.write([UInt8](repeating: 2, count: length))
      var bytes: [UInt8] = []
      while bytes.count < 2 * length {
        let more = try await reader.read(upTo: 64 << 10)
        try #require(!more.isEmpty)
        bytes += more
      }
      _ = try await (first, second)
      #expect(bytes.count == 2 * length)
      let changes = zip(bytes, bytes.dropFirst()).count { $0 != $1 }
      #expect(changes == 1)
    }
  }
}
