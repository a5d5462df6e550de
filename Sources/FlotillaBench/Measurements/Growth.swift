import SQLite

/// What a file grows by when it becomes a replica, row by row.
///
/// Rows of a 16-byte key in a file of Flotilla and in a plain one, both vacuumed.
enum Growth {
  static let measurement = Measurement(
    name: "growth", summary: "bytes that Flotilla adds to the file, for each row", body: measure)

  private static func measure(_ extent: Extent, _ report: inout Report) throws {
    let rows = extent.isQuick ? 10_000 : 100_000
    let place = try Workplace(inMemory: true)
    let plain = try plainSize(place, rows)
    let empty = try BenchStore(
      1, in: place, schema: Items.schema, tracking: ["item"], at: .life(0)
    ).fileSize(vacuum: true)

    let author = try BenchStore(
      2, in: place, schema: Items.schema, tracking: ["item"], at: .life(0))
    try fill(author.application, rows)
    try author.fold(at: .life(1_000))
    let unpacked = try author.fileSize()
    let other = try BenchStore(3, in: place, schema: Items.schema, at: .life(0))
    try other.pull(from: author, at: .life(2_000))
    let existing = try BenchStore(
      4, in: place, schema: Items.schema, tracking: ["item"], rows: { try fill($0, rows) },
      at: .life(0))
    func growth(_ store: BenchStore) throws -> Double {
      Double(try store.fileSize(vacuum: true) - empty - plain.packed + plain.empty) / Double(rows)
    }
    let (written, received, taken) = (try growth(author), try growth(other), try growth(existing))
    try other.application.execute("UPDATE item SET quantity = quantity + 1")
    try other.fold(at: .life(3_000))
    let once = try growth(other)
    try author.pull(from: other, at: .life(4_000))
    try author.application.execute("UPDATE item SET quantity = quantity + 1")
    try author.fold(at: .life(5_000))
    let twice = try growth(author)
    report.figures = [
      Figure("plain file, each of \(rows) rows", "B", Double(plain.packed) / Double(rows)),
      Figure("added for a row written here", "B", written).target(.maximum, atMost: 56),
      Figure("added for a row received", "B", received).target(.maximum, atMost: 56),
      Figure("added for a row that was there at init", "B", taken).target(.maximum, atMost: 56),
      Figure("more once another node has edited it", "B", once - received),
      Figure("more once its author has edited it after that", "B", twice - written),
      Figure(
        "added for a row written here, not vacuumed", "B",
        Double(unpacked - plain.unpacked) / Double(rows)),
    ]
    report.notes = [
      "a row that was edited by several nodes carries its context and the dot that made it",
      "an empty replica has \(empty / 1_024) KiB, an empty plain file \(plain.empty / 1_024)",
    ]
  }

  private static func plainSize(
    _ place: Workplace, _ rows: Int
  ) throws -> (packed: Int, unpacked: Int, empty: Int) {
    let plain = try Connection(path: "\(place.folder)/plain.db", mode: .create)
    try plain.execute("PRAGMA journal_mode = WAL")
    try plain.execute(Items.schema)
    let empty = try BenchStore.fileSize(of: plain)
    try fill(plain, rows)
    let unpacked = try BenchStore.fileSize(of: plain)
    try plain.execute("VACUUM")
    return (try BenchStore.fileSize(of: plain), unpacked, empty)
  }

  static func fill(_ connection: Connection, _ rows: Int) throws {
    try connection.transaction { () throws(SQLiteError) in
      for row in 0..<rows {
        try connection.run(Items.insert, Items.row(row, key: Items.randomKey()))
      }
    }
  }
}
