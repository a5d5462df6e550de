import Replication
import Testing

@testable import Simulator

/// What a world without faults says and repairs.
@Suite struct `A mesh` {
  private func world(_ count: Int) -> World<MemoryReplica> {
    var random = Seeded(7)
    let replicas = (0..<count).map {
      MemoryReplica(number: $0, faults: Faults(), plan: nil, &random)
    }
    return World(
      replicas: replicas, isLine: false, faults: Faults(), random: random,
      story: Story(isTold: false))
  }

  @Test func `says nearly nothing twice`() {
    var world = world(4)
    let wasQuiet = world.settle()
    #expect(wasQuiet)
    let before = world.messages
    for _ in 0..<3 { world.write(0) }
    world.fold(0)
    let isQuiet = world.settle()
    #expect(isQuiet)
    // Begin, Reaches, Rows, End to three peers, and a Have from each of them to the three others.
    // One shows the first signature once more, with Begin and End.
    #expect(world.messages > before)
    #expect(world.messages - before <= 3 * 4 + 3 * 3 + 3)
  }

  /// As if one machine had been set back behind its replica's back.
  @Test func `repairs what no frontier shows`() throws {
    var world = world(3)
    for node in 0..<3 { for _ in 0..<4 { world.write(node) } }
    let wasQuiet = world.settle()
    #expect(wasQuiet)
    let rows = world.nodes[1].replica.file.versions.keys.sorted().prefix(3)
    #expect(rows.count == 3)
    for row in rows { world.nodes[1].replica.lose(row) }
    for link in world.links.indices { for side in 0...1 { world.drop(link, side) } }
    let isQuiet = world.settle()
    #expect(isQuiet)
    let (one, other) = (world.nodes[0].replica.file, world.nodes[1].replica.file)
    #expect(one.versions == other.versions && one.rows == other.rows)
    #expect(one.digest == other.digest)
  }
}

extension MemoryReplica {
  /// A row disappears with its version.
  fileprivate func lose(_ row: RowNumber) {
    file.digest.replace(
      table: Self.table, key: Self.encoded[row], old: file.versions[row], new: nil)
    file.versions[row] = nil
    file.rows[row] = nil
  }
}
