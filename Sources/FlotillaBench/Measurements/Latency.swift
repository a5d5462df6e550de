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
    let count = extent.isQuick ? 40 : 100
    let partner = try PostgresPair.ifInstalled()
    if partner == nil { report.notes.append("PostgreSQL is not installed: nothing beside it") }
    let pair = try Pair(schema: WriteRole.schema)
    var syncs: [Double] = []
    var courses = [
      Course(name: "quiet", pause: .milliseconds(50), count: count),
      Course(name: "a commit every 5 ms", pause: .milliseconds(5), count: count * 10),
    ]
    for round in 0..<(extent.isQuick ? 1 : 3) {
      syncs += try Disk.syncTimes(in: pair.place.folder, count: 50)
      for index in courses.indices {
        Clock.sleep(.seconds(1))
        try courses[index].add(
          partner, pair, first: (round * courses.count + index) * 1_000_000 + 1)
      }
    }
    try pair.stop()
    let sync = Samples(syncs).median
    report.figures = [Figure("4 KiB and fdatasync on this disk", "ms", syncs)]
    for course in courses { report.figures += course.figures(sync: sync) }
    for (course, what) in zip(courses, ["at rest", "one each 5 ms"]) {
      report.line(
        "a commit until another node shows it, \(what)", course.visible,
        partner: "PostgreSQL, logical replication", beside: course.theirs, ratio: course.ratio,
        bound: "two waits for the disk, TLS and two changes of process")
    }
  }

  /// Commits at one distance, round after round; those of the partner directly before.
  private struct Course {
    let name: String
    let pause: Duration
    let count: Int
    private var own = Observation()
    private var partner: [Double] = []
    private var ratios: [Double] = []

    init(name: String, pause: Duration, count: Int) {
      (self.name, self.pause, self.count) = (name, pause, count)
    }

    mutating func add(_ partner: PostgresPair?, _ pair: Pair, first: Int) throws {
      var times: [Double] = []
      if let partner {
        var next = Clock.now
        for _ in 0..<count {
          Clock.sleep(until: next)
          next = max(next + pause.nanoseconds, Clock.now)
          times.append(try partner.latency())
        }
      }
      let seen = try Latency.observe(pair, first: first, count: count, pause: pause)
      own.latencies += seen.latencies
      own.commits += seen.commits
      self.partner += times
      guard !times.isEmpty else { return }
      ratios.append(Samples(seen.latencies).median / Samples(times).median)
    }

    var visible: String { "\(name): commit to visible" }
    var theirs: String { "\(name): PostgreSQL" }
    var ratio: String { "\(name): median against PostgreSQL's" }

    func figures(sync: Double) -> [Figure] {
      var figure = Figure(visible, "ms", own.latencies)
      if name == "quiet" { figure = figure.target(.median, atMost: 2 * sync + 3) }
      let figures = [
        figure.target(.p99, atMost: 40), Figure("\(name): the writer's commit", "ms", own.commits),
      ]
      guard !partner.isEmpty else { return figures }
      return figures + [Figure(theirs, "ms", partner), Figure(ratio, "×", ratios)]
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
