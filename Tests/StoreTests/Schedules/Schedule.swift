import Replication
import SQLite

@testable import Store

/// Real replicas in files, and real sessions between them over queues of frames.
///
/// Everything that happens is drawn from the seed: what applications write, which frame arrives
/// next, when a merge is done, when a link is cut, when a node is killed. Clocks are numbers, and
/// the journal's wall times are rewritten to them.
struct Schedule {
  /// One side of a link.
  struct Side {
    let node: Int
    var session: Session
    /// Frames on their way to the other side.
    var queue: [[UInt8]] = []
    var merge: Merge?
    var export: Export?
    var mayPull = false
  }

  /// What a session has asked its store for.
  struct Export {
    let scope: Session.ExportScope
    var id: Int64?
    var isWanted = false
  }

  struct Node {
    let replica: TestReplica
    var witness = Witness()
    /// How far its clock is off.
    let skew: Int64
    /// Columns that migrations have added here, per table.
    var extra: [String: [String]] = [:]
  }

  struct Link {
    var sides: [Side]
  }

  var random: Seeded
  let tables: [ScheduleTable]
  var nodes: [Node] = []
  /// One link for each pair of nodes; nil while it is cut.
  var links: [[Int]: Link] = [:]
  let pairs: [[Int]]
  var uptime: Int64 = 1_000
  var history = History()
  var byes: [Bye] = []
  /// What has happened, the latest last.
  var story: [String] = []
  var isCalm = false
  /// When something other than a Ping was last said.
  var lastMessage: Int64 = 0

  init(seed: UInt64) throws {
    random = Seeded(seed)
    let count = 2 + random.below(100) * 4 / 100
    let isLine = random.chance(25)
    pairs = (0..<count - 1).flatMap { low in
      (low + 1..<(isLine ? low + 2 : count)).map { [low, $0] }
    }
    tables = Array(
      ScheduleTable.all.shuffled(using: &random).prefix(1 + random.below(3)))
    let schema = tables.map { "CREATE TABLE \($0.name)\($0.sql);" }.joined(separator: "\n")
    for number in 0..<count {
      var pace = Pace()
      pace.journalEntries = random.pick([3, 10, 1_000])
      pace.comparedRows = random.pick([2, 5, 500])
      pace.batchRows = random.pick([1, 3, 500])
      pace.snapshotTime = random.pick([0, 40, 30_000])
      pace.recentRows = random.pick([4, 12, 60, 20_000])
      let skew = random.chance(15) ? Int64(random.below(7_200_000)) : Int64(random.below(80))
      let replica = try TestReplica(UInt64(number + 1), schema: schema, pace: pace)
      nodes.append(Node(replica: replica, skew: skew))
      replica.clock = now(number).wall
    }
    try found()
  }

  /// The first node has rows and tracks the tables; one table may be tracked later, elsewhere.
  private mutating func found() throws {
    let late = tables.count > 1 && random.chance(30) ? tables.last?.name : nil
    let first = nodes[0].replica
    for table in tables where random.chance(70) && table.name != late {
      for _ in 0..<random.below(25) {
        let sql = table.statement(replica: 0, of: 1, extra: [], &random)
        try? first.write(sql)
      }
    }
    try first.store.track(
      tables.map(\.name).filter { $0 != late }, rule: nil, at: now(0))
    try take(0) { _ = try $0.fold(at: $1) }
    for node in nodes.indices { try nodes[node].witness.begin(nodes[node].replica, tables) }
  }

  func now(_ node: Int) -> Instant {
    Instant(uptime: uptime, wall: 1_790_000_000_000 + uptime + nodes[node].skew)
  }

  mutating func tell(_ line: String) {
    story.append(line)
    if story.count > 400 { story.removeFirst(200) }
  }

  /// Uses the store of a node, and checks what it did.
  mutating func take<Result>(
    _ node: Int, _ body: (Store, Instant) throws -> Result
  ) throws -> Result {
    let replica = nodes[node].replica
    let result = try body(replica.store, now(node))
    try nodes[node].witness.check(replica, tables, &history)
    return result
  }

