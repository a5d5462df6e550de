import Replication
import SQLite

/// What a node writes down so that the edits of a member can be undone, once that one is shut out:
/// rows as they stood before others wrote over them, and how far each author had come when.
///
/// It has no part in what stands anywhere. Nothing is written before somebody begins it.
package final class UndoBook: FilePart {
  /// What is kept, at most.
  package struct Bounds: Sendable, Equatable {
    package var rows = 100_000
    /// Of rows; no less than `leastBytes`, and else an eighth of the file.
    package var bytes: Int?
    package var days = 31

    package init() {}

    static let leastBytes = 1 << 20
    /// A longer row is not kept.
    static let longestRow = 1 << 20
  }

  /// A row as it stood, and the edit that took its place.
  struct Replaced {
    var side: ConflictSide
    var by: Dot
    var stamp: Stamp
  }

  /// How far the edits of an author had been taken in here at a moment.
  package enum Reach: Sendable, Equatable {
    /// Nobody wrote it down yet.
    case unknown
    /// Through this number, by what was written down at this moment, in ms since 1970.
    case through(UInt64, at: Int64)
  }

  /// So often it is written down how far authors have come, in ms.
  package static let interval: Int64 = 600_000
  /// What a member writes over its own rows of the last ten minutes is not kept: a sensor would
  /// fill the log with its own past.
  static let ownAge: Int64 = 600_000

  package var bounds = Bounds()
  private let connection: Connection
  private var isBegun = false
  /// What the rows take, about, and what they may; nil until it was counted.
  private var bytes: (used: Int, most: Int)?
  private var keptRows = 0

  init(_ connection: Connection) { self.connection = connection }

  /// Begins, or goes on: from now on rows are kept that others write over.
  package func begin() throws(StoreError) {
    guard !isBegun else { return }
    try reporting { () throws(SQLiteError) in
      if try !Layout.hasTable(Self.reached, on: connection) {
        try connection.transaction { () throws(SQLiteError) in
          try connection.execute(Self.statements)
        }
      }
    }
    isBegun = true
  }

  static let replaced = "_flotilla_replaced"
  static let reached = "_flotilla_reached"

  static let statements = """
    CREATE TABLE IF NOT EXISTS \(replaced)(
      id INTEGER PRIMARY KEY, name TEXT NOT NULL COLLATE NOCASE, key BLOB NOT NULL,
      at INTEGER NOT NULL, origin INTEGER NOT NULL, seq INTEGER NOT NULL, stamp INTEGER NOT NULL,
      side BLOB NOT NULL
    );
    CREATE TABLE IF NOT EXISTS \(reached)(
      at INTEGER NOT NULL, origin INTEGER NOT NULL, seq INTEGER NOT NULL,
      PRIMARY KEY(origin, at)
    ) WITHOUT ROWID;
    """

  /// Whether the row under `old` may be wanted back once `version` stands.
  func wants(_ old: Version, under version: Version) -> Bool {
    guard isBegun, !old.isDeleted, old.edit != version.edit else { return false }
    // Also with the same content: what its author makes of it next would hide what stood before.
    if old.edit.origin != version.edit.origin { return true }
    guard version.isDeleted || old.hash != version.hash else { return false }
    return version.stamp.millisecondsSince1970 - old.stamp.millisecondsSince1970 > Self.ownAge
  }

  /// What was counted in it is counted anew.
  func rolledBack() { bytes = nil }

  /// Keeps a row as it stood, in the open transaction.
  func keep(
    _ side: ConflictSide, of table: String, _ key: Key, by version: Version, at moment: Int64
  ) throws(SQLiteError) {
    let content = side.bytes
    guard content.count <= Bounds.longestRow else { return }
    try connection.run(
      Self.insert,
      [
        .string(table), .blob(key.bytes), .integer(moment),
        .integer(Int64(bitPattern: version.edit.origin.rawValue)),
        .integer(Int64(version.edit.seq)), .integer(version.stamp.rawValue), .blob(content),
      ])
    var sum: (used: Int, most: Int)
    if let bytes { sum = bytes } else { sum = try count() }
    sum.used += content.count + key.bytes.count + 40
    bytes = sum
    keptRows += 1
    if sum.used > sum.most || keptRows % 256 == 0 { try trim() }
  }

  private static let insert = """
    INSERT INTO \(replaced)(name, key, at, origin, seq, stamp, side)
    VALUES (?, ?, ?, ?, ?, ?, ?)
    """

  private func count() throws(SQLiteError) -> (used: Int, most: Int) {
    let used = try connection.scalar(
      "SELECT sum(length(side) + length(key) + 40) FROM \(Self.replaced)"
    ).integer
    let size =
      try connection.prepareScalar("PRAGMA page_count")
      * connection.prepareScalar("PRAGMA page_size")
    return (Int(used ?? 0), bounds.bytes ?? max(Bounds.leastBytes, Int(size) / 8))
  }

  /// Lets go of the oldest rows beyond the bounds: an eighth of them, so that it is seldom needed.
  private func trim() throws(SQLiteError) {
    guard
      let ends = try connection.row(
        """
        SELECT (SELECT min(id) FROM \(Self.replaced)), (SELECT max(id) FROM \(Self.replaced))
        """), let first = ends[0].integer, let last = ends[1].integer
    else { return }
    let isOver = bytes.map { $0.used > $0.most } ?? false
    // Somebody else may have written any numbers.
    let (span, isAbsurd) = last.subtractingReportingOverflow(first)
    guard isOver || isAbsurd || span >= Int64(bounds.rows) else { return }
    try connection.run(
      "DELETE FROM \(Self.replaced) WHERE id <= ?", [.integer(isAbsurd ? last : first + span / 8)])
    bytes = nil
  }

  /// From time to time: writes down how far each author has come, and lets go of what is old.
  package func tend(_ frontier: Frontier, at now: Instant) throws(StoreError) {
    try begin()
    try reporting { () throws(SQLiteError) in
      try connection.transaction { () throws(SQLiteError) in
        for (origin, seq) in frontier.sorted where try self.seq(of: origin, before: .max) != seq {
          try connection.run(
            "INSERT OR REPLACE INTO \(Self.reached)(at, origin, seq) VALUES (?, ?, ?)",
            [
              .integer(now.moment), .integer(Int64(bitPattern: origin.rawValue)),
              .integer(Int64(seq)),
            ])
        }
        guard let ageing = now.ageing else { return }
        let oldest = ageing - Int64(bounds.days) * 86_400_000
        try connection.run("DELETE FROM \(Self.replaced) WHERE at < ?", [.integer(oldest)])
        // The last word of before stays: it says what had come until then.
        try connection.run(
          """
          DELETE FROM \(Self.reached) WHERE at < ?1 AND EXISTS (
            SELECT 1 FROM \(Self.reached) AS later
            WHERE later.origin = \(Self.reached).origin AND later.at > \(Self.reached).at
              AND later.at <= ?1)
          """, [.integer(oldest)])
      }
      bytes = nil
    }
  }

  private func seq(of origin: Origin, before moment: Int64) throws(SQLiteError) -> UInt64? {
    try connection.scalar(
      """
      SELECT seq FROM \(Self.reached) WHERE origin = ? AND at <= ? ORDER BY at DESC LIMIT 1
      """, [.integer(Int64(bitPattern: origin.rawValue)), .integer(moment)]
    ).integer.map { UInt64(clamping: $0) }
  }

  /// Up to where an author's edits had come at a moment, in ms since 1970, as it was last written
  /// down before that.
  func reach(_ origin: Origin, at moment: Int64) throws(SQLiteError) -> Reach {
    guard try Layout.hasTable(Self.reached, on: connection),
      let last = try connection.scalar(
        "SELECT max(at) FROM \(Self.reached) WHERE at <= ?", [.integer(moment)]
      ).integer
    else { return .unknown }
    return .through(try seq(of: origin, before: moment) ?? 0, at: last)
  }

  /// Calls `body` with each row that is kept, the oldest first.
  func forEach(_ body: (_ table: String, Key, Replaced) -> Void) throws(SQLiteError) {
    guard try Layout.hasTable(Self.replaced, on: connection) else { return }
    let text = "SELECT name, key, origin, seq, side, stamp FROM \(Self.replaced) ORDER BY id"
    try connection.with(text, []) { (statement) throws(SQLiteError) in
      while try statement.step() {
        let row = statement.row
        guard let origin = row[2].integer, let seq = row[3].integer,
          let side = row[4].blob.flatMap(ConflictSide.init)
        else { continue }
        let by = Dot(
          Origin(rawValue: UInt64(bitPattern: origin)), max(1, UInt64(clamping: seq)))
        let stamp = Stamp(clamping: row[5].integer ?? 0)
        body(
          row[0].string ?? "", Key(bytes: row[1].blob ?? []),
          Replaced(side: side, by: by, stamp: stamp))
      }
    }
  }
}
