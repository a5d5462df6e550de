import Replication

/// Nodes with replicas in memory, and real sessions between them over queues of frames.
///
/// Everything that happens is drawn from the seed: which frame arrives next, when a merge is
/// done, what is edited, when a link is cut.
struct World {
  /// One side of a link.
  struct Side {
    let node: Int
    var session: Session
    /// Frames on their way to the other side.
    var queue: [[UInt8]] = []
    var merge: Merge?
    var export: ModelExport?
    var mayPull = false
  }

  struct Link {
    var sides: [Side]
  }

  var random: Seeded
  var replicas: [ModelReplica]
  /// One link for each pair of nodes; nil while it is cut.
  var links: [[Int]: Link] = [:]
  let pairs: [[Int]]
  var now = Instant(uptime: 1_000, wall: 1_700_000_000_000)
  /// Whether digests are compared; without, every hole stays.
  var repairs = false
  /// Whether long exchanges are merged in slices, and pause.
  var slices = true
  var isCalm = false
  /// A node that is lost for good.
  var lost: Int?
  /// Messages other than Ping and Pong, and when the last one was sent.
  var messages = 0
  var lastMessage: Int64 = 0
  var byes: [Bye] = []

  init(seed: UInt64, nodes: Int, linked: [[Int]]? = nil) {
    random = Seeded(seed)
    replicas = (0..<nodes).map { ModelReplica(number: UInt64($0 + 1)) }
    pairs = linked ?? (0..<nodes - 1).flatMap { low in (low + 1..<nodes).map { [low, $0] } }
  }

  mutating func connect(_ pair: [Int]) {
    guard links[pair] == nil, lost.map({ !pair.contains($0) }) ?? true else { return }
    let sides = pair.map { node in
      let hello = Samples.hello(
        node: replicas[node].id, name: "n\(node)", run: random.next(), clock: now.wall)
      let configuration = Session.Configuration(
        hello: hello, position: replicas[node].position,
        relayDelay: Int64.random(in: 30...90, using: &random))
      return Side(node: node, session: Session(configuration, at: now))
    }
    links[pair] = Link(sides: sides)
    for side in 0...1 { feed(pair, side, .connected) }
  }

  mutating func cut(_ pair: [Int]) {
    guard let link = links.removeValue(forKey: pair) else { return }
    // A merge that was under way may still be committed, or not.
    for side in link.sides {
      if let merge = side.merge, random.chance(50) { commit(merge, at: side.node) }
    }
  }

  mutating func lose(_ node: Int) {
    for pair in pairs where pair.contains(node) { cut(pair) }
    lost = node
  }

  mutating func edit(_ node: Int) {
    let keys = (0..<Int.random(in: 1...4, using: &random)).map { _ in
      Int64.random(in: 0..<30, using: &random)
    }
    let moment = now.wall + Int64(node) * 40 - 60
    let push = replicas[node].edit(Set(keys), moment: moment, random: &random)
    tell(node, .folded(push))
    tell(node, .advanced(replicas[node].position))
  }

  /// Feeds an input to every session of a node.
  mutating func tell(_ node: Int, _ input: Session.Input) {
    for pair in pairs where pair.contains(node) { feed(pair, pair.firstIndex(of: node)!, input) }
  }

  mutating func feed(_ pair: [Int], _ side: Int, _ input: Session.Input) {
    guard let directives = links[pair]?.sides[side].session.receive(input, at: now) else { return }
    for directive in directives { carryOut(directive, pair, side) }
  }

  private mutating func carryOut(_ directive: Session.Directive, _ pair: [Int], _ side: Int) {
    switch directive {
    case .send(let message): send(message, pair, side)
    case .opened: links[pair]?.sides[side].mayPull = true
    case .openExport(let scope):
      let replica = replicas[pair[side]]
      links[pair]?.sides[side].export = replica.export(scope)
    case .readExport: links[pair]?.sides[side].export?.isWanted = true
    case .closeExport: links[pair]?.sides[side].export = nil
    case .merge(let merge): links[pair]?.sides[side].merge = merge
    case .closed(let bye, _):
      byes.append(bye)
      links[pair] = nil
    default: break
    }
  }

  private mutating func send(_ message: Message, _ pair: [Int], _ side: Int) {
    switch message {
    case .ping, .pong: break
    case .buckets where !repairs: return
    default:
      messages += 1
      lastMessage = now.uptime
    }
    links[pair]?.sides[side].queue.append(message.frame)
  }

  mutating func commit(_ merge: Merge, at node: Int) {
    let result = replicas[node].merge(merge)
    let sessions = pairs.filter { $0.contains(node) }
    // The session that received may hear of its merge before or after the new position.
    let isFirst = random.chance(50)
    for step in 0...1 {
      if (step == 0) == isFirst {
        for pair in sessions {
          let side = pair.firstIndex(of: node)!
          guard links[pair]?.sides[side].merge == merge else { continue }
          links[pair]?.sides[side].merge = nil
          feed(pair, side, .merged(result))
        }
      } else {
        tell(node, .advanced(replicas[node].position))
      }
    }
  }
}
