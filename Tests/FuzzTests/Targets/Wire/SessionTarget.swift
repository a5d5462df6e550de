@testable import Replication

/// Takes steps until the bytes end; after each of them everything is bounded.
func readSession(_ bytes: [UInt8]) {
  var driver = SessionDriver(bytes)
  do {
    while try driver.step() { driver.check() }
  } catch {
    // The bytes end inside a step.
  }
}

/// One session, fed with what bytes say: a peer's messages and what a shell does.
struct SessionDriver {
  static let own = Origin(rawValue: 10)
  static let join = Join(
    name: "name", key: [UInt8](repeating: 1, count: 32), proof: [UInt8](repeating: 2, count: 64))
  static let site = Identity(high: 1, low: 1)

  var session: Session
  var now = Instant(uptime: 100_000, wall: 1_700_000_000_000)
  var reader: ByteReader
  /// Size of the bytes that the shell handed over in this step.
  private var given = 0
  private var directives: [Session.Directive] = []

  init(_ bytes: [UInt8]) {
    self.reader = ByteReader(bytes)
    self.session = Session(
      Session.Configuration(
        hello: Self.hello(node: Identity(high: 0, low: 10)),
        position: Position(
          frontier: Frontier([Self.own: 5]), digest: Digest(), own: Self.own),
        relayDelay: 50), at: now)
  }

  static func hello(node: Identity, purpose: Hello.Purpose = .member) -> Hello {
    Hello(
      version: Session.versions.upperBound, purpose: purpose, site: site, node: node, name: "node",
      run: 1, clock: 1_000,
      port: 7_000, schema: 5)
  }

  mutating func feed(_ input: Session.Input) {
    directives = session.receive(input, at: now)
  }

  /// What the peer says; a shell reads no further while it merges.
  mutating func hear(_ message: Message) {
    if session.isMerging { feed(.merged(MergeResult(rows: 1, check: 1))) }
    feed(.heard)
    feed(.received(message))
  }

  /// Takes one step; false at the end of the bytes.
  mutating func step() throws(WireError) -> Bool {
    guard !reader.isAtEnd else { return false }
    directives = []
    given = 0
    let kind = try reader.byte("step")
    switch kind {
    case 120..<128, 248...255: try accountStep(kind % 8, isPeer: kind < 128)
    case ..<128: try peerStep(kind % 16)
    default: try shellStep(kind % 20)
    }
    return true
  }

  mutating func size() throws(WireError) -> Int {
    given = Int(try reader.uint("size") % UInt64(Limits.frame))
    return given
  }

  /// A frontier of many origins out of a few bytes.
  mutating func frontier() throws(WireError) -> Frontier {
    let count = try reader.uint("count") & 0x3FFF
    let first = try reader.uint("first")
    let seq = try reader.uint("seq") % (1 << 62)
    var entries: [Origin: UInt64] = [Self.own: seq & 7]
    for number in 0..<count { entries[Origin(rawValue: first &+ number)] = seq + 1 }
    return Frontier(entries)
  }

  /// Whatever happened, nothing has grown without bound, and time goes on.
  func check() {
    let (incoming, outgoing) = (session.incoming, session.outgoing)
    demand(incoming.pieceBytes <= Limits.row + Limits.frame, "pieces")
    demand(incoming.stagedBytes <= Limits.wholeBytes, "\(incoming.stagedBytes) staged")
    demand(incoming.staged.count <= Limits.wholeRows, "\(incoming.staged.count) staged")
    for frontier in [outgoing.peerFrontier, outgoing.confirmed, outgoing.resume, session.merged] {
      demand(frontier.entries.count <= 2 * Limits.frontierEntries, "a frontier")
    }
    demand(session.describing.bytes <= Limits.schemaBytes, "a schema")
    demand(outgoing.repair.count <= 2 * Digest.bucketCount, "buckets to repair")
    demand(directives.count <= 10 + given / 1_000, "\(directives.count) directives")
    for case .send(let message) in directives {
      demand(message.frame.count <= Limits.frame + 4, "a long frame")
    }
    let closed = directives.filter { if case .closed = $0 { true } else { false } }
    demand(closed.count <= 1, "closed twice")
    demand(closed.isEmpty || session.state == .closed, "closed in \(session.state)")
    var later = session
    let due = max(now.uptime, session.deadline)
    guard due != .max else { return }
    _ = later.receive(.tick, at: Instant(uptime: due, wall: now.wall))
    demand(later.deadline > due, "a tick at \(due) does not move the deadline")
  }
}
