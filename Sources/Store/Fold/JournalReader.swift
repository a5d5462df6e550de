import Replication
import SQLite

/// Reads the journal for the fold: which rows were touched, and when each was touched last.
///
/// Programs have written ten entries. `read` sorts them and dates them by what is known of clocks,
/// `next` gives touches, and `removeFolded` deletes their entries. What was read is in memory
/// alone: the entries stay until all that was read with them is folded.
package final class JournalReader: FilePart {
  private let connection: Connection
  /// Which rows the entries name, and which of them come first.
  private let tables: Tables
  private let kinship: Kinship
  /// Which of the rows were written by who had not seen what stood.
  let unseen: UnseenMarks
  /// What is known of clocks, to date what waits.
  private var timeline = Timeline()
  private var dates = JournalDates()
  /// What was read, and is being folded.
  private var backlog = Backlog()
  /// From here on no entry is needed any more, once the touches that were given are folded.
  private var ended: Int64?

  init(_ connection: Connection, _ tables: Tables, _ kinship: Kinship) {
    (self.connection, self.tables, self.kinship) = (connection, tables, kinship)
    unseen = UnseenMarks(connection)
  }

  /// How many edits wait to be folded.
  package func waitingEdits() throws(StoreError) -> Int {
    try reporting { () throws(SQLiteError) in try Journal.count(on: connection) }
  }

  /// Entries that were folded in it wait again.
  func rolledBack() { forget() }

  /// What was read is read again.
  func forget() { (backlog, dates, ended) = (Backlog(), JournalDates(), nil) }
}

/// Taking what waits, slice by slice.
extension JournalReader {
  /// About how many touches wait.
  var waiting: Int { backlog.count }

  /// The same of touches that were read, and of entries that were not.
  package func waitingEntries() throws(StoreError) -> Int {
    try reporting { () throws(SQLiteError) in
      guard let first = try Journal.firstEntry(on: connection),
        let last = try Journal.lastEntry(on: connection)
      else { return 0 }
      return waiting + Journal.distance(from: backlog.end ?? first, to: last)
    }
  }

  /// Reads what was written since it was read last, or the newest part of that.
  ///
  /// What was read under another `schemaVersion` is read again: its keys may be others.
  func read(schemaVersion: Int64, pace: Pace, at now: Instant) throws(SQLiteError) {
    let last = try Journal.lastEntry(on: connection)
    backlog.check(schemaVersion: schemaVersion, lastEntry: last)
    guard let last, backlog.end.map({ $0 < last }) ?? true else { return }
    // Any number may stand there, also the lowest of all.
    let start = backlog.end.map { $0 + 1 } ?? .min
    let parentage = try kinship.parentage(tables)
    var touches: [Backlog.Touch] = []
    var entries: [(id: Int64, wall: Int64)] = []
    var absent: Set<Int64> = []
    var room = pace.journalBytes
    var known: (number: Int64, table: ReplicaTable, depth: Int)?
    try Journal.readNewest(from: start, limit: pace.journalWindow, on: connection) {
      (id, number, wall, statement) in
      entries.append((id, wall))
      if known?.number != number {
        known = tables.byID[number].map { table in
          // Under its former key a row was written earlier than under the present one.
          (number, table, table.isHere ? parentage.depth(of: table.id) : .max)
        }
      }
      guard let (_, table, depth) = known else { return true }
      guard let count = table.notedKeyCount else {
        absent.insert(number)
        return true
      }
      // A row with NULL in its key has no identity and stays where it is.
      guard let key = table.key(in: statement, from: Journal.firstKeyColumn, count) else {
        return true
      }
      room -= key.bytes.count
      touches.append(
        Backlog.Touch(
          depth: depth, table: table.id, key: key, entry: id, row: Journal.row(statement),
          moment: Dating.Moment(now.moment)))
      return room > 0
    }
    guard let newest = entries.first, let oldest = entries.last else { return }
    // Who writes faster than this folds fills no memory.
    if oldest.id > start, entries.count == pace.journalWindow || room <= 0 {
      backlog.dropWindows()
    }
    entries.reverse()
    let moments = try moments(of: entries, at: now)
    // The newest touches come first, the oldest entries do.
    var place = entries.endIndex - 1
    for index in touches.indices {
      while entries[place].id != touches[index].entry { place -= 1 }
      if let moment = moments[place] { touches[index].moment = moment }
    }
    let first = try Journal.firstEntry(on: connection) ?? oldest.id
    backlog.add(
      touches, of: oldest.id...newest.id, after: first, absent: absent,
      atOnce: pace.journalEntries, most: 2 * pace.journalWindow)
  }

  /// The next touches to fold, at most `limit`; nil if all that was read was given. They may be
  /// none, where the entries name no row.
  func next(_ limit: Int) -> Backlog.Run? {
    guard let (touches, window) = backlog.take(limit) else { return nil }
    ended = window?.entries.lowerBound
    return touches
  }

  /// The touches that were given last are folded, in the open transaction: entries that are not
  /// needed any more are deleted.
  func removeFolded() throws(SQLiteError) {
    guard let first = ended.take() else { return }
    try Journal.deleteFrom(first, on: connection)
    dates.cut(from: first)
  }

  /// Tables that had triggers and are not here, since this was asked last.
  func takeAbsent() -> Set<Int64> { backlog.takeAbsent() }

  /// Whether anything waits, read or not.
  func hasMore() throws(SQLiteError) -> Bool {
    if backlog.end != nil { return true }
    return try !Journal.isEmpty(on: connection)
  }
}

/// What is known of clocks.
extension JournalReader {
  /// To be kept in the file, for `begin`.
  var keptTime: [UInt8] { timeline.bytes }

  /// Begins to work in this boot of the machine, with what was kept in an earlier one.
  func begin(boot: Identity, kept: [UInt8]?) throws(SQLiteError) {
    let last = try Journal.lastEntry(on: connection) ?? 0
    timeline = kept.map { Timeline($0, boot: boot, last: last) } ?? Timeline(boot: boot)
  }

  /// Compares the clocks, to know later what each of them has shown.
  func look(at now: Instant) { timeline.look(at: now) }

  /// The journal was empty at this moment: what is in it later was written later.
  func settle(at now: Instant) {
    timeline.settle(at: now)
    dates = JournalDates()
  }

  /// Looks at the clocks and at the journal; what comes into one that is empty comes later.
  package func settleIfEmpty(at now: Instant) throws(StoreError) {
    look(at: now)
    let isEmpty = try reporting { () throws(SQLiteError) in try Journal.isEmpty(on: connection) }
    if isEmpty { settle(at: now) }
  }

  /// The same after a transaction in which all was folded that was there when it began.
  func settleIfEmpty(after now: Instant) {
    guard (try? Journal.isEmpty(on: connection)) == true else { return }
    settle(at: now)
  }

  /// When these newest entries were written, the oldest of them first.
  private func moments(
    of entries: [(id: Int64, wall: Int64)], at now: Instant
  ) throws(SQLiteError) -> [Dating.Moment?] {
    guard let first = entries.first, let last = entries.last else { return [] }
    look(at: now)
    if dates.isEmpty { dates.begin(timeline.dating(at: now)) }
    dates.extend(to: now.moment)
    let known = dates.through
    if known == 0, try Journal.isFirst(first.id, on: connection) {
      for entry in entries { dates.add(entry.id, entry.wall) }
    } else if known < last.id {
      try Journal.times(after: known, on: connection) { dates.add($0, $1) }
    }
    return dates.moments(of: entries)
  }
}
