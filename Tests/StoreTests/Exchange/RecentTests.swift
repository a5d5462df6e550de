import Replication
import SQLite
import Testing

@testable import Store

/// The list of recent rows must give what a scan gives, to everyone whom it serves.
@Suite struct RecentTests {
  @Test(arguments: Seeded.seeds(60))
  func `the list gives the rows of a scan`(seed: UInt64) throws {
    var random = Seeded(seed)
    var pace = Pace()
    pace.recentRows = random.pick([4, 8, 20, 60])
    pace.batchRows = random.pick([1, 2, 5])
    let replicas = try (1...3).map { number in
      try TestReplica(
        number, schema: CatchUpTests.schema, tracking: number == 1 ? ["t"] : [], pace: pace)
    }
    var frontiers = [Frontier()]
    for _ in 0..<60 {
      let replica = random.pick(replicas)
      let other = random.pick(replicas)
      switch random.below(10) {
      case 0...4:
        guard replica.store.tables.table("t")?.isTracked == true else { continue }
        let (low, high) = (random.below(12), random.below(12))
        try replica.write(
          random.pick([
            "INSERT OR REPLACE INTO t VALUES (\(low), \(random.below(1_000)))",
            "UPDATE t SET v = v || 'x' WHERE id BETWEEN \(low) AND \(high)",
            "DELETE FROM t WHERE id = \(low)",
          ]))
        if random.chance(70) { try replica.foldAll() }
      case 5: try replica.reopen()
      case 6 where other !== replica: try replica.pull(from: other)
      default:
        guard other !== replica else { continue }
        try catchUp(replica, from: other, &random)
      }
      frontiers.append(replica.store.position.frontier)
      try compare(replica, frontiers, &random, seed)
    }
  }

  /// The author's origin is the lowest, and what it sends early covers nothing: then the progress
  /// that is remembered is empty.
  @Test func `rows that came early are not left out by the list`() throws {
    var pace = Pace()
    (pace.recentRows, pace.mergedRows) = (4, 2)
    let author = try TestReplica(1, schema: CatchUpTests.schema)
    let relay = try TestReplica(2, schema: CatchUpTests.schema, tracking: ["t"], pace: pace)
    try author.pull(from: relay)
    let held = relay.store.position.frontier
    try author.write(
      "INSERT INTO t VALUES " + (1...20).map { "(\($0), 'x')" }.joined(separator: ", "))
    try author.foldAll()
    let (covers, batches) = try author.export(above: held)
    try relay.mergeSlice(batches, covers: held, from: author)
    #expect(try relay.store.progress.frontier(of: author.store.node).isEmpty)
    try relay.merge([], .full(covers: covers), from: author)
    #expect(try End(relay.export(above: held).1).rows == 20)
  }

  /// A long exchange in slices, perhaps resumed, perhaps cut.
  private func catchUp(
    _ replica: TestReplica, from other: TestReplica, _ random: inout Seeded
  ) throws {
    let resume = try replica.store.progress.frontier(of: other.store.node)
    let (covers, batches) = try other.export(
      above: replica.store.position.frontier.joined(resume))
    var done: [ExportBatch] = []
    for batch in batches {
      if random.chance(30) { return }
      _ = try replica.store.merge(
        Merge(
          sender: other.store.node, kind: .full(covers: covers), batches: [batch.bytes],
          rowsBefore: End(done).rows, checkBefore: End(done).check, end: nil,
          movesFrontier: false), at: replica.now)
      done.append(batch)
    }
    if random.chance(20) { return }
    _ = try replica.store.merge(
      Merge(
        sender: other.store.node, kind: .full(covers: covers), batches: [],
        rowsBefore: End(done).rows, checkBefore: End(done).check, end: End(done),
        movesFrontier: true), at: replica.now)
  }

  /// Of what the frontier covers, nothing that the list leaves out may be live and lacking.
  private func compare(
    _ replica: TestReplica, _ frontiers: [Frontier], _ random: inout Seeded, _ seed: UInt64
  ) throws {
    let store = replica.store
    for _ in 0..<4 {
      var frontier = random.pick(frontiers)
      if random.chance(50) { frontier.join(random.pick(frontiers)) }
      guard let list = store.recent.above(frontier) else { continue }
      let held = store.position.frontier
      let given = Set(
        try list.compactMap { entry in
          try store.versions.version(table: entry.table, key: entry.key)?.dot == entry.dot
            ? entry.dot : nil
        })
      let wanted = Set(
        try Outside.versions(replica, []).values.map(\.dot)
          .filter { !frontier.covers($0) && held.covers($0) })
      #expect(
        given.isSuperset(of: wanted), "FLOTILLA_SEED=\(seed): the list lacks \(wanted)")
    }
  }
}
