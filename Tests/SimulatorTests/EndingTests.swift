import Replication
import Testing

@testable import Simulator

/// A schedule ends, whatever its seed.
@Suite struct `Ending` {
  @Test func `programs do not write in the middle of work for ever`() {
    var faults = Faults()
    faults[.interleaving] = 1_000
    let mischief = Mischief(faults, Seeded(1))
    var writes = 0
    for _ in 1...1_000 {
      mischief.begin()
      while mischief.interleaves() { writes += 1 }
    }
    #expect(writes == 500)
  }

  @Test func `a node that folds for ever is told of`() {
    var random = Seeded(1)
    let replicas = (0..<2).map { MemoryReplica(number: $0, faults: Faults(), &random) }
    var world = World(
      replicas: replicas, isLine: false, faults: Faults(), random: random,
      story: Story(isTold: false))
    var goesOn = world.isPatient(1, after: 9_999)
    #expect(goesOn)
    #expect(world.history.faults == [])
    goesOn = world.isPatient(1, after: 10_000)
    #expect(!goesOn)
    #expect(world.history.faults == ["node-1 has folded 10000 slices, and there is more"])
  }
}
