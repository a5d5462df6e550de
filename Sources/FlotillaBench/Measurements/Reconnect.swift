import Flotilla
import Network
import SQLite

/// The bytes of a reconnect when both sides hold the same.
enum Reconnect {
  static let measurement = Measurement(
    name: "reconnect", summary: "bytes of a reconnect with nothing to say", body: measure)

  private static func measure(_ extent: Extent, _ report: inout Report) throws {
    let place = try Workplace()
    let first = try BenchReplica("a", in: place)
    // The first node learns only the proxy's address of the second, where nobody listens.
    let second = try BenchReplica("b", in: place, host: "127.0.0.2")
    try Connection(path: first.path, mode: .create).execute(Items.schema)
    let insert = try place.role(.insert, first.path, "1000", "1000")
    try insert.wait(within: .seconds(30))
    try first.initialise()
    try first.run()
    let proxy = try CountingProxy(to: first.address)
    defer { proxy.close() }
    _ = try second.join(first, at: proxy.address)
    try second.run(peer: proxy.address)

    let handshake = try handshake()
    var said: [Double] = []
    var bytes: [Double] = []
    for _ in 0...(extent.isQuick ? 1 : 5) {
      try waitUntilQuiet(proxy)
      said.append(Double(handshake.said(in: proxy.ways)))
      bytes.append(Double(proxy.bytes))
      proxy.cut()
    }
    try second.stop()
    try first.stop()
    report.figures = [
      Figure("said, both ways", "bytes", Array(said.dropFirst())).target(.maximum, atMost: 2_048),
      Figure("on the wire with TLS, both ways", "bytes", Array(bytes.dropFirst())),
      Figure("of this the handshake", "bytes", Double(handshake.bytes)),
    ]
    report.notes.append(
      "said: Hello, Have, Members, Ping and Pong; what TCP itself adds is not counted")
  }

  /// How many records of each side belong to a handshake of two members, for after those it is
  /// encrypted who says what.
  private struct HandshakeRecords {
    var fromDialler: Int
    var fromAccepter: Int
    var bytes: Int

    func said(in ways: [CountingProxy.Way]) -> Int {
      ways.reduce(0) { sum, way in
        sum + way.records.said(after: way.isFromDialler ? fromDialler : fromAccepter)
      }
    }
  }

  /// Counts them in a handshake after which nothing is said.
  private static func handshake() throws -> HandshakeRecords {
    let site = try BenchSite()
    let member = try site.newcomer()
    return try waiting {
      let listener = try await Listener(host: "127.0.0.1", port: 0)
      defer { listener.close() }
      let proxy = try CountingProxy(to: "127.0.0.1:\(listener.port)")
      defer { proxy.close() }
      let pair = try await SocketPair(over: listener, through: proxy.address)
      defer { pair.close() }
      _ = try await pair.secured(site.door.accepting, member.dialling, for: .member)
      func count(_ isFromDialler: Bool) -> Int {
        proxy.ways.filter { $0.isFromDialler == isFromDialler }
          .reduce(0) { $0 + $1.records.lengths.count }
      }
      return HandshakeRecords(
        fromDialler: count(true), fromAccepter: count(false), bytes: proxy.bytes)
    }
  }

  /// Waits for a connection on which nothing was said for a second and a half.
  private static func waitUntilQuiet(_ proxy: CountingProxy) throws {
    var last = 0
    var since = Clock.now
    try Clock.wait("a connection through the proxy", within: .seconds(60)) {
      if !proxy.isConnected || proxy.bytes != last {
        last = proxy.bytes
        since = Clock.now
      }
      return proxy.isConnected && last > 0 && Clock.now - since > 1_500_000_000
    }
  }
}
