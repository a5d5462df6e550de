import Replication
import SQLite

/// An edit that an anchor is to judge, by its number.
struct DueEdit {
  var dot: Dot
  var stamp: Stamp
  /// False if somebody has written over it before its content came here.
  var hasContent: Bool

  init(dot: Dot, stamp: Stamp, hasContent: Bool) {
    (self.dot, self.stamp, self.hasContent) = (dot, stamp, hasContent)
  }

  init(_ item: PendingTable.Item, hasContent: Bool) {
    self.init(dot: item.version.dot, stamp: item.version.stamp, hasContent: hasContent)
  }

  /// In which order authors have their turn. What is there by name alone comes last: what was
  /// written over it decides about it.
  static func precedes(_ one: DueEdit, _ other: DueEdit) -> Bool {
    guard one.hasContent == other.hasContent else { return one.hasContent }
    return (one.stamp, one.dot) < (other.stamp, other.dot)
  }
}

/// What came whole, in the order in which an anchor judges it.
///
/// A program writes 100,000 rows in one transaction, in any order of their keys. By their stamps
/// each verdict would change other pages of the file. Their author has numbered them in the order
/// of their keys, parents before children. So edits of one author, with none of another between
/// them by the stamps, are judged in the order of their numbers.
///
/// A catch-up that is still under way has brought edits that the frontier does not cover yet.
final class DueEdits: FilePart {
  private let connection: Connection
  private let versions: VersionTable
  private let pending: PendingTable
  /// What is next, as it was read; some of it may be judged or superseded by now.
  private var queue: ArraySlice<DueEdit> = []
  /// What there was when nothing was due but what was put off.
  private var end: (comings: Int, authors: [Author])?

  init(_ connection: Connection, _ versions: VersionTable, _ pending: PendingTable) {
    (self.connection, self.versions, self.pending) = (connection, versions, pending)
  }

  /// What was read may not be whole any more.
  func rolledBack() { forget() }

  /// What was put off is due again.
  func forget() { (queue, end) = ([], nil) }

  /// The next ones, but for those put off; none if nothing else is due.
  func take(_ limit: Int, beside late: Deferral) throws(SQLiteError) -> ArraySlice<DueEdit> {
    try readAhead(limit, beside: late)
    defer { queue = queue.dropFirst(limit) }
    return queue.prefix(limit)
  }

  /// Reads up to so many, if all that was read before was taken.
  func readAhead(_ limit: Int, beside late: Deferral) throws(SQLiteError) {
    guard queue.isEmpty else { return }
    let (comings, authors) = (pending.comings, try authors())
    if let end, end.comings == comings, end.authors == authors { return }
    var found = try due(limit: late.count + limit).filter { !late.contains($0.dot) }
    var start = 0
    while start < found.count {
      let (author, hasContent) = (found[start].dot.origin, found[start].hasContent)
      let end = found[start...].firstIndex {
        $0.dot.origin != author || $0.hasContent != hasContent
      }
      found[start..<(end ?? found.count)].sort { $0.dot.seq < $1.dot.seq }
      start = end ?? found.count
    }
    queue = found[...]
    end = found.isEmpty ? (comings, authors) : nil
  }

  /// Whether there is anything.
  func areAny() throws(SQLiteError) -> Bool {
    guard pending.count > 0 else { return false }
    if try !authors().isEmpty { return true }
    return pending.compared.isEmpty ? false : try !early().isEmpty
  }

  /// What is due of one table, by its stamps.
  func edits(of table: Int64, limit: Int) throws(SQLiteError) -> [DueEdit] {
    guard pending.count > 0 else { return [] }
    let early = pending.compared.isEmpty ? [] : try self.early("AND p.tbl = ?", [.integer(table)])
    let found = try read(
      """
      \(Self.covered) AND p.tbl = ?
      ORDER BY p.row IS NULL, p.stamp, o.origin < 0, o.origin, p.seq LIMIT ?
      """,
      [.integer(table), .integer(Int64(limit))])
    return Array((found + early).sorted(by: DueEdit.precedes).prefix(limit))
  }

  /// What is due, by its stamps.
  private func due(limit: Int) throws(SQLiteError) -> [DueEdit] {
    guard pending.count > 0 else { return [] }
    let early = pending.compared.isEmpty ? [] : try self.early()
    if let few = try few(limit) { return Array(sorted(few + early).prefix(limit)) }
    var found = try due("p.row IS NOT NULL", limit: limit)
    if found.count < limit { found += try due("p.row IS NULL", limit: limit - found.count) }
    return early.isEmpty ? found : Array(sorted(found + early).prefix(limit))
  }

  private func sorted(_ edits: [DueEdit]) -> [DueEdit] { edits.sorted(by: DueEdit.precedes) }