  mutating func connect(_ pair: [Int]) {
    guard links[pair] == nil else { return }
    let sides = pair.map { node in
      let store = nodes[node].replica.store
      let hello = Hello(
        version: 1, purpose: .member, site: store.site, node: store.node, name: store.nodeName,
        run: random.next(), clock: now(node).wall, port: 0, schema: store.schemaHash)
      let configuration = Session.Configuration(
        hello: hello, position: store.position,
        relayDelay: Int64.random(in: 30...90, using: &random))
      return Side(node: node, session: Session(configuration, at: now(node)))
    }
    links[pair] = Link(sides: sides)
    tell("connect \(pair)")
    for side in 0...1 { feed(pair, side, .connected) }
  }

  mutating func cut(_ pair: [Int]) throws {
    guard let link = links.removeValue(forKey: pair) else { return }
    tell("cut \(pair)")
    for side in link.sides {
      if let id = side.export?.id { try? nodes[side.node].replica.store.closeExport(id) }
      // A merge that was under way may still be committed, or not.
      if let merge = side.merge, random.chance(50) { try commit(merge, at: side.node) }
    }
  }

  /// The process dies between two commits and starts again.
  mutating func kill(_ node: Int) throws {
    for pair in pairs where pair.contains(node) { try cut(pair) }
    tell("kill \(node)")
    try nodes[node].replica.reopen()
  }

  /// Feeds an input to every session of a node.
  mutating func feed(node: Int, _ input: Session.Input) {
    for pair in pairs where pair.contains(node) { feed(pair, pair.firstIndex(of: node)!, input) }
  }

  mutating func feed(_ pair: [Int], _ side: Int, _ input: Session.Input) {
    let now = now(pair[side])
    guard let directives = links[pair]?.sides[side].session.receive(input, at: now) else { return }
    for directive in directives { carryOut(directive, pair, side) }
  }

  private mutating func carryOut(_ directive: Session.Directive, _ pair: [Int], _ side: Int) {
    switch directive {
    case .send(let message): send(message, pair, side)
    case .opened: links[pair]?.sides[side].mayPull = true
    case .openExport(let scope): links[pair]?.sides[side].export = Export(scope: scope)
    case .readExport: links[pair]?.sides[side].export?.isWanted = true
    case .closeExport: closeExport(pair, side)
    case .merge(let merge): links[pair]?.sides[side].merge = merge
    case .closed(let bye, _):
      byes.append(bye)
      tell("closed \(pair) \(bye)")
      for side in 0...1 { closeExport(pair, side) }
      links[pair] = nil
    default: break
    }
  }

  private mutating func closeExport(_ pair: [Int], _ side: Int) {
    if let id = links[pair]?.sides[side].export?.id {
      try? nodes[pair[side]].replica.store.closeExport(id)
    }
    links[pair]?.sides[side].export = nil
  }

  private mutating func send(_ message: Message, _ pair: [Int], _ side: Int) {
    switch message {
    case .ping, .pong: break
    // Nothing may need repair: a hole must show.
    case .buckets: return
    default: lastMessage = uptime
    }
    links[pair]?.sides[side].queue.append(message.frame)
  }

  /// A fold's news for every session.
  mutating func folded(_ node: Int, _ fold: FoldResult) {
    if let push = fold.push { feed(node: node, .folded(push)) }
    feed(node: node, .advanced(nodes[node].replica.store.position))
  }

  /// Merges, and tells the sessions in one order or the other.
  mutating func commit(_ merge: Merge, at node: Int) throws {
    let outcome = try take(node) { try $0.merge(merge, at: $1) }
    tell("merge \(merge.kind) at \(node), End \(merge.end != nil): \(outcome.result.rows) rows")
    let isFirst = random.chance(50)
    for step in 0...1 {
      if (step == 0) == isFirst {
        for pair in pairs where pair.contains(node) {
          let side = pair.firstIndex(of: node)!
          guard links[pair]?.sides[side].merge == merge else { continue }
          links[pair]?.sides[side].merge = nil
          feed(pair, side, .merged(outcome.result))
        }
      } else {
        folded(node, outcome.fold)
      }
    }
  }
}
