import SQLite

@testable import Flotilla
@testable import Replication
@testable import Store

/// A node with a file, and a member that says anything: each message is one of those that lead far.
///
/// The node carries out what its session decides, as the product does. After any message everything
/// that it says decodes at an honest peer. When the session ends the next one begins.
struct WholeSession {
  /// What the member may do.
  enum Part: String, CaseIterable, Sendable {
    case reader
    case writer
    /// It may write one table and read the others.
    case leaf

    var rights: Rights {
      switch self {
      case .reader: Rights(general: .read)
      case .writer: .all
      case .leaf: Rights(general: .read, tables: ["t": .write])
      }
    }
  }

  static let liar = Identity(high: 9, low: 9)
  static let notary = Notary(
    digest: { bytes in
      Identity(high: hash64(bytes, seed: 1), low: hash64(bytes, seed: 2))
    }, isSigned: { _, _, _ in false })
  private static let names = "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name"
  private static let whole = ["\([SQLite.Value.text(Array("ok".utf8))])"]
  static let origin = Origin.of(liar, life: 0, notary)
  static let term = Term(number: 1, incarnation: 7)

  let part: Part
  /// Who was made the anchor: nobody, this node or the member that lies.
  let appointments: [Appointment]
  let sandbox: Sandbox
  let tables: [String]
  private(set) var store: Store
  private var session: Session
  private var now = Sandbox.now
  var random: Seeded
  private var inputs: [Session.Input] = []
  private var export: Int64?
  private var pieces: [UInt8] = []
  /// Messages of the member, and of the node; sessions; exchanges that were taken.
  private(set) var heard = 0
  private(set) var said = 0
  private(set) var sessions = 0
  private(set) var merged = 0

  init(as part: Part, seed: UInt64) throws {
    self.part = part
    random = Seeded(seed: seed)
    sandbox = try Sandbox("whole", schema: Sandbox.schema, tracking: Sandbox.tracked)
    tables = try sandbox.rows(Self.names)
    store = try Store(path: sandbox.path)
    store.lives.sign(by: Self.signature)
    appointments =
      [nil, store.node, Self.liar][Int(random.below(3))].map {
        [Appointment(term: Self.term, node: $0, isForced: false)]
      } ?? []
    if let governance = Appointments.governance(of: appointments, for: store.node) {
      _ = try store.govern(governance, at: now)
    }
    session = Self.session(part, appointments, store, now)
    try connect()
  }

  /// Whose signature it is nobody can tell here: it is one, or it is none.
  static func signature(of said: any Signable) -> [UInt8] {
    let seed = (said as? Reach)?.origin.rawValue ?? 0
    let word = hash64(said.text(in: Identity(high: 1, low: 1)), seed: seed)
    return (0..<Reach.signatureLength).map { UInt8(truncatingIfNeeded: word >> (8 * ($0 % 8))) }
  }

  private static func hello(_ node: Identity) -> Hello {
    Hello(
      version: Session.versions.upperBound, purpose: .member, site: Identity(high: 1, low: 1),
      node: node, name: "node",
      run: 1, clock: Sandbox.now.wall, port: 0, schema: 0)
  }

  private static func session(
    _ part: Part, _ appointments: [Appointment], _ store: Store, _ now: Instant
  ) -> Session {
    var configuration = Session.Configuration(
      hello: hello(store.node), position: store.position, relayDelay: 5, shown: .member(liar))
    configuration.peerRights = part.rights
    configuration.notary = notary
    configuration.surety = Surety(
      appointees: { Appointees(appointments) },
      holdsCut: { $0.signature == signature(of: $0) },
      isNamed: { $0.isNamed(by: notary.digest) },
      isSigned: { $0.signature == signature(of: $0) })
    configuration.clock.since = now.uptime
    return Session(configuration, at: now)
  }

  private mutating func connect() throws {
    if let export { try store.closeExport(export) }
    (export, pieces, inputs) = (nil, [], [])
    session = Self.session(part, appointments, store, now)
    sessions += 1
    try feed(.connected)
    try hear(.hello(Self.hello(Self.liar)))
    try feed(.mayPull(resume: Frontier()))
  }

  /// One thing happens.
  mutating func step() throws {
    if session.state == .closed { try connect() }
    let passed = Int64(random.below(50))
    now = Instant(uptime: now.uptime + passed, wall: now.wall + passed)
    switch random.below(40) {
    case 0: try write()
    case 1: try feed(.tick)
    case 2: try feed(.ask)
    case 3: try feed(.drained)
    case 4...16: try exchange()
    default: try hear(message())
    }
  }

  private mutating func hear(_ message: Message) throws {
    guard session.state != .closed else { return }
    heard += 1
    let plain = message.frame
    // As on a slow link each second time.
    let frame = Array(((heard % 2 == 0 ? Packed.frame(of: plain) : nil) ?? plain).dropFirst(4))
    // What cannot be said ends at the link.
    guard frame.count <= Limits.frame, let read = try? Message(frame: frame).unpacked() else {
      return try feed(.close(Bye(.badMessage, "")))
    }
    try feed(.received(read, isFollowed: random.below(4) == 0))
  }

  private mutating func feed(_ input: Session.Input) throws {
    inputs.append(input)
    var steps = 0
    while !inputs.isEmpty {
      steps += 1
      demand(steps < 100_000, "what a message leads to does not end")
      for directive in session.receive(inputs.removeFirst(), at: now) { try carryOut(directive) }
    }
  }

