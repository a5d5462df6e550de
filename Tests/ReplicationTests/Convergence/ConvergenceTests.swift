import Replication
import Testing

/// Sessions between replicas in memory; a failure names the seed that repeats it.
@Suite struct ConvergenceTests {
  static let chunk: UInt64 = 100

  @Test(arguments: 0..<20)
  func `nodes converge and fall silent after any deliveries and cuts`(part: UInt64) {
    for seed in part * Self.chunk..<(part + 1) * Self.chunk {
      var world = World(seed: seed, nodes: Int(2 + seed % 3))
      world.live(steps: 150)
      let isQuiet = world.settle()
      #expect(isQuiet && world.isConverged && world.byes.isEmpty, "seed \(seed) \(world.byes)")
    }
  }

  /// Here a frontier that claims too much would show: nobody is left who could fill the hole.
  @Test(arguments: 0..<10)
  func `who is left converges when a node is lost`(part: UInt64) {
    for seed in part * Self.chunk..<(part + 1) * Self.chunk {
      var world = World(seed: seed, nodes: Int(3 + seed % 2))
      world.slices = false
      world.live(steps: 150)
      world.lose(Int(seed % 3))
      let isQuiet = world.settle()
      #expect(isQuiet && world.isConverged && world.byes.isEmpty, "seed \(seed) \(world.byes)")
    }
  }

  /// A catch-up from the lost node that was cut leaves rows that no frontier shows.
  @Test(arguments: 0..<200)
  func `who is left repairs what a lost node had sent in part`(seed: UInt64) {
    var world = World(seed: seed, nodes: 4)
    world.repairs = true
    world.live(steps: 150)
    world.lose(Int(seed % 4))
    let isQuiet = world.settle()
    #expect(isQuiet && world.isConverged && world.byes.isEmpty, "seed \(seed) \(world.byes)")
  }

  /// Without the full mesh everything must be passed on.
  @Test(arguments: 0..<100)
  func `nodes in a line converge by passing on`(seed: UInt64) {
    var world = World(seed: seed, nodes: 4, linked: [[0, 1], [1, 2], [2, 3]])
    world.live(steps: 200)
    let isQuiet = world.settle()
    #expect(isQuiet && world.isConverged && world.byes.isEmpty, "seed \(seed) \(world.byes)")
  }

  @Test(arguments: 0..<50)
  func `what no frontier shows is repaired`(seed: UInt64) {
    var world = World(seed: seed, nodes: 3)
    world.repairs = true
    world.live(steps: 100)
    let wasQuiet = world.settle()
    #expect(wasQuiet && world.isConverged, "seed \(seed)")
    let node = Int(seed % 3)
    for key in world.replicas[node].rows.keys.sorted().prefix(4) { world.replicas[node].lose(key) }
    for pair in world.pairs { world.cut(pair) }
    let isQuiet = world.settle()
    #expect(isQuiet && world.isConverged, "seed \(seed)")
  }

  @Test func `in a full mesh nearly nothing is sent twice`() {
    var world = World(seed: 1, nodes: 4)
    let wasQuiet = world.settle()
    #expect(wasQuiet)
    let before = world.messages
    world.edit(0)
    let isQuiet = world.settle()
    #expect(isQuiet && world.isConverged)
    // Begin, Rows, End to three peers, and a Have from each of them to the three others.
    #expect(world.messages - before <= 3 * 3 + 3 * 3)
  }
}
