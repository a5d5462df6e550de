import Replication
import SQLite

/// How many live versions each table has, and how new the newest may be: kept, so that nobody walks
/// through a million of them to tell a person.
///
/// Noted at the same places as the digest, and written in the same transaction. Nothing that
/// replicates goes by it.
final class VersionFigures: FilePart {
  /// No stamp is above the bound. It is written anew when one comes that is, with so much to spare,
  /// in ms: less than what tells a stamp from the future.
  private static let spare: Int64 = 5 * 60_000

  private struct Figures: Equatable {
    /// Live versions by the number of the table.
    var counts: [Int64: Int] = [:]
    var newest: Stamp
  }

  private let connection: Connection
  private let meta: Meta
  /// Nil where the file does not have them yet.
  private var known: Figures?
  private var stored: Figures?

  init(_ connection: Connection, _ meta: Meta) throws(SQLiteError) {
    (self.connection, self.meta) = (connection, meta)
    try reload()
  }

  func reload() throws(SQLiteError) {
    (known, stored) = (nil, nil)
    guard try Layout.hasTable("_flotilla_count", on: connection),
      let newest = try meta.integer(.newestStamp)
    else { return }
    var figures = Figures(newest: Stamp(clamping: newest))
    for row in try connection.rows("SELECT tbl, rows FROM _flotilla_count") {
      figures.counts[row[0].integer ?? 0] = Int(row[1].integer ?? 0)
    }
    (known, stored) = (figures, figures)
  }

  /// The live versions of one table; nil if that is not known.
  func live(_ table: Int64) -> Int? { known.map { $0.counts[table] ?? 0 } }

  /// Those of all tables but a few.
  func live(besides others: Set<Int64>) -> Int? {
    known?.counts.reduce(0) { others.contains($1.key) ? $0 : $0 + $1.value }
  }

  /// Whether a stamp may be above a limit.
  func mayExceed(_ limit: Stamp) -> Bool { known.map { $0.newest > limit } ?? true }

  func replace(table: Int64, old: Version?, new: Version?) {
    let change = (new?.isDeleted == false ? 1 : 0) - (old?.isDeleted == false ? 1 : 0)
    if change != 0 { known?.counts[table, default: 0] += change }
    if let known, let new, new.stamp > known.newest {
      let bound = Stamp(millisecondsSince1970: new.stamp.millisecondsSince1970 + Self.spare)
      self.known?.newest = max(new.stamp, bound)
    }
  }

  /// Versions of a table were moved without being looked at one by one.
  func recount(_ table: Int64) throws(SQLiteError) {
    guard known != nil else { return }
    known?.counts[table] = Int(
      try connection.prepareScalar(
        "SELECT count(*) FROM _flotilla_version WHERE hash IS NOT NULL AND tbl = \(table)"))
  }

  /// Counts everything anew.
  func recount() throws(SQLiteError) {
    guard known != nil else { return }
    try connection.execute(Self.fill)
    try reload()
  }

  /// Writes what has changed, in the open transaction.
  func save() throws(SQLiteError) {
    guard let known, known != stored else { return }
    for (table, count) in known.counts where stored?.counts[table] != count {
      try connection.run(
        "INSERT OR REPLACE INTO _flotilla_count(tbl, rows) VALUES (?, ?)",
        [.integer(table), .integer(Int64(count))])
    }
    if known.newest != stored?.newest {
      try meta.set(.newestStamp, .integer(known.newest.rawValue))
    }
    stored = known
  }

  /// Takes them from the versions by a walk through all of them.
  static let fill = """
    DELETE FROM _flotilla_count;
    INSERT INTO _flotilla_count(tbl, rows)
    SELECT tbl, count(hash) FROM _flotilla_version GROUP BY tbl;
    INSERT OR REPLACE INTO _flotilla_meta(name, value)
    SELECT '\(Meta.Name.newestStamp.rawValue)', ifnull(max(stamp), 0) FROM _flotilla_version
    """

  /// Writes the same of versions that were just read, in the open transaction.
  static func write(
    live: [Int64: Int], newest: Stamp, on connection: Connection
  ) throws(SQLiteError) {
    try connection.execute("DELETE FROM _flotilla_count")
    for (table, count) in live {
      try connection.run(
        "INSERT INTO _flotilla_count(tbl, rows) VALUES (?, ?)",
        [.integer(table), .integer(Int64(count))])
    }
    try Meta(connection: connection).set(.newestStamp, .integer(newest.rawValue))
  }
}
