import Foundation
import SQLite

/// One transaction of very many rows at one node, until it is at another one: what people wait for
/// after an import, or after a correction of a whole column.
///
/// Each round has new files. Directly before each the same transaction goes from one PostgreSQL
/// server to another one, if it is installed, and then into a file without Flotilla. The clock runs
/// from before the COMMIT until a reader at the other end counts all rows.
enum Burst {
  static let measurement = Measurement(
    name: "burst", summary: "one transaction of 100,000 rows, from process to process over TLS",
    body: measure)

  private static func measure(_ extent: Extent, _ report: inout Report) throws {
    let rows = extent.isQuick ? 2_000 : 100_000
    let rounds = extent.isQuick ? 1 : 5
    let partner = try PostgresPair.ifInstalled()
    if partner == nil { report.notes.append("PostgreSQL is not installed: nothing beside it") }
    var inserts = Course("\(Report.grouped(Double(rows))) inserts", .inserts, rows)
    var updates = Course("one UPDATE of \(Report.grouped(Double(rows)))", .updates, rows)
    var peaks: [[Double]] = [[], []]
    for _ in 0..<rounds {
      let files = try FreshPair()
      try partner?.clear()
      try inserts.add(
        partner?.insert(rows), Transfer.inserts(files, (0..<rows).map(FreshPair.row)))
      try updates.add(partner?.update(rows), Transfer.update(files, last: rows, price: 1_000))
      for (index, fact) in try files.facts().enumerated() { peaks[index].append(fact.peakMiB) }
      try files.pair.stop()
    }
    report.figures = inserts.figures + updates.figures
    for (name, values) in zip(["author", "receiver"], peaks) {
      report.figures.append(
        Figure("peak memory of the \(name)", "MiB", values).target(.maximum, atMost: 48))
    }
    try grown(rows, extent, &report)
    lines(inserts, updates, &report)
  }

  /// The same into a table that has four times as many rows, in the middle of three rounds.
  private static func grown(
    _ rows: Int, _ extent: Extent, _ report: inout Report
  ) throws {
    let files = try FreshPair(filled: rows * 3)
    let place = "into a table of \(Report.grouped(Double(rows * 4)))"
    var inserts = Course("\(place), inserts", .grown, rows)
    var updates = Course("\(place), one UPDATE", .grown, rows)
    for round in 0..<(extent.isQuick ? 1 : 3) {
      try inserts.add(nil, Transfer.inserts(files, (0..<rows).map(FreshPair.row)))
      try updates.add(nil, Transfer.update(files, last: rows, price: 1_000 + round))
    }
    report.figures += inserts.figures + updates.figures
    try files.pair.stop()
  }

  private static func lines(_ inserts: Course, _ updates: Course, _ report: inout Report) {
    for (course, bound) in [
      (inserts, "the fold at the author, then the merge: SQLite's work on table and version"),
      (updates, "the same; both pages of each row are read first"),
    ] {
      report.line(
        "\(course.name), from COMMIT until all are at the other node (two processes, TLS)",
        course.speed, partner: "PostgreSQL, logical replication", beside: course.theirs,
        ratio: course.ratio, bound: bound)
    }
    report.line(
      "written to the receiver's disk for these inserts", inserts.written,
      bound: "pages of table, key and version, first to the log and then to the file")
    report.line(
      "peak memory of the author", "peak memory of the author",
      bound: "the page cache, and what waits to be sent")
    report.line(
      "peak memory of the receiver", "peak memory of the receiver",
      bound: "the page cache, and what has gathered for a merge")
  }

  /// One kind of transaction, round after round.
  private struct Course {
    enum Kind { case inserts, updates, grown }

    let name: String
    private let kind: Kind
    private let rows: Int
    private var rounds: [Transfer] = []
    private var partner: [Double] = []

    init(_ name: String, _ kind: Kind, _ rows: Int) {
      (self.name, self.kind, self.rows) = (name, kind, rows)
    }

    /// Takes the seconds of the partner and what was measured after that.
    mutating func add(_ partner: Double?, _ transfer: Transfer) {
      if let partner { self.partner.append(partner) }
      rounds.append(transfer)
    }

    var speed: String { "\(name): all rows at the other node" }
    var theirs: String { "\(name): the same by PostgreSQL" }
    var ratio: String { "\(name): against PostgreSQL" }
    var written: String { "\(name): written by the receiver's node" }

    var figures: [Figure] {
      let count = Double(rows)
      var arrived = Figure(speed, "rows/s", rounds.map { count / $0.all })
      var captured = Figure(
        "\(name): the commit, against a file without Flotilla", "×",
        rounds.map { $0.captured / $0.bare })
      var written = Figure(self.written, "MB", rounds.map { $0.writtenBytes[1] / 1e6 })
      if kind != .grown {
        arrived = arrived.target(.median, atLeast: kind == .inserts ? 150_000 : 100_000)
        captured = captured.target(.median, atMost: kind == .inserts ? 2.0 : 2.2)
        written = written.target(.median, atMost: count * 600 / 1e6)
      }
      var figures: [Figure] = []
      if !partner.isEmpty {
        figures = [
          Figure(theirs, "rows/s", partner.map { count / $0 }),
          Figure(ratio, "×", zip(partner, rounds).map { $0 / $1.all })
            .target(.median, atLeast: kind == .inserts ? 2 : 1),
        ]
      }
      return [arrived] + figures + [
        Figure("\(name): first row at the other node", "s", rounds.map(\.first)),
        Figure("\(name): a file without Flotilla", "s", rounds.map(\.bare)),
        captured,
        Figure(
          "\(name): until they are there, against that file", "×",
          rounds.map { $0.all / $0.bare }),
        Figure(
          "\(name): CPU at the author", "µs/row", rounds.map { $0.cpuSeconds[0] / count * 1e6 }),
        Figure(
          "\(name): CPU at the receiver", "µs/row", rounds.map { $0.cpuSeconds[1] / count * 1e6 }),
        Figure(
          "\(name): written by the author's node", "MB", rounds.map { $0.writtenBytes[0] / 1e6 }),
        written,
      ]
    }
  }
}
