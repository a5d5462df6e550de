import Replication
import Synchronization

/// What a node knows of signatures: whose they are, and which origins count without.
final class Acquaintance: Sendable {
  private struct State {
    var keys: Set<Identity>
    var exempt: Set<Origin> = []
  }

  private let state: Mutex<State>

  init(of node: Identity) { state = Mutex(State(keys: [node])) }

  func meet(_ node: Identity) { state.withLock { _ = $0.keys.insert(node) } }
  func exempt(_ origin: Origin) { state.withLock { _ = $0.exempt.insert(origin) } }
  func knows(_ node: Identity) -> Bool { state.withLock { $0.keys.contains(node) } }
  func exempts(_ origin: Origin) -> Bool { state.withLock { $0.exempt.contains(origin) } }

  var surety: Surety {
    Surety(
      exempt: { self.state.withLock(\.exempt) },
      holdsCut: {
        self.knows($0.node) ? $0.signature == SimulatedSite.signature(of: $0) : nil
      },
      isNamed: { $0.isNamed(by: SimulatedSite.notary.digest) },
      isSigned: {
        self.knows($0.node) ? $0.signature == SimulatedSite.signature(of: $0) : nil
      })
  }
}

/// Members that do not know each other's keys yet, or sign nothing yet, as one of a version before.
extension World {
  func surety(of node: Int) -> Surety {
    var surety = acquaintances.isEmpty ? SimulatedSite.surety : acquaintances[node].surety
    let docket = nodes[node].docket
    surety.appointees = { Appointees(docket.appointments) }
    return surety
  }

  mutating func addStrangers(_ random: inout Seeded) {
    guard faults[.strangers] > 0 else { return }
    acquaintances = nodes.all.map { Acquaintance(of: $0.replica.id) }
    for node in nodes.indices {
      nodes[node].replica.signs = random.chance(600)
      for other in nodes.indices where random.chance(500) {
        acquaintances[node].meet(nodes[other].replica.id)
      }
    }
  }

  /// Who connects shows its key.
  func meetEachOther(_ ends: [Int]) {
    guard !acquaintances.isEmpty else { return }
    for side in 0...1 { acquaintances[ends[side]].meet(nodes[ends[1 - side]].replica.id) }
  }

  /// One node hears something of one other, or of itself.
  mutating func introduce() {
    let (node, other) = (random.below(nodes.count), random.below(nodes.count))
    let replica = nodes[other].replica
    if node == other {
      sign(node)
    } else if !acquaintances[node].knows(replica.id) {
      tell("\(Words.node(node)) learns the key of \(Words.node(other))")
      acquaintances[node].meet(replica.id)
    } else if !replica.signs, !acquaintances[node].exempts(replica.own) {
      tell("\(Words.node(node)) hears that \(Words.node(other)) is exempt")
      acquaintances[node].exempt(replica.own)
    }
    feed(node: node, .advanced(nodes[node].replica.position))
  }

  private mutating func sign(_ node: Int) {
    guard !nodes[node].replica.signs, nodes[node].isUp else { return }
    // A newer program is another process.
    tell("\(Words.node(node)) ends, and signs when it starts again")
    kill(node, startsAfter: 0)
    nodes[node].replica.signs = true
  }

  /// In the end all know each other, and everybody signs.
  mutating func introduceAll() {
    for node in acquaintances.indices {
      sign(node)
      nodes[node].replica.signs = true
      for other in nodes.all { acquaintances[node].meet(other.replica.id) }
      feed(node: node, .advanced(nodes[node].replica.position))
    }
  }
}
