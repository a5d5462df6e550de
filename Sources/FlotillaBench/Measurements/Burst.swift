import Foundation
import SQLite

/// One transaction of very many rows at one node, until it is at another one: what people wait for
/// after an import, or after a correction of a whole column. The same transaction in a file without
/// Flotilla runs directly before each.
enum Burst {
  static let measurement = Measurement(
    name: "burst", summary: "one transaction of 100,000 rows, from process to process over TLS",
    body: measure)

  private static func measure(_ extent: Extent, _ report: inout Report) throws {
    let rows = extent.isQuick ? 2_000 : 100_000
    let rounds = extent.isQuick ? 1 : 5
    let place = try Workplace()
    let bare = try Connection(path: "\(place.folder)/bare.db", mode: .create)
    try bare.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL")
    let (first, second) = (try BenchReplica("a", in: place), try BenchReplica("b", in: place))
    for connection in [bare, try Connection(path: first.path, mode: .create)] {
      try connection.execute(Items.schema)
    }
    try first.initialise()
    try first.run()
    _ = try second.join(first)
    try second.run(peer: first.address)
    var (inserts, updates) = (Course("inserts", rows), Course("one UPDATE", rows))
    for round in 1...rounds {
      let (application, reader) = (try first.connect(), try second.connect())
      try application.execute("PRAGMA synchronous = NORMAL")
      try inserts.run(first, second, on: [bare, application]) { connection in
        for number in 0..<rows {
          try connection.run(Items.insert, Items.row(number, key: Items.randomKey()))
        }
      } arrived: {
        // To count the rows again and again would take a core from the nodes.
        try reader.scalar("SELECT max(rowid) FROM item").integer ?? 0 >= Int64(round * rows)
          && reader.scalar("SELECT count(*) FROM item").integer == Int64(round * rows)
      } begun: {
        try reader.scalar("SELECT max(rowid) FROM item").integer ?? 0 > Int64((round - 1) * rows)
      }
      // A mark that grows with each round tells which rows have come.
      let mark = "price >= \(round * 1_000)"
      let last = "rowid > \((round - 1) * rows)"
      try updates.run(first, second, on: [bare, application]) { connection in
        try connection.run(
          """
          UPDATE item SET price = \(round * 1_000)
          WHERE \(last)
          """)
      } arrived: {
        // Finds one that is missing at once.
        try reader.row("SELECT 1 FROM item WHERE \(last) AND NOT \(mark) LIMIT 1") == nil
      } begun: {
        try reader.row("SELECT 1 FROM item WHERE \(last) AND \(mark) LIMIT 1") != nil
      }
    }
    report.figures = inserts.figures + updates.figures
    for (name, replica) in [("author", first), ("receiver", second)] {
      guard let node = replica.node else { continue }
      report.figures.append(
        Figure("peak memory of the \(name)", "MiB", ProcessFacts(pid: node.pid).peakMiB)
          .target(.maximum, atMost: 48))
    }
    try second.stop()
    try first.stop()
  }

  /// One kind of transaction, round after round.
  private struct Course {
    let name: String
    let rows: Int
    private var bare: [Double] = []
    private var capture: [Double] = []
    private var speed: [Double] = []
    private var ratio: [Double] = []
    private var first: [Double] = []
    private var work: [[Double]] = [[], []]
    private var written: [[Double]] = [[], []]

    init(_ name: String, _ rows: Int) {
      self.name = name
      self.rows = rows
    }

    /// Runs `body` in the file without Flotilla and then in that of the author.
    mutating func run(
      _ author: BenchReplica, _ receiver: BenchReplica, on connections: [Connection],
      _ body: (Connection) throws -> Void, arrived: () throws -> Bool, begun: () throws -> Bool
    ) throws {
      let facts = [author, receiver].compactMap { $0.node.map { ProcessFacts(pid: $0.pid) } }
      var before: [(cpu: Double, written: Double)] = []
      var times: [Double] = []
      for connection in connections {
        // What the nodes do beside the other file is not counted.
        before = facts.map { ($0.cpuSeconds, $0.writtenBytes) }
        let start = Clock.now
        try connection.execute("BEGIN IMMEDIATE")
        try body(connection)
        try connection.execute("COMMIT")
        times.append((Clock.now - start).seconds)
      }
      let start = Clock.now
      try Clock.wait("the first row", within: .seconds(300), every: .milliseconds(10), begun)
      first.append((Clock.now - start).seconds)
      try Clock.wait("all rows", within: .seconds(300), every: .milliseconds(20), arrived)
      let time = (Clock.now - start).seconds
      bare.append(times[0])
      capture.append(times[1] / times[0])
      speed.append(Double(rows) / time)
      ratio.append(time / times[0])
      for (index, fact) in facts.enumerated() {
        work[index].append((fact.cpuSeconds - before[index].cpu) / Double(rows) * 1e6)
        written[index].append((fact.writtenBytes - before[index].written) / Double(rows))
      }
    }

    var figures: [Figure] {
      [
        Figure("\(rows) rows, \(name): a file without Flotilla", "s", bare),
        Figure("\(name): the commit, against that", "×", capture)
          .target(.median, atMost: name == "inserts" ? 2.0 : 2.2),
        Figure("\(name): first row at the other node", "s", first),
        Figure("\(name): all rows at the other node", "rows/s", speed)
          .target(.median, atLeast: name == "inserts" ? 150_000 : 100_000),
        Figure("\(name): until they are there, against the bare commit", "×", ratio),
        Figure("\(name): CPU at the author", "µs/row", work[0]),
        Figure("\(name): CPU at the receiver", "µs/row", work[1]),
        Figure("\(name): written by the author's node", "B/row", written[0]),
        Figure("\(name): written by the receiver's node", "B/row", written[1])
          .target(.median, atMost: 600),
      ]
    }
  }
}
