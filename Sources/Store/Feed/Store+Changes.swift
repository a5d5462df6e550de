import Replication
import SQLite

/// A row that has changed here, as its table shows it when this is read.
package struct ChangedRow: Sendable {
  package var cursor: ChangeCursor
  package var table: String
  package var key: [String: Replication.Value]
  /// Its columns as the table has them; nil if the table shows no such row.
  package var row: [(name: String, value: Replication.Value)]?
  /// It is there, and longer than what is told of one row.
  package var isTooLarge = false
  /// Who made the newest edit of it, when, and whether an anchor has certified that.
  package var author: String?
  package var stamp: Stamp?
  package var isCertified = false
}

/// Some changes in their order, and where the next ones follow.
package struct ChangePage: Sendable {
  package var changes: [ChangedRow] = []
  package var cursor: ChangeCursor
  /// What came before cannot be told: read the tables, then what follows the cursor.
  package var isAnew = false
  /// Whether more can be read now.
  package var hasMore = false
}

extension Store {
  /// Longer rows are named without their values, in bytes.
  package static let longestChange = 1 << 20
  /// About so much is read at a time, in bytes.
  private static let changesAtOnce = 1 << 20

  /// What has changed after a cursor; nothing yet, and where that begins, if it is none. `wall` is
  /// the clock of the machine, in ms since 1970.
  package func changes(
    after cursor: ChangeCursor?, limit: Int, at wall: Int64,
    isWanted: (String) -> Bool = { _ in true }
  ) throws(StoreError) -> ChangePage {
    let end = try readableChanges(at: wall)
    guard let cursor else { return ChangePage(cursor: end) }
    do throws(SQLiteError) {
      guard let entries = try changeLog.entries(after: cursor, limit: limit) else {
        return ChangePage(cursor: end, isAnew: true)
      }
      return try page(entries, after: cursor, isWanted)
    } catch {
      throw StoreError(error)
    }
  }

  /// Sees to it that changes are noted, and that it is known that somebody reads them.
  func readableChanges(at wall: Int64) throws(StoreError) -> ChangeCursor {
    try recover()
    let isKnown = changeLog.readAt.map { abs(wall - $0) < ChangeLog.readPrecision } ?? false
    if !isKnown {
      try transaction {
        if changeLog.isOn {
          try changeLog.noteRead(at: wall)
        } else {
          try changeLog.begin(look: look, at: wall)
        }
      }
    }
    guard let last = changeLog.last else { throw StoreError(.sqlite, "no change log was begun") }
    return last
  }

  /// Whether the site tracks a table of this name.
  package func isTracked(_ name: String) -> Bool {
    tables.table(called: name)?.isTracked ?? false
  }

  /// What a table of the site is called in this file; nil if it is not here.
  package func nameHere(of table: String) -> String? {
    tables.table(table).flatMap { $0.schema?.name }
  }

  /// Ends a log that nobody has read for long.
  package func tendChanges(at wall: Int64) throws(StoreError) {
    guard let readAt = changeLog.readAt, abs(wall - readAt) > ChangeLog.keepLimit else { return }
    try transaction { try changeLog.end() }
  }

  /// A hash over the names, in this file, of the tracked tables that this node may read, and of
  /// their columns.
  var look: UInt64 {
    tables.tracked.reduce(0) { rights.right(to: $1.name) == .none ? $0 : $0 &+ $1.look }
  }

  private func page(
    _ entries: [ChangeLog.Entry], after cursor: ChangeCursor, _ isWanted: (String) -> Bool
  ) throws(SQLiteError) -> ChangePage {
    // Of several changes of one row the last one is told.
    var last: [Export.RowID: Int] = [:]
    for (index, entry) in entries.enumerated() { last[entry.row] = index }
    var page = ChangePage(cursor: cursor)
    var room = Self.changesAtOnce
    for (index, entry) in entries.enumerated() {
      if last[entry.row] == index, let table = tables.byID[entry.row.table], table.isTracked,
        rights.right(to: table.name) != .none, isWanted(table.nameHere),
        let change = try change(entry, of: table, &room)
      {
        page.changes.append(change)
      }
      page.cursor = entry.cursor
      if room <= 0 { break }
    }
    // Where nothing could be read there is no more, whatever the log says of its end.
    page.hasMore = !entries.isEmpty && page.cursor != changeLog.last
    return page
  }

  private func change(
    _ entry: ChangeLog.Entry, of table: ReplicaTable, _ room: inout Int
  ) throws(SQLiteError) -> ChangedRow? {
    // A table that is being changed: the log begins anew when that is noticed.
    let key = entry.row.key
    guard let schema = table.schema, let statements = table.statements,
      let values = key.values?.map(\.sqlite), values.count == schema.key.count
    else { return nil }
    var change = ChangedRow(
      cursor: entry.cursor, table: table.nameHere, key: named(key, of: table.name))
    let names = schema.columns.map(\.name)
    let text = statements.select(names.map(quoted).joined(separator: ", "))
    try connection.with(text, values) {
      (statement) throws(SQLiteError) in
      guard try statement.step() else { return }
      let size = statement.size(names.count)
      room -= size
      change.isTooLarge = size > Self.longestChange
      guard !change.isTooLarge else { return }
      change.row = zip(names, statement.travelling(names.count)).map { ($0, $1) }
    }
    room -= key.bytes.count + 100
    if let version = try versions.version(table: table.id, key: key) {
      change.stamp = version.stamp
      change.isCertified = version.certificate != nil
      change.author = try authorName(version.edit.origin)
    }
    return change
  }

  private func authorName(_ origin: Origin) throws(SQLiteError) -> String? {
    if origin == own { return nodeName }
    return try connection.with(
      "SELECT name FROM _flotilla_author WHERE origin = ?",
      [.integer(Int64(bitPattern: origin.rawValue))]
    ) { (statement) throws(SQLiteError) in
      try statement.step() ? statement.value(0).string : nil
    }
  }
}
