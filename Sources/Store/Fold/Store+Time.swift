import Replication
import SQLite

/// The time of the site, as far as the file has to do with it.
extension Store {
  /// So many entries may wait in the journal before they are looked through.
  static let longJournal = 10_000
  /// Entries removed in one transaction: a few ms of the write lock.
  private static let removedAtOnce = 2_000

  /// Begins to work in this boot of the machine, and gives what was kept of the site's time.
  package func begin(boot: Identity) throws(StoreError) -> [UInt8]? {
    let (kept, clock, last) = try reporting { () throws(SQLiteError) in
      (
        try meta.blob(.timeline), try meta.blob(.clock),
        try Journal.lastEntry(on: connection) ?? 0
      )
    }
    timeline = kept.map { Timeline($0, boot: boot, last: last) } ?? Timeline(boot: boot)
    return clock
  }

  /// Keeps what is known of time; it need not be on the disk at once, for it only grows old.
  package func save(clock: [UInt8], at now: Instant) throws(StoreError) {
    try settleIfEmpty(at: now)
    try transaction(isDurable: false) {
      try meta.set(.clock, .blob(clock))
      try meta.set(.timeline, .blob(timeline.bytes))
    }
  }

  /// Looks at the clocks and at the journal; what comes into one that is empty comes later.
  package func settleIfEmpty(at now: Instant) throws(StoreError) {
    timeline.look(at: now)
    let isEmpty = try reporting { () throws(SQLiteError) in try Journal.isEmpty(on: connection) }
    if isEmpty { settleTime(at: now) }
  }

  /// The journal was empty at this moment.
  func settleTime(at now: Instant) {
    timeline.settle(at: now)
    journalDates = JournalDates()
  }

  /// The same after a transaction in which all was folded that was there when it began.
  func settleTime(after now: Instant) {
    guard (try? Journal.isEmpty(on: connection)) == true else { return }
    settleTime(at: now)
  }

  /// Throws while nothing can be stamped: what was written here would rank wrongly, or be lost.
  func requireTime(at now: Instant) throws(StoreError) {
    guard now.site == nil else { return }
    throw StoreError(.noTime, "\(path) does not know the time of the site yet")
  }

  /// How many edits wait to be folded.
  package func waitingEdits() throws(StoreError) -> Int {
    try reporting { () throws(SQLiteError) in try Journal.count(on: connection) }
  }

  /// Shortens a journal that waits long to the last touch of each row, in slices; true if there is
  /// more to do.
  ///
  /// What is found is read without the write lock, and stays true: an entry that has a later one
  /// for its row always will.
  package func compactJournal(beyond count: Int = longJournal) throws(StoreError) -> Bool {
    let found = try reporting { () throws(SQLiteError) in
      guard try Journal.holds(count, on: connection) else { return [Int64]() }
      return try Journal.superseded(limit: Self.removedAtOnce, on: connection)
    }
    guard !found.isEmpty else { return false }
    try transaction(isDurable: false) {
      for id in found {
        try connection.run("DELETE FROM main.\(Journal.table) WHERE id = ?", [.integer(id)])
      }
    }
    return found.count == Self.removedAtOnce
  }

  /// When these newest entries of the journal were written.
  func moments(
    of entries: [(id: Int64, wall: Int64)], at now: Instant
  ) throws -> [Dating.Moment?] {
    guard let first = entries.first, let last = entries.last else { return [] }
    timeline.look(at: now)
    if journalDates.isEmpty { journalDates.begin(timeline.dating(at: now)) }
    journalDates.extend(to: now.moment)
    let known = journalDates.through
    if try known == 0 && Journal.isFirst(first.id, on: connection) {
      for entry in entries { journalDates.add(entry.id, entry.wall) }
    } else if known < last.id {
      try Journal.times(after: known, on: connection) { journalDates.add($0, $1) }
    }
    return journalDates.moments(of: entries)
  }
}

/// When the entries of a journal were written that is folded in slices, the newest first.
///
/// They are dated in the order of writing, all of them before the first slice; one date stands for
/// all that follow it by the same clock.
struct JournalDates {
  private struct Run {
    var first: Int64
    /// Site time less the wall time noted; nil if it cannot be told.
    var shift: Int64?
    var moment: Dating.Moment
  }

  private var dating: Dating?
  private var runs: [Run] = []
  /// The last entry that was dated.
  private(set) var through: Int64 = 0

  var isEmpty: Bool { dating == nil }

  mutating func begin(_ dating: Dating) { self.dating = dating }

  mutating func extend(to site: Int64) { dating?.extend(to: site) }

  mutating func add(_ id: Int64, _ wall: Int64) {
    guard let moment = dating?.place(wall, entry: id) else { return }
    through = id
    let (shift, overflow) = moment.at.subtractingReportingOverflow(wall)
    let known = moment.isCertain && !overflow ? shift : nil
    if let last = runs.last, last.moment.isCertain == moment.isCertain {
      if let known, known == last.shift { return }
      if known == nil, last.moment == moment { return }
    }
    runs.append(Run(first: id, shift: known, moment: moment))
  }

  /// What was written first is told first, also where two clocks were read a little apart.
  /// One for each entry; nil if nothing is known.
  func moments(of entries: [(id: Int64, wall: Int64)]) -> [Dating.Moment?] {
    var index = runs.lastIndex { $0.first <= entries.first?.id ?? 0 } ?? 0
    return entries.map { id, wall in
      guard index < runs.count else { return nil }
      while index + 1 < runs.count, runs[index + 1].first <= id { index += 1 }
      let run = runs[index]
      return run.shift.map { Dating.Moment(wall + $0) } ?? run.moment
    }
  }

  /// Entries from `id` on are folded; later ones may get their numbers.
  mutating func cut(from id: Int64) {
    through = min(through, max(id, .min + 1) - 1)
    while let last = runs.last, last.first >= id { runs.removeLast() }
  }
}

extension StoreError.Code {
  /// The time of the site is not known yet; nothing was changed.
  package static let noTime = StoreError.Code("no-time")
}
