import Replication
import SQLite
import Store

/// What the triggers cost a program that writes, against the same file without them.
///
/// Each round runs both, one right after the other, so that a machine whose speed drifts changes
/// both; the ratio is taken within the round.
enum Capture {
  static let measurement = Measurement(
    name: "capture", summary: "cost of writing with triggers against bare SQLite", body: measure)

  private struct Step: Sendable {
    let name: String
    let run: @Sendable (Connection, [[UInt8]]) throws -> Void
  }

  private static func measure(_ extent: Extent, _ report: inout Report) throws {
    let scale = extent.isQuick ? 20 : 1
    let rounds = extent.isQuick ? 2 : 5
    let steps = steps(scale)
    var ratios = [[Double]](repeating: [], count: steps.count)
    var times = ratios
    var folds: [Double] = []
    var (bareInserts, whole): ([Double], [Double]) = ([], [])
    for round in 0..<rounds {
      let keys = (0..<(100_000 / scale)).map { _ in Items.randomKey() }
      let (bare, tracked) = (try Subject(isTracked: false), try Subject(isTracked: true))
      for (index, step) in steps.enumerated() {
        let order = round % 2 == 0 ? [bare, tracked] : [tracked, bare]
        for subject in order { try subject.time(step.name) { try step.run($0, keys) } }
        ratios[index].append(tracked.times[index] / bare.times[index])
        times[index].append(tracked.times[index] * 1e3)
        let fold = try tracked.fold()
        guard index == 0 else { continue }
        folds.append(fold / Double(keys.count) * 1e6)
        bareInserts.append(bare.times[index] * 1e3)
        whole.append((tracked.times[index] + fold) * 1e3)
      }
    }
    for (index, step) in steps.enumerated() {
      report.figures.append(Figure("\(step.name), ratio to bare", "×", ratios[index]))
      report.figures.append(Figure("\(step.name), tracked", "ms", times[index]))
    }
    report.figures.append(Figure("fold of an inserted row", "µs", folds))
    let names = ["the inserts, bare", "the inserts and their fold"]
    let ratio = "the inserts and their fold, ratio to bare"
    report.figures += [
      Figure(names[0], "ms", bareInserts), Figure(names[1], "ms", whole),
      Figure(ratio, "×", zip(whole, bareInserts).map { $0 / $1 }).target(.median, atMost: 3.5),
    ]
    report.line(
      "\(Report.grouped(Double(100_000 / scale))) inserts in one transaction with triggers, and "
        + "their fold", names[1], partner: "bare SQLite", beside: names[0], ratio: ratio,
      bound: "two more rows for each: of the journal, and of versions")
  }

  private static func steps(_ scale: Int) -> [Step] {
    let update = "UPDATE item SET quantity = quantity + 1 WHERE id = ?"
    return [
      Step(name: "\(100_000 / scale) inserts in one transaction") { connection, keys in
        try connection.transaction { () throws(SQLiteError) in
          for (number, key) in keys.enumerated() {
            try connection.run(Items.insert, Items.row(number, key: key))
          }
        }
      },
      Step(name: "\(5_000 / scale) updates, each a transaction") { connection, keys in
        for key in keys.prefix(5_000 / scale) { try connection.run(update, [.blob(key)]) }
      },
      Step(name: "\(50_000 / scale) deletes in one transaction") { connection, keys in
        try connection.transaction { () throws(SQLiteError) in
          for key in keys.prefix(50_000 / scale) {
            try connection.run("DELETE FROM item WHERE id = ?", [.blob(key)])
          }
        }
      },
    ]
  }
}

/// One of the two files of a round.
private final class Subject {
  private let place: Workplace
  private let connection: Connection
  private let store: Store?
  private(set) var times: [Double] = []

  init(isTracked: Bool) throws {
    place = try Workplace()
    let path = "\(place.folder)/test.db"
    connection = try Connection(path: path, mode: .create)
    connection.setBusyTimeout(milliseconds: 5_000)
    try connection.execute(Items.schema)
    try connection.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL")
    guard isTracked else {
      store = nil
      return
    }
    try ReplicaFile.initialise(
      path: path,
      as: ReplicaFile.Identities(
        site: Identity(high: 1, low: 1), siteName: "Bench", node: Identity(high: 1, low: 2),
        nodeName: "bench", origin: Origin(rawValue: 1)))
    store = try Store(path: path)
    // As many in one commit as a node folds.
    store?.pace.journalEntries = 2_000
    try store?.track(["item"], rule: nil, at: .bench)
    _ = try fold()
  }

  func time(_ name: String, _ body: (Connection) throws -> Void) throws {
    try connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    let start = Clock.now
    try body(connection)
    times.append((Clock.now - start).seconds)
  }

  /// Folds all that was noted; gives the seconds.
  func fold() throws -> Double {
    let start = Clock.now
    while try store?.fold(at: .bench).hasMore == true {}
    return (Clock.now - start).seconds
  }
}
