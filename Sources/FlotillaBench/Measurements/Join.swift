import Foundation
import SQLite

/// A newcomer to a site whose database has a megabyte: by the programs, as a person would do it.
enum Join {
  static let measurement = Measurement(
    name: "join", summary: "a megabyte for a newcomer, from the invitation on", body: measure)

  /// Rows of a database of about one MB.
  private static let rows = 7_000

  private static func measure(_ extent: Extent, _ report: inout Report) throws {
    var sizes: [Double] = []
    var visible: [Double] = []
    var complete: [Double] = []
    for _ in 0..<(extent.isQuick ? 1 : 5) {
      let place = try Workplace()
      let first = try BenchReplica("a", in: place)
      let second = try BenchReplica("b", in: place)
      try Connection(path: first.path, mode: .create).execute(Items.schema)
      try place.role(.insert, first.path, "\(rows)", "\(rows)").wait(within: .seconds(30))
      sizes.append(Double(try Data(contentsOf: URL(filePath: first.path)).count) / 1e6)
      try first.initialise()
      try first.run()
      try first.settle()
      let start = Clock.now
      let child = try second.startJoining(first)
      try Clock.wait("the first row", within: .seconds(60), every: .milliseconds(2)) {
        if let ended = child.poll(), ended.status != 0 { throw BenchError(ended.error) }
        return sees(second)
      }
      visible.append((Clock.now - start).seconds)
      try child.wait(within: .seconds(60))
      complete.append((Clock.now - start).seconds)
      try first.stop()
    }
    report.figures = [
      Figure("the database", "MB", sizes),
      Figure("invitation to first row visible", "s", visible).target(.maximum, atMost: 5),
      Figure("invitation to all rows copied", "s", complete),
    ]
  }

  /// Whether a program that opens the newcomer's file finds a row in it.
  private static func sees(_ replica: BenchReplica) -> Bool {
    guard FileManager.default.fileExists(atPath: replica.path),
      let connection = try? replica.connect(),
      let row = try? connection.row("SELECT 1 FROM item LIMIT 1")
    else { return false }
    return row[0].integer == 1
  }
}