  private mutating func carryOut(_ directive: Session.Directive) throws {
    switch directive {
    case .send(let message): try check(message)
    case .merge(let merge): take(merge)
    case .contradicted(let have): inputs.append(.confirmed(have, store.position))
    case .doubted: break
    case .openExport(let scope):
      do throws(StoreError) {
        let opened = try store.openExport(scope, filter: session.exportFilter, at: now)
        export = opened.id
        inputs.append(.advanced(store.position))
        inputs.append(
          .exportOpened(covers: opened.covers, rows: opened.rows, judged: opened.judged))
      } catch {
        inputs.append(.exportFailed(error.message))
      }
    case .readExport: try readExport()
    case .closeExport:
      if let export { try store.closeExport(export) }
      export = nil
    case .openAccount: inputs.append(.accounted(.nothing(.failed)))
    case .dialBack: inputs.append(.dialledBack(.silent))
    case .describe: inputs.append(.offer(Offer(siteName: "s", rows: 1, objects: 0), []))
    case .stability(let news):
      let possible = news.possible(knowing: Appointees(appointments), at: now.moment)
      try store.deletions.hear(possible, from: Self.liar, isLeaf: part != .writer, at: now.moment)
      inputs.append(.advanced(store.position))
    default: break
    }
  }

  private mutating func readExport() throws {
    guard let export else { return }
    switch try store.readExport(export, at: now) {
    case .batch(let batch):
      inputs.append(.exported(batch: batch.bytes, rows: batch.rows, check: batch.check))
      inputs.append(.drained)
    case .part(let bytes):
      inputs.append(.exportedPart(bytes))
      inputs.append(.drained)
    case .paused(let progress): inputs.append(.exportPaused(progress: progress))
    case .done: inputs.append(.exportDone)
    }
  }

  /// Everything that the node says can be read.
  private mutating func check(_ message: Message) throws {
    said += 1
    let frame = message.frame
    demand(frame.count <= Limits.frame + 4, "a frame of \(frame.count) bytes")
    do throws(WireError) {
      let read = try Message(frame: Array(frame.dropFirst(4)))
      demand(read == message, "\(message) is read as \(read)")
      switch read {
      case .part(_, let bytes): pieces += bytes
      case .rows(_, let bytes):
        _ = try RowBatch(bytes: pieces + bytes)
        pieces = []
      default: break
      }
    } catch {
      demand(false, "nobody reads \(message): \(error)")
    }
  }

  private mutating func take(_ merge: Merge) {
    do throws(StoreError) {
      var result = MergeResult(rows: 0, check: 0)
      for slice in try store.slices(of: merge) {
        let outcome = try store.merge(slice, at: now)
        result.rows += outcome.result.rows
        result.check &+= outcome.result.check
      }
      merged += 1
      inputs.append(.merged(result))
    } catch {
      demand(error.cause == nil, explain(error))
      inputs.append(.mergeFailed(Bye(.badMessage, error.message)))
    }
    inputs.append(.advanced(store.position))
  }

  /// A program of this machine.
  private mutating func write() throws {
    let key = random.below(30) + 100
    try Connection(path: sandbox.path).execute(
      """
      INSERT INTO t(id, v) VALUES (\(key), 'own \(key) \(heard)')
      ON CONFLICT(id) DO UPDATE SET v = excluded.v
      """)
    while true {
      let folded = try store.fold(at: now)
      if let push = folded.push { try feed(.folded(push)) }
      try feed(.advanced(store.position))
      if !folded.hasMore { return }
    }
  }

  /// An exchange whose End mostly fits.
  private mutating func exchange() throws {
    let (kind, writer) = (self.kind(), rows())
    try hear(.begin(Begin(kind, rows: 1, number: session.order.heard, judged: judged())))
    let count = session.incoming.exchanges
    var check = kind.check(number: count) &+ writer.check
    if case .receiving(let begin) = session.incoming.phase {
      check = begin.check(count) &+ writer.check
    }
    if random.below(3) > 0 {
      var reaches = (0...random.below(3)).map { _ in reach() }
      // Out of order they end the session.
      if random.below(20) > 0 { reaches.sort { $0.origin < $1.origin } }
      try hear(.reaches(number: session.order.heard, reaches))
    }
    if random.below(20) > 0 { try hear(.rows(number: session.order.heard, writer.bytes)) }
    let end = End(rows: UInt64(writer.rowCount), check: random.below(20) > 0 ? check : 0)
    try hear(random.below(10) == 0 ? .pause(end) : .end(end))
  }

  /// The file is whole, can be opened and given to anybody, and takes in what its programs write.
  mutating func expectGoingOn() throws {
    let verdict = try sandbox.rows("PRAGMA integrity_check")
    demand(verdict.count == 1 && verdict == Self.whole, "\(verdict)")
    let now = try sandbox.rows(Self.names)
    demand(now == tables, "\(now) was \(tables)")
    let again = try Store(path: sandbox.path)
    demand(again.position.frontier == store.position.frontier, "another frontier")
    demand(again.position.digest == store.position.digest, "another digest")
    store = again
    store.lives.sign(by: Self.signature)
    try connect()
    try write()
    let before = said
    try hear(
      .have(Have(frontier: Frontier(), frontierHash: 0, rootDigest: 0, asks: true)))
    demand(said > before, "no answer")
  }
}
