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

    var bytes: [Double] = []
    for _ in 0...(extent.isQuick ? 1 : 5) {
      try waitUntilQuiet(proxy)
      bytes.append(Double(proxy.bytes))
      proxy.cut()
    }
    try second.stop()
    try first.stop()
    report.figures = [
      Figure("both ways", "bytes", Array(bytes.dropFirst())).target(.maximum, atMost: 2_048)
    ]
    report.notes.append(
      "TLS handshake, Hello, Have, Members, Ping and Pong; what TCP itself adds is not counted")
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
