import Foundation
import Replication
import SQLite
import Store

/// The way of a row through one process: folded at one store, exported, merged into another one.
///
/// Nothing waits and nothing runs beside it, so this is what to give to a profiler.
enum RowPath {
  static let measurement = Measurement(
    name: "path", summary: "fold, export and merge of 20,000 rows in one process, for a profiler",
    body: measure)

  private static func measure(_ extent: Extent, _ report: inout Report) throws {
    let count = extent.isQuick ? 2_000 : 20_000
    let place = try Workplace(inMemory: true)
    let author = try BenchStore(1, in: place, schema: Items.schema, tracking: ["item"], at: .bench)
    let receiver = try BenchStore(
      2, in: place, schema: Items.schema, tracking: ["item"], at: .bench)
    try receiver.pull(from: author, at: .bench)
    var figures: [Figure] = []
    for name in ["inserts", "one UPDATE"] {
      if name == "inserts" {
        try FreshPair.insert(author.application, (0..<count).map(FreshPair.row))
      } else {
        try author.application.run("UPDATE item SET price = price + 1")
      }
      let start = Clock.now
      try author.fold(at: .bench)
      let folded = Clock.now
      let rows = try receiver.pull(from: author, at: .bench)
      let end = Clock.now
      guard rows == count else { throw BenchError("\(rows) rows came instead of \(count)") }
      for (step, time) in [("fold", folded - start), ("export and merge", end - folded)] {
        figures.append(
          Figure("\(name): \(step)", "µs/row", time.seconds / Double(count) * 1e6))
      }
    }
    report.figures = figures
  }
}
