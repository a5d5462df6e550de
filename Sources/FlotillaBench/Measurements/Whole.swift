import Replication
import Store

/// What is one commit, however many rows it touches: for how long it holds the lock.
enum Whole {
  static let measurement = Measurement(
    name: "whole", summary: "steps that are one commit, however many rows they touch",
    body: measure)

  private static func measure(_ extent: Extent, _ report: inout Report) throws {
    let rows = extent.isQuick ? 1_000 : 10_000
    let site = try VerdictSite(ClientWins.name, rows: rows)
    for author in 1...2 { try site.write(author, "UPDATE item SET text = 'of the author ' || id") }
    func add(_ what: String, _ author: Int, _ body: (Store) throws -> Void) throws {
      let time = try site.time(author, body)
      report.figures.append(Figure("\(rows) rows: \(what)", "ms", time))
    }
    try add("edits that nobody was sent are taken back with the right to make them", 1) {
      try $0.allow(Rights(general: .read), delivered: 0, at: .bench)
    }
    try add("edits get new numbers in a new life", 2) {
      try $0.beginLife(
        .unknown, origin: Origin(rawValue: 99 << 32), life: 2, run: 2, reissuingAbove: 0, at: .bench
      )
    }
    try add("their table is tracked no more", 3) { try $0.untrack(["item"], at: .bench) }
    try site.drop(4, "item")
    try add("their table was dropped", 4) { _ = try $0.fold(at: .bench) }
  }
}