  /// All that is due, if it is no more than a slice: then what has yet to come whole is not looked
  /// through for it.
  private func few(_ limit: Int) throws(SQLiteError) -> [DueEdit]? {
    let authors = try authors()
    let rest = "FROM _flotilla_pending AS p WHERE p.origin = ? AND p.seq <= ?"
    var count = 0
    for author in authors {
      count += Int(
        try connection.scalar(
          "SELECT count(*) FROM (SELECT 1 \(rest) LIMIT ?)",
          [.integer(author.number), .integer(author.seq), .integer(Int64(limit + 1 - count))]
        ).integer ?? 0)
      guard count <= limit else { return nil }
    }
    var found: [DueEdit] = []
    for author in authors {
      found += try read(rest, [.integer(author.number), .integer(author.seq)])
    }
    return found
  }

  /// The same of many, without a sort of all that waits: one transaction of a program may have a
  /// million rows of one stamp.
  private func due(_ condition: String, limit: Int) throws(SQLiteError) -> [DueEdit] {
    var found = try read(
      "\(Self.covered) AND \(condition) ORDER BY p.stamp, p.origin, p.seq LIMIT ?",
      [.integer(Int64(limit))])
    if found.count == limit, let last = found.last?.stamp {
      // The index has the numbers of origins: of one moment others may come before these.
      found.removeAll { $0.stamp == last }
      for author in try authors(at: last) where found.count < limit {
        found += try read(
          """
          \(Self.covered) AND p.stamp = ? AND p.origin = ? AND \(condition)
          ORDER BY p.seq LIMIT ?
          """,
          [.integer(last.rawValue), .integer(author), .integer(Int64(limit - found.count))])
      }
    }
    return sorted(found)
  }

  // "The CROSS JOIN operator ... prevents the query planner from reordering tables"
  // (sqlite.org/optoverview.html): the index is in the order of what waits.
  private static let covered = """
    FROM _flotilla_pending AS p CROSS JOIN _flotilla_origin AS o ON o.id = p.origin
    WHERE p.seq <= o.seq
    """

  /// What was compared, and came before all that its number covers.
  private func early(
    _ condition: String = "", _ arguments: [SQLite.Value] = []
  ) throws(SQLiteError) -> [DueEdit] {
    try read(
      """
      FROM _flotilla_origin AS o CROSS JOIN _flotilla_pending AS p ON p.origin = o.id
      WHERE p.seq > o.seq \(condition)
      """, arguments
    ).filter { pending.compared.contains($0.dot) }
  }

  private func read(
    _ rest: String, _ arguments: [SQLite.Value]
  ) throws(SQLiteError) -> [DueEdit] {
    try connection.with(
      "SELECT p.origin, p.seq, p.stamp, p.row IS NOT NULL \(rest)", arguments
    ) { (statement) throws(SQLiteError) in
      var found: [DueEdit] = []
      while try statement.step() {
        guard let origin = versions.origins.origin(of: statement.integer(0)),
          let seq = UInt64(exactly: statement.integer(1)), seq > 0
        else { continue }
        found.append(
          DueEdit(
            dot: Dot(origin, seq), stamp: Stamp(clamping: statement.integer(2)),
            hasContent: statement.integer(3) != 0))
      }
      return found
    }
  }

  /// Whose edits of one moment wait, by the numbers of the origins, in the order of the origins.
  private func authors(at stamp: Stamp) throws(SQLiteError) -> [Int64] {
    var found: [(number: Int64, origin: Origin)] = []
    while let next = try connection.scalar(
      "SELECT min(origin) FROM _flotilla_pending WHERE stamp = ? AND origin > ?",
      [.integer(stamp.rawValue), .integer(found.last?.number ?? .min)]
    ).integer {
      guard let origin = versions.origins.origin(of: next) else { break }
      found.append((next, origin))
    }
    return found.sorted { $0.origin < $1.origin }.map(\.number)
  }

  /// Whose edits wait that came whole, by the number of the origin in the file, and to which of
  /// them.
  private struct Author: Equatable {
    var number: Int64
    var seq: Int64
  }

  /// Each commit of a long exchange asks for it: what is here of that is not looked through.
  private func authors() throws(SQLiteError) -> [Author] {
    guard pending.count > 0 else { return [] }
    var (found, last): ([Author], Int64) = ([], .min)
    while let next = try connection.row(
      """
      SELECT o.id, o.seq, p.seq FROM _flotilla_pending AS p
      CROSS JOIN _flotilla_origin AS o ON o.id = p.origin
      WHERE p.origin > ? ORDER BY p.origin, p.seq LIMIT 1
      """, [.integer(last)]
    ), let number = next[0].integer, let seq = next[1].integer, let first = next[2].integer {
      if first <= seq { found.append(Author(number: number, seq: seq)) }
      last = number
    }
    return found
  }
}
