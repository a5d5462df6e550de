import Flotilla
import Network

/// From the first byte on a connected socket until both ends know each other.
enum Handshake {
  static let measurement = Measurement(
    name: "handshake", summary: "TLS on loopback: members, a new member, a joiner", body: measure)

  private static func measure(_ extent: Extent, _ report: inout Report) throws {
    let count = extent.isQuick ? 20 : 500
    let site = try BenchSite()
    let member = try site.newcomer()
    let secret = TLSContext.SharedSecret(
      identity: Items.randomKey(), secret: Items.randomKey() + Items.randomKey())
    let founder = site.founder
    let inviting = try TLSContext(
      accepting: founder.node, try Certificate(of: founder.node, credential: []),
      judge: { _, _ in .unknown }, secrets: { $0 == secret.identity ? secret.secret : nil })
    let known = try handshakes(count) { (site.door.accepting, member.dialling, .member) }
    let unheard = try handshakes(count) {
      (site.door.accepting, try site.newcomer().dialling, .member)
    }
    let pairing = try handshakes(count) { (inviting, try TLSContext(joining: secret), .joining) }
    report.figures = [
      Figure("two members", "ms", known.times).target(.median, atMost: 15),
      Figure("a member not heard of, by its credential", "ms", unheard.times)
        .target(.median, atMost: 15),
      Figure("a joiner, by the code's secret", "ms", pairing.times).target(.median, atMost: 15),
      Figure("two members, both ways", "bytes", known.bytes),
      Figure("a joiner, both ways", "bytes", pairing.bytes),
    ]
    report.notes.append("the connection of the sockets is not counted; both ends in one process")
  }

  private typealias Ends = (TLSContext, TLSContext, TLSContext.Purpose)

  /// Handshakes one after another, in ms and bytes; the first few warm up.
  private static func handshakes(
    _ count: Int, _ ends: @escaping @Sendable () throws -> Ends
  ) throws -> (times: [Double], bytes: [Double]) {
    try waiting {
      let listener = try await Listener(host: "127.0.0.1", port: 0)
      defer { listener.close() }
      var times: [Double] = []
      var bytes: [Double] = []
      for _ in 0..<(count + 3) {
        let pair = try await SocketPair(over: listener)
        defer { pair.close() }
        let (accepting, dialling, purpose) = try ends()
        let start = Clock.now
        _ = try await pair.secured(accepting, dialling, for: purpose)
        times.append((Clock.now - start).milliseconds)
        bytes.append(Double(pair.dialled.traffic.bytesIn + pair.dialled.traffic.bytesOut))
      }
      return (Array(times.dropFirst(3)), Array(bytes.dropFirst(3)))
    }
  }
}
