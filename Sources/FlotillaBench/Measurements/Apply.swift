import Replication
import SQLite
import Store

/// What a receiver does for rows that come: an exchange is merged, beside the same rows written by
/// bare SQLite directly before, in the order in which the program wrote them.
///
/// No node and no network: the batches of the exchange are read before the clock starts. Commits
/// are as large as a node makes them.
enum Apply {
  static let measurement = Measurement(
    name: "apply", summary: "an exchange of 100,000 rows merged, beside bare SQLite",
    body: measure)

  private static func measure(_ extent: Extent, _ report: inout Report) throws {
    let count = extent.isQuick ? 2_000 : 100_000
    var (inserts, updates) = (Course(), Course())
    for _ in 0..<(extent.isQuick ? 2 : 5) {
      let place = try Workplace()
      let bare = try Connection(path: "\(place.folder)/bare.db", mode: .create)
      try bare.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL")
      try bare.execute(Items.schema)
      let author = try BenchStore(
        1, in: place, schema: Items.schema, tracking: ["item"], at: .bench)
      let receiver = try BenchStore(
        2, in: place, schema: Items.schema, tracking: ["item"], at: .bench)
      receiver.mergesAs(2_000)
      try receiver.pull(from: author, at: .bench)
      let keys = (0..<count).map { _ in Items.randomKey() }
      let rows = keys.enumerated().map { Items.row($0, key: $1) }
      try inserts.add(count, place, author, receiver, bare) { connection in
        for row in rows { try connection.run(Items.insert, row) }
      }
      try updates.add(count, place, author, receiver, bare) { connection in
        for key in keys {
          try connection.run("UPDATE item SET price = price + 1 WHERE id = ?", [.blob(key)])
        }
      }
    }
    let size = Report.grouped(Double(count))
    report.figures =
      inserts.figures("\(size) inserts", count, atMost: 1.8)
      + updates.figures("\(size) updates", count, atMost: 1.5)
    for name in ["inserts", "updates"] {
      report.line(
        "an exchange of \(size) \(name), merged in one process", "\(size) \(name): merged",
        partner: "bare SQLite", beside: "\(size) \(name): bare",
        ratio: "\(size) \(name): ratio to bare",
        bound: name == "inserts"
          ? "a row more for each, of versions" : "the version is read and written as well")
    }
  }

  private struct Course {
    private var bare: [Double] = []
    private var merged: [Double] = []

    mutating func add(
      _ count: Int, _ place: Workplace, _ author: BenchStore, _ receiver: BenchStore,
      _ bare: Connection, _ body: (Connection) throws -> Void
    ) throws {
      func write(_ connection: Connection) throws {
        try connection.execute("BEGIN IMMEDIATE")
        try body(connection)
        try connection.execute("COMMIT")
      }
      try write(author.application)
      try author.fold(at: .bench)
      let merge = try receiver.fetch(from: author, at: .bench)
      for connection in [bare, receiver.application] {
        try connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
      }
      Disk.settle()
      var start = Clock.now
      try write(bare)
      self.bare.append((Clock.now - start).seconds)
      Disk.settle()
      start = Clock.now
      try receiver.take(merge, at: .bench)
      merged.append((Clock.now - start).seconds)
      guard merge.end?.rows == UInt64(count) else {
        throw BenchError("\(merge.end?.rows ?? 0) rows came instead of \(count)")
      }
    }

    func figures(_ name: String, _ count: Int, atMost limit: Double) -> [Figure] {
      [
        Figure("\(name): merged", "rows/s", merged.map { Double(count) / $0 }),
        Figure("\(name): bare", "rows/s", bare.map { Double(count) / $0 }),
        Figure("\(name): ratio to bare", "×", zip(merged, bare).map { $0 / $1 })
          .target(.median, atMost: limit),
      ]
    }
  }
}
