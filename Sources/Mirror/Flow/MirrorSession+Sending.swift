import Flotilla
import FoundationEssentials
import SQLite

/// From the replica to the server.
extension MirrorSession {
  /// Writes rows, takes entries out of the journals and moves the cursor on: all or nothing. What
  /// cannot be written at present is left out, and owed from then on. A row that a program of the
  /// server has changed again needs no `correction`: that is in the journal.
  ///
  /// Before a row is overwritten that is `over`, what the server had of it is kept in the conflict
  /// log. Gives how many rows have gone out or are owed.
  @discardableResult
  func send(
    _ rows: [MirroredRow], forgetting entries: [Int: [Int64]] = [:],
    holding: [(row: MirroredRow, reason: String)] = [], agreeing: [HeldRows.Name] = [],
    over: [RowKey: [Value]] = [:], isCorrection: Bool = false, cursor next: String? = nil
  ) throws(ServerError) -> Int {
    let before = held
    do throws(ServerError) {
      let contact = try transaction { () throws(ServerError) in
        (held, outcome) = (before, OpenTransaction(over: over))
        for name in agreeing { try release(name) }
        return try sendOnce(
          rows, forgetting: entries, holding: holding, isCorrection: isCorrection, cursor: next)
      }
      // Only what is known to be committed counts.
      (self.contact, number) = (contact, contact.number)
    } catch {
      held = before
      throw error
    }
    if let next { cursor = next }
    for row in outcome.gone { lastSent.note(row) }
    for row in outcome.gone where next == nil || !known.isEmpty {
      // Where the place in the feed stays, the feed names the row again: what both sides have by
      // now is no change of the site then.
      let isNoted = known[row.name]?.isNoted ?? false
      let isNamedAgain = next == nil && known.count < Self.mostKnown / 2
      known[row.name] =
        isNamedAgain || isNoted
        ? Known(print: row.print, turn: turn, isThere: true, isNoted: isNoted) : nil
    }
    try onSite { () throws(SQLiteError) in
      try debts.settle((outcome.gone + outcome.dropped).map(\.name))
    }
    meeting.meet(outcome.gone.map(\.name))
    // What is lost from now on is another one, be it alike.
    for row in outcome.gone where !inLog.isEmpty { inLog[row.name] = nil }
    for one in outcome.aside {
      debts.owe(one.row, one.reason)
      if outcome.overwritten[one.row.name] != nil { meeting.leave(one.row.name) }
    }
    sent += outcome.gone.count
    lastWord = .now
    return outcome.gone.count + outcome.aside.count
  }

  /// Does something on the server while the place is ours, in a transaction that counts unless
  /// nothing came of it.
  func inTurn<Result>(
    _ body: (_ now: Int64) throws(ServerError) -> (result: Result, isEmpty: Bool)
  ) throws(ServerError) -> Result {
    let (result, contact) = try server.transaction { () throws(ServerError) in
      let at = try ledger.hold(after: lastNumber)
      let (result, isEmpty) = try body(at)
      guard !isEmpty else { return (result, MirrorState.Contact?.none) }
      try ledger.advance(cursor: cursor, life: life, number: number + 1)
      return (result, MirrorState.Contact(number: number + 1, at: at))
    }
    if let contact { (self.contact, number, lastWord) = (contact, contact.number, .now) }
    return result
  }

  /// The rows at these places, from one of them on, that the server does not have already, up to
  /// a bound of bytes; and where the next ones begin. They are read in one transaction.
  func openRows(
    _ places: [RowPlace], from start: Int
  ) throws(SQLiteError) -> (rows: [MirroredRow], end: Int) {
    guard start < places.count else { return ([], start) }
    return try site.connection.transaction(.deferred) { () throws(SQLiteError) in
      var (rows, bytes, end) = ([MirroredRow](), 0, start)
      while end < places.count, bytes <= Self.mostBytes {
        let place = places[end]
        end += 1
        let values = try site.row(place.link, place.key)
        let row = MirroredRow(place.link, key: place.key, row: values)
        guard !isKnown(row) else { continue }
        rows.append(row)
        bytes += values?.reduce(64) { $0 + $1.byteCount + 16 } ?? 64
      }
      return (rows, end)
    }
  }

