import SQLite

/// From a commit by another process on A to the moment at which a reader of B sees it.
///
/// The reader asks B's file again and again through a connection of its own, with naps of 50 µs so
/// that it leaves the nodes some processor.
enum Latency {
  static let measurement = Measurement(
    name: "latency", summary: "a commit on A until it is visible on B", body: measure)

  private static func measure(_ extent: Extent, _ report: inout Report) throws {
    let count = extent.isQuick ? 40 : 300
    let pair = try Pair(schema: WriteRole.schema)
    var syncs = try Disk.syncTimes(in: pair.place.folder, count: 50)
    Clock.sleep(.seconds(1))
    let quiet = try observe(pair, first: 1, count: count, pause: .milliseconds(50))
    Clock.sleep(.seconds(1))
    let steady = try observe(pair, first: 1_000_000, count: count * 10, pause: .milliseconds(5))
    Clock.sleep(.seconds(1))
    syncs += try Disk.syncTimes(in: pair.place.folder, count: 50)
    try pair.stop()

    let sync = Samples(syncs).median
    report.figures = [
      Figure("4 KiB and fdatasync on this disk", "ms", syncs),
      Figure("quiet: commit to visible", "ms", quiet.latencies)
        .target(.median, atMost: 2 * sync + 3).target(.p99, atMost: 40),
      Figure("quiet: the writer's commit", "ms", quiet.commits),
      Figure("a commit every 5 ms: commit to visible", "ms", steady.latencies)
        .target(.p99, atMost: 40),
      Figure("a commit every 5 ms: the writer's commit", "ms", steady.commits),
    ]
  }

  struct Observation {
    var latencies: [Double] = []
    var commits: [Double] = []
  }

  /// Has rows written on A from `first` on, one every `pause`, and sees them come on B.
  static func observe(
    _ pair: Pair, first: Int, count: Int, pause: Duration
  ) throws -> Observation {
    let reader = try pair.second.connect()
    let writer = try pair.place.role(
      .write, pair.first.path, "\(first)", "\(count)", "\(pause.nanoseconds / 1_000)")
    var seen: [Int: Int64] = [:]
    var last = first - 1
    let end = Clock.now + (pause.nanoseconds * Int64(count) * 2) + 30_000_000_000
    while last < first + count - 1 {
      let newest = try reader.scalar("SELECT max(n) FROM mark").integer.map(Int.init) ?? 0
      let now = Clock.now
      guard now < end else { throw BenchError("row \(last + 1) did not arrive") }
      if newest > last {
        for number in (last + 1)...newest where number >= first { seen[number] = now }
        last = max(last, newest)
      }
      Clock.sleep(.microseconds(50))
    }
    var observation = Observation()
    for line in try writer.wait(within: .seconds(10)).output.split(separator: "\n") {
      let words = line.split(separator: " ").compactMap { Int64($0) }
      guard words.count == 3, let moment = seen[Int(words[0])] else { continue }
      observation.latencies.append((moment - words[2]).milliseconds)
      observation.commits.append((words[2] - words[1]).milliseconds)
    }
    return observation
  }
}
