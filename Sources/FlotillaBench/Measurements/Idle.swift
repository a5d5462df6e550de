import SQLite

/// What a connected node costs while nothing happens.
enum Idle {
  static let measurement = Measurement(
    name: "idle", summary: "processor and memory of a connected node at rest", body: measure)

  private static func measure(_ extent: Extent, _ report: inout Report) throws {
    let pair = try Pair(schema: Items.schema)
    Clock.sleep(.seconds(3))
    let nodes = [pair.first, pair.second].compactMap { $0.node.map { ProcessFacts(pid: $0.pid) } }
    let before = nodes.map(\.cpuSeconds)
    let start = Clock.now
    Clock.sleep(.seconds(extent.isQuick ? 5 : 20))
    let seconds = (Clock.now - start).seconds
    let shares = zip(nodes, before).map { ($0.cpuSeconds - $1) / seconds * 100 }
    let memory = nodes.map(\.peakMiB)
    try pair.stop()
    report.figures = [
      Figure("share of one core, both nodes", "%", shares).target(.maximum, atMost: 0.5),
      Figure("peak resident memory, both nodes", "MiB", memory),
    ]
  }
}