  private func sendOnce(
    _ rows: [MirroredRow], forgetting entries: [Int: [Int64]],
    holding: [(row: MirroredRow, reason: String)], isCorrection: Bool, cursor next: String?
  ) throws(ServerError) -> MirrorState.Contact {
    let at = try ledger.hold(after: lastNumber)
    for (number, ids) in entries { try forget(ids, in: number) }
    for (row, reason) in holding { try hold(row, .inward, reason) }
    // Most pages are of one table.
    let first = rows.first?.link.number
    let groups: [Int: [MirroredRow]] =
      if let first, rows.allSatisfy({ $0.link.number == first }) {
        [first: rows]
      } else {
        Dictionary(grouping: rows, by: \.link.number)
      }
    try asMirror(groups.keys.sorted()) { link throws(ServerError) in
      try write(groups[link.number] ?? [], of: link)
    }
    if isCorrection { outcome.leaveToJournals() }
    try settleHere()
    try ledger.advance(cursor: next ?? cursor, life: life, number: number + 1)
    return MirrorState.Contact(number: number + 1, at: at)
  }

  /// Has the triggers on some tables take what is written for the mirror's.
  func asMirror(
    _ numbers: [Int], _ body: (TableLink) throws(ServerError) -> Void
  ) throws(ServerError) {
    guard !numbers.isEmpty else { return }
    try server.execute("SET \(capture.turn) = \(Int64.random(in: 1...Int64.max))")
    for number in numbers {
      guard let link = byNumber[number] else { continue }
      // Where the server's own triggers change what is written, that is noted as others' changes.
      let name = link.server.changesRows ? "NULL" : String(number)
      try server.execute("SET \(capture.own) = \(name)")
      try body(link)
    }
    try server.execute("SET \(capture.own) = NULL, \(capture.turn) = NULL")
  }

  /// Before the server commits: what is not written stands in the file as owed, and what is
  /// overwritten in the conflict log.
  private func settleHere() throws(ServerError) {
    let (aside, overwritten) = (outcome.aside, outcome.overwritten)
    guard debts.count + aside.count(where: { debts[$0.row.name] == nil }) <= Debts.most else {
      throw .own("more than \(Debts.most) rows wait: \(aside.first?.reason ?? "")")
    }
    let lost = outcome.losing(isFirst: meeting.isFirst).filter {
      isUntold($0.name, overwritten[$0.name])
    }
    guard !lost.isEmpty || !aside.isEmpty else { return }
    try onSite { () throws(SQLiteError) in
      try site.connection.transaction { () throws(SQLiteError) in
        try debts.note(aside.map(\.row))
        for row in lost { try noteLost(row, overwritten[row.name]) }
      }
    }
    debts.areNoted(aside.map(\.row))
    for row in lost { told(row.name, overwritten[row.name]) }
  }

  /// What stops the work on the file stops that on the server.
  func onSite<Result>(
    _ body: () throws(SQLiteError) -> Result
  ) throws(ServerError) -> Result {
    do throws(SQLiteError) {
      return try body()
    } catch {
      throw .own("the database: \(error.message)")
    }
  }

  /// What the server has, or had, of a row that stands otherwise here.
  private func noteLost(_ row: MirroredRow, _ there: [Value]?) throws(SQLiteError) {
    try losers.note(
      row.link.site.name, keyCount: row.key.count,
      lost: MirroredRow.named(row.link, key: row.key, row: there), isDelete: there == nil,
      isOwn: true, stands: row.row.map { MirroredRow.named(row.link, key: row.key, row: $0) },
      .unseen, at: Int64(Date().timeIntervalSince1970 * 1_000), on: site.connection)
  }

  /// Keeps in the conflict log what the server has and the site has otherwise.
  func keep(_ news: [News]) throws(SQLiteError) {
    try site.connection.transaction { () throws(SQLiteError) in
      for one in news {
        let standing = try site.row(one.link, one.key)
        let row = MirroredRow(one.link, key: one.key, row: standing)
        // What SQLite cannot hold, and what the server does not take, is left as it is.
        guard case .success(let there) = one.row, there != standing,
          held.entries[HeldRows.Name(row)] == nil, isUntold(row.name, there)
        else { continue }
        try noteLost(row, there)
        told(row.name, there)
      }
    }
  }

  /// So many rows are known to be in the conflict log.
  private static let mostTold = 10_000

  private func isUntold(_ name: RowKey, _ there: [Value]?) -> Bool {
    inLog[name] != (there.map(RowKey.fingerprint) ?? "")
  }

  private func told(_ name: RowKey, _ there: [Value]?) {
    if inLog.count >= Self.mostTold { inLog = [:] }
    inLog[name] = there.map(RowKey.fingerprint) ?? ""
  }
}
