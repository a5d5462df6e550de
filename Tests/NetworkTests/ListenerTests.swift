import Glibc
import Testing

@testable import Network

@Suite(.timeLimit(.minutes(1))) struct `A listener` {
  @Test(arguments: ["127.0.0.1", "::1", "localhost"])
  func `on all addresses is reached by IPv4 and by IPv6`(host: String) async throws {
    let listener = try await Listener(host: nil, port: 0)
    defer { listener.close() }
    let endpoint = try Endpoint(host: host, port: listener.port)
    async let accepted = listener.accept()
    let channel = try await SocketChannel.connect(to: endpoint)
    let peer = try await accepted
    #expect(["127.0.0.1", "::1"].contains(peer.remote.host))
    channel.close()
    peer.close()
  }

  @Test func `takes the next port when its own is in use`() async throws {
    let first = try await Listener(host: nil, port: 0)
    defer { first.close() }
    let refused = await #expect(throws: NetworkError.self) {
      try await Listener(host: nil, port: first.port)
    }
    #expect(refused?.code == .addressInUse)
    let second = try await Listener(host: nil, port: first.port, tryNext: 50)
    defer { second.close() }
    #expect(second.port > first.port && second.port <= first.port + 50)
  }

  @Test func `can take its port again at once`() async throws {
    // An address that no other test dials or listens on, lest one takes the port meanwhile.
    let host = "127.0.78.1"
    let listener = try await Listener(host: host, port: 0)
    let endpoint = try Endpoint(host: host, port: listener.port)
    async let accepted = listener.accept()
    let channel = try await SocketChannel.connect(to: endpoint)
    let peer = try await accepted
    // The side that closes first keeps the connection in TIME_WAIT.
    peer.close()
    #expect(try await channel.read(upTo: 1) == [])
    channel.close()
    listener.close()
    _ = await Result { () async throws(NetworkError) in try await listener.accept() }
    let again = try await Listener(host: host, port: listener.port)
    again.close()
  }

  @Test func `ends an accept that waits when it is closed`() async throws {
    let listener = try await Listener(host: nil, port: 0)
    async let accepted = Result { () async throws(NetworkError) in
      _ = try await listener.accept()
    }
    for _ in 0..<10 { await Task.yield() }
    listener.close()
    listener.close()
    let outcome = await accepted
    let error = #expect(throws: NetworkError.self) { try outcome.get() }
    #expect(error == .closedHere)
  }

  @Test(arguments: [
    (ECONNABORTED, AcceptFailure.passing), (EINTR, .passing), (ENETDOWN, .passing),
    (EMFILE, .exhausted), (ENFILE, .exhausted), (ENOMEM, .exhausted), (EINVAL, .lasting(EINVAL)),
  ])
  func `knows which failures pass`(number: Int32, failure: AcceptFailure) {
    #expect(AcceptFailure(number) == failure)
  }

  @Test(arguments: ["203.0.113.1", "300.1.1.1", "no.such.host.invalid"])
  func `refuses an address that is not here`(host: String) async throws {
    let error = await #expect(throws: NetworkError.self) {
      try await Listener(host: host, port: 0)
    }
    #expect(
      [.invalidAddress, .unreachable, .timedOut].contains(error?.code),
      "\(String(describing: error))")
  }
}

@Suite(.timeLimit(.minutes(1))) struct Connecting {
  @Test func `is refused where nobody listens`() async throws {
    let listener = try await Listener(host: "127.0.0.1", port: 0)
    let endpoint = try Endpoint(host: "127.0.0.1", port: listener.port)
    listener.close()
    _ = await Result { () async throws(NetworkError) in _ = try await listener.accept() }
    let error = await #expect(throws: NetworkError.self) {
      try await SocketChannel.connect(to: endpoint)
    }
    #expect(error?.code == .refused)
  }

  @Test func `gives up when the time is over`() async throws {
    let full = try FullBacklog()
    let error = await #expect(throws: NetworkError.self) {
      try await SocketChannel.connect(to: full.endpoint, timeout: .milliseconds(200))
    }
    #expect(error?.code == .timedOut)
  }

  @Test func `ends when its task is cancelled`() async throws {
    let full = try FullBacklog()
    let endpoint = full.endpoint
    let attempt = Task {
      await Result { () async throws(NetworkError) in
        try await SocketChannel.connect(to: endpoint, timeout: .seconds(50))
      }
    }
    attempt.cancel()
    let error = await #expect(throws: NetworkError.self) { try await attempt.value.get() }
    #expect(error?.code == .cancelled)
  }
}

/// A port of this machine that lets further connections wait: its backlog is full.
final class FullBacklog {
  let endpoint: Endpoint
  private let sockets: [Int32]

  init() throws {
    let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
    let listening = socket(AF_INET, kind, 0)
    let any = SocketAddress(in_addr(s_addr: UInt32(0x7f00_0001).bigEndian), port: 0)
    #expect(any.withPointer { bind(listening, $0, $1) } == 0)
    #expect(listen(listening, 0) == 0)
    let address = try #require(SocketAddress.filled { getsockname(listening, $0, $1) })
    endpoint = try #require(address.endpoint)
    var sockets = [listening]
    for _ in 0..<4 {
      let filler = socket(AF_INET, kind, 0)
      _ = address.withPointer { connect(filler, $0, $1) }
      sockets.append(filler)
    }
    self.sockets = sockets
  }

  deinit { for socket in sockets { close(socket) } }
}
