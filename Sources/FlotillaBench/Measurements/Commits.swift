import SQLite

/// Very many transactions of one row beside a node, and until the other node shows all of them; the
/// same in a file without Flotilla directly before.
enum Commits {
  static let measurement = Measurement(
    name: "commits", summary: "20,000 commits of one row beside a node, and until all are there",
    body: measure)

  private static func measure(_ extent: Extent, _ report: inout Report) throws {
    let count = extent.isQuick ? 500 : 20_000
    var (bare, own, there): ([Double], [Double], [Double]) = ([], [], [])
    for _ in 0..<(extent.isQuick ? 1 : 3) {
      let files = try FreshPair()
      let place = files.pair.place
      bare.append(try write(count, to: files.bare.path, in: place).seconds)
      try files.waitUntilEqual()
      let written = try write(count, to: files.pair.first.path, in: place) {
        try Clock.wait("all rows", within: .seconds(300), every: .milliseconds(5)) {
          try files.reader.scalar("SELECT max(rowid) FROM item").integer ?? 0 >= Int64(count)
            && files.reader.scalar("SELECT count(*) FROM item").integer == Int64(count)
        }
      }
      own.append(written.seconds)
      there.append((written.end - written.began).seconds)
      try files.pair.stop()
    }
    let name = "\(Report.grouped(Double(count))) commits of one row"
    report.figures = [
      Figure("\(name): bare", "commits/s", bare.map { Double(count) / $0 }),
      Figure("\(name): beside a node", "commits/s", own.map { Double(count) / $0 }),
      Figure("\(name): ratio to bare", "×", zip(own, bare).map { $0 / $1 })
        .target(.median, atMost: 1.8),
      Figure(
        "\(name): until all are at the other node", "commits/s", there.map { Double(count) / $0 }),
      Figure("\(name): until then, against the commits", "×", zip(there, own).map { $0 / $1 })
        .target(.median, atMost: 1.1),
    ]
    report.line(
      "\(name), beside a node with a peer", "\(name): beside a node", partner: "bare SQLite",
      beside: "\(name): bare", ratio: "\(name): ratio to bare",
      bound: "the trigger's row, and the folds that hold the lock meanwhile")
    report.line(
      "the same, until the other node shows all", "\(name): until all are at the other node",
      partner: "the commits", beside: "\(name): beside a node",
      ratio: "\(name): until then, against the commits",
      bound: "the last fold, which waits for its turn")
  }

  /// A process of its own writes; `end` is when `arrived` returns, which begins beside it.
  private static func write(
    _ count: Int, to path: String, in place: Workplace, arrived: () throws -> Void = {}
  ) throws -> (seconds: Double, began: Int64, end: Int64) {
    Disk.settle()
    let writer = try place.role(.insert, path, "\(count)", "1")
    try arrived()
    let end = Clock.now
    let times = try InsertRole.times(writer.wait(within: .seconds(300)).output)
    return ((times.ended - times.began).seconds, times.began, end)
  }
}
