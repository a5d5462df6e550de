import SQLite

/// From a commit by another process on A to the moment at which a reader of B sees it. The clock
/// starts before the commit: that of a partner waits for the disk.
///
/// The reader asks B's file again and again through a connection of its own, with naps of 50 µs so
/// that it leaves the nodes some processor.
enum Latency {
  static let measurement = Measurement(
    name: "latency", summary: "a commit on A until it is visible on B", body: measure)

  private static func measure(_ extent: Extent, _ report: inout Report) throws {
    let count = extent.isQuick ? 40 : 300
    let theirs = try partner(count)
    let pair = try Pair(schema: WriteRole.schema)
    var syncs = try Disk.syncTimes(in: pair.place.folder, count: 50)
    Clock.sleep(.seconds(1))
    let quiet = try observe(pair, first: 1, count: count, pause: pauses[0])
    Clock.sleep(.seconds(1))
    let steady = try observe(pair, first: 1_000_000, count: count * 10, pause: pauses[1])
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
    if !theirs.isEmpty { report.figures += beside(theirs, quiet.latencies, steady.latencies) }
    let bound = "two waits for the disk, TLS and two changes of process"
    for (name, what) in [("quiet", "at rest"), ("a commit every 5 ms", "one each 5 ms")] {
      report.line(
        "a commit until another node shows it, \(what)", "\(name): commit to visible",
        partner: "PostgreSQL, logical replication", beside: "\(name): PostgreSQL",
        ratio: "\(name): median against PostgreSQL's", bound: bound)
    }
  }

  private static let pauses: [Duration] = [.milliseconds(50), .milliseconds(5)]

  /// The partner's, before the nodes are there: milliseconds, at rest and one each 5 ms.
  private static func partner(_ count: Int) throws -> [[Double]] {
    guard let partner = try PostgresPair.ifInstalled() else { return [] }
    try partner.clear()
    return try zip(pauses, [count, count * 10]).map { pause, count in
      var next = Clock.now
      return try (0..<count).map { _ in
        Clock.sleep(until: next)
        next = max(next + pause.nanoseconds, Clock.now)
        return try partner.latency()
      }
    }
  }

  private static func beside(
    _ theirs: [[Double]], _ quiet: [Double], _ steady: [Double]
  ) -> [Figure] {
    zip(["quiet", "a commit every 5 ms"], zip(theirs, [quiet, steady])).flatMap { name, both in
      [
        Figure("\(name): PostgreSQL", "ms", both.0),
        Figure(
          "\(name): median against PostgreSQL's", "×",
          Samples(both.1).median / Samples(both.0).median),
      ]
    }
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
      observation.latencies.append((moment - words[1]).milliseconds)
      observation.commits.append((words[2] - words[1]).milliseconds)
    }
    return observation
  }
}
