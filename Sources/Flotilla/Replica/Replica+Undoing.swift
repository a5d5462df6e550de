import Replication
import SQLite
import Store

/// What a member that was shut out has written, and bringing back what stood before.
extension Replica {
  /// Which rows a member has written since a moment, by their stamps or since they came in here.
  ///
  /// With `puttingBack` all that can be undone is, in one transaction, as edits of this node;
  /// `byStamp` leaves alone what is dated before the moment, whenever it came.
  public func undo(
    _ node: String, since moment: Int64, puttingBack: Bool = false, byStamp: Bool = false
  ) async throws(FlotillaError) -> UndoReport {
    let member = try await self.member(node)
    guard member.state != "member" else {
      throw FlotillaError(
        .refused, "\(member.node) is a member still, and writes on",
        remedy: "Shut it out first: flotilla revoke \(shellWord(path)) \(shellWord(member.node))")
    }
    let end = Uptime.now + Self.undoPatience
    while true {
      let found = try await undoable(member, since: moment)
      guard puttingBack else { return found.report }
      if let report = try await write(found, byStamp: byStamp) { return report }
      guard Uptime.now < end, (try? await Task.sleep(for: .milliseconds(100))) != nil else {
        throw FlotillaError(
          .node, "what programs have written waits to be taken in, and may be newer",
          remedy: "Let the node run, then try again: flotilla run \(shellWord(path))")
      }
    }
  }

  /// So long it is waited for what programs have written, in ms.
  private static let undoPatience: Int64 = 10_000

  /// A member of now or before, by its name or the beginning of its id.
  private func member(_ name: String) async throws(FlotillaError) -> MembersReport.Member {
    guard let found = try await members().member(named: name) else {
      throw FlotillaError(
        .refused, "there has never been a member \(name) in this site",
        remedy: "See: flotilla members \(shellWord(path)) --all")
    }
    return found
  }

  private struct Undoable: Sendable {
    var report: UndoReport
    var places: [UndoableRow.Place]
    var keys: [[UInt8]]
    /// The rows that this node may not write.
    var refused: Set<Int>
    var awaitsVerdict: Bool
  }

  private func undoable(
    _ member: MembersReport.Member, since moment: Int64
  ) async throws(FlotillaError) -> Undoable {
    guard let node = Identity(member.id) else { throw unknownID(member) }
    return try await withFile { store throws(StoreError) in
      let found = try store.undoable(of: node, since: moment)
      let names = try AuthorNames(store)
      var rows: [UndoReport.Row] = []
      var refused: Set<Int> = []
      for row in found.rows {
        if case .refused = try store.permission(toWrite: row.key, of: row.table) {
          refused.insert(rows.count)
        }
        rows.append(
          UndoReport.Row(
            table: row.table, key: Self.key(row.key, of: row.table, in: store),
            key_columns: store.tables.keyNames(of: row.key, of: row.table), way: row.way.rawValue,
            new: row.isNew, deleted: row.isDeleted, late: row.isLate,
            stands: try names.side(row.stands, of: row.table, store),
            before: try names.side(row.before, of: row.table, store)))
      }
      let office = store.currentOffice
      return Undoable(
        report: UndoReport(
          node: member.node, since: Node.text(moment), knows_arrivals: found.knowsArrivals,
          rows: rows, left: rows.count + found.untold, more: found.isCut),
        places: found.rows.map(\.place), keys: found.rows.map(\.key.bytes), refused: refused,
        awaitsVerdict: office.isHeld && !office.certifies)
    }
  }

  private func unknownID(_ member: MembersReport.Member) -> FlotillaError {
    FlotillaError(.node, "\(member.node) has no id that can be read: \(member.id)")
  }

  /// Nil if something of the programs waits to be folded.
  private func write(
    _ found: Undoable, byStamp: Bool
  ) async throws(FlotillaError) -> UndoReport? {
    let file = sidecar.database
    let undoing = Undoing(rows: found.report.rows, places: found.places, keys: found.keys)
    let chosen = found.report.rows.indices.filter { index in
      let row = found.report.rows[index]
      return row.hasWay && !found.refused.contains(index) && !(byStamp && row.late)
    }
    var report = found.report
    for index in found.refused where report.rows[index].hasWay {
      report.rows[index].why = "this node may not write the table"
    }
    let outcomes = try await offPool { () throws(FlotillaError) -> [Int: Undoing.Outcome]? in
      do {
        let connection = try Connection(path: file)
        connection.setBusyTimeout(milliseconds: 10_000)
        try connection.execute("PRAGMA foreign_keys = ON; BEGIN IMMEDIATE")
        guard try Journal.isEmpty(on: connection) else {
          connection.rollBack()
          return nil
        }
        let outcomes = try undoing.write(chosen, on: connection)
        try connection.execute("COMMIT")
        return outcomes
      } catch let error as SQLiteError {
        throw FlotillaError(
          .sql, "the rows cannot be put back: \(error.message)",
          remedy: "Nothing was changed; without --yes the command lists them.")
      } catch {
        throw FlotillaError(.sql, "the rows cannot be put back: \(error)")
      }
    }
    guard let outcomes else { return nil }
    for (index, outcome) in outcomes {
      switch outcome {
      case .done: report.rows[index].done = true
      case .left(let why): report.rows[index].why = why
      }
    }
    report.put_back = report.rows.count(where: \.done)
    report.left -= report.put_back
    report.awaits_verdict = found.awaitsVerdict && report.put_back > 0
    return report
  }
}
