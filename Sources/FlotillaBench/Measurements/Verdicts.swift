import Replication
import SQLite
import Store

/// An anchor that was away: what others wrote meanwhile comes in one exchange, and is judged. And
/// the office changes hands while much waits.
enum Verdicts {
  static let measurement = Measurement(
    name: "verdicts", summary: "an anchor judges what five nodes wrote while it was away",
    body: measure)

  private static let authors = 5
  /// Of all edits this part is of rows that another node has edited, too.
  private static let concurrent = 0.05

  private static func measure(_ extent: Extent, _ report: inout Report) throws {
    let rows = extent.isQuick ? 5_000 : 50_000
    let place = try Workplace()
    let syncs = try Disk.syncTimes(in: place.folder, count: 50)
    report.figures.append(Figure("4 KiB and fdatasync on this disk", "ms", syncs))
    let rounds = extent.isQuick ? 1 : 3
    for rule in [ClientWins.name, ServerWins.name] {
      try judge(rule, rounds, &report) { try VerdictSite(rule, rows: rows) }
    }
    try judge("\(ClientWins.name), UNIQUE and FOREIGN KEY", rounds, &report) {
      try VerdictSite(ClientWins.name, rows: rows, isConstrained: true)
    }
    report.line(
      "edits that an anchor judges, which had been away", "\(ClientWins.name): verdicts",
      bound: "a version read and written for each, and a record of the verdict")
    for change in OfficeChange.allCases {
      let steps = try change.steps(rows: extent.isQuick ? 2_000 : 10_000)
      report.figures.append(
        Figure("\(change.rawValue): one step", "ms", steps).target(.maximum, atMost: 50))
    }
  }

  private static func judge(
    _ name: String, _ rounds: Int, _ report: inout Report, on make: () throws -> VerdictSite
  ) throws {
    var (taken, judged): ([Double], [Double]) = ([], [])
    var (arrival, judging, telling): ([Double], [Double], [Double]) = ([], [], [])
    for _ in 0..<rounds {
      let site = try make()
      let edits = Double(try site.edit(authors: authors, concurrent: concurrent))
      let coming = try site.exchange(from: 1, to: 0)
      let steps = try site.steps(0)
      taken.append(edits / coming.reduce(0, +) * 1_000)
      judged.append(edits / steps.reduce(0, +) * 1_000)
      (arrival, judging) = (arrival + coming, judging + steps)
      telling += try site.exchange(from: 0, to: 1) + site.steps(1)
      try site.requireJudged(1)
    }
    report.figures += [
      Figure("\(name): edits taken in", "rows/s", taken),
      Figure("\(name): verdicts", "rows/s", judged).target(.median, atLeast: 60_000),
      Figure("\(name): one step of taking in", "ms", arrival).target(.maximum, atMost: 50),
      Figure("\(name): one step of judging", "ms", judging).target(.maximum, atMost: 50),
      Figure("\(name): one step of an author who takes that in", "ms", telling)
        .target(.maximum, atMost: 50),
    ]
  }
}
