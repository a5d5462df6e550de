import Replication
import SQLite

/// Versions that were read before they are asked for.
///
/// A fold and a merge ask for one key after another, in the order of the table. To find each from
/// the root of its tree takes SQLite ten times as long as to go on to the next entry. So after some
/// keys in order a few hundred entries are read at once. They answer for all keys in between, too:
/// what is not among them is not there. It goes on only where a fourth of them is asked for.
///
/// Whoever writes a version says so. Between transactions nothing is kept.
final class VersionsAhead {
  /// The columns of one entry.
  private struct Entry {
    var key: Range<Int>
    var columns: VersionColumns
  }

  private static let inOrder = 8
  private static let (fewest, most) = (64, 256)
  /// So many keys are looked for one by one after a read that was of no use.
  private static let pause = 128

  /// How many keys were asked for in order; below zero while it is paused.
  private var run = 0
  private var last: (table: Int64, key: Key)?

  private var entries: [Entry] = []
  /// The keys of all entries, one after another.
  private var keys: [UInt8] = []
  /// The next entry that may be asked for.
  private var next = 0
  /// From which key on the entries answer, and whether they do for that key.
  private var lower: (table: Int64, key: Key, isCounted: Bool)?
  /// Whether no entry of the table follows.
  private var isEnd = false
  private var limit = fewest
  /// How many keys these entries have answered for.
  private var used = 0

  /// What was read says nothing any more.
  func forget() {
    lower = nil
    last = nil
    run = min(run, 0)
  }

  /// A version was written under a key.
  func wrote(_ table: Int64, _ key: Key) {
    guard let lower, lower.table == table, lower.key <= key else { return }
    self.lower = (table, key, false)
  }

  enum Answer {
    case unknown
    case absent
    case columns(VersionColumns)
  }

  /// What the entries say of a key.
  func answer(_ table: Int64, _ key: Key) -> Answer {
    guard let lower, lower.table == table else { return .unknown }
    let order = Key.order(lower.key, key)
    guard order < 0 || order == 0 && lower.isCounted else { return .unknown }
    while next < entries.count {
      let order = key.order(to: keys, entries[next].key)
      if order < 0 { break }
      if order == 0 {
        self.lower = (table, key, true)
        used += 1
        return .columns(entries[next].columns)
      }
      next += 1
    }
    guard next < entries.count || isEnd else { return .unknown }
    self.lower = (table, key, true)
    used += 1
    return .absent
  }

  /// Whether to read on from this key, which no entry answers for.
  func isToRead(_ table: Int64, _ key: Key) -> Bool {
    if let lower, lower.table == table, next == entries.count, !isEnd {
      // The keys have gone beyond what was read.
      let wasUseful = used * 4 >= entries.count
      self.lower = nil
      last = (table, key)
      if wasUseful {
        limit = min(limit * 2, Self.most)
        return true
      }
      (limit, run) = (Self.fewest, -Self.pause)
      return false
    }
    let isNext = last.map { $0.table == table && $0.key <= key } ?? false
    last = (table, key)
    run = isNext ? run + 1 : min(run, 0)
    return run >= Self.inOrder
  }

  /// Reads from this key on.
  func read(_ table: Int64, _ key: Key, on connection: Connection) throws(SQLiteError) {
    entries.removeAll(keepingCapacity: true)
    keys.removeAll(keepingCapacity: true)
    (next, used, lower) = (0, 0, nil)
    try connection.with(Self.select) { (statement) throws(SQLiteError) in
      try statement.bind(table, at: 1)
      try statement.bind(Int64(limit), at: 3)
      try statement.lending(key.bytes, at: 2) { () throws(SQLiteError) in
        while try statement.step() {
          let start = keys.count
          statement.withBytes(VersionTable.columnCount) { keys.append(contentsOf: $0) }
          entries.append(
            Entry(key: start..<keys.count, columns: VersionColumns(statement, at: 0)))
        }
      }
    }
    isEnd = entries.count < limit
    lower = (table, key, true)
  }

  private static let select = """
    SELECT \(VersionTable.columns), key FROM _flotilla_version
    WHERE tbl = ? AND key >= ? ORDER BY key LIMIT ?
    """
}

/// The columns of a version, as they are in its table.
struct VersionColumns {
  let origin: Int64
  let seq: Int64
  let stamp: Int64
  /// Nil of a deleted row.
  let hash: Int64?
  let created: (origin: Int64, seq: Int64)?
  let createdAt: Int64?
  let at: Int64?
  let extra: [UInt8]?
  /// It is written alone: `extra` says it as well.
  let author: Int64?

  /// Binds them one after another.
  func bind(to statement: Statement, at first: Int) throws(SQLiteError) {
    try statement.bind(origin, at: first)
    try statement.bind(seq, at: first + 1)
    try statement.bind(stamp, at: first + 2)
    if let hash { try statement.bind(hash, at: first + 3) }
    if let created {
      try statement.bind(created.origin, at: first + 4)
      try statement.bind(created.seq, at: first + 5)
    }
    if let createdAt { try statement.bind(createdAt, at: first + 6) }
    if let at { try statement.bind(at, at: first + 7) }
    if let extra { try statement.bind(.blob(extra), at: first + 8) }
    if let author { try statement.bind(author, at: first + 9) }
  }

  /// Adds them to a row that waits.
  func add(to queue: RowQueue) {
    queue.add(origin)
    queue.add(seq)
    queue.add(stamp)
    queue.add(hash)
    queue.add(created?.origin)
    queue.add(created?.seq)
    queue.add(createdAt)
    queue.add(at)
    queue.add(extra)
    queue.add(author)
  }
}

extension VersionColumns {
  init(_ statement: Statement, at first: Int) {
    self.init(
      origin: statement.integer(first), seq: statement.integer(first + 1),
      stamp: statement.integer(first + 2), hash: statement.content(first + 3).integer,
      created: statement.content(first + 4).integer.map { ($0, statement.integer(first + 5)) },
      createdAt: statement.content(first + 6).integer,
      at: statement.content(first + 7).integer,
      extra: statement.isNull(first + 8) ? nil : statement.bytes(first + 8), author: nil)
  }
}

extension Statement.Content {
  fileprivate var integer: Int64? { if case .integer(let integer) = self { integer } else { nil } }
}
