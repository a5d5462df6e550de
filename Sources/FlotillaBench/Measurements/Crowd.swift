/// What members feel of a thousand strangers at the door of their node.
///
/// Quiet and crowded times take turns in one run, so that whatever else the machine does is in
/// both; the ratio is what counts.
enum Crowd {
  static let measurement = Measurement(
    name: "crowd", summary: "latency of members beside 1,000 half-open connections",
    body: measure)

  private static let strangers = 1_000

  private static func measure(_ extent: Extent, _ report: inout Report) throws {
    let count = extent.isQuick ? 20 : 150
    let pair = try Pair(schema: WriteRole.schema)
    var (quiet, crowded): ([Double], [Double]) = ([], [])
    for round in 0..<(extent.isQuick ? 1 : 4) {
      Clock.sleep(.seconds(1))
      quiet += try latencies(pair, 2 * round, count)
      let crowd = try pair.place.role(.crowd, pair.first.address, "\(strangers)")
      try Clock.wait("the crowd", within: .seconds(60)) {
        if let ended = crowd.poll() { throw BenchError("the crowd ended: \(ended.error)") }
        return crowd.log.contains(CrowdRole.ready)
      }
      crowded += try latencies(pair, 2 * round + 1, count)
      guard crowd.poll() == nil else { throw BenchError("the crowd ended: \(crowd.log)") }
    }
    try pair.stop()
    let (before, beside) = (Samples(quiet), Samples(crowded))
    report.figures = [
      Figure("nobody at the door: commit to visible", "ms", quiet),
      Figure("1,000 half-open connections: commit to visible", "ms", crowded),
      Figure("ratio of the medians", "×", beside.median / before.median)
        .target(.median, atMost: 2),
      Figure("ratio of the 99th percentiles", "×", beside.percentile(99) / before.percentile(99))
        .target(.median, atMost: 2),
    ]
    report.notes.append("the crowd, the nodes, the writer and the reader share one machine")
  }

  private static func latencies(_ pair: Pair, _ part: Int, _ count: Int) throws -> [Double] {
    try Latency.observe(
      pair, first: part * 100_000 + 1, count: count, pause: .milliseconds(20)
    ).latencies
  }
}
